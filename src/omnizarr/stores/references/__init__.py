"""Bytes in other files, as kerchunk reference files name them."""
