"""`omnizarr check`: every departure from the specification, with its section."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.output import Output, bold, dim, red, yellow
from omnizarr.cli.places import locate

EXAMPLES = """\
examples:
  omnizarr check data.zarr
  omnizarr check data.zarr/group --level error
  omnizarr check data.zarr --standard ogc --json

The exit status is 1 if an error is found, 0 otherwise.
"""
LEVELS = ("error", "warning", "dialect")
_STYLE = {"error": red, "warning": yellow, "dialect": dim}


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    parser.add_argument(
        "--standard", choices=("000", "003", "ogc"),
        help="for format 2: the community's document (000) or the OGC standard (003, ogc)",
    )  # fmt: skip
    parser.add_argument(
        "--level", choices=LEVELS, default="dialect",
        help="the mildest findings to report (default: dialect, that is, all)",
    )  # fmt: skip


def run(arguments: Any, out: Output) -> int:
    place = locate(arguments.path, arguments.node, arguments.storage_option)
    with place.open() as store:
        report = omnizarr.check(store, place.path, standard=arguments.standard)
    shown = LEVELS[: LEVELS.index(arguments.level) + 1]
    findings = [finding for finding in report if finding.level in shown]
    if arguments.json:
        document = dict(report.to_dict())
        kept = [item for item in document["findings"] if item["level"] in shown]
        out.json({**document, "store": place.shown, "findings": kept})
    else:
        show(findings, report, out)
    return 0 if report.ok else 1


def show(findings: list[Any], report: Any, out: Output) -> None:
    """As `str(report)` has it, in colours."""
    before: str | None = None
    for finding in findings:
        if finding.path != before:
            out.line(bold(f"/{finding.path}"))
            before = finding.path
        level = _STYLE[finding.level](finding.level.ljust(8))
        out.line("  ", level, f" {finding.key}: {finding.message}", dim(f" ({finding.reference})"))
    if findings:
        out.line()
    out.line(report.summary)
