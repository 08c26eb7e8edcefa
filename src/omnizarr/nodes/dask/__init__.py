"""Arrays and Dask: lazy arrays of stored chunks, and tasks that write them.

    tokens      a name for what an array holds, so that equal work has equal names
    alignment   Dask's chunks beside the stored ones: no two tasks write one chunk
    storing     write a Dask array into an array

`nodes.array_dask` has the methods of an array that call them. Nothing here is imported before it is
needed, and Dask itself only when one of its arrays is made or written.
"""
