"""Rows of the fixtures that legitimately cannot read as their sidecar says, with the reason.

A listed row must fail: the test also fails when it starts to work, so that the list only shrinks.
The value is (the text that the outcome must contain, why this is right).
"""

from __future__ import annotations

from tests.acceptance import fixtures

KNOWN: dict[str, tuple[str, str]] = {
    row.path: ("elements differ", row.fault) for row in fixtures.rows() if row.fault
} | {
    "zarr-java/testdata/storage_transformer/exists": (
        "unknown storage transformer 'chunk-manifest-json'",
        "a made-up storage transformer: what is not known must be refused",
    ),
    "zarr-python/fixture::nested_legacy": (
        "SHA-256 73e200e2b048c86d4e8c86b86bf62bbda84c7384e34e250b01aa30ab29d234a4",
        "its chunks lie at 0/0 although the separator is not stored: we find them, as "
        "fixture::nested reads; the expectation comes from readers that saw fill values",
    ),
    "zarrs/data/zarr_python_compat/str_v2_fv_0.zarr": (
        "at (4,): '', expected '0'",
        "the fill value 0 of texts is the empty text, as zarr-python 2 wrote it; readers disagree",
    ),
}
