"""`append`: grow arrays along a dimension, as a job that survives being killed.

job         the function itself
planning    what grows, by how much, and from what; refuses what does not fit
agreement   whether the values mean what those of the array mean
sources     the values to append, region by region
"""
