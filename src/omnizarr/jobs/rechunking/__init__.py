"""Other chunks for stored arrays, in bounded memory.

plan      what is read and written, in how many passes, and what it costs: facts
planner   decides it
lengths   chunk shapes by path and by the names of dimensions
memory    how much the engine may take beside a region
job       `rechunk`, which is a conversion with these plans

`convert` uses the same plans. All but `job` know grids and numbers, and must not know conversions.
"""
