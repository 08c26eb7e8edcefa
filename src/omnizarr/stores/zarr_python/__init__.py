"""Any store of zarr-python, and sessions of Icechunk."""
