"""`diff`: in what two hierarchies differ, down to single values.

report    what was found, as an object, as JSON and as a listing
values    two arrays, region by region
job       two hierarchies, node by node
"""
