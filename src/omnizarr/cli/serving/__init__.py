"""Commands that answer a browser or another program."""
