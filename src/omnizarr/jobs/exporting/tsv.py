"""A table as text whose values are separated by tabs: `csv` with another delimiter."""

from __future__ import annotations

from collections.abc import Iterator

from omnizarr.jobs.exporting import csv
from omnizarr.jobs.exporting.tables import Advance
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group

NAME = "tsv"
SUFFIXES = (".tsv", ".tab")
obstacles, units = csv.obstacles, csv.units


def write(node: Array | Group, file: str, advance: Advance, *, matrix: bool = False) -> None:
    """Write a new file. `matrix`: an array of two dimensions as lines of values alone."""
    csv.write(node, file, advance, delimiter="\t", matrix=matrix)


def differences(
    node: Array | Group, file: str, advance: Advance, *, matrix: bool = False
) -> Iterator[str]:
    """What reads back as something else."""
    return csv.differences(node, file, advance, delimiter="\t", matrix=matrix)
