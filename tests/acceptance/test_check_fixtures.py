"""`check` over every store of the fixtures: it never raises, and it finds what is known of them.

Every store was written by real software, so nearly every departure in it is a known dialect. The
stores with an error are listed one by one: those that their authors broke on purpose, and those
whose writers departed from the document in a way that no list of dialects excuses.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from omnizarr.api.checking import Report, check
from omnizarr.errors import NodeNotFoundError
from omnizarr.stores import MemoryStore, as_store
from tests.acceptance import fixtures

Summary = Callable[[str], None]

WITH_ERRORS = {
    # Broken on purpose, as tests of readers.
    "gdal/zarr/array_attrs.zarr": "invalid JSON",
    "gdal/zarr/v3/sharing_too_small_data_file": "endian is required",
    "netcdf-java/data/zarr_invalid_data.zarr": "'chunks' is missing",
    "zarr-java/testdata/storage_transformer/exists": "unknown storage transformer",
    # A plate without the group of one of its rows.
    "zarr-java/testdata/ome/v0.4_hcs": "every ancestor must be one",
    # Images that depart from OME-NGFF: transformations in a wrong order, channels without a window,
    # levels without names of dimensions.
    "n5-universe/resources/metadata.zarr": "found ['translation', 'scale']",
    "zarr-java/testdata/ome/v0.4": "omero.channels[0].window",
    "zarr-java/testdata/ome/v0.5": "as dimension names",
    "zarr-java/testdata/ome/v0.5_hcs": "as dimension names",
    # A scalar whose only chunk holds six elements.
    "netcdf-c/nczarr_test/ref_noshape.file.zip": "wrong size",
    # A data type that only zarrs has.
    "zarrs/data/v3/array_optional.zarr/array": "unknown data type 'optional'",
    "zarrs/data/v3/array_optional_nested.zarr/array": "unknown data type 'optional'",
    # Text of four bytes a character, without its byte order.
    "gdal/zarr/v3/fixed_length_utf32.zarr": "endian is required",
}


def place(store: str) -> Path:
    return fixtures.unpacked(store.split("/", 1)[0]) / store


@cache
def reports() -> tuple[dict[str, Report], float]:
    """What is found in every store; where its root is no node, in the nodes of the manifest."""
    found: dict[str, Report] = {}
    begin = time.perf_counter()
    for row in fixtures.all_rows():
        if row.store in found:
            continue
        try:
            found[row.store] = check(place(row.store))
        except NodeNotFoundError:
            with suppress(NodeNotFoundError):
                found[row.path] = check(place(row.store), row.node)
    return found, time.perf_counter() - begin


def only(store: str, path: str | None = None) -> list[tuple[str, str]]:
    report = reports()[0][store]
    return [(f.level, f.message) for f in report if path is None or f.path == path]


@pytest.mark.slow
def test_every_store_is_checked(summary: Summary) -> None:
    found, seconds = reports()
    counts: Counter[str] = Counter()
    for report in found.values():
        counts.update(report.counts)
    nodes = sum(report.nodes for report in found.values())
    left_out = {
        row.path for row in fixtures.all_rows() if row.store not in found and row.path not in found
    }
    assert left_out == set()
    assert nodes > len(found) > (1700 if fixtures.third_party() else 1200)
    assert seconds < 600
    assert counts["dialect"] > counts["warning"] > counts["error"] >= 0
    summary(
        f"check: {len(found):,} stores, {nodes:,} nodes in {seconds:.1f} s: "
        + ", ".join(f"{counts[level]:,} {level}s" for level in ("error", "warning", "dialect"))
    )


@pytest.mark.slow
def test_errors_are_where_they_are_known_to_be() -> None:
    found, _ = reports()
    known = {store: text for store, text in WITH_ERRORS.items() if store in found}
    assert known == WITH_ERRORS or not fixtures.third_party()
    assert {store for store, report in found.items() if not report.ok} == set(known)
    for store, fragment in known.items():
        errors = [f.message for f in found[store] if f.level == "error"]
        assert any(fragment in message for message in errors), store


def test_every_finding_names_its_document() -> None:
    for report in reports()[0].values():
        for finding in report:
            assert ", " in finding.reference
            assert finding.key or not finding.path


EXPECTED = [
    ("netcdf-java/data/zarr_invalid_data.zarr", "valid_group/missing_param", "error", "'chunks'"),
    ("netcdf-java/data/zarr_invalid_data.zarr", "valid_group/bad_dtype", "error", "'<z4'"),
    ("netcdf-java/data/zarr_invalid_data.zarr", "valid_group/bad_order", "error", "order must be"),
    ("netcdf-java/data/zarr_invalid_data.zarr", "valid_group/valid_data", "warning", "extra_key"),
    ("netcdf-java/data/zarr_invalid_data.zarr", "not_group", "error", "every ancestor must be one"),
    ("zarr-python/fixture", "nested_legacy", "dialect", "separator '/' in the key"),
    ("gdal/zarr/nczarr_v2.zarr", "", "dialect", "NCZarr"),
    ("gdal/zarr/byte_cf1.zr3", "Band1", "dialect", "GDAL 3.8 to 3.10"),
    ("gdal-3.10.3-rasterio-v3/bands3.zarr", "bands3", "dialect", "fill_value is null"),
    ("netcdf-c-4.10.1-nczarr/fletcher32.file", "v", "dialect", "elementsize 0"),
    ("zarr-0.3.0/resized_shrunk.zarr", "", "warning", "outside the grid"),
    ("zarr-0.3.0/chunk_larger.zarr", "", "dialect", "is a pickle"),
    ("zarr-0.4.0/partial_fillnan.zarr", "", "dialect", "bare token NaN"),
    ("zarr-0.4.0/attrs.zarr", "", "dialect", "lock files"),
    ("zarr-1.1.0/comp01_zlib_F.zarr", "", "warning", "C order all the same"),
    ("zarr-2.0.1/dtype_le_c16.zarr", "", "dialect", "zarr 2.0 and 2.1"),
    ("zarr-3.0.10-v2/dtype_S7.zarr", "", "dialect", "zarr-python 3.0 wrote it"),
    ("zarrita-alimanfoo-2020-09-39bfe49/dtype_b1.zr3", "", "dialect", "layout B"),
    ("zarr-2.18.7-v3exp/object_vlenutf8.zr3", "arr", "dialect", "hid them there"),
    ("gdal/zarr-v3draft-gdal3.7/test.zr3", "", "dialect", "an array document and a group"),
    ("n5/resources/backward/data-1.5.0.n5", "raw", "dialect", "N5 1.x wrote it"),
    ("z5py-3.0.2-n5/comp_lz4.n5", "data", "dialect", "z5 wrote them"),
    ("zarr-2.18.7-n5/dtype_b1.n5", "data", "dialect", "'bool' is none of N5"),
]


@pytest.mark.parametrize(("store", "path", "level", "fragment"), EXPECTED)
def test_what_is_known(store: str, path: str, level: str, fragment: str) -> None:
    if not fixtures.present(store.split("/")[0]):
        pytest.skip(fixtures.ABSENT)
    found = only(store, path)
    assert [m for lv, m in found if lv == level and fragment in m], found


@fixtures.needs_third_party
def test_the_standard_of_the_ogc_excludes_what_came_later() -> None:
    store = place("gdal/zarr/nczarr_v2.zarr")
    assert check(store).ok
    assert check(store, standard="000").ok
    assert not check(store, standard="ogc").ok


DOCUMENTS = (".zarray", ".zgroup", ".zattrs", "zarr.json", "meta", "__zmeta__", "attributes.json")


def test_damaged_documents_never_raise() -> None:
    """Each document of many stores cut short, and with bytes replaced."""
    tried = 0
    for store in sorted(reports()[0])[::12]:
        if "::" in store:
            continue
        source = as_store(place(store), mode="r")
        content = {key: bytes(source.get(key) or b"") for key in list(source.list())[:40]}
        source.close()
        for key in [key for key in content if key.rpartition("/")[2] in DOCUMENTS][:2]:
            data = content[key]
            for changed in (
                data[: len(data) // 2],
                data.replace(b"1", b"-1"),
                data.replace(b'"', b"", 1),
                data.replace(b"[", b"{", 1).replace(b"]", b"}", 1),
                data.replace(b"null", b"[[]]"),
                data.replace(b":", b': 7e999, "x":', 1),
                b"\xff" + data,
            ):
                memory = MemoryStore()
                memory.update({**content, key: changed})
                try:
                    assert str(check(memory))
                    tried += 1
                except NodeNotFoundError:
                    pass
    assert tried > 500
