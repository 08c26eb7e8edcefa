"""To and from Arrow, awkward and pandas: libraries that speak of the same buffers as a column does.

Reading: text and byte strings become arrays over the buffers of their chunks, without a copy; every
other type goes through NumPy. Writing: strings are taken from their buffers, and a value that is
missing is refused, with its place.

The libraries are extras (`omnizarr[arrow]`, `omnizarr[awkward]`); they are imported when they are
asked for, and by nothing but this folder. It must not know stores, codecs or formats.
"""
