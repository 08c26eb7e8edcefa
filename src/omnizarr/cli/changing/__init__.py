"""Commands that write: copies, conversions, and changes in place."""
