"""One ZIP archive."""
