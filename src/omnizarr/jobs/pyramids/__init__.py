"""`pyramid`: an array at several resolutions, computed out of core.

job                 the function itself
kernels, gaussian   blocks of elements become one
geometry            which axes shrink, and where the elements of a level lie
georeference        attributes that say where a level lies on a map
nodata              which values stand for missing ones
stages              how levels are cut into work
plan, planning      what is to be done, and the decisions; placing: axes and scales
tiles               which parts of the work there are
work                the work on one of them
execution           executes the plan; safe to interrupt
report              what was done
"""
