"""One chain for all handles of the same array.

Preparing the codecs is half of what opening an array costs. A chain has no state, so those who hold
the same facts share it: it is kept beside them. It is made anew under other limits, with or without
the native core, and when a codec was registered. Codecs of other packages are never shared: what
numcodecs and zarr-python mean by a name can change at any time.

This module knows when a chain may be used again. It must not know what a codec does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from omnizarr import limits
from omnizarr.codecs.chains import Chain
from omnizarr.codecs.registry import BUILT_IN, option_specs, registered
from omnizarr.model.codec import CodecSpec
from omnizarr.runtime import native_core


def shared(
    kept: dict[Any, Any], name: object, specs: Sequence[CodecSpec], build: Callable[[], Chain]
) -> Chain:
    """The chain that `kept` has under this name, or the one that `build` makes of the codecs."""
    found = known(kept, name)
    if found is not None:
        return found
    state = _state()
    made = build()
    if _are_built_in(specs, {name for name, _ in registered()}):
        kept[name] = state, made
    return made


def known(kept: dict[Any, Any], name: object) -> Chain | None:
    """The chain that `kept` has under this name, if it may still be used."""
    found = kept.get(name)
    return found[1] if found is not None and found[0] == _state() else None


def _state() -> tuple[Any, ...]:
    """What a chain depends on beyond its codecs."""
    return limits.current, registered(), native_core.core()


def _are_built_in(specs: Sequence[CodecSpec], replaced: set[str]) -> bool:
    """Whether these codecs, and those inside them, are omnizarr's own."""
    return all(
        spec.name in BUILT_IN
        and spec.name not in replaced
        and all(
            _are_built_in(option_specs(spec, inner) or (), replaced)
            for inner in ("codecs", "index_codecs")
        )
        for spec in specs
    )
