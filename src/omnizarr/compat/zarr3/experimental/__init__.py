"""What zarr-python calls experimental."""
