"""`export`: an array or a group as a file of another format.

job      the function itself: chooses the writer, tells all obstacles, replaces the file whole
formats  which formats of files there are
report   what was done
hdf5, netcdf, …   a writer each, one module of `WRITERS`

A writer is a module with

    NAME: str                    what ``to=`` calls it
    SUFFIXES: tuple[str, ...]    file names that mean it, with the dot
    obstacles(node, options)     what cannot be expressed, a sentence each that says what to do
    write(node, file, advance, **options)          writes a new file; `file` is a local path
    differences(node, file, advance, **options)    what reads back as something else, if anything

`advance` is called with units, bytes and a label after every step; a unit is a chunk (or shard) of
an array of the node. A writer whose steps are others has `units(node, options)`, how many there are
in all. Options are named keyword arguments of `write`; one that is called `max_memory` is a number
of bytes. Nothing is written before there is no obstacle.
"""

WRITERS: tuple[str, ...] = (
    "hdf5", "netcdf", "ometiff", "geotiff", "npy", "npz", "parquet", "arrow", "csv", "tsv",
)  # fmt: skip
"""The modules of the writers, in the order in which they are listed."""
