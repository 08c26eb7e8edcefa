"""Commands that show what is stored. They change nothing."""
