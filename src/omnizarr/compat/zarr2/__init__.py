"""The names of zarr-python 2, over omnizarr."""

from omnizarr import Array, Group, ProcessSynchronizer, ThreadSynchronizer, errors
from omnizarr.compat.zarr2 import (
    attrs,
    codecs,
    convenience,
    core,
    creation,
    hierarchy,
    n5,
    storage,
    sync,
)
from omnizarr.compat.zarr2.codecs import *  # noqa: F403 - the codecs that are installed
from omnizarr.compat.zarr2.convenience import (
    consolidate_metadata,
    copy,
    copy_all,
    copy_store,
    load,
    open,  # noqa: A004 - zarr-python's name
    open_consolidated,
    save,
    save_array,
    save_group,
    tree,
)
from omnizarr.compat.zarr2.creation import (
    array,
    create,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    open_array,
    open_like,
    zeros,
    zeros_like,
)
from omnizarr.compat.zarr2.errors import CopyError, MetadataError
from omnizarr.compat.zarr2.hierarchy import group, open_group
from omnizarr.compat.zarr2.n5 import N5FSStore, N5Store
from omnizarr.compat.zarr2.storage import (
    ABSStore,
    DBMStore,
    DictStore,
    DirectoryStore,
    KVStore,
    LMDBStore,
    LRUStoreCache,
    MemoryStore,
    MongoDBStore,
    NestedDirectoryStore,
    RedisStore,
    SQLiteStore,
    TempStore,
    ZipStore,
)

__version__ = "2.18.7"
