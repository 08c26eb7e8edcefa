"""NCZarr: what netCDF-C adds to format 2."""
