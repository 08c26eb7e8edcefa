"""Every command by its name: where it is, and what it does in one line.

The module of a command has `EXAMPLES`, `add_arguments(parser)` and `run(arguments, out)`, which
gives the exit status; `INTERRUPTED` where Ctrl-C needs more than one word. It is imported when the
command is called, so that no command makes another one slower.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command of the command line."""

    name: str
    folder: str
    help: str

    @property
    def module(self) -> Any:
        return import_module(f"omnizarr.cli.{self.folder}.{self.name}")


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "tree",
            "showing",
            "show every group and array: shape, type, chunks, format, codecs",
        ),
        Command("info", "showing", "show everything about one array or group"),
        Command("ls", "showing", "list the members of a group, or the keys of a store"),
        Command("meta", "showing", "show the stored metadata documents, or what they mean"),
        Command("attrs", "showing", "read, set and remove attributes"),
        Command("head", "showing", "show the first values of an array as a table"),
        Command("dump", "showing", "print a group as ncdump does: header and values"),
        Command("stats", "showing", "compute minimum, maximum, mean, counts and a histogram"),
        Command("chunks", "showing", "map the stored chunks by size; list them, or the missing"),
        Command("plot", "showing", "draw an array in the terminal or into a picture"),
        Command(
            "check",
            "checking",
            "report every departure from the specification of the format",
        ),
        Command("verify", "checking", "decode every stored chunk and list those that are damaged"),
        Command("convert", "changing", "convert a store from any format into any other"),
        Command("rechunk", "changing", "give the arrays of a store other chunks or shards"),
        Command("pyramid", "changing", "store an array at smaller and smaller resolutions"),
        Command("formats", "showing", "list the formats and stores, and what is missing for them"),
        Command("codecs", "showing", "list the codecs, and what is missing for them"),
        Command("browse", "serving", "show a store in the browser: tree, values, chunks"),
        Command("diff", "checking", "show in what two arrays, groups or stores differ"),
        Command("cp", "changing", "copy an array, a group or a whole store, byte for byte"),
        Command("mv", "changing", "give an array, a group or a store another path"),
        Command("rm", "changing", "delete an array, a group or a whole store"),
        Command("sync", "changing", "copy what differs to another store"),
        Command("zip", "changing", "pack a store into a .zip archive"),
        Command("unzip", "changing", "unpack a .zip archive into a folder"),
        Command("consolidate", "changing", "write all metadata of a group into one document"),
        Command("reencode", "changing", "write a store again with other codecs, or try some"),
        Command("migrate", "changing", "change format 2 to format 3 in place, chunks untouched"),
        Command("sweep", "checking", "remove what killed writers left"),
        Command("checksum", "checking", "compute digests of all stored values, or compare them"),
        Command("repair", "checking", "mend what check and verify find"),
        Command("bench", "checking", "measure how fast a store is read and written"),
        Command("completion", "shells", "print the script that completes commands in a shell"),
        Command("serve", "serving", "serve a store over HTTP, read-only, in any format"),
    )
}
