"""Everything that can go wrong, in one tree.

::

    ZarrError
    ├── MetadataError (ValueError)          a stored or given document cannot be honoured
    │   ├── UnknownExtensionError           it asks for something that is not known here
    │   │   ├── UnknownCodecError
    │   │   └── UnknownDataTypeError
    │   ├── UnsupportedError                understood, but not expressible here
    │   └── StaleHandleError                the node was replaced after it was opened
    ├── NodeNotFoundError (FileNotFoundError, KeyError, ValueError)
    │   ├── ArrayNotFoundError
    │   └── GroupNotFoundError
    │       └── FSPathExistNotDir           there is a file where a folder was expected
    ├── NodeTypeError (TypeError, ValueError)   an array where a group was asked for, or the reverse
    ├── NodeExistsError (FileExistsError, ValueError)   creation would replace something
    │   ├── ContainsArrayError
    │   ├── ContainsGroupError
    │   ├── ContainsArrayAndGroupError
    │   └── CopyError (RuntimeError)
    ├── CodecError (RuntimeError)           a codec could not encode or decode
    │   ├── DecodeError                     the stored bytes are not what the metadata promises
    │   │   └── ChecksumError
    │   └── EncodeError (ValueError)        a value that the codec cannot store
    ├── PickleCodecDisabledError            decoding would run code from the data
    ├── LimitError (MemoryError)            a cap of `omnizarr.limits` would be passed
    ├── ChunkNotFoundError (KeyError)       a chunk is missing and the caller asked to be told
    ├── StoreError (OSError)                the store failed; never the same as "missing"
    │   ├── ReadOnlyError (PermissionError)
    │   ├── StoreClosedError
    │   ├── StoreAccessError (PermissionError)   the service says that we may not
    │   ├── StoreTimeoutError (TimeoutError)     no whole answer before the deadline
    │   ├── HTTPStatusError                      any other answer than the one asked for
    │   ├── NotListableError                     its keys cannot be listed
    │   ├── NotAFileError                        a link that is not followed, a pipe, a device
    │   ├── ValueChangedError                    a value was replaced while it was read
    │   ├── ConflictError                        others kept changing what was to be changed
    │   ├── OverlapError (ValueError)            writing would delete the data that are written
    │   └── UncertainWriteError                  it is unknown whether it was written
    ├── MissingPackageError (ImportError)   an extra is needed; the message says which
    ├── WorkerError (RuntimeError)          the workers of a job died on a task, or went away
    ├── InvalidKeyError (ValueError)        a key or path that no store may see
    ├── ConfigError (KeyError, ValueError)  `omnizarr.config` does not know a name or value
    └── SelectionError (IndexError)         a selection that NumPy would refuse too
        ├── BoundsCheckError
        ├── InvalidIndexError (TypeError, ValueError)
        └── VindexInvalidSelectionError

    IgnoredArgumentWarning (UserWarning)    an argument has no effect on what is there already

A message names what was expected, what was found, where, and what to do next.
Lower layers do not know where they are; upper layers add it with `error.at(where)`.
What to do next is added with `error.advise(text, option)`, so that each front end can spell the
options as its users type them. `error.location` has store, key, path and chunk as fields,
`error.reason` the message without location and advice.

This module knows names only. It must not import anything of the package.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, Self


class ErrorLocation(NamedTuple):
    """Where an error arose. What is not known, or does not apply, is None.

    Examples
    --------
    >>> store = omnizarr.MemoryStore()
    >>> str(ErrorLocation.of(store, key="a/c/0", chunk=(0,)))
    "MemoryStore(<0 keys>), key 'a/c/0', chunk (0,)"
    """

    store: str | None = None
    """The repr of the store."""
    name: str | None = None
    """The path or URL of the store, without secrets."""
    path: str | None = None
    """The path of a node."""
    key: str | None = None
    """The key of a value."""
    chunk: tuple[int, ...] | None = None
    """The coordinates of a chunk."""

    @classmethod
    def of(
        cls,
        store: object,
        *,
        path: str | None = None,
        key: str | None = None,
        chunk: tuple[int, ...] | None = None,
    ) -> ErrorLocation:
        """Describe a location in a store.

        Parameters
        ----------
        store
            The store, whose public `path` or `url` becomes the name; neither holds secrets. None
            if it is not known yet.
        path
            The path of a node.
        key
            The key of a value.
        chunk
            The coordinates of a chunk.

        Returns
        -------
        ErrorLocation
            The location, with the repr of the store.
        """
        if store is None:
            return cls(path=path, key=key, chunk=chunk)
        names = (getattr(store, attribute, None) for attribute in ("path", "url"))
        name = next((name for name in names if isinstance(name, str)), None)
        return cls(repr(store), name, path, key, chunk)

    def __str__(self) -> str:
        parts = [] if self.store is None else [self.store]
        if self.path is not None:
            parts.append(f"path {'/' + self.path!r}")
        if self.key is not None:
            parts.append(f"key {self.key!r}")
        if self.chunk is not None:
            parts.append(f"chunk {self.chunk}")
        return ", ".join(parts)


Option = tuple[str, object]
"""An argument that helps: its name and its value."""


class ZarrError(Exception):
    """The root of every error that omnizarr raises on purpose.

    Examples
    --------
    >>> array = omnizarr.ones(2)
    >>> array.store["c/0"] = b"damaged"
    >>> try:
    ...     array[:]
    ... except omnizarr.errors.ZarrError as error:
    ...     error.location.key, error.reason, error.hint
    ('c/0', "codec 'zstd': no frame at byte 0: found 64616d61", None)
    """

    where: tuple[ErrorLocation | str, ...] = ()
    """What `at` was given, the outermost first."""
    advice: str = ""
    """What to do next, with ``{}`` in place of every option."""
    options: tuple[Option, ...] = ()
    """The options that help: name and value of each argument."""
    _reason: str | None = None
    of_parts: str = ""
    """Message of an error that is made of its parts, as in zarr-python, with a place for each."""

    def at(
        self,
        where: object = None,
        *,
        path: str | None = None,
        key: str | None = None,
        chunk: tuple[int, ...] | None = None,
    ) -> Self:
        """Say where the error arose: `raise error.at(store, key=key) from error`.

        A location without a store that the error has already is completed.

        Parameters
        ----------
        where
            A store, an `ErrorLocation`, or a text; None if the store is not known yet.
        path
            The path of a node in the store.
        key
            The key of a value in the store.
        chunk
            The coordinates of a chunk.

        Returns
        -------
        ZarrError
            A copy of the error with the location in front of its message.

        Examples
        --------
        >>> error = DecodeError("too short").at(key="c/0", chunk=(0,))
        >>> str(error)
        "key 'c/0', chunk (0,): too short"
        >>> error.location.key, error.reason
        ('c/0', 'too short')
        """
        if not isinstance(where, str | ErrorLocation):
            where = ErrorLocation.of(where, path=path, key=key, chunk=chunk)
        inner = self.where
        if isinstance(where, ErrorLocation) and inner and isinstance(inner[0], ErrorLocation):
            known = inner[0]
            if known.store is None and where.key is None and where.path is None:
                where = known._replace(store=where.store, name=where.name)
                inner = inner[1:]
        return self._with(where=(where, *inner))

    def advise(self, text: str, *options: Option) -> Self:
        """Say what to do next.

        Parameters
        ----------
        text
            The advice, with ``{}`` in place of every option.
        *options
            Name and value of each argument that helps.

        Returns
        -------
        ZarrError
            A copy of the error with the advice at the end of its message.

        Examples
        --------
        >>> error = NodeExistsError("a group is there")
        >>> error = error.advise("{} replaces it", ("overwrite", True))
        >>> str(error)
        'a group is there; overwrite=True replaces it'
        >>> error.options
        (('overwrite', True),)
        """
        return self._with(advice=text, options=options)

    def _with(self, **fields: object) -> Self:
        changed = type(self)(*self.args)  # `copy` asks what other libraries registered
        vars(changed).update({**vars(self), **fields, "_reason": self.reason})
        message = ": ".join([*map(str, changed.where), self.reason])
        changed.args = (message if changed.hint is None else f"{message}; {changed.hint}",)
        return changed

    @property
    def hint(self) -> str | None:
        """The advice with the options as Python spells them; None if there is none."""
        spelled = [f"{name}={value!r}" for name, value in self.options]
        return (self.advice.format(*spelled) if spelled else self.advice) or None

    @property
    def location(self) -> ErrorLocation | None:
        """The outermost location with fields."""
        return next((each for each in self.where if isinstance(each, ErrorLocation)), None)

    @property
    def reason(self) -> str:
        """The message without locations and advice."""
        return str(self) if self._reason is None else self._reason

    def __str__(self) -> str:
        # KeyError would print the repr of its argument.
        if self.of_parts and len(self.args) > 1:
            return self.of_parts.format(*self.args)
        return str(self.args[0]) if self.args else ""


class MetadataError(ZarrError, ValueError):
    """A metadata document, or an argument that would go into one, cannot be honoured."""


class UnknownExtensionError(MetadataError):
    """The metadata asks for an extension that must be understood and is not known here."""


class UnknownCodecError(UnknownExtensionError):
    """No codec of this name is installed."""


class UnknownDataTypeError(UnknownExtensionError):
    """No data type of this name is installed."""


Part = Literal[
    "groups",
    "attributes",
    "dimension_names",
    "fill_value",
    "codecs",
    "data_type",
    "shards",
    "chunks",
    "dimensions",
    "name",
]
"""The parts of a node that one format can express and another cannot."""


class UnsupportedError(MetadataError):
    """Understood, but it cannot be expressed or done here.

    Parameters
    ----------
    message
        What cannot be done, and why.
    what
        The part of the node that the format has no words for, where that is the reason.

    Examples
    --------
    >>> UnsupportedError("format 2 has no names of dimensions", what="dimension_names").what
    'dimension_names'
    """

    def __init__(self, message: str = "", what: Part | None = None) -> None:
        super().__init__(message)
        self.what = what


class ObstaclesError(UnsupportedError):
    """Several things stand in the way of a job; nothing was written.

    Examples
    --------
    >>> errors = [UnsupportedError("format 2 has no shards"), MetadataError("no shape")]
    >>> ObstaclesError.of(errors).errors == tuple(errors)
    True
    """

    errors: tuple[ZarrError, ...] = ()
    """What stands in the way, one error each."""

    @classmethod
    def of(cls, errors: Iterable[ZarrError]) -> Self:
        """The error that lists others.

        Parameters
        ----------
        errors
            What stands in the way.

        Returns
        -------
        ObstaclesError
            Its message has a line for each of them.

        Examples
        --------
        >>> print(ObstaclesError.of([MetadataError("no shape"), MetadataError("no type")]))
        2 obstacles, and nothing was written:
          1. no shape
          2. no type
        """
        found = tuple(errors)
        lines = [f"  {number}. {error}" for number, error in enumerate(found, 1)]
        made = cls("\n".join([f"{len(found)} obstacles, and nothing was written:", *lines]))
        made.errors = found
        return made


class StaleHandleError(MetadataError):
    """The array was replaced by one of another type, grid or codec after it was opened."""


class NodeNotFoundError(ZarrError, FileNotFoundError, KeyError, ValueError):
    """There is no array or group at this path."""


class ArrayNotFoundError(NodeNotFoundError):
    """There is no array at this path."""


class GroupNotFoundError(NodeNotFoundError):
    """There is no group at this path."""


class FSPathExistNotDir(GroupNotFoundError):
    """There is a file where the folder of a group was expected."""


class NodeTypeError(ZarrError, TypeError, ValueError):
    """There is a node of the other kind at this path."""


class NodeExistsError(ZarrError, FileExistsError, ValueError):
    """Creating this node would replace an existing one."""


class ContainsArrayError(NodeExistsError):
    """There is an array at this path already."""


class ContainsGroupError(NodeExistsError):
    """There is a group at this path already."""


class ContainsArrayAndGroupError(NodeExistsError):
    """There are the documents of an array and of a group at this path."""


class CopyError(NodeExistsError, RuntimeError):
    """A copy would replace something."""


class CodecError(ZarrError, RuntimeError):
    """A codec could not do its work."""


class DecodeError(CodecError):
    """The stored bytes are not what the metadata promises."""


class ChecksumError(DecodeError):
    """The stored bytes do not match their checksum: they were changed after writing."""


class EncodeError(CodecError, ValueError):
    """The given values cannot be encoded."""


class PickleCodecDisabledError(ZarrError, RuntimeError):
    """The data names the pickle codec, which runs code; `allow_pickle=True` says you trust it."""


class LimitError(ZarrError, MemoryError):
    """Going on would pass a cap of `omnizarr.limits`."""

    def __new__(cls, *args: object) -> Self:
        return Exception.__new__(cls, *args)  # Dask unpickles with it; MemoryError's refuses


class ChunkNotFoundError(ZarrError, KeyError):
    """A chunk is not stored, and `on_missing="raise"` was asked for."""


class StoreError(ZarrError, OSError):
    """The store failed. A missing key is not a failure and never raises this."""


class ReadOnlyError(StoreError, PermissionError):
    """The store, array or group was opened for reading only."""


class StoreClosedError(StoreError):
    """The store was closed before this call."""


class StoreAccessError(StoreError, PermissionError):
    """The service knows the request and refuses it: credentials are missing or do not suffice."""


class StoreTimeoutError(StoreError, TimeoutError):
    """The whole answer did not come before the deadline."""


class HTTPStatusError(StoreError):
    """A server answered with a status that is neither success nor "no such key".

    Parameters
    ----------
    message
        What was asked for, and the answer.
    status
        The status of the answer.

    Examples
    --------
    >>> HTTPStatusError("the server answered 500", status=500).status
    500
    """

    def __init__(self, message: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class NotListableError(StoreError):
    """The store cannot tell which keys it has."""


class NotAFileError(StoreError):
    """Something that is never read has the name of a value or directory: a symbolic link that is
    not followed, a pipe, a device. The store itself works."""


class ValueChangedError(StoreError):
    """A value was replaced between two reads of parts of it."""


class ConflictError(StoreError):
    """A value could not be updated, because others kept changing it."""


class OverlapError(StoreError, ValueError):
    """Source and destination overlap: writing would delete what is still to be read."""


class UncertainWriteError(StoreError):
    """The answer to a write was lost, and what is stored does not tell whether it was done: the
    value was changed by another writer since, or does not show who wrote it."""


class MissingPackageError(ZarrError, ImportError):
    """An optional package is needed here; the message says how to install it."""


class WorkerError(ZarrError, RuntimeError):
    """The workers of a job died on a task again and again, or went away."""


class InvalidKeyError(ZarrError, ValueError):
    """A key or node path that could leave the store, or that no store can hold."""


class ConfigError(ZarrError, KeyError, ValueError):
    """`omnizarr.config` has no such name, or the name cannot have this value."""


class IgnoredArgumentWarning(UserWarning):
    """An argument has no effect: what it describes exists already and differs from it."""


class SelectionError(ZarrError, IndexError):
    """The selection does not fit the array."""


class BoundsCheckError(SelectionError):
    """An index is outside the array."""


class InvalidIndexError(SelectionError, TypeError, ValueError):
    """A slice with step 0 or with bounds that are no integers, or a ragged list."""


class VindexInvalidSelectionError(SelectionError):
    """A coordinate selection needs one integer array (or integer) per dimension."""


class NegativeStepError(SelectionError):
    """A name of zarr-python. Slices may have negative steps here, so it is never raised."""


class ZarrUserWarning(UserWarning):
    """An array is not read as its document says, because no array can be so."""


class ZarrFutureWarning(FutureWarning):
    """A name of zarr-python."""


class UnstableSpecificationWarning(ZarrFutureWarning):
    """A name of zarr-python: what is stored is not specified yet."""


class ZarrDeprecationWarning(DeprecationWarning):
    """A name of zarr-python."""


class ZarrRuntimeWarning(RuntimeWarning):
    """A name of zarr-python."""


# Names that users of zarr-python catch.
BaseZarrError = ZarrError
MetadataValidationError = MetadataError
NodeTypeValidationError = MetadataError
DataTypeValidationError = MetadataError
BadCompressorError = MetadataError
ArrayIndexError = SelectionError
PathNotFoundError = NodeNotFoundError
