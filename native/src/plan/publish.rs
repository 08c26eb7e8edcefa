//! Writing the files of chunks, each under its lock, so that a reader finds the old value or the new
//! one, whole, and a writer that reads a value to change it excludes all others.
//!
//! The protocol is that of the reference code (`docs/design/002`): the lock is a file beside the value,
//! locked with `flock`, that still has its name. The value is written into it, and it is renamed to
//! the value's name, which ends the lock. Whatever is unusual, a lock that is held among it, is left to
//! the caller, with nothing changed.

use super::Keys;
use super::files::{Absent, NO_SYMLINKS, SEARCH, create, open, open_in};
use crate::codecs::{Room, Sink};
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

const LOCK: i32 =
    libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
/// Longer names have locks that are named otherwise.
const LONGEST_NAME: usize = 50;

/// Writes the files of chunks, one after the other, in one thread.
pub struct Publisher<'a> {
    /// The path of the store and the prefix of the chunks.
    root: &'a [u8],
    keys: &'a Keys,
    path: Vec<u8>,
    /// The directory of the file before: its path, and the directory if there is one.
    directory: Vec<u8>,
    folder: Option<OwnedFd>,
    /// It is in a file system that tells of every failed write at once.
    local: bool,
    /// What is written next.
    written: Vec<u8>,
}

impl<'a> Publisher<'a> {
    /// Files beneath `root`, which is a path without links.
    pub fn new(root: &'a [u8], keys: &'a Keys) -> Publisher<'a> {
        Publisher {
            root,
            keys,
            path: Vec::new(),
            directory: Vec::new(),
            folder: None,
            local: false,
            written: Vec::new(),
        }
    }

    /// Go to a chunk: where the name of its file begins in `path`.
    fn enter(&mut self, coordinates: &[usize]) -> Option<usize> {
        self.path.clear();
        self.path.extend_from_slice(self.root);
        self.keys.write(coordinates, &mut self.path);
        let split = self.path.iter().rposition(|&byte| byte == b'/')?;
        if self.path[..split] != self.directory[..] {
            self.directory.clear();
            self.directory.extend_from_slice(&self.path[..split]);
            (self.folder, self.local) = (None, false);
        }
        (self.path.len() - split - 1 <= LONGEST_NAME).then_some(split + 1)
    }

    /// Whether nothing has the name of a chunk.
    pub fn is_absent(&mut self, coordinates: &[usize]) -> bool {
        let Some(begin) = self.enter(coordinates) else {
            return false;
        };
        if self.folder.is_none() {
            match open(libc::AT_FDCWD, &self.directory, SEARCH, NO_SYMLINKS) {
                Ok(folder) => self.folder = Some(folder),
                Err(error) => return error == libc::ENOENT,
            }
        }
        let (Some(folder), Ok(name)) = (&self.folder, CString::new(&self.path[begin..])) else {
            return false;
        };
        matches!(status(folder.as_raw_fd(), &name), Err(libc::ENOENT))
    }

    /// Store what `fill` gives for a chunk: how many bytes; None if that is left to the caller, and the
    /// value is as it was.
    pub fn publish(
        &mut self,
        coordinates: &[usize],
        fill: impl FnOnce(&mut Written<'_>) -> Option<()>,
    ) -> Option<usize> {
        let begin = self.enter(coordinates)?;
        let name = CString::new(&self.path[begin..]).ok()?;
        let beside = [b".~", name.to_bytes(), b".lock"].concat();
        let lock_path = CString::new([&self.path[..begin], &beside].concat()).ok()?;
        let beside = CString::new(beside).ok()?;
        if self.folder.is_none() {
            let folder = self.open_directory()?;
            self.local = is_local(&folder);
            self.folder = Some(folder);
        }
        let folder = self.folder.as_ref()?.as_raw_fd();
        let Ok(file) = create(folder, &beside, LOCK) else {
            self.folder = None; // it may be gone
            return None;
        };
        let lock = Lock {
            folder,
            name: &beside,
            file,
            local: self.local,
        };
        let count = lock.publish(&lock_path, &name, &mut self.written, fill);
        if count.is_none() {
            self.folder = None;
        }
        count
    }

    /// The directory of the chunk, which is made where it is missing.
    fn open_directory(&self) -> Option<OwnedFd> {
        let mut end = self.directory.len();
        let mut missing = Vec::new();
        let mut folder = loop {
            match open(libc::AT_FDCWD, &self.directory[..end], SEARCH, NO_SYMLINKS) {
                Ok(folder) => break folder,
                Err(libc::ENOENT) => {
                    let split = self.directory[..end]
                        .iter()
                        .rposition(|&byte| byte == b'/')?;
                    // The directory of the array is not made here.
                    if split < self.root.len().checked_sub(1)? {
                        return None;
                    }
                    missing.push(&self.directory[split + 1..end]);
                    end = split;
                }
                Err(_) => return None,
            }
        };
        while let Some(name) = missing.pop() {
            let path = CString::new(name).ok()?;
            // SAFETY: an open directory, and a name that ends with 0.
            unsafe { libc::mkdirat(folder.as_raw_fd(), path.as_ptr(), 0o777) };
            // Another process may have made it: what counts is that it is there now.
            folder = open(folder.as_raw_fd(), name, SEARCH, NO_SYMLINKS).ok()?;
        }
        Some(folder)
    }
}

