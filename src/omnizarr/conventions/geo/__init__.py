"""Maps: the coordinate reference system of an array, and where its cells lie in it.

One file has one way to write that into attributes: `cf` (a grid mapping variable), `gdal` (`_CRS`)
and `spatial` (the conventions `proj:` and `spatial:`, which GeoZarr consists of). Each reads what a
node states, writes the attributes for given facts, and removes them. `coordinates` reads 1-d
coordinate variables. Nothing here reads a store.
"""
