"""A hierarchy as if it were stored in another format, converted as it is read.

nodes    what one array or group becomes, decided when it is first asked for
chunks   one chunk of it: copied where its bytes are valid, else encoded again
cache    values that were made, in bounded memory
store    all of it as a store that can only be read; `as_format`
"""

from __future__ import annotations
