"""Facts: what an array, a group, a grid, a key, a data type and a store *are*.

Nothing here does I/O, knows a format version, or imports a layer above `errors` and `limits`.
"""
