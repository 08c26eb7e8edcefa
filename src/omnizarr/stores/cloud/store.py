"""`ObjectStore`: S3, Google Cloud Storage, Azure, and other stores of obstore or obspec.

One request per `get`: a range, a suffix, or the whole object, which the answer must match. Updates
are optimistic: `get_versioned` gives the ETag (or generation), and the service itself refuses a
`set_if_version` that would replace another one.

If the answer to a conditional write was lost, success looks like a conflict: the request is
repeated and meets its own result. So every such write carries a stamp, and the stored object shows
which write made it. If it was replaced yet again, that is unknown: `UncertainWriteError`.

This module knows requests and answers; `urls`, `clients`, `failures` and `runtime` know the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from omnizarr.errors import StoreError, ValueChangedError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix, deletion_steps, normalize_path
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Feeder,
    Listing,
    Read,
    Sender,
    Store,
    Versioned,
)
from omnizarr.runtime import parallel
from omnizarr.stores.cloud import clients, listing, reads, urls
from omnizarr.stores.cloud.attempts import StampedWrite
from omnizarr.stores.cloud.clients import LEAST
from omnizarr.stores.cloud.connection import BucketConnection
from omnizarr.stores.cloud.failures import Failure, error_of, no_time, uncertain, unconditional
from omnizarr.stores.cloud.listing import PAGE
from omnizarr.stores.cloud.snapshot import Snapshot
from omnizarr.stores.wrappers.base import above

if TYPE_CHECKING:
    from obstore.store import ObjectStore as ObstoreStore

    from omnizarr.stores.cloud.batch_reader import BucketEndpoint

T = TypeVar("T")
Request = Callable[[Any, Any], None]
"""Takes the functions of obstore and a client."""

LARGE = 16 << 20
"""Values above this are sent in parts."""
PART = 8 << 20
AT_ONCE = 4
"""How many parts of one value are sent at once."""
CHANGES = 32
"""How many deletions or copies run at once."""
ATTEMPTS = 5


class ObjectStore(Store):
    """The objects below a prefix of a bucket: S3, Google Cloud Storage, Azure, and others.

    A URL needs no such object: `omnizarr.open("s3://bucket/path", storage_options=…)`.

    Parameters
    ----------
    store
        A store of obstore, or an object with the methods of obspec's protocols (get, head, put,
        delete, list, list_with_delimiter, copy).
    prefix
        Path inside the bucket.
    read_only
        Refuse every change.
    deadline
        Seconds after which a request, repetitions included, has failed.
    conditional
        False for a service without conditional writes; then several processes cannot safely update
        one chunk. None: what the service is known to have.

    Examples
    --------
    >>> import obstore.store
    >>> store = omnizarr.stores.ObjectStore(obstore.store.MemoryStore(), prefix="data.zarr")
    >>> store.set("a/c/0", b"value")
    >>> list(store), store.prefix, store.url
    (['a/c/0'], 'data.zarr', None)
    """

    @suggests
    def __init__(
        self,
        store: ObstoreStore | clients.Recipe | object,
        *,
        prefix: str = "",
        read_only: bool = False,
        deadline: float = urls.DEADLINE,
        conditional: bool | None = None,
    ) -> None:
        self._connection = connection = BucketConnection(store, normalize_path(prefix), deadline)
        self._base = connection.base
        self._suffixes: bool | None = False if connection.kind == "AzureStore" else None
        """Whether the service has suffix ranges; None if that is unknown."""
        self._deletes_many = connection.kind in ("S3Store", "AzureStore")
        """Whether one request may delete many objects."""
        self._place: BucketEndpoint | None = None
        self.read_only = read_only
        self.deadline = connection.deadline
        self.capabilities = clients.capabilities(connection.kind, conditional is not False)

    # -- a value ------------------------------------------------------------------------------
    @property
    def prefix(self) -> str:
        """Path inside the bucket."""
        return self._base[:-1]

    @property
    def url(self) -> str | None:
        """The URL of the store, without secrets; None for an object that has none."""
        return self._connection.url

    @property
    def identity(self) -> Hashable:
        return self._connection.identity, self._base

    def locate(self, key: str) -> tuple[Hashable, str]:
        return self._connection.identity, self._base + key

    def above(self, names: Collection[str]) -> Iterator[Store]:
        return above(ObjectStore(self._connection.asked), self._base, names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection})"

    def close(self) -> None:
        self._connection.close()
        place, self._place = self._place, None
        if place is not None:
            place.client.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_place": None}

    def _fail(self, failure: Failure, doing: str, key: str) -> StoreError:
        error = error_of(failure, doing, self.deadline).at(self, key=key)
        error.__cause__ = failure.cause
        return error

    def _changed(self, key: str) -> ValueChangedError:
        return ValueChangedError("was replaced while it was read").at(self, key=key)

    def _change(self, doing: str, key: str, request: Request, begun: float | None = None) -> None:
        failure = self._connection.ask(request, "write", begun)
        missing = doing != "write" and isinstance(failure, Failure) and failure.kind == "missing"
        if isinstance(failure, Failure) and not missing:
            raise self._fail(failure, doing, key)

    def _path(self, key: str) -> str:
        return self._base + check_key(key)

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return _value(self._fetch(key, byte_range))

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        for key, byte_range in requests:
            check_key(key)
            reads.check_range(byte_range)
        return parallel.each(
            lambda request: self.get(*request), list(requests), self.capabilities.requests
        )

    def feeder(self, byte_range: ByteRange | None, requests: int) -> Feeder | None:
        from omnizarr.stores.cloud import batch_reader

        place = self._endpoint()
        if place is None:
            return None

        def fetch(key: str, begun: float) -> Buffer | None:
            return _value(self._fetch(key, byte_range, begun=begun))

        return batch_reader.feeder_of(place, self._base, byte_range, requests, fetch)

    def _endpoint(self) -> BucketEndpoint | None:
        from omnizarr.stores.cloud import batch_reader

        self._place = self._place or batch_reader.endpoint_of(self._connection, self.deadline)
        return self._place

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        if not self.capabilities.versions:
            return super().get_versioned(key, byte_range)
        return self._fetch(key, byte_range)

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        return nullcontext(Snapshot(self, key, lasting=self._connection.is_service))

    def size(self, key: str) -> int | None:
        meta = self._head(key, time.monotonic())
        return None if meta is None else int(meta["size"])

    def _head(self, key: str, begun: float) -> Mapping[str, Any] | None:
        path = self._path(key)

        def request(functions: Any, store: Any) -> Mapping[str, Any]:
            meta: Mapping[str, Any] = functions.head(store, path)
            if self._connection.is_service:
                reads.check_tag(meta)
            return meta

        answer = self._connection.ask(request, begun=begun)
        if not isinstance(answer, Failure):
            return answer
        if answer.kind != "missing":
            raise self._fail(answer, "read", key)
        if not self._connection.reached and self._connection.is_service:
            # The answer to HEAD has no text that tells a missing bucket from a missing object.
            self._check_time(begun, key)
            self._fetch(key, ByteRange(0, 1), begun=begun)
        return None

    def _fetch(
        self,
        key: str,
        byte_range: ByteRange | None,
        version: Any = None,
        *,
        size: int | None = None,
        again: bool = True,
        begun: float | None = None,
    ) -> Versioned | None:
        """Part of the value, of this version and size if they are given."""
        path = self._path(key)
        reads.check_range(byte_range)
        begun = time.monotonic() if begun is None else begun
        if byte_range is not None and reads.is_empty(byte_range):
            return self._nothing_of(key, begun)
        suffix = max(0, -byte_range.start) if byte_range is not None else 0
        if suffix and self._suffixes is False:
            return self._suffix_of(key, suffix, version, begun)
        checked = self._connection.is_service
        options = reads.range_of(byte_range, checked=checked)
        if version is not None:
            options.update(reads.condition_of(version))

        def request(functions: Any, store: Any) -> Versioned:
            result = functions.get(store, path, options=options or None)
            reads.check_length(result)
            data = reads.buffer_of(result)
            data = reads.verified(result, data, byte_range, size, checked=checked)
            return Versioned(data, reads.version_of(result.meta))

        answer = self._connection.ask(request, begun=begun)
        if not isinstance(answer, Failure):
            self._suffixes = True if suffix else self._suffixes
            return answer
        match answer.kind:
            case "missing":
                self._connection.reached = True
                return None
            case "conflict" if version is not None:
                raise self._changed(key)
            case "beyond":
                self._check_time(begun, key)
                return self._nothing_of(key, begun, byte_range.start if byte_range else 0)
            case "unsupported" | "whole" | "wrong" if suffix:
                found = self._suffix_of(key, suffix, version, begun)
                if found is not None and len(found.value) > 0 and self._suffixes is None:
                    # Some services refuse only suffixes of empty objects.
                    self._suffixes = False
                return found
            case "whole" | "wrong" if again:
                self._check_time(begun, key)
                meta = self._head(key, begun)
                if meta is not None and int(meta["size"]) == 0:
                    return Versioned(b"", reads.version_of(meta))
                self._check_time(begun, key)
                return self._fetch(key, byte_range, version, size=size, again=False, begun=begun)
        raise self._fail(answer, "read", key)

    def _nothing_of(self, key: str, begun: float, start: int | None = None) -> Versioned | None:
        """The empty part of a value, if it exists; its size must not exceed `start`."""
        meta = self._head(key, begun)
        if meta is None:
            return None
        if start is not None and int(meta["size"]) > max(start, 0):
            raise StoreError(
                f"the service says that it has no byte {start}, and that its size is"
                f" {meta['size']}; it was replaced meanwhile, or the service is broken"
            ).at(self, key=key)
        return Versioned(b"", reads.version_of(meta))

    def _suffix_of(self, key: str, length: int, version: Any, begun: float) -> Versioned | None:
        """A suffix where the service has none: the size first, then a range of that version."""
        for _ in range(ATTEMPTS):
            self._check_time(begun, key)
            meta = self._head(key, begun)
            if meta is None:
                return None
            size, found = int(meta["size"]), reads.version_of(meta)
            if version is not None and found != version:
                break
            if size == 0:
                return Versioned(b"", found)
            self._check_time(begun, key)
            part = ByteRange(max(0, size - length), size)
            try:
                return self._fetch(key, part, found, size=size, begun=begun)
            except ValueChangedError:
                if version is not None:
                    raise
        raise self._changed(key)

    def _check_time(self, begun: float, key: str, failure: Failure | None = None) -> None:
        """Raise unless a further request is sure to end before the deadline."""
        if time.monotonic() - begun > (1 - LEAST) * self.deadline:
            cause = None if failure is None else failure.cause
            raise no_time(self.deadline, failure).at(self, key=key) from cause

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        self._set(key, value)

    def _set(self, key: str, value: Buffer, begun: float | None = None) -> None:
        options: dict[str, Any] = {}
        if self._connection.kind:
            options = {"chunk_size": PART, "max_concurrency": AT_ONCE}
            options["use_multipart"] = memoryview(value).nbytes > LARGE
        self._change("write", key, self._putting(key, value, options), begun)

    def sender(self, requests: int) -> Sender | None:
        self.check_writable()
        from omnizarr.stores.cloud import batch_writer

        place = self._endpoint() if batch_writer.is_plain(self._connection.recipe) else None
        if place is None or not (place.sent is None or place.sent.fits):
            return None
        return batch_writer.Sender(place, self._base, requests, self._set)

    def _putting(self, key: str, value: Buffer, options: Mapping[str, Any]) -> Request:
        path = self._path(key)
        data = reads.contiguous(value)
        if not self._connection.is_service:
            data = bytes(data)  # such an object may keep a reference

        def request(functions: Any, store: Any) -> None:
            result = functions.put(store, path, data, **options)
            if self._connection.is_service:
                reads.check_tag(result)

        return request

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        if not self.capabilities.conditional:
            return super().set_if_absent(key, value)
        return self._set_if(key, value, "create")

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        if not self.capabilities.versions:
            return super().set_if_version(key, value, version)
        mode = "create" if version is None else reads.mode_of(version)
        return self._set_if(key, value, mode)

    def _set_if(self, key: str, value: Buffer, mode: str | dict[str, str]) -> bool:
        self.check_writable()
        write = StampedWrite(self.deadline)
        stamped = self._connection.is_service
        options = {"mode": mode} | ({"attributes": write.stamp} if stamped else {})
        request = write.watched(self._putting(key, value, options))
        answer = write.repeat(lambda: self._connection.ask(request, "once", write.begun))
        if not isinstance(answer, Failure):
            return True
        if answer.kind == "unsupported" or answer.status == 400:
            raise unconditional(answer).at(self, key=key) from answer.cause
        lost = answer.kind in ("conflict", "missing")
        if stamped and (lost or answer.uncertain):
            self._check_time(write.begun, key, answer)
            if self._is_stamped(key, write):
                return True
        if not lost:
            raise self._fail(answer, "write", key)
        if write.doubtful:
            raise uncertain(answer).at(self, key=key) from answer.cause
        return False

    def _is_stamped(self, key: str, write: StampedWrite) -> bool:
        """Whether the stored object is the one that we sent."""
        path = self._path(key)

        def request(functions: Any, store: Any) -> bool:
            return write.is_ours(functions.get(store, path, options={"head": True}).attributes)

        answer = self._connection.ask(request, begun=write.begun)
        if isinstance(answer, Failure):
            if answer.kind == "missing":
                return False
            raise self._fail(answer, "tell whether a lost answer meant success", key)
        return answer

    def delete(self, key: str) -> None:
        self.check_writable()
        path = self._path(key)

        def request(functions: Any, store: Any) -> None:
            functions.delete(store, path)

        self._change("delete", key, request)

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        self._delete_all(self.list_prefix(prefix))

    def _delete_all(self, keys: Iterable[str]) -> None:
        for step in deletion_steps(keys):
            if self._deletes_many:
                pages = [step[at : at + PAGE] for at in range(0, len(step), PAGE)]
                parallel.each(self._delete_page, pages, AT_ONCE)
            else:
                parallel.each(self.delete, step, CHANGES)

    def _delete_page(self, keys: list[str]) -> None:
        if self._deletes_many:
            paths = [self._path(key) for key in keys]
            answer = self._connection.ask(
                lambda functions, store: functions.delete(store, paths), "bulk"
            )
            if not isinstance(answer, Failure):
                return
            self._deletes_many = answer.kind != "unsupported"
        # One by one, so that an error names its key; deleting a missing object is no error.
        parallel.each(self.delete, keys, CHANGES)

    def move_prefix(self, source: str, target: str) -> None:
        self.check_move(source, target)
        keys = list(self.list_prefix(source))

        def copy(key: str) -> None:
            here, there = self._path(key), self._path(target + key[len(source) :])

            def request(functions: Any, store: Any) -> None:
                functions.copy(store, here, there)

            self._change("copy", key, request)

        for step in reversed(deletion_steps(keys)):
            parallel.each(copy, step, CHANGES)
        self._delete_all(keys)

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        found = self._listed(prefix, listing.objects)
        sizes = listing.sizes(found, self._base, prefix)
        if self._connection.is_service:
            listing.drop_folders(sizes, self.exists)
        return iter(sorted(sizes))

    def _listed(self, prefix: str, ask: Callable[[Any, Any, str, float | None], T]) -> T:
        path = (self._base + check_prefix(prefix)).rstrip("/")
        patience = self.deadline if self._connection.is_service else None
        answer = self._connection.ask(
            lambda functions, store: ask(functions, store, path, patience)
        )
        if isinstance(answer, Failure):
            error = error_of(answer, "list", self.deadline).at(self, path=prefix.strip("/"))
            raise error from answer.cause
        return answer

    def list_dir(self, prefix: str) -> Listing:
        return listing.children(self._listed(prefix, listing.folder), self._base, prefix)


def _value(found: Versioned | None) -> Buffer | None:
    return None if found is None else found.value


def open_url(
    url: str, *, mode: str | None, read_only: bool, options: Mapping[str, Any]
) -> ObjectStore:
    """The store at `s3://bucket/path`, `gs://bucket/path` or `az://container/path`."""
    place = urls.location_of(url, options)
    return ObjectStore(
        place.recipe,
        prefix=place.prefix,
        read_only=read_only,
        deadline=place.deadline,
        conditional=place.conditional,
    )


def adopt(obj: Any, *, read_only: bool) -> ObjectStore | None:
    """The store for an object of obstore, or one with obspec's methods."""
    if clients.kind_of(obj) or callable(getattr(obj, "list_with_delimiter", None)):
        return ObjectStore(obj, read_only=read_only)
    return None
