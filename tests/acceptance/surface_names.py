"""Names and keywords of zarr-python 2.18.7 and 3.4.2, as introspection gave them.

Data only. A keyword is listed once for each function, whichever generation has it.
"""

from __future__ import annotations

FUNCTIONS: dict[str, str] = {
    "array": "data",
    "consolidate_metadata": "store metadata_key path zarr_format",
    "copy": "source dest name shallow without_attrs log if_exists dry_run",
    "copy_all": "source dest shallow without_attrs log if_exists dry_run",
    "copy_store": "source dest source_path dest_path excludes includes flags if_exists dry_run log",
    "create": (
        "shape chunks dtype compressor fill_value order store synchronizer overwrite path "
        "chunk_store filters cache_metadata cache_attrs read_only object_codec "
        "dimension_separator write_empty_chunks zarr_version meta_array storage_transformers "
        "zarr_format attributes chunk_shape chunk_key_encoding codecs dimension_names "
        "storage_options config mode data"
    ),
    "create_array": (
        "store name shape dtype data chunks shards filters compressors serializer fill_value "
        "order zarr_format attributes chunk_key_encoding dimension_names storage_options "
        "overwrite config write_data"
    ),
    "create_group": "store path zarr_format overwrite attributes storage_options",
    "create_hierarchy": "store nodes overwrite",
    "empty": "shape",
    "empty_like": "a zarr_format",
    "from_array": (
        "store data write_data name chunks shards filters compressors serializer fill_value "
        "order zarr_format attributes chunk_key_encoding dimension_names storage_options "
        "overwrite config"
    ),
    "full": "shape fill_value",
    "full_like": "a zarr_format",
    "group": (
        "store overwrite chunk_store cache_attrs synchronizer path zarr_version meta_array "
        "zarr_format attributes storage_options"
    ),
    "load": "store zarr_version path zarr_format",
    "ones": "shape",
    "ones_like": "a zarr_format",
    "open": "store mode zarr_version path zarr_format storage_options config",
    "open_array": (
        "store mode shape chunks dtype compressor fill_value order synchronizer filters "
        "cache_metadata cache_attrs path object_codec chunk_store storage_options "
        "partial_decompress write_empty_chunks zarr_version dimension_separator meta_array "
        "zarr_format config"
    ),
    "open_consolidated": "store metadata_key mode use_consolidated",
    "open_group": (
        "store mode cache_attrs synchronizer path chunk_store storage_options zarr_version "
        "meta_array zarr_format attributes use_consolidated"
    ),
    "open_like": "a path zarr_format",
    "save": "store zarr_version path zarr_format storage_options",
    "save_array": "store arr zarr_version path zarr_format storage_options",
    "save_group": "store zarr_version path zarr_format storage_options",
    "tree": "grp expand level",
    "zeros": "shape",
    "zeros_like": "a zarr_format",
}

ARRAY: dict[str, str] = {
    "append": "data axis",
    "astype": "dtype",
    "async_array": "",
    "attrs": "",
    "basename": "",
    "blocks": "",
    "cdata_shape": "",
    "chunk_store": "",
    "chunks": "",
    "compressor": "",
    "compressors": "",
    "config": "",
    "digest": "hashname",
    "dtype": "",
    "fill_value": "",
    "filters": "",
    "from_dict": "store_path data",
    "get_basic_selection": "selection out fields prototype",
    "get_block_selection": "selection out fields prototype",
    "get_coordinate_selection": "selection out fields prototype",
    "get_mask_selection": "selection out fields mask prototype",
    "get_orthogonal_selection": "selection out fields prototype",
    "hexdigest": "hashname",
    "info": "",
    "info_complete": "",
    "info_items": "",
    "initialized": "",
    "is_view": "",
    "islice": "start end",
    "itemsize": "",
    "meta_array": "",
    "metadata": "",
    "name": "",
    "nbytes": "",
    "nbytes_stored": "",
    "nchunks": "",
    "nchunks_initialized": "",
    "ndim": "",
    "oindex": "",
    "open": "store config",
    "order": "",
    "path": "",
    "read_chunk_sizes": "",
    "read_only": "",
    "resize": "new_shape",
    "serializer": "",
    "set_basic_selection": "selection value fields prototype",
    "set_block_selection": "selection value fields prototype",
    "set_coordinate_selection": "selection value fields prototype",
    "set_mask_selection": "selection value fields mask prototype",
    "set_orthogonal_selection": "selection value fields prototype",
    "shape": "",
    "shards": "",
    "size": "",
    "store": "",
    "store_path": "",
    "synchronizer": "",
    "update_attributes": "new_attributes",
    "view": "shape chunks dtype fill_value filters read_only synchronizer",
    "vindex": "",
    "with_config": "config",
    "write_chunk_sizes": "",
    "write_empty_chunks": "",
}

