"""Format 0: the layout before the first specification (document 001, release 0.3)."""
