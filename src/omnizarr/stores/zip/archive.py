"""One ZIP archive: its members by key, appending to it, and writing it anew.

Members whose names are not keys (directories, "../x", "/x") can neither be seen nor reached; they
are kept when the archive is rewritten, and `unreachable` lists those that are no directories. Of
several members of one name the last counts. An archive that holds one folder, which holds a store,
has that folder as its root.

A replaced or removed member is left out of the next directory. Its bytes stay unused until they
are worth the time of writing the archive anew.

This module knows members. `records` knows the format, `content` compression, `file`
what happens in a crash. It must not know what a store promises: threads, modes, waiting values.
"""

from __future__ import annotations

import zlib
from typing import Any

from omnizarr.errors import StoreError
from omnizarr.model.paths import is_key
from omnizarr.model.store import Buffer
from omnizarr.stores.local.files import remove
from omnizarr.stores.zip import file as zip_file
from omnizarr.stores.zip.content import read_content
from omnizarr.stores.zip.file import ArchiveFile, DescriptorFile, ObjectFile
from omnizarr.stores.zip.records import (
    SEAL,
    Directory,
    Local,
    Member,
    data_start,
    directory_bytes,
    local_header,
    needs_zip64,
    new_entry,
    read_directory,
    read_local,
)

_CHEAP_TO_COPY = 64 << 20
_PIECE = 4 << 20

# A comment for the rare archive that would be taken for one that is rooted a folder down.
_ROOT_IS_HERE = b"The root of this store is the root of the archive."


