"""`LocalStore`, `ZipStore`, `FsspecStore`, `ObjectStore`."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Generic, Literal, Self, TypeVar

import omnizarr
from omnizarr import stores
from omnizarr.compat.zarr3.storage._base import ServedStore, absolute

T = TypeVar("T")


class LocalStore(ServedStore):
    """Files below a directory.

    Parameters
    ----------
    root
        The directory.
    read_only
        Refuse every change.
    """

    def __init__(self, root: Path | str, *, read_only: bool = False) -> None:
        if not isinstance(root, str | Path):
            raise TypeError(
                "'root' must be a string or Path instance. Got an instance of"
                f" {type(root)} instead."
            )
        self.root = Path(root)
        super().__init__(
            omnizarr.LocalStore(absolute(root), read_only=read_only), read_only=read_only
        )

    @classmethod
    async def open(
        cls, root: Path | str, *, read_only: bool = False, mode: str | None = None
    ) -> Self:
        """Open a directory; with a mode that reads, it must exist."""
        read_only = mode == "r" if mode is not None else read_only
        store = cls(root, read_only=read_only)
        if mode is not None and mode.startswith("r") and not store.root.exists():
            raise FileNotFoundError(f"{store.root} does not exist")
        await store._ensure_open()
        return store

    async def _open(self) -> None:
        if not self.read_only:
            self.root.mkdir(parents=True, exist_ok=True)
        if not self.root.exists():
            raise FileNotFoundError(f"{self.root} does not exist")
        await super()._open()

    async def move(self, dest_root: Path | str) -> None:
        """Move the directory; the store goes with it, and so do its open arrays and groups."""
        target = Path(dest_root)
        if target.exists():
            raise FileExistsError(f"Destination root {target} already exists.")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.root, target)
        self.root = target
        # Open nodes hold the store inside: at its old place they would read fill values.
        inner = self._inner.store if isinstance(self._inner, stores.ReadOnlyStore) else self._inner
        moved = omnizarr.LocalStore(absolute(target), read_only=inner.read_only)
        vars(inner).clear()
        vars(inner).update(vars(moved), face=self)

    def __str__(self) -> str:
        return f"file://{self.root.as_posix()}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    def __eq__(self, value: object) -> bool:
        return isinstance(value, type(self)) and self.root == value.root

    __hash__ = None

    def __reduce__(self) -> Any:
        return _local, (type(self), self.root, self.read_only)


def _local(kind: type[LocalStore], root: Path, read_only: bool) -> LocalStore:
    return kind(root, read_only=read_only)


def _check_file(file: Any, mode: str) -> None:
    """Refuse what is no open file, and a reader that is to be written."""
    if not all(hasattr(file, name) for name in ("read", "seek", "tell")):
        raise TypeError(
            f"path must be a path or a file-like object with read/seek/tell, found {type(file)}"
        )
    if mode != "r" and not isinstance(file, io.IOBase):
        raise TypeError(
            f"{type(file).__name__} is no io.IOBase: it can only be opened for reading, with mode"
            " 'r'"
        )


class ZipStore(ServedStore):
    """One archive.

    Parameters
    ----------
    path
        A path, or an open file.
    mode
        "r", "a", "w" or "x".
    read_only
        Refuse every change; None: with mode "r".
    compression
        A method of `zipfile`.
    allowZip64
        Archives may always be large; accepted for zarr-python's sake.
    """

    def __init__(
        self,
        path: Path | str | IO[bytes],
        *,
        mode: Literal["r", "a", "w", "x"] = "r",
        read_only: bool | None = None,
        compression: int = 0,
        allowZip64: bool = True,  # noqa: N803 - the name that `zipfile` uses
    ) -> None:
        read_only = mode == "r" if read_only is None else read_only
        if not isinstance(path, str | Path):
            _check_file(path, mode)
        self.path = Path(path) if isinstance(path, str | Path) else None
        self._place: Any = path
        self._mode: Literal["r", "a", "w", "x"] = mode
        self._was_written = False
        self.compression = compression
        self.allowZip64 = allowZip64
        super(ServedStore, self).__init__(read_only=read_only)

    def _archive(self) -> omnizarr.Store:
        if "_inner" not in self.__dict__:
            if self._was_written and not (self._place.readable() and self._place.seekable()):
                raise io.UnsupportedOperation(
                    f"{self._place!r} was closed as an archive; it must be readable and seekable to"
                    " be used again"
                )
            opened = stores.ZipStore(self._place, self.compression, mode=self._mode)
            self._was_written = self.path is None and self._mode != "r"
            self._mode = "r" if self._mode == "r" else "a"  # opening again must not empty it
            self._set_inner(opened)
            self._is_open = True
        return self._inner

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            return self._archive()
        return super().__getattr__(name)

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        self._archive()

    def close(self) -> None:
        if "_inner" in self.__dict__:
            self.__dict__.pop("_inner").close()
        self._is_open = False

    async def move(self, path: Path | str) -> None:
        """Move the archive; the store goes with it."""
        if self.path is None:
            raise NotImplementedError("a ZipStore over an open file cannot be moved")
        self.close()
        os.makedirs(Path(path).parent, exist_ok=True)
        shutil.move(self.path, path)
        self.path = self._place = Path(path)
        self._archive()

    def with_read_only(self, read_only: bool = False) -> Self:
        raise NotImplementedError(
            f"with_read_only is not implemented for the {type(self)} store type."
        )

    def __str__(self) -> str:
        return f"zip://{self.path if self.path is not None else self._place}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    def __eq__(self, value: object) -> bool:
        return (
            isinstance(value, type(self))
            and self._place == value._place
            and self.compression == value.compression
        )

    __hash__ = None

    def __getstate__(self) -> dict[str, Any]:
        if self.path is None:
            raise TypeError(
                "cannot pickle a ZipStore backed by a file-like object; open the archive by its"
                " path instead"
            )
        state = {key: item for key, item in self.__dict__.items() if key != "_inner"}
        return {**state, "_mode": "r" if self.read_only else "a", "_is_open": False}


class FsspecStore(ServedStore):
    """The files below a path of a filesystem of fsspec.

    Parameters
    ----------
    fs
        The filesystem.
    read_only
        Refuse every change.
    path
        The path.
    allowed_exceptions
        Accepted for zarr-python's sake; a failure is never taken for a missing key.
    """

    def __init__(
        self,
        fs: Any,
        read_only: bool = False,
        path: str = "/",
        allowed_exceptions: tuple[type[Exception], ...] = (FileNotFoundError,),
    ) -> None:
        self.fs = fs
        self.path = path
        self.allowed_exceptions = allowed_exceptions
        if "://" in path and not path.startswith("http"):
            scheme, _, path = path.partition("://")
            raise ValueError(f"path argument to FsspecStore must not include scheme ({scheme}://)")
        super().__init__(stores.FsspecStore(fs, path, read_only=read_only), read_only=read_only)

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Open a filesystem, or with `url=` that of a URL."""
        if "url" in kwargs:
            store = cls.from_url(*args, **kwargs)
        else:
            store = cls(*args, **kwargs)
        await store._ensure_open()
        return store

    @classmethod
    def from_url(
        cls,
        url: str,
        storage_options: Mapping[str, object] | None = None,
        read_only: bool = False,
        allowed_exceptions: tuple[type[Exception], ...] = (FileNotFoundError,),
    ) -> Self:
        """Make the store of a URL."""
        made = stores.FsspecStore(url, storage_options=storage_options, read_only=read_only)
        return cls(made.fs, read_only, made.root, allowed_exceptions)

    @classmethod
    def from_mapper(
        cls,
        fs_map: Any,
        read_only: bool = False,
        allowed_exceptions: tuple[type[Exception], ...] = (FileNotFoundError,),
    ) -> Self:
        """Make the store of a mapper of fsspec."""
        return cls(fs_map.fs, read_only, fs_map.root, allowed_exceptions)

    @classmethod
    def from_upath(
        cls,
        upath: Any,
        read_only: bool = False,
        allowed_exceptions: tuple[type[Exception], ...] = (FileNotFoundError,),
    ) -> Self:
        """Make the store of a `UPath`."""
        return cls(upath.fs, read_only, upath.path.rstrip("/"), allowed_exceptions)

    def __repr__(self) -> str:
        return f"<FsspecStore({type(self.fs).__name__}, {self.path})>"

    def __eq__(self, value: object) -> bool:
        return (
            isinstance(value, type(self))
            and self.path == value.path
            and self.read_only == value.read_only
            and self.fs == value.fs
        )

    __hash__ = None

    def __reduce__(self) -> Any:
        # A new store inside, which does not lead back to this one; its pickle hides credentials.
        inside = stores.FsspecStore(self.fs, self.path, read_only=self.read_only)
        return _fsspec, (type(self), inside, self.path, self.allowed_exceptions)


def _fsspec(
    kind: type[FsspecStore], inside: Any, path: str, allowed: tuple[type[Exception], ...]
) -> FsspecStore:
    return kind(inside.fs, inside.read_only, path, allowed)


class ObjectStore(ServedStore, Generic[T]):
    """A store of obstore.

    Parameters
    ----------
    store
        One of obstore's stores.
    read_only
        Refuse every change.
    """

    def __init__(self, store: Any, *, read_only: bool = False) -> None:
        if not hasattr(store, "__module__") or "obstore" not in type(store).__module__:
            raise TypeError(f"expected ObjectStore class, got {store!r}")
        self.store = store
        super().__init__(stores.ObjectStore(store, read_only=read_only), read_only=read_only)

    def __str__(self) -> str:
        return f"object_store://{self.store}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __eq__(self, value: object) -> bool:
        return (
            isinstance(value, ObjectStore)
            and self.read_only == value.read_only
            and bool(self.store == value.store)
        )

    __hash__ = None