GROUP: dict[str, str] = {
    "array": "name data",
    "array_keys": "recurse",
    "array_values": "",
    "arrays": "recurse",
    "attrs": "",
    "basename": "",
    "chunk_store": "",
    "clear": "",
    "create": (
        "name shape dtype data chunks shards filters compressors compressor serializer "
        "fill_value order attributes chunk_key_encoding dimension_names storage_options "
        "overwrite config write_data"
    ),
    "create_array": (
        "name shape dtype data chunks shards filters compressors compressor serializer "
        "fill_value order attributes chunk_key_encoding dimension_names storage_options "
        "overwrite config write_data"
    ),
    "create_dataset": "name",
    "create_group": "name overwrite",
    "create_groups": "",
    "create_hierarchy": "nodes overwrite",
    "empty": "name shape",
    "empty_like": "name data",
    "from_store": "store attributes zarr_format overwrite",
    "full": "name fill_value shape",
    "full_like": "name data",
    "get": "key default path",
    "get_array": "path",
    "get_group": "path",
    "group_keys": "",
    "group_values": "",
    "groups": "",
    "info": "",
    "info_complete": "",
    "info_items": "",
    "items": "",
    "keys": "",
    "members": "max_depth use_consolidated_for_children",
    "meta_array": "",
    "metadata": "",
    "move": "source dest",
    "name": "",
    "nmembers": "max_depth",
    "ones": "name shape",
    "ones_like": "name data",
    "open": "store zarr_format",
    "path": "",
    "pop": "key default",
    "popitem": "",
    "read_only": "",
    "require_array": "name shape config",
    "require_dataset": "name shape dtype exact",
    "require_group": "name overwrite",
    "require_groups": "",
    "setdefault": "key default",
    "store": "",
    "store_path": "",
    "synchronizer": "",
    "tree": "expand level max_nodes plain",
    "update": "",
    "update_attributes": "new_attributes",
    "update_attributes_async": "new_attributes",
    "values": "",
    "visit": "func",
    "visititems": "func",
    "visitkeys": "func",
    "visitvalues": "func",
    "zeros": "name shape",
    "zeros_like": "name data",
}

LEFT_OUT = {
    "Array.async_array": "there is no async twin of anything; `omnizarr.compat.zarr3` has it",
    "Group.update_attributes_async": "there is no async twin of anything",
}

DESIGN_MODULE = (
    "open open_array open_group open_consolidated create create_array create_group group "
    "array empty zeros ones full empty_like zeros_like ones_like full_like save save_array "
    "save_group load copy copy_all copy_store tree consolidate_metadata config Array Group "
    "errors open_like from_array create_hierarchy DirectoryStore NestedDirectoryStore "
    "ZipStore MemoryStore LocalStore DictStore KVStore TempStore ThreadSynchronizer "
    "ProcessSynchronizer storage codecs Zlib Blosc Zstd LZ4 GZip BZ2 LZMA Delta "
    "FixedScaleOffset Quantize PackBits Categorize AsType CRC32 Adler32 JSON MsgPack Pickle "
    "VLenUTF8 VLenBytes VLenArray get_codec register_codec codec_registry"
)
DESIGN_ARRAY = (
    "oindex vindex blocks fields get_basic_selection get_orthogonal_selection "
    "get_coordinate_selection get_mask_selection get_block_selection set_basic_selection "
    "set_orthogonal_selection set_coordinate_selection set_mask_selection set_block_selection "
    "shape dtype ndim size chunks shards order fill_value attrs dims codecs info nbytes "
    "nbytes_stored nchunks nchunks_initialized cdata_shape resize append lazy read astype "
    "digest hexdigest islice"
)
DESIGN_GROUP = (
    "create_array create_dataset require_array require_dataset create_group require_group "
    "members arrays groups array_keys group_keys visit visititems visitkeys visitvalues tree "
    "move keys values items get pop popitem setdefault update clear"
)
CODECS = (
    "BytesCodec TransposeCodec ShardingCodec GzipCodec ZstdCodec BloscCodec Crc32cCodec "
    "VLenUTF8Codec VLenBytesCodec"
)
ERRORS = (
    "NodeNotFoundError ArrayNotFoundError GroupNotFoundError ContainsArrayError "
    "ContainsGroupError UnknownCodecError ChunkNotFoundError BoundsCheckError "
    "VindexInvalidSelectionError PickleCodecDisabledError ZarrError"
)
