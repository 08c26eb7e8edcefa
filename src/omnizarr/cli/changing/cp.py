"""`omnizarr cp`: a node or a whole store to another place, byte for byte."""

from __future__ import annotations

from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import Any, Literal

import omnizarr
from omnizarr.cli import places, spots, urls
from omnizarr.cli.arguments import positive
from omnizarr.cli.changing import rm
from omnizarr.cli.changing.convert import options_of
from omnizarr.cli.output import Output, count, dim, size
from omnizarr.cli.places import Problem, StoredAt
from omnizarr.errors import NodeNotFoundError, NotListableError, OverlapError, ZarrError
from omnizarr.stores import Store

EXAMPLES = """\
examples:
  omnizarr cp data.zarr copy.zarr
  omnizarr cp data.zarr/stations other.zarr/stations
  omnizarr cp data.zarr/stations other.zarr/
  omnizarr cp s3://bucket/data.zarr local.zarr --storage-option region=eu-west-1 --dry-run

A DESTINATION that ends with / is a group that gets the node under its own name. Stored bytes are
copied as they are, metadata last: nothing half-copied opens. An interrupted copy goes on when the
same command is run again.
"""
INTERRUPTED = "interrupted; run the same command again to go on"
MARK = ".omnizarr-copy.json"
"""Stored at the destination until the copy is complete."""


def add_arguments(parser: Any) -> None:
    parser.set_defaults(in_place=False)
    parser.add_argument("source", metavar="SOURCE", help="an array, a group or a whole store")
    parser.add_argument("destination", metavar="DESTINATION", help="where the copy will be")
    add = parser.add_argument
    urls.add_option(parser)
    urls.add_option(
        parser, "--destination-option", "the same for the destination alone, if it needs other ones"
    )
    add("--overwrite", action="store_true", help="replace the node at the destination")
    add("--dry-run", action="store_true", help="show what would be copied, and do nothing")
    add("--workers", metavar="N", type=positive, help="how many portions are copied at once")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    given, destination_given = options_of(arguments)
    nearest, zarr_format = spots.at(arguments.source, given)
    source = spots.enclosing(nearest)
    target = destination(arguments.destination, source, destination_given)
    done = copy(
        source,
        target,
        zarr_format,
        overwrite=arguments.overwrite,
        dry_run=arguments.dry_run,
        progress=not (arguments.quiet or arguments.json),
        workers=arguments.workers,
    )
    show(done, source, target, arguments, out, "copied")
    return 0


def destination(path: str, source: StoredAt, given: places.Given) -> StoredAt:
    """Where a copy will be; with a slash at the end, below the group there."""
    found = spots.target(path.rstrip("/") if len(path) > 1 else path, given)
    if path.endswith("/") and not urls.is_url(path):
        name = spots.enclosing(source).path.rpartition("/")[2]
        if not name:
            raise Problem(f"{source}: a whole store has no name of its own", "name the destination")
        found = spots.below(found, name)
    return found


