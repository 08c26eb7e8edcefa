"""A group as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr.conventions.netcdf.cdl import PrintedGroup, PrintedVariable, name, text, value
from omnizarr.model.dimensions import Dimension


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("a\n\"b\"\\", '"a\\n\\"b\\"\\\\"'),
        (3, "3"),
        (1 << 40, "1099511627776ll"),
        (True, "1ub"),
        (1.5, "1.5"),
        (2.0, "2."),
        (0.0, "0."),
        (1e300, "1e+300"),
        (1e-9, "1e-09"),
        (float("nan"), "NaN"),
        (np.float32("-inf"), "-Infinityf"),
        (np.float32(1.5), "1.5f"),
        (np.int16(-3), "-3s"),
        (np.array([1, 2], "u8"), "1ull, 2ull"),
        (["a", "b"], 'string "a", "b"'),
        ({"a": [1]}, "\"{'a': [1]}\""),
        (None, '"None"'),
        ([], ""),
    ],
)  # fmt: skip
def test_values(item: Any, expected: str) -> None:
    assert value(item) == expected


def test_names_are_escaped() -> None:
    assert name("a b/c") == "a\\ b\\/c"
    assert name("2m") == "\\2m"


def test_a_group() -> None:
    below = PrintedGroup("sub", (), (PrintedVariable("v", np.dtype("S3"), ("t",), {}),), {"k": 1})
    root = PrintedGroup(
        "root",
        (Dimension("t", 2, True), Dimension("x", 3)),
        (
            PrintedVariable("a", np.dtype(">i2"), ("t", "x"), {"units": "K"}),
            PrintedVariable("crs", np.dtype("S1"), (), {}),
            PrintedVariable("z", np.dtype("c8"), ("x",), {}),
        ),
        {},
        (below,),
    )
    assert (
        text(root)
        == """\
netcdf root {
dimensions:
    t = UNLIMITED ; // (2 currently)
    x = 3 ;
variables:
    short a(t, x) ;
        a:units = "K" ;
    char crs ;
    complex64 z(x) ;

group: sub {
    variables:
        string v(t) ;

    // group attributes:
        :k = 1 ;
    } // group sub
}"""
    )
