"""Files of other formats as Zarr, without copying: what `omnizarr.virtualize` is made of.

facts        what is known of a file: groups, arrays, and where their chunks are
files        opens a file by path or URL, and tells its kind from its first bytes
hdf5, netcdf3, tiff, grib    a file of one kind as facts
geotiff      where on Earth an image lies
joining      many files as one: pure functions of facts
coordinates  the values of the dimension along which files are joined
output       facts as references, reference files and Icechunk's manifests
"""
