"""How the tests of bad input look at an error."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from omnizarr import errors


def refusal(function: Callable[[], Any], *kinds: type[BaseException]) -> str:
    """The text of the error that `function` raises; it must be of our tree."""
    started = time.monotonic()
    with pytest.raises(errors.ZarrError) as caught:
        function()
    assert time.monotonic() - started < 5, "too slow"
    for kind in kinds:
        assert isinstance(caught.value, kind), f"{caught.value!r} is no {kind.__name__}"
    return str(caught.value)


def mentions(text: str, *words: str) -> None:
    for word in words:
        assert re.search(word, text), f"{word!r} is not in {text!r}"
