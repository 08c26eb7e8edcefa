"""`group.netcdf`: the data model of NetCDF on groups and arrays.

group     a group: dimensions, coordinates, variables, attributes, and their creation
variable  a variable: an array with dimensions, whose values may be packed
"""