class Archive:
    """The members of the archive at `path`, or in the file object `file`.

    create: begin an empty archive. It grows in a temporary and gets its name in `commit`, so
        that what has the name now stays until then. A file object is emptied at once.
    exclusive: never replace anything when a new archive gets its name.
    root: the folder that is the store; None finds it.
    """

    def __init__(
        self,
        path: str | None,
        file: Any = None,
        *,
        create: bool,
        exclusive: bool = False,
        root: str | None = None,
        wide: bool = True,
        fsync: bool = False,
    ) -> None:
        self.path = path
        self.members: dict[str, Member] = {}
        self.root = root.strip("/") + "/" if root and root.strip("/") else ""
        self._others: list[Member] = []
        self._comment = b""
        self._compares = True
        self._exclusive = exclusive
        self._wide = wide
        self._fsync = fsync
        self._starts: dict[str, int] = {}  # where a member's data begin, once known
        self._end = 0  # where the data end and the directory begins
        self._unused = 0
        self._overwritten = create  # is the file without a valid directory now?
        self._temporary: str | None = None
        self._unchecked: dict[int, list[Member]] = {}  # by the length of their names
        self._hidden: dict[str, Member] = {}  # keys that the directory has under a damaged name
        self._unreadable: dict[int, Member] = {}  # one without a header, by the length of its name
        self._loaded: Directory | None = None  # what the file must still hold when writing begins
        self._file: ArchiveFile
        if path is None:
            self._file = ObjectFile(file)
            if create:
                self._file.truncate(0)
        elif create:
            self._temporary, fresh = zip_file.create_beside(path)
            zip_file.exclude_writers(fresh, path)
            self._file = fresh
        else:
            self._file = zip_file.open_for_reading(path)
        if not create:
            try:
                self._load(root)
            except BaseException:
                self._file.close()
                raise

    # -- opening ------------------------------------------------------------------------------
    def _load(self, root: str | None) -> None:
        directory = self._loaded = self._directory()
        self._end = directory.start
        was_sealed = directory.comment.startswith(SEAL)
        self._comment = b"" if was_sealed else directory.comment
        self._compares = self._file.is_near or was_sealed
        if not directory.is_sealed:
            if len({entry.offset for entry in directory.entries}) < len(directory.entries):
                raise StoreError("corrupt ZIP archive: two members begin at one byte")
            for entry in directory.entries:
                self._unchecked.setdefault(len(entry.name), []).append(entry)
        names = [_key_of(entry) for entry in directory.entries]
        if root is None and directory.comment != _ROOT_IS_HERE:
            self.root = _common_root({name for name in names if name is not None})
        begin = len(self.root)
        for name, entry in zip(names, directory.entries, strict=True):
            if name is None or not name.startswith(self.root):
                self._others.append(entry)
            else:
                self.retire(name[begin:])
                self.members[name[begin:]] = entry

    def _directory(self) -> Directory:
        """The directory of the file, or the one that a rollback file says is the true one."""
        found = _directory_of(self._file)
        if self.path is not None and isinstance(self._file, DescriptorFile):
            saved = zip_file.read_rollback(self.path, self._file, found is not None)
            if saved is not None:
                self._file, found = zip_file.RolledBack(self._file, *saved), None
        return found or read_directory(self._file.read_at, self._file.size())

    def start_writing(self) -> None:
        """Keep other writers out, and undo what one of them left unfinished."""
        if self._loaded is None or self.path is None:
            return
        file = zip_file.open_for_writing(self.path)
        try:
            saved = zip_file.read_rollback(self.path, file, _directory_of(file) is not None)
            if saved is not None:
                start, tail = saved
                file.write_at(start, tail)
                file.truncate(start + len(tail))
                file.sync()
            zip_file.forget_rollback(self.path)
            if read_directory(file.read_at, file.size()) != self._loaded:
                raise StoreError("the archive was changed since it was opened; open it again")
        except BaseException:
            file.close()
            raise
        before, self._file, self._loaded = self._file, file, None
        before.close()

    # -- members ------------------------------------------------------------------------------
    def unreachable(self) -> list[str]:
        """The names of members that have a content and no key."""
        found = (entry for entry in self._others if _key_of(entry) is None)
        return [ascii(entry.name)[1:] for entry in found if not _is_folder(entry)]

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Buffer:
        entry = self.members[key]
        begin = self._starts.get(key)
        if begin is None:
            begin = self._starts[key] = data_start(self._file.read_at, entry, self._end)
        return read_content(self._file.read_at, entry, begin, start, stop)

    def check_missing(self, key: str) -> None:
        """Raise if the archive holds the member, but its directory has another name for it.

        Only headers of names of that length are read, each once: damage keeps the length, or the
        directory cannot be parsed. A directory with a valid checksum needs no such check.
        """
        if key in self.members:
            return
        length = len((self.root + key).encode())
        self._compare_names(length)
        if key in self._hidden:
            raise StoreError(
                f"corrupt ZIP archive: the directory has this member as {self._hidden[key].name!r}"
            )
        if length in self._unreadable:
            raise _unknown_name("the member is not in the directory", self._unreadable[length])

    def keys(self) -> set[str]:
        """All keys, also those that the directory has under a damaged name: reading one raises.

        An entry that leads to no member may have a damaged name, and nothing tells the right one:
        then the keys cannot be listed."""
        for length in list(self._unchecked):
            self._compare_names(length)
        for entry in self._unreadable.values():
            raise _unknown_name("its members cannot be listed", entry)
        return {*self.members, *self._hidden}

    def _compare_names(self, length: int) -> None:
        """Compare names of this length in the directory with those in front of the data."""
        if not self._compares:
            return  # a request for each
        begin = len(self.root)
        for entry in self._unchecked.get(length, ()):
            try:
                local = read_local(self._file.read_at, entry, self._end)
            except StoreError:
                self._unreadable[length] = entry
                continue
            name = None if local.name == entry.name else _key_of(local)
            if name is not None and name.startswith(self.root) and name[begin:] not in self.members:
                self._hidden[name[begin:]] = entry
        self._unchecked.pop(length, None)  # last: threads that read must not miss the result

    def append(self, key: str, data: bytes, packed: Buffer, method: int) -> None:
        """Write a member whose content is `data`, compressed by `method` to `packed`."""
        crc = zlib.crc32(data)
        entry = new_entry(self.root + key, method, crc, len(packed), len(data), self._end)
        header = local_header(entry)
        after = self._end + len(header) + len(packed)
        if not self._wide and needs_zip64(len(self.members) + len(self._others) + 1, after):
            raise StoreError("the archive would need ZIP64, which allowZip64=False forbids")
        self._before_overwriting()
        self._file.write_at(self._end, header)
        self._file.write_at(self._end + len(header), packed)
        self._end = after  # before the member counts: an interrupt must not leave it to be reused
        self._starts.pop(key, None)
        former = self.members.get(key)
        self.members[key] = entry  # in one step: an interrupt must not leave the key without one
        self._hidden.pop(key, None)
        self._count_unused(former)

    def retire(self, key: str) -> None:
        """Leave the member out of the next directory; its bytes stay, unused."""
        self._starts.pop(key, None)
        self._count_unused(self.members.pop(key, None))

    def _count_unused(self, entry: Member | None) -> None:
        if entry is not None:
            self._unused += len(local_header(entry)) + entry.compressed

    def _before_overwriting(self) -> None:
        if self._overwritten:
            return
        if self.path is not None and isinstance(self._file, DescriptorFile):
            zip_file.write_rollback(self.path, self._file, self._end)
        self._overwritten = True

    # -- becoming durable ---------------------------------------------------------------------
    def commit(self) -> None:
        """Write the directory: from now on the archive holds the present members."""
        if self.path is not None and self._is_worth_rewriting():
            self._rewrite(self.path)
            return
        self._before_overwriting()
        self._write_directory(self._file)
        if self.path is None or not isinstance(self._file, DescriptorFile):
            self._overwritten = False
            return
        if self._temporary is not None:
            self._publish(self._temporary, self._file, self.path)
        else:
            self._file.sync()
            self._overwritten = False  # first: after an interrupt the next append needs a rollback
            zip_file.forget_rollback(self.path)
        self._overwritten = False

    def _write_directory(self, file: ArchiveFile) -> None:
        entries = [*self._others, *self.members.values()]
        if not self.root and _common_root(set(self.members)):
            self._comment = self._comment or _ROOT_IS_HERE
        # A name that may be damaged must not get a checksum that says that it is not.
        doubtful = self._unchecked or self._hidden or self._unreadable
        comment = self._comment if self._comment or doubtful else None
        data = directory_bytes(entries, self._end, comment)
        file.write_at(self._end, data)
        file.truncate(self._end + len(data))

    def _is_worth_rewriting(self) -> bool:
        if not self._unused or (self._end > _CHEAP_TO_COPY and self._unused * 4 <= self._end):
            return False
        for length in list(self._unchecked):
            self._compare_names(length)
        return not self._hidden and not self._unreadable  # a copy would lack what has no name

    def _rewrite(self, path: str) -> None:
        """Copy the members into a new archive, without what is unused, and put it in place."""
        before = self._file, self._end, self._others, self.members, self._starts, self._comment
        temporary, file = zip_file.create_beside(path)
        try:
            zip_file.exclude_writers(file, path)
            end = 0
            others: list[Member] = []
            members: dict[str, Member] = {}
            starts: dict[str, int] = {}
            every = [*((None, entry) for entry in self._others), *self.members.items()]
            for key, entry in sorted(every, key=lambda item: item[1].offset):
                begin = data_start(self._file.read_at, entry, self._end)
                entry = entry._replace(offset=end)
                header = local_header(entry)
                file.write_at(end, header)
                end += len(header)
                if key is None:
                    others.append(entry)
                else:
                    members[key], starts[key] = entry, end
                for done in range(0, entry.compressed, _PIECE):
                    length = min(_PIECE, entry.compressed - done)
                    file.write_at(end + done, self._file.read_at(begin + done, length))
                end += entry.compressed
            self._file, self._end, self._others = file, end, others
            self.members, self._starts = members, starts
            self._write_directory(file)
            self._publish(temporary, file, path)
        except BaseException:
            self._file, self._end, self._others, self.members, self._starts, self._comment = before
            file.close()
            remove(temporary)
            raise
        before[0].close()
        self._unused = 0
        self._overwritten = False

    def _publish(self, temporary: str, file: DescriptorFile, path: str) -> None:
        if self._fsync:
            file.sync()
        exclusive = self._exclusive and self._temporary is not None
        zip_file.publish(temporary, path, exclusive=exclusive, fsync=self._fsync)
        if self._temporary is not None and self._temporary != temporary:
            remove(self._temporary)
        self._temporary = None

    def abandon(self) -> None:
        """Give up what was not committed; an existing archive is what it was."""
        if self._temporary is not None:
            remove(self._temporary)
            self._temporary = None

    def close(self) -> None:
        self._file.close()


