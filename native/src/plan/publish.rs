//! Writing the files of chunks, so that a reader finds the old value or the new one, whole, and a
//! writer that reads a value to change it loses none that another stores meanwhile.
//!
//! The protocol is that of the reference code (`docs/design/002`): a value is replaced under its lock,
//! a file beside it that becomes the value (`lock`). A value that is absent needs no lock: a file
//! without a name gets the value's, if that is still free (`nameless`). Whatever is unusual, a lock
//! that is held among it, is left to the caller, with nothing changed.

mod lock;
mod nameless;
mod written;

use super::Keys;
use super::files::{NO_SYMLINKS, SEARCH, create, open};
use lock::Lock;
use nameless::Named;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
pub use written::Written;
use written::{fstat, is_same, status};

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
    folder: Option<Folder>,
    /// Whether the next value of the directory is likely to be absent; None: not known.
    absent: Option<bool>,
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
            absent: None,
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
            (self.folder, self.absent) = (None, None);
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
                Ok(file) => self.folder = Folder::new(file),
                Err(error) => return error == libc::ENOENT,
            }
        }
        let (Some(folder), Ok(name)) = (&self.folder, CString::new(&self.path[begin..])) else {
            return false;
        };
        is_free(folder.file.as_raw_fd(), &name)
    }

    /// Store what `fill` gives for a chunk: how many bytes; None if that is left to the caller, and the
    /// value is as it was. `fill` may ask for the value until now; where another one comes meanwhile,
    /// it is called again, or the chunk is left.
    pub fn publish(
        &mut self,
        coordinates: &[usize],
        mut fill: impl FnMut(&mut Written<'_>) -> Option<()>,
    ) -> Option<usize> {
        let begin = self.enter(coordinates)?;
        self.open_folder()?;
        match self.publish_new(begin, &mut fill) {
            Named::Done(count) => return Some(count),
            Named::Taken | Named::Unable => self.absent = Some(false),
            Named::Left => {
                (self.folder, self.absent) = (None, None);
                return None;
            }
        }
        self.replace(begin, &mut fill)
    }

    /// Store a value that is absent.
    fn publish_new(
        &mut self,
        begin: usize,
        fill: &mut dyn FnMut(&mut Written<'_>) -> Option<()>,
    ) -> Named {
        let (Some(folder), Ok(name)) = (&self.folder, CString::new(&self.path[begin..])) else {
            return Named::Left;
        };
        let file = folder.file.as_raw_fd();
        // What was true of the last value is likely to be true of the next.
        let absent = *self
            .absent
            .get_or_insert_with(|| folder.local && is_free(file, &name));
        if !absent {
            return Named::Unable;
        }
        let directory = &self.directory;
        let is_there = || folder.is_at(directory);
        nameless::publish(file, &name, &mut self.written, fill, is_there)
    }

    /// Store a value under its lock.
    fn replace(
        &mut self,
        begin: usize,
        fill: &mut dyn FnMut(&mut Written<'_>) -> Option<()>,
    ) -> Option<usize> {
        let folder = self.folder.as_ref()?;
        let name = CString::new(&self.path[begin..]).ok()?;
        let beside = [b".~", name.to_bytes(), b".lock"].concat();
        let lock_path = CString::new([&self.path[..begin], &beside].concat()).ok()?;
        let beside = CString::new(beside).ok()?;
        let Ok(file) = create(folder.file.as_raw_fd(), &beside, LOCK) else {
            (self.folder, self.absent) = (None, None); // it may be gone
            return None;
        };
        let lock = Lock {
            folder: folder.file.as_raw_fd(),
            name: &beside,
            file,
            local: folder.local,
        };
        let count = lock.publish(&lock_path, &name, &mut self.written, fill);
        if count.is_none() {
            (self.folder, self.absent) = (None, None);
        }
        count
    }

    fn open_folder(&mut self) -> Option<()> {
        if self.folder.is_none() {
            self.folder = Folder::new(self.open_directory()?);
        }
        self.folder.is_some().then_some(())
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

/// An open directory.
struct Folder {
    file: OwnedFd,
    /// What it is, to compare it with what has its path.
    facts: libc::stat,
    /// It is in a file system that tells of every failed write at once, and that has files without
    /// names.
    local: bool,
}

impl Folder {
    fn new(file: OwnedFd) -> Option<Folder> {
        Some(Folder {
            facts: fstat(&file)?,
            local: is_local(&file),
            file,
        })
    }

    /// Whether it still has its path.
    fn is_at(&self, path: &[u8]) -> bool {
        let Ok(path) = CString::new(path) else {
            return false;
        };
        status(libc::AT_FDCWD, &path).is_ok_and(|there| is_same(&self.facts, &there))
    }
}

/// Whether nothing has this name.
fn is_free(folder: RawFd, name: &CStr) -> bool {
    matches!(status(folder, name), Err(libc::ENOENT))
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