/// The file of a lock, which may or may not be held.
struct Lock<'a> {
    folder: RawFd,
    name: &'a CStr,
    file: OwnedFd,
    local: bool,
}

impl Lock<'_> {
    /// Take the lock, write, rename: how many bytes were written. Without success nothing of the lock
    /// remains, unless another process holds it.
    fn publish(
        self,
        path: &CStr,
        name: &CStr,
        memory: &mut Vec<u8>,
        fill: impl FnOnce(&mut Written<'_>) -> Option<()>,
    ) -> Option<usize> {
        let file = self.file.as_raw_fd();
        // SAFETY: an open file.
        if unsafe { libc::flock(file, libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return None;
        }
        let Some(here) = self.held(path) else {
            self.unlock();
            return None;
        };
        // What a killed writer left.
        let emptied = match here.st_size {
            0 => Some(()),
            _ => empty(&self.file),
        };
        let written = emptied.and_then(|()| self.write(name, memory, fill));
        if written.is_none() || !self.rename(name) {
            self.release();
            return None;
        }
        self.unlock();
        written
    }

    /// The status of the locked file, if the path names it and it is an ordinary one: then no other
    /// process has the lock.
    fn held(&self, path: &CStr) -> Option<libc::stat> {
        let (there, here) = (status(libc::AT_FDCWD, path).ok()?, fstat(&self.file)?);
        let regular = here.st_mode & libc::S_IFMT == libc::S_IFREG;
        (is_same(&there, &here) && regular && here.st_nlink == 1).then_some(here)
    }

    fn write(
        &self,
        name: &CStr,
        memory: &mut Vec<u8>,
        fill: impl FnOnce(&mut Written<'_>) -> Option<()>,
    ) -> Option<usize> {
        let mut written = Written {
            folder: self.folder,
            name,
            file: &self.file,
            memory,
            count: 0,
        };
        fill(&mut written)?;
        let count = written.count;
        if self.local {
            return Some(count);
        }
        let file = self.file.as_raw_fd();
        // A network file system tells of failed writes only when a descriptor is closed.
        // SAFETY: a descriptor of our own.
        let closed = unsafe {
            let copy = libc::dup(file);
            copy >= 0 && libc::close(copy) == 0
        };
        closed.then_some(count)
    }

    fn rename(&self, name: &CStr) -> bool {
        let (folder, own) = (self.folder, self.name.as_ptr());
        // SAFETY: an open directory, and names that end with 0.
        unsafe { libc::renameat(folder, own, folder, name.as_ptr()) == 0 }
    }

    /// Remove the file, if it is still this one, and end the lock.
    fn release(&self) {
        if let (Ok(there), Some(here)) = (status(self.folder, self.name), fstat(&self.file))
            && is_same(&there, &here)
        {
            // SAFETY: an open directory, and a name that ends with 0.
            unsafe { libc::unlinkat(self.folder, self.name.as_ptr(), 0) };
        }
        self.unlock();
    }

    /// A child that was forked meanwhile shares the file: closing it is not enough.
    fn unlock(&self) {
        // SAFETY: an open file.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }
}

/// A new file, and memory for what goes there next.
pub struct Written<'a> {
    /// Where the value is that it replaces.
    folder: RawFd,
    name: &'a CStr,
    file: &'a OwnedFd,
    memory: &'a mut Vec<u8>,
    /// How many bytes were written.
    count: usize,
}

impl Written<'_> {
    /// The value until now, from the directory of the lock, whatever has its path meanwhile;
    /// Some(None) if there is none.
    pub fn old(&self) -> Option<Option<OwnedFd>> {
        match open_in(self.folder, self.name.to_bytes()) {
            Ok(file) => Some(Some(file)),
            Err(Absent::Missing) => Some(None),
            Err(Absent::Unusual) => None,
        }
    }
}

impl Sink for Written<'_> {
    fn room(&mut self, most: usize) -> Option<Room> {
        self.memory.clear();
        self.memory.try_reserve(most).ok()?;
        // SAFETY: reserved.
        Some(unsafe { Room::new(self.memory.as_mut_ptr(), most) })
    }

    unsafe fn took(&mut self, count: usize) -> Option<()> {
        // SAFETY: reserved by `room`, and written, as the caller promises.
        unsafe { self.memory.set_len(count) };
        let memory = std::mem::take(self.memory);
        let done = self.put(&memory);
        *self.memory = memory;
        done
    }

    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.count += bytes.len();
        write_all(bytes, |rest, size| {
            // SAFETY: an open file, and bytes that are there.
            unsafe { libc::write(self.file.as_raw_fd(), rest.cast(), size) }
        })
    }

    fn rewrite(&mut self, bytes: &[u8]) -> Option<()> {
        let mut place = 0;
        write_all(bytes, |rest, size| {
            // SAFETY: an open file, and bytes that are there.
            let done = unsafe { libc::pwrite(self.file.as_raw_fd(), rest.cast(), size, place) };
            place += done.max(0) as libc::off_t;
            done
        })
    }

    fn restart(&mut self) -> Option<()> {
        self.count = 0;
        empty(self.file)
    }
}

