"""Format 1."""
