"""Other libraries, served with what is ours. Each module needs the library that it is named after.

jax            batches for training
learning       samples and batches as NumPy arrays, on which the frameworks' modules stand
tensorflow     batches for training
torch          datasets for training
xarray         an engine for reading, and writing
zarr_python    our stores, codecs and engine for zarr-python
"""
