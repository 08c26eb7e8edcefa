"""The data model of NetCDF and the conventions of CF: what names and attributes mean.

dimensions  which dimensions a group has, from what is declared and from its arrays
packing     values as they are stored, and as they are meant: scale, offset, missing values
references  attributes that name other variables
cdl         a group as text, as `ncdump -h` prints it
rules       the linter's rules
"""
