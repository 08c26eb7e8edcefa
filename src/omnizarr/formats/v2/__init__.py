"""Format 2, the OGC standard."""
