"""What attributes mean: coordinate reference systems, pyramids, the NetCDF model.

A convention is a way to write facts into the attributes of nodes. Here attributes and dimension
names become facts, and facts become attributes; every function is pure. This package must not know
stores, nodes or format versions: `nodes` fetches what a convention needs, and stores what it gives.
"""
