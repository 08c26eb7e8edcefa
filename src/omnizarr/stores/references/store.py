"""`ReferenceStore`: values inside other files, as a kerchunk reference file names them.

Read-only. `json` and `parquet` know the two kinds of reference files,
`targets` the files that they name; this module brings them together and must know
neither.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from omnizarr import limits
from omnizarr.errors import (
    ErrorLocation,
    MetadataError,
    NodeNotFoundError,
    ReadOnlyError,
    StoreError,
    ZarrError,
)
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Listing,
    Read,
    Store,
    read_range,
    span,
)
from omnizarr.stores.options import refuse_unknown
from omnizarr.stores.references import targets
from omnizarr.stores.references.json import Document, FileSpan, Reference, parse
from omnizarr.stores.references.options import digest
from omnizarr.stores.references.targets import REMOTE, Target, Targets, WantedRange
from omnizarr.stores.secrets import Secret, masked_url
from omnizarr.stores.unwritable import UnwritableStore

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_SUFFIXES = (".json", ".json.zst", ".json.gz", ".json.zstd")


class _References(Protocol):
    def get(self, key: str) -> Reference | None: ...

    def keys(self, prefix: str) -> Iterator[str]: ...

    def list_dir(self, prefix: str) -> Listing: ...


class ReferenceStore(UnwritableStore):
    """Chunks in other files, which a kerchunk reference file names; read-only.

    Parameters
    ----------
    reference
        Path or URL of a reference file (JSON, also packed with gzip or zstd, or a folder of parquet
        files), or its content as a mapping.
    allow
        What references may name besides files below the folder of the reference file: folders, and
        beginnings of URLs. By default every web server and object store.
    allow_local
        Allow every local file.
    remote_protocol
        Protocol of files that are named without one ("s3"); None: local files.
    remote_options
        `storage_options` for the stores of the files; or, where there are several, a mapping from
        protocols ("s3") and beginnings of URLs ("https://data.org/") to them. Options that are not
        so mapped are for `remote_protocol`; without one, those that a web store knows are for web
        servers, and others for all stores but these.
    fs
        A store or filesystem of fsspec for all these files; or for each protocol one, or options.
    target
        The file that references without one mean.
    target_options
        `storage_options` for the reference file.
    templates
        In place of the reference file's own templates of these names.

    Examples
    --------
    >>> with open("values.bin", "wb") as file:
    ...     written = file.write(b"0123456789")
    >>> with open("references.json", "w") as file:
    ...     written = file.write('{"version": 1, "refs": {"key": ["values.bin", 2, 3]}}')
    >>> omnizarr.stores.ReferenceStore("references.json").get("key")
    b'234'
    """

    @suggests
    def __init__(
        self,
        reference: str | os.PathLike[str] | Mapping[str, object],
        *,
        allow: Iterable[str] = REMOTE,
        allow_local: bool = False,
        remote_protocol: str | None = None,
        remote_options: Mapping[str, object] | None = None,
        fs: Store | AbstractFileSystem | Mapping[str, object] | None = None,
        target: str | None = None,
        target_options: Mapping[str, object] | None = None,
        templates: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(allow, str):
            raise TypeError("allow must be a list of folders and beginnings of URLs, found one str")
        self.read_only = True
        # `get_many` merges ranges and sends many requests at once itself.
        self.capabilities = Capabilities()
        self._given = reference if isinstance(reference, Mapping) else _absolute(reference)
        self._options = dict(target_options or {})
        self._templates = dict(templates or {})
        self._target = target
        self._identity: Hashable = None
        self._references, base = self._load()
        stores = _stores(fs, remote_protocol)
        local = stores.get("file")
        if local is not None and not isinstance(local, Store):
            del stores["file"]  # local files are read without fsspec
            allow_local = True
        self._targets = Targets(
            base,
            [*allow, *(["/"] if allow_local else [])],
            dict(remote_options or {}),
            stores,
            remote_protocol or _protocol_of(fs),
        )

    def _load(self) -> tuple[_References, str | None]:
        """The references, and the folder or URL of their file."""
        if isinstance(self._given, Mapping):
            return Document(self._given, self._templates), None
        place = self._given
        folder, name = _split(place)
        from omnizarr.stores.resolve import as_store

        if _is_parquet(place):
            from omnizarr.stores.local.store import LocalStore
            from omnizarr.stores.references.parquet import ReferenceFolder

            whole = os.path.join(folder, name)
            inside = (
                as_store(whole, read_only=True, storage_options=self._options)
                if "://" in place
                else LocalStore(whole, read_only=True)
            )
            return ReferenceFolder(inside), _without_query(folder)
        if "://" in place:
            with as_store(folder, read_only=True, storage_options=self._options) as store:
                data = store.get(name, ByteRange(0, limits.current.max_document_bytes + 1))
        else:
            data = _file(place)
        if data is None:
            raise NodeNotFoundError(f"there is no reference file {_masked(place)!r}")
        where = f"reference file {_masked(place)!r}"
        document = parse(data, where)
        try:
            return Document(document, self._templates), _without_query(folder)
        except MetadataError as error:
            raise error.at(where) from error

    def __repr__(self) -> str:
        shown = "<mapping>" if isinstance(self._given, Mapping) else repr(_masked(self._given))
        return f"{type(self).__name__}({shown})"

    @property
    def identity(self) -> Hashable:
        # Two stores of one reference file read other bytes with other templates or options.
        if self._identity is None:
            place: Hashable = id(self._given)
            if isinstance(self._given, str):
                local = "://" not in self._given
                place = os.path.realpath(self._given) if local else digest(self._given)
            told = digest(self._templates, self._target, self._options)
            self._identity = "reference", place, told, self._targets.identity
        return self._identity

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_identity": None}
        hidden = ["_options", "_templates", "_target"]
        if not isinstance(self._given, Mapping):
            del state["_references"]
            hidden.append("_given")
        return state | {name: Secret(state[name]) for name in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(
            (name, value.value if isinstance(value, Secret) else value)
            for name, value in state.items()
        )
        if "_references" not in state:
            self._references = self._load()[0]

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        answers: list[Buffer | None] = [None] * len(requests)
        wanted: list[WantedRange] = []
        places: list[int] = []
        for index, (key, byte_range) in enumerate(requests):
            found = self._find(key)
            if isinstance(found, bytes):
                answers[index] = read_range(found, byte_range)
            elif found is not None:
                target, offset, size = found
                if size is None:
                    answers[index] = self._whole(key, target, byte_range)
                    continue
                start, stop = span(byte_range or ByteRange(0), size)
                places.append(index)
                part = ByteRange(offset + start, offset + stop)
                wanted.append(WantedRange(target, part, ErrorLocation.of(self, key=key)))
        for index, data in zip(places, targets.read(wanted), strict=True):
            answers[index] = data
        return answers

    def _find(self, key: str) -> bytes | tuple[Target, int, int | None] | None:
        """The value itself, or its position in a file."""
        check_key(key)
        try:
            found = self._references.get(key)
            if not isinstance(found, FileSpan):
                return found
            url = self._target if found.url is None else found.url
            if url is None:
                raise MetadataError("the reference names no file, and no target was given")
            return self._targets.find(url), found.offset, found.size
        except ZarrError as error:
            raise error.at(self, key=key) from error

    def _whole(self, key: str, target: Target, byte_range: ByteRange | None) -> Buffer:
        data: Buffer | None = target.store.get(target.key, byte_range)
        self._check_there(key, target, data is not None)
        return data or b""

    def _check_there(self, key: str, target: Target, there: bool) -> None:
        if not there:
            raise StoreError(
                f"the reference names {target.key!r} in {target.store!r},"
                " where there is no such file"
            ).at(self, key=key)

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        found = self._find(key)
        if found is None or isinstance(found, bytes):
            return nullcontext(lambda byte_range: found and read_range(found, byte_range))
        return self._open_snapshot(key, *found)

    @contextmanager
    def _open_snapshot(
        self, key: str, target: Target, offset: int, size: int | None
    ) -> Iterator[Read]:
        with target.store.snapshot(target.key) as inner:

            def read(byte_range: ByteRange | None) -> Buffer | None:
                if size is None:
                    data = inner(byte_range)
                    self._check_there(key, target, data is not None)
                    return data
                start, stop = span(byte_range or ByteRange(0), size)
                part = ByteRange(offset + start, offset + stop)
                return targets.part(target, part, ErrorLocation.of(self, key=key), inner)

            yield read

    def exists(self, key: str) -> bool:
        return self._references.get(check_key(key)) is not None

    def size(self, key: str) -> int | None:
        found = self._find(key)
        if found is None or isinstance(found, bytes):
            return None if found is None else len(found)
        target, _, size = found
        if size is None:
            size = target.store.size(target.key)
            self._check_there(key, target, size is not None)
        return size

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._references.keys(check_prefix(prefix))

    def list_dir(self, prefix: str) -> Listing:
        return self._references.list_dir(check_prefix(prefix))

    # -- refusals -----------------------------------------------------------------------------
    def check_writable(self) -> None:
        raise (
            ReadOnlyError("what a reference file names can only be read")
            .at(self)
            .advise("copy it to another store to change it")
        )

    def close(self) -> None:
        self._targets.close()


# -- how a store is opened by name ----------------------------------------------------------------

_OPTIONS = {
    *("allow", "allow_local", "remote_protocol", "remote_options", "fs", "target"),
    *("target_options", "templates"),
}
_IGNORED = {"asynchronous", "target_protocol", "simple_templates", "skip_instance_cache", "lazy"}
"""Options of fsspec that have no effect here."""


def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
    """`reference://` with the option `fo`, as fsspec has it, or `reference://PATH_OR_URL`, or
    `reference://::PATH_OR_URL`, as fsspec spells a chain."""
    given = dict(options)
    reference = given.pop("fo", None)
    if reference is None:
        reference = url.partition("://")[2].removeprefix("::")
    if reference == "":
        raise TypeError("reference:// needs the reference file: storage_options={'fo': PATH}")
    return _open(reference, mode, given)


def open_path(path: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
    if os.path.isdir(path):
        from omnizarr.stores.local.store import LocalStore
        from omnizarr.stores.references.parquet import is_folder

        plain = LocalStore(path, read_only=read_only)
        if not is_folder(plain):
            return plain  # values, in a folder with an unusual name
    elif path.lower().endswith((".parq", ".parquet")) and os.path.isfile(path):
        from omnizarr.stores.foreign_files import described

        raise NodeNotFoundError(f"{path!r} is no store: it is {described(path)}")
    return _open(path, mode, dict(options))


def _open(reference: Any, mode: str | None, given: dict[str, Any]) -> ReferenceStore:
    if mode in ("w", "w-", "x"):
        raise ReadOnlyError("what a reference file names can only be read: open it with mode 'r'")
    if "ref_storage_args" in given:
        given.setdefault("target_options", given.pop("ref_storage_args"))
    if "template_overrides" in given:
        given.setdefault("templates", given.pop("template_overrides"))
    known = ("fo", *sorted(_OPTIONS))
    refuse_unknown("storage_options for references", {*given} - _IGNORED, known)
    return ReferenceStore(
        reference, **{name: value for name, value in given.items() if name in _OPTIONS}
    )


def _stores(fs: Any, protocol: str | None) -> dict[str, Any]:
    if fs is None:
        return {}
    if isinstance(fs, Mapping):
        return {"file" if name in (None, "local") else name: given for name, given in fs.items()}
    return {protocol or _protocol_of(fs) or "file": fs}


def _protocol_of(fs: Any) -> str | None:
    """What the URLs of a filesystem of fsspec begin with."""
    protocol = getattr(fs, "protocol", None)
    if isinstance(protocol, tuple | list):
        protocol = protocol[0] if protocol else None
    return protocol if isinstance(protocol, str) and protocol != "abstract" else None


def _absolute(reference: str | os.PathLike[str]) -> str:
    place = os.fspath(reference)
    if place.startswith("file://"):
        place = place.removeprefix("file://")
    return place if "://" in place else os.path.abspath(place)


def _is_parquet(place: str) -> bool:
    if "://" in place:
        return not place.partition("?")[0].rstrip("/").endswith(_SUFFIXES)
    return os.path.isdir(place)


def _split(place: str) -> tuple[str, str]:
    """The folder of a path or URL, and the name in it."""
    if "://" not in place:
        return os.path.split(place)
    plain, mark, query = place.rstrip("/").partition("?")
    folder, _, name = plain.rpartition("/")
    return folder + (f"/?{query}" if mark else ""), name


def _without_query(folder: str) -> str:
    return folder.partition("/?")[0] if "://" in folder else folder


def _file(path: str) -> Buffer | None:
    """The content of a local file; None if there is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StoreError(f"{path!r} is not a regular file")  # a pipe would wait for ever
        with open(path, "rb") as file:
            return file.read(limits.current.max_document_bytes + 1)
    except FileNotFoundError:
        return None


def _masked(place: str) -> str:
    return masked_url(place) if "://" in place else place