def _directory_of(file: ArchiveFile) -> Directory | None:
    """The directory of a file; None if it is damaged."""
    try:
        return read_directory(file.read_at, file.size())
    except StoreError:
        return None  # not the error: its traceback would keep the store alive


def _unknown_name(what: str, entry: Member) -> StoreError:
    return StoreError(
        f"corrupt ZIP archive: {what}: no member begins at byte {entry.offset}, where the directory"
        f" has {entry.name!r}, which may be its damaged name"
    )


def _is_folder(entry: Member) -> bool:
    return entry.size == 0 and entry.name.endswith((b"/", b"\\"))


def _key_of(entry: Member | Local) -> str | None:
    """The key that a member's name means; None if it means none."""
    try:
        name = entry.name.decode()  # many writers use UTF-8 without saying so
    except UnicodeDecodeError:
        name = entry.name.decode("cp437")
    name = name.replace("\\", "/")
    while name.startswith("./"):
        name = name[2:]
    return name if is_key(name) else None


def _common_root(names: set[str]) -> str:
    """The only folder at the top if it holds a document at its own top, as "folder/", else ""."""
    top = ""
    holds_document = False
    for name in names:
        first, slash, rest = name.partition("/")
        if first in ("__MACOSX", ".DS_Store"):
            continue
        if not slash or (top and first != top):
            return ""
        top = first
        holds_document = holds_document or _is_document(rest)
    return f"{top}/" if holds_document else ""


def _is_document(name: str) -> bool:
    """Whether stores of any kind would have a document of that name at their top."""
    return name.startswith(".z") or name in ("zarr.json", "attributes.json", "meta")
