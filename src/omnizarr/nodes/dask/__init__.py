"""Arrays and Dask: lazy arrays of stored chunks, and tasks that write them.

    tokens      a name for what an array holds, so that equal work has equal names
    alignment   Dask's chunks beside the stored ones: no two tasks write one chunk
    storing     write a Dask array into an array
    array_methods  the methods of an array that call them

Dask itself is imported only when one of its arrays is made or written.
"""
