"""`omnizarr attrs`: read and change the attributes of a node."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import omnizarr
from omnizarr.cli import urls
from omnizarr.cli.output import Output, dim, plain, standard_error, yellow
from omnizarr.cli.places import Problem, StoredAt, every, find, near, opened
from omnizarr.errors import ZarrError

EXAMPLES = """\
examples:
  omnizarr attrs get data.zarr/temperature
  omnizarr attrs get data.zarr/temperature units
  omnizarr attrs set data.zarr/temperature units=K 'valid_range=[200, 330]' --dry-run
  omnizarr attrs rm data.zarr/temperature note history

A value is JSON (12, true, null, "12", [1, 2], {"a": 1}), else text. All that is set is set with one
write; a concurrent change of another attribute is not lost.
"""


def add_arguments(parser: Any) -> None:
    add = parser.add_argument
    add("action", choices=("get", "set", "rm"), help="what to do")
    add(
        "path",
        metavar="PATH",
        help="a folder, a .zip archive, a database, a URL, or a path into one",
    )
    add("names", metavar="NAME[=JSON]", nargs="*", help="names; with set NAME=JSON")
    urls.add_option(parser)
    add("--zarr-format", metavar="F", help="the node of this format where there are two")
    add("--dry-run", action="store_true", help="show what would change, and change nothing")


def run(arguments: Any, out: Output) -> int:
    values = _checked(arguments)
    given = arguments.path, None, arguments.zarr_format, arguments.storage_option
    if arguments.action == "get":
        with opened(*given) as (place, node):
            attributes = dict(node.attrs)
        _check_known(arguments.names, attributes, place)
        _get(arguments, attributes, place, out)
        return 0
    place, node = find(*given)
    try:
        attributes = dict(node.attrs)
        zarr_format = node.zarr_format
    finally:
        node.store.close()
    if arguments.action == "rm":
        _check_known(arguments.names, attributes, place)
    if not arguments.dry_run:
        _change(place, zarr_format, arguments.names, values)
    _report(arguments, attributes, values, place, out)
    if not arguments.dry_run:
        _warn_of_consolidated(arguments, place)
    return 0


def _checked(arguments: Any) -> dict[str, Any]:
    """The values to set; a Problem for what makes no sense."""
    if arguments.action == "get":
        if arguments.dry_run:
            raise Problem("attrs get changes nothing", "--dry-run goes with set and rm")
        return {}
    if not arguments.names:
        need = "NAME=JSON" if arguments.action == "set" else "NAME"
        raise Problem(
            f"attrs {arguments.action} needs at least one {need}",
            f"omnizarr attrs {arguments.action} {arguments.path} {need}",
        )
    return dict(map(_assignment, arguments.names)) if arguments.action == "set" else {}


def _assignment(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Problem(
            f"expected NAME=JSON, found {text!r}", f"omnizarr attrs set PATH {text}=VALUE"
        )
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
    except RecursionError:
        raise Problem(f"{name}: the value is nested too deeply") from None


def _check_known(names: list[str], attributes: dict[str, Any], place: StoredAt) -> None:
    for name in names:
        if name not in attributes:
            beside = near(name, list(attributes))
            known = f"it has {', '.join(list(attributes)[:8])}" if attributes else "it has none"
            raise Problem(
                f"{place}: no attribute {name!r}", f"did you mean {beside}?" if beside else known
            )


def _get(arguments: Any, attributes: dict[str, Any], place: StoredAt, out: Output) -> None:
    chosen = {name: attributes[name] for name in arguments.names} or attributes
    if arguments.json:
        out.json({"store": place.shown, "path": place.path, "attributes": chosen})
        return
    if len(arguments.names) == 1:  # the value alone, for scripts
        [value] = chosen.values()
        text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
        out.line(text)
        return
    for name, value in chosen.items():
        out.line(name, dim(" = "), json.dumps(plain(value), ensure_ascii=False))


def _change(place: StoredAt, zarr_format: Any, names: list[str], values: dict[str, Any]) -> None:
    with place.open("r+") as store:
        node = omnizarr.open(store, mode="r+", path=place.path, zarr_format=zarr_format)
        if values:
            node.attrs.update(values)
            return
        for name in dict.fromkeys(names):
            with suppress(KeyError):  # another process has deleted it
                del node.attrs[name]


def _warn_of_consolidated(arguments: Any, changed: StoredAt) -> None:
    """Say which groups above have consolidated metadata, from which others read the old values."""
    if urls.is_url(changed.file):
        return
    whole = every(arguments.path, options=arguments.storage_option)
    start = next((n for n, each in enumerate(whole) if each.file == changed.file), 0)
    for place in whole[start:]:
        try:
            with place.open() as store:
                if not isinstance(omnizarr.open(store, mode="r"), omnizarr.Group):
                    continue  # the array itself
                with suppress(ZarrError):
                    omnizarr.open_consolidated(store)
                    standard_error().line(
                        yellow(f"{place.shown}: its consolidated metadata is out of date now"),
                        "; omnizarr.consolidate_metadata renews it",
                    )
        except (ZarrError, OSError, Problem):
            return


def _report(
    arguments: Any, before: dict[str, Any], values: dict[str, Any], place: StoredAt, out: Output
) -> None:
    removed = [] if values else list(dict.fromkeys(arguments.names))
    if arguments.json:
        changed = {
            name: {"before": before.get(name), "after": value, "new": name not in before}
            for name, value in values.items()
        }
        where = {"store": place.shown, "path": place.path, "dry_run": arguments.dry_run}
        gone = {name: before[name] for name in removed}
        out.json({**where, "changed": changed, "removed": gone})
        return
    for name, value in values.items():
        old = f"{_json(before[name])} → " if name in before else "(new) "
        out.line(f"{name}: {old}{_json(value)}")
    for name in removed:
        out.line(f"{name}: {_json(before[name])} removed")
    if arguments.dry_run:
        out.line(dim("nothing was changed"))


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)
