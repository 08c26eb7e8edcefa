"""`omnizarr repair`: what `check` and `verify` find and can be mended."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.output import Output, count, dim, green, yellow
from omnizarr.cli.places import Problem, StoredAt, locate
from omnizarr.cli.problems import told
from omnizarr.errors import ZarrError

EXAMPLES = """\
examples:
  omnizarr repair data.zarr
  omnizarr repair data.zarr --apply
  omnizarr repair data.zarr --from backup.zarr --apply
  omnizarr repair data.zarr --no-decode

It shows what would be done; --apply does it: what killed writers left is removed, consolidated
metadata that are out of date are written again, and with --from damaged chunks are replaced by
those of a sound copy. The exit status is 1 if something remains.
"""
INTERRUPTED = "interrupted; what was mended stays mended: run the same command again"


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    add = parser.add_argument
    add("--from", dest="copy", metavar="COPY", help="a sound copy, to take damaged chunks from")
    add("--no-decode", action="store_true", help="look at metadata and names alone")
    add("--apply", action="store_true", help="do it")
    add("--quiet", action="store_true", help="print nothing when nothing is wrong")


def run(arguments: Any, out: Output) -> int:
    place = locate(arguments.path, arguments.node, arguments.storage_option)
    sound = locate(arguments.copy, options=arguments.storage_option) if arguments.copy else None
    steps: list[dict[str, Any]] = []
    with place.open("r+" if arguments.apply else "r") as store:
        steps += _leftovers(store, arguments.apply)
        steps += _consolidated(store, place, arguments.apply)
        if not arguments.no_decode:
            steps += _chunks(store, place, sound, arguments)
        chunks = {step["key"] for step in steps}
        steps += [step for step in _rest(store, place) if step["key"] not in chunks]
    left = [step for step in steps if not step["done"] and not step["can_be_done"]]
    open_steps = [step for step in steps if not step["done"]]
    if arguments.json:
        out.json({
            "store": place.shown, "path": place.path, "applied": arguments.apply, "steps": steps,
            "ok": not open_steps,
        })  # fmt: skip
    elif steps or not arguments.quiet:
        for step in steps:
            word = green("mended  ") if step["done"] else _word(step)
            out.line(word, f" {step['what']}")
            if step["hint"] and not step["done"]:
                out.line(dim(f"          {step['hint']}"))
        can = len(open_steps) - len(left)
        if not steps:
            out.line(f"{place}: nothing to mend")
        elif can:
            out.line(f"{count(can, 'thing')} can be mended: --apply does it")
    return 1 if open_steps else 0


def _word(step: dict[str, Any]) -> Any:
    return yellow("can mend") if step["can_be_done"] else yellow("remains ")


def _step(
    what: str, *, done: bool, can: bool = True, hint: str = "", key: str | None = None
) -> dict[str, Any]:
    return {"what": what, "done": done, "can_be_done": can, "hint": hint, "key": key}


def _leftovers(store: Any, apply: bool) -> list[dict[str, Any]]:
    try:
        found = omnizarr.sweep(store, apply=apply)
    except ZarrError:
        return []  # a store that cannot be listed
    steps = []
    if found.leftovers:
        steps.append(
            _step(f"{count(len(found.leftovers), 'leftover')} of killed writers", done=apply)
        )
    for job in found.jobs:
        what = f"an unfinished job ({job.job}) writes to /{job.path}"
        hint = "run the same command again to finish it; omnizarr sweep --unfinished gives it up"
        steps.append(_step(what, done=False, can=False, hint=hint))
    return steps


def _consolidated(store: Any, place: StoredAt, apply: bool) -> list[dict[str, Any]]:
    """Groups whose consolidated metadata do not agree with their nodes."""
    steps = []
    for path in _groups(store, place.path):
        try:
            listed = omnizarr.open_group(store, mode="r", path=path, use_consolidated=True)
        except (ZarrError, ValueError):
            continue
        try:
            told = _documents(listed)
        except ZarrError:
            told = None
        real = _documents(
            omnizarr.open_group(store, mode="r", path=path, use_consolidated=False)
        )  # fmt: skip
        if told != real:
            if apply:
                omnizarr.consolidate_metadata(store, path)
            steps.append(_step(f"/{path}: consolidated metadata are out of date", done=apply))
    return steps


def _groups(store: Any, path: str) -> list[str]:
    try:
        node = omnizarr.open(store, mode="r", path=path, use_consolidated=False)
    except (ZarrError, TypeError):
        return []
    if isinstance(node, omnizarr.Array):
        return []
    try:
        members = list(node.members(max_depth=None))
    except ZarrError:
        return []
    below = [name for name, one in members if isinstance(one, omnizarr.Group)]
    return [path, *(f"{path}/{name}" if path else name for name in below)]


def _documents(group: Any) -> dict[str, Any]:
    found = {}
    for name, node in group.members(max_depth=None):
        document = dict(node.metadata.to_dict())
        document.pop("consolidated_metadata", None)
        found[name] = (repr(document), repr(dict(node.attrs)))
    return found


def _chunks(
    store: Any, place: StoredAt, sound: StoredAt | None, arguments: Any
) -> list[dict[str, Any]]:
    """Chunks that cannot be decoded, which a sound copy may have."""
    report = omnizarr.verify(
        store, place.path, progress=not (arguments.quiet or arguments.json)
    )  # fmt: skip
    steps = []
    for bad in report.bad_chunks:
        what = f"/{bad.path}: damaged chunk {bad.coordinates}, key {bad.key!r}"
        if sound is None:
            hint = (
                "--from COPY takes it from a sound copy;"
                f" omnizarr convert {place} NEW --on-damage fill rescues the rest"
            )
            steps.append(_step(what, done=False, can=False, hint=hint, key=bad.key))
            continue
        try:
            _mend(store, place, sound, bad, arguments.apply)
        except (ZarrError, Problem) as error:
            hint = f"{sound}: {told(error)}"
            steps.append(_step(what, done=False, can=False, hint=hint, key=bad.key))
        else:
            steps.append(_step(f"{what}, from {sound}", done=arguments.apply, key=bad.key))
    return steps


def _mend(store: Any, place: StoredAt, sound: StoredAt, bad: Any, apply: bool) -> None:
    """Replace a chunk by that of the copy."""
    inner = _below(place.path, bad.path)
    with sound.open() as other:
        theirs = omnizarr.open_array(other, mode="r", path=f"{sound.path}/{inner}".strip("/"))
        ours = omnizarr.open_array(store, mode="r+" if apply else "r", path=bad.path)
        if (ours.shape, ours.dtype, ours.chunks, ours.shards) != (
            theirs.shape, theirs.dtype, theirs.chunks, theirs.shards,
        ):  # fmt: skip
            raise Problem("the array there has another shape, type or chunks")
        region = _region(ours, bad.coordinates, bad.inner)
        values = theirs[region]
        if apply:
            ours[region] = values


def _region(array: Any, place: tuple[int, ...], inner: tuple[int, ...] | None) -> tuple[slice, ...]:
    """Where a stored value is in the array; of a shard, the inner chunk alone that is damaged:
    the others may be newer than those of the copy."""
    found = []
    for axis, (at, total) in enumerate(zip(place, array.shape, strict=True)):
        length = (array.shards or array.chunks)[axis]
        start = sum(length[:at]) if isinstance(length, tuple) else at * length
        width = length[at] if isinstance(length, tuple) else length
        if inner is not None:
            width = array.chunks[axis]
            start += inner[axis] * width
        found.append(slice(start, min(start + width, total)))
    return tuple(found)


def _below(path: str, whole: str) -> str:
    return whole[len(path) :].strip("/") if path and whole.startswith(path) else whole


def _rest(store: Any, place: StoredAt) -> list[dict[str, Any]]:
    """Errors that a person must look at."""
    try:
        report = omnizarr.check(store, place.path)
    except ZarrError:
        return []
    return [
        _step(
            f"/{finding.path}: {finding.key}: {finding.message}", done=False, can=False,
            hint="correct the document with an editor, and run omnizarr check", key=finding.key,
        )
        for finding in report
        if finding.level == "error" and "consolidated" not in finding.message
    ]  # fmt: skip
