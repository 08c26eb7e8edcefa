"""Keys and node paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import InvalidKeyError
from omnizarr.model import paths


def is_sound(key: str) -> bool:
    """The rule of `check_key` once more, without a regular expression."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        return False
    return (
        0 < size <= paths.MAX_KEY_BYTES
        and all(name not in ("", ".", "..") for name in key.split("/"))
        and "\\" not in key
        and not any(ord(letter) < 32 or ord(letter) == 127 for letter in key)
        and not (key[1:2] == ":" and key[0].isascii() and key[0].isalpha())
    )


LETTERS = st.characters(codec=None) | st.sampled_from("./\\:aC\0\n\x7f\ud800é")


@given(st.text(alphabet=LETTERS, max_size=12))
def test_check_key_is_its_rule(key: str) -> None:
    assert paths.is_key(key) == is_sound(key)
    if is_sound(key):
        assert paths.check_key(key) is key
    else:
        with pytest.raises(InvalidKeyError):
            paths.check_key(key)


@given(st.integers(1000, 1030), st.sampled_from("xé数🦒"))
def test_the_longest_key_is_counted_in_bytes(size: int, letter: str) -> None:
    key = letter * (size // len(letter.encode()))
    assert paths.is_key(key) == is_sound(key)


@pytest.mark.parametrize("key", [None, 5, b"a", ["a"]])
def test_a_key_is_a_str(key: object) -> None:
    with pytest.raises(InvalidKeyError, match="must be a str"):
        paths.check_key(key)  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix", ["", "a/", "a/b/", ".z/"])
def test_prefixes(prefix: str) -> None:
    assert paths.check_prefix(prefix) is prefix


@pytest.mark.parametrize("prefix", ["a", "/", "a//", "../", "a/../", "./", "a\\/", "C:/"])
def test_what_is_no_prefix(prefix: str) -> None:
    with pytest.raises(InvalidKeyError):
        paths.check_prefix(prefix)


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        (None, ""),
        ("", ""),
        ("/", ""),
        ("foo", "foo"),
        (b"foo", "foo"),
        ("/foo/bar/", "foo/bar"),
        ("foo//bar", "foo/bar"),
        ("\\foo\\bar\\", "foo/bar"),
        ("//\\foo///bar", "foo/bar"),
        ("foo/b.r/..x", "foo/b.r/..x"),
    ],
)
def test_normal_paths(path: str | bytes | None, normal: str) -> None:
    assert paths.normalize_path(path) == normal
    assert paths.normalize_path(normal) == normal


@pytest.mark.parametrize("path", [".", "..", "a/../b", "a/./b", "a\\..", "a\0b", "a\nb", 5, "C:/x"])
def test_paths_that_are_refused(path: str) -> None:
    with pytest.raises(InvalidKeyError):
        paths.normalize_path(path)


@given(st.lists(st.sampled_from(["a", "bc", "d.e"]), max_size=4))
def test_parents_and_names(names: list[str]) -> None:
    path = "/".join(names)
    assert paths.join(paths.parent(path), paths.name_of(path)) == path
    above = paths.ancestors(path)
    assert len(above) == len(names)
    expected = []
    while path:
        path = paths.parent(path)
        expected.insert(0, path)
    assert above == expected
    assert paths.parent("") == "" == paths.name_of("")


def test_join_leaves_out_what_is_empty() -> None:
    assert paths.join("", "a", "", "b/c") == "a/b/c"
    assert paths.join("", "") == ""


def test_documents_are_deleted_first() -> None:
    chunks = ["a/0", "a/c/0/1", "b/0.0", "c/s0/1/2", "d/__zdata__/0.blosc", "data/root/a/c0"]
    besides = ["a/.zattrs", "e/attrs", "d/__zattr__"]
    copies = [".zmetadata", "g/.zmetadata"]
    deciding = [
        *("a/.zarray", "b/zarr.json", "c/s0/attributes.json", "d/__zmeta__", "e/meta", ".zgroup"),
        *("meta/root/a.array.json", "zarr.json"),
    ]
    steps = paths.deletion_steps(sorted([*chunks, *besides, *deciding, *copies], reverse=True))
    assert sorted(steps[0]) == sorted(copies)
    assert sorted(key for step in steps[1:-2] for key in step) == sorted(deciding)
    assert [{key.count("/") for key in step} for step in steps[1:-2]] == [{0}, {1}, {2}]
    assert sorted(steps[-2]) == sorted(besides)
    assert sorted(steps[-1]) == sorted(chunks)
    assert paths.deletion_steps([]) == []
