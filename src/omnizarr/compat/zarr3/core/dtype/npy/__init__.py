"""Data types that are one NumPy dtype each."""