def copy(
    source: StoredAt, target: StoredAt, zarr_format: Any, *, overwrite: bool, dry_run: bool,
    progress: bool, workers: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Copy a node; the facts of what was done."""
    with ExitStack() as stack:
        here = stack.enter_context(source.open())
        check_listable(here, source)
        there: Store
        if dry_run:
            there = stack.enter_context(_for_looking(target))
        else:
            there = stack.enter_context(spots.writing(target))
        check_format(there, target, zarr_format)
        _check_free(there, target, overwrite)
        if overwrite:
            rm.check_own(there, target)
        mark = f"{target.path}/{MARK}" if target.path else MARK
        dialect = _dialect(here, source)
        if (source.path or target.path) and (dialect or str(zarr_format).startswith("3-draft")):
            return _converted(
                here, source, there, target, zarr_format, dialect, overwrite, dry_run, workers
            )
        is_new = not dry_run and there.get(mark) is None
        if not dry_run:
            there.set(mark, b"{}")
        try:
            done = omnizarr.sync(
                here, there, source.path, target.path, delete=overwrite, dry_run=dry_run,
                progress=progress, workers=workers,
            )  # fmt: skip
        except (OverlapError, NodeNotFoundError, NotListableError):
            if is_new:  # refused, so nothing was begun
                there.delete(mark)
            raise
        if not dry_run:
            there.delete(mark)
            _with_parents(there, target.path, zarr_format)
        stale = spots.stale(there, target.path)
        return {
            "keys": len(done.copied), "unchanged": done.unchanged, "deleted": len(done.deleted),
            "bytes": done.nbytes, "seconds": done.seconds, "dry_run": dry_run,
            "stale_consolidated": stale,
        }  # fmt: skip


def check_listable(store: Store, source: StoredAt) -> None:
    """Refuse a source that cannot be copied whole, before anything is written."""
    if not store.capabilities.listable:
        raise Problem(
            f"{source}: this server does not tell which values there are",
            "name the data by a URL that can be listed, such as s3://BUCKET/PATH",
        )


def _for_looking(target: StoredAt) -> Store:
    """The destination for a dry run, which must not make it."""
    try:
        return target.open()
    except (ZarrError, OSError):
        return omnizarr.MemoryStore()


def _dialect(store: Store, source: StoredAt) -> Literal["nczarr"] | None:
    """NCZarr, if the node is of it: the group around a node lists it."""
    node = spots.node_at(store, source.path)
    if not isinstance(node, omnizarr.Array | omnizarr.Group):
        return None
    names = (*node.metadata.to_dict(), *node.attrs)
    return "nczarr" if any(name.lower().startswith("_nczarr_") for name in names) else None


def _converted(
    here: Store, source: StoredAt, there: Store, target: StoredAt, zarr_format: Any,
    dialect: Literal["nczarr"] | None, overwrite: bool, dry_run: bool, workers: int | None,
) -> dict[str, Any]:  # fmt: skip
    """The copy by nodes, where the keys below a path are not all of a node."""
    with redirect_stdout(StringIO()):
        done = omnizarr.convert(
            here, there, zarr_format=zarr_format, dialect=dialect, path=source.path,
            destination_path=target.path, overwrite=overwrite, dry_run=dry_run, workers=workers,
        )  # fmt: skip
    rows = done.to_dict()["nodes"]
    return {
        "keys": sum(row["chunks"] or 0 for row in rows if isinstance(row["chunks"], int)),
        "unchanged": 0, "deleted": 0, "bytes": done.bytes_written, "seconds": done.seconds,
        "dry_run": dry_run, "stale_consolidated": spots.stale(there, target.path),
    }  # fmt: skip


def check_format(store: Store, target: StoredAt, zarr_format: Any) -> None:
    """A group shows members of its own format alone."""
    for above in reversed(spots.groups_above(target.path)):
        node = spots.node_at(store, above)
        if isinstance(node, omnizarr.Array):
            raise Problem(f"{target.shown}/{above}: it is an array, and nothing can be inside")
        if isinstance(node, omnizarr.Group):
            try:
                omnizarr.open_group(store, mode="r", path=above, zarr_format=zarr_format)
            except ZarrError as error:
                raise Problem(
                    f"{target}: the group there is of format {node.zarr_format},"
                    f" the source of format {zarr_format}",
                    f"omnizarr convert SOURCE {target} --to {node.zarr_format}",
                ) from error
            return


def _check_free(store: Store, target: StoredAt, overwrite: bool) -> None:
    """Refuse to replace anything but a node that may be replaced, or an unfinished copy."""
    prefix = f"{target.path}/" if target.path else ""
    if store.get(prefix + MARK) is not None:
        return
    if spots.node_at(store, target.path) is not None:
        if overwrite:
            return
        raise Problem(
            f"{target}: there is a node already", "--overwrite replaces it; or: omnizarr sync"
        )
    if next(iter(store.list_prefix(prefix)), None) is not None:
        raise Problem(f"{target}: other things are stored there", "name a new place")


def _with_parents(store: Store, path: str, zarr_format: Any) -> None:
    """The groups between the root and a new node."""
    above = path.rpartition("/")[0]
    if path and isinstance(spots.node_at(store, ""), omnizarr.Group) and above:
        omnizarr.open_group(store, mode="r+").require_group(above)
    elif path and spots.node_at(store, "") is None:
        omnizarr.open_group(store, mode="a", zarr_format=zarr_format).require_group(above or "/")


def show(
    done: dict[str, Any], source: StoredAt, target: StoredAt, arguments: Any, out: Output, verb: str
) -> None:
    """Print what was done, and what consolidated metadata it makes stale."""
    notes = spots.renewal(target, done["stale_consolidated"])
    if arguments.json:
        out.json({**done, "source": str(source), "destination": str(target)})
    elif not arguments.quiet:
        would = "would be " if done["dry_run"] else ""
        amount = f"{count(done['keys'], 'value')} ({size(done['bytes'])})"
        out.line(f"{source} → {target}: {amount} {would}{verb}")
        for note in notes:
            out.line(dim(f"the consolidated metadata there are out of date: {note}"))
