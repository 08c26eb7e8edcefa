"""The seam between `check` and the rules of conventions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import omnizarr
from omnizarr.conventions import rules
from omnizarr.conventions.rules import NodeFacts, Nodes
from omnizarr.model.finding import Finding


@pytest.mark.parametrize(("zarr_format", "key"), [(2, "a/b/.zattrs"), (3, "a/b/zarr.json")])
def test_check_asks_every_rule_about_every_node(
    zarr_format: int, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = omnizarr.group(zarr_format=zarr_format)
    array = root.create_array(
        "a/b", shape=(2, 3), dtype="i2", dimension_names=("y", "x"), attributes={"units": "m"}
    )
    seen: dict[str, NodeFacts] = {}

    def rule(node: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
        seen[node.path] = node
        assert nodes[node.path] is node
        if "units" in node.attributes:
            yield node.at("a convention").error("units", "found some")

    monkeypatch.setattr(rules, "RULES", (rule,))
    report = omnizarr.check(root.store)
    assert [(found.path, found.key, found.reference) for found in report] == [
        ("a/b", key, "a convention, units")
    ]
    assert not report.ok
    assert list(seen) == ["", "a", "a/b"]
    assert seen[""].is_group and seen[""].children == ("a",)
    assert (seen["a/b"].shape, seen["a/b"].dtype) == (array.shape, array.dtype)
    assert seen["a/b"].dimension_names == ("y", "x")
