"""`Numcodec`: what a codec of numcodecs has."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeGuard

_METHODS = "encode", "decode", "get_config", "from_config"


class Numcodec(Protocol):
    """A codec with the interface of `numcodecs.abc.Codec`."""

    codec_id: str

    def encode(self, buf: Any) -> Any:
        """Encode data."""
        ...

    def decode(self, buf: Any, out: Any | None = None) -> Any:
        """Decode data, into `out` if it is given."""
        ...

    def get_config(self) -> Any:
        """Return the configuration, with the codec's name as "id"."""
        ...

    @classmethod
    def from_config(cls, config: Any) -> Self:
        """Make a codec of its configuration."""
        ...


def _is_numcodec_cls(obj: object) -> TypeGuard[type[Numcodec]]:
    return (
        isinstance(obj, type)
        and isinstance(getattr(obj, "codec_id", None), str)
        and all(callable(getattr(obj, name, None)) for name in _METHODS)
    )


def _is_numcodec(obj: object) -> TypeGuard[Numcodec]:
    return _is_numcodec_cls(type(obj))