/// Call until all bytes are written.
fn write_all(bytes: &[u8], mut write: impl FnMut(*const u8, usize) -> isize) -> Option<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match usize::try_from(write(rest.as_ptr(), rest.len().min(1 << 30))) {
            Ok(done) if done > 0 => rest = rest.get(done..)?,
            _ if interrupted() => {}
            _ => return None,
        }
    }
    Some(())
}

/// Remove all content, and go to the beginning.
fn empty(file: &OwnedFd) -> Option<()> {
    let file = file.as_raw_fd();
    // SAFETY: an open file.
    let done =
        unsafe { libc::ftruncate(file, 0) == 0 && libc::lseek(file, 0, libc::SEEK_SET) == 0 };
    done.then_some(())
}

/// Whether closing a file of this directory does nothing that can fail.
fn is_local(folder: &OwnedFd) -> bool {
    // SAFETY: plain numbers, all of which may be 0.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: an open directory, and room for the facts of its file system.
    let answer = unsafe { libc::fstatfs(folder.as_raw_fd(), &mut found) };
    let kinds = [
        libc::EXT4_SUPER_MAGIC,
        libc::XFS_SUPER_MAGIC,
        libc::BTRFS_SUPER_MAGIC,
        libc::TMPFS_MAGIC,
    ];
    answer == 0 && kinds.contains(&found.f_type)
}

fn interrupted() -> bool {
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
}

fn is_same(one: &libc::stat, other: &libc::stat) -> bool {
    one.st_ino == other.st_ino && one.st_dev == other.st_dev && other.st_nlink > 0
}

fn fstat(file: &OwnedFd) -> Option<libc::stat> {
    // SAFETY: plain numbers, all of which may be 0.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: an open file, and room for its status.
    (unsafe { libc::fstat(file.as_raw_fd(), &mut found) } == 0).then_some(found)
}

/// The status of what has a name, be it a link; or the number of the error.
fn status(folder: RawFd, name: &CStr) -> Result<libc::stat, i32> {
    // SAFETY: plain numbers, all of which may be 0.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: a path that ends with 0, and room for the status.
    match unsafe { libc::fstatat(folder, name.as_ptr(), &mut found, flags) } {
        0 => Ok(found),
        _ => Err(std::io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO)),
    }
}
