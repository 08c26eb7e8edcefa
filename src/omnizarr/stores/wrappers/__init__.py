"""Stores around a store: prefix, read-only, cache, overlay, consolidated metadata."""
