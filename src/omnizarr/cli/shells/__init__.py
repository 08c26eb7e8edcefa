"""What shells are told about the command line."""
