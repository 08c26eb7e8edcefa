"""Files of other formats as sources of `convert` and `export`.

files   tells such a file, and opens it as a group through `virtualize`'s facts
store   its store, which notices when the file changes, and is the same in every process
slices  data without compression, in chunks of a reasonable size

This package knows files and groups. It must not know what is done with them.
"""
