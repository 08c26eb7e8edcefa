"""Other libraries, served with what is ours. Each module needs the library that it is named after.

zarr_python    our stores, as stores of zarr-python
"""
