"""Format 3, final."""
