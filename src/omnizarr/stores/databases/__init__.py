"""SQLite, LMDB, DBM, Redis and MongoDB, in the layouts of zarr-python 2."""
