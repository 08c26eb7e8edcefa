"""Other libraries, served with what is ours. Each module needs the library that it is named after.

zarr_python    our stores, codecs and engine for zarr-python
"""
