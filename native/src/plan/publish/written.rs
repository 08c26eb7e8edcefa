//! A file that is being written, which is not a value yet.

use crate::codecs::{Room, Sink};
use crate::plan::files::{Absent, open_in};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A new file, and memory for what goes there next.
pub struct Written<'a> {
    /// Where the value is that it replaces.
    folder: RawFd,
    name: &'a CStr,
    file: &'a OwnedFd,
    memory: &'a mut Vec<u8>,
    /// How many bytes were written.
    pub count: usize,
    /// The lock is held, so that a value which is there may be changed.
    locked: bool,
    /// `old` was asked for: what it was, None if there was none.
    pub seen: Option<Option<libc::stat>>,
    /// `old` was asked for, and cannot be given without the lock.
    pub needs_lock: bool,
}

impl<'a> Written<'a> {
    pub fn new(
        folder: RawFd,
        name: &'a CStr,
        file: &'a OwnedFd,
        memory: &'a mut Vec<u8>,
        locked: bool,
    ) -> Written<'a> {
        Written {
            folder,
            name,
            file,
            memory,
            count: 0,
            locked,
            seen: None,
            needs_lock: false,
        }
    }

    /// The value until now, from the directory that is open, whatever has its path meanwhile;
    /// Some(None) if there is none.
    pub fn old(&mut self) -> Option<Option<OwnedFd>> {
        match open_in(self.folder, self.name.to_bytes()) {
            Ok(file) if self.locked => {
                self.seen = Some(Some(fstat(&file)?));
                Some(Some(file))
            }
            Ok(_) => {
                self.needs_lock = true;
                None
            }
            Err(Absent::Missing) => {
                self.seen = Some(None);
                Some(None)
            }
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
pub fn empty(file: &OwnedFd) -> Option<()> {
    let file = file.as_raw_fd();
    // SAFETY: an open file.
    let done =
        unsafe { libc::ftruncate(file, 0) == 0 && libc::lseek(file, 0, libc::SEEK_SET) == 0 };
    done.then_some(())
}

fn interrupted() -> bool {
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
}

/// Whether a file has the same content as before.
pub fn is_unchanged(before: &libc::stat, now: &libc::stat) -> bool {
    let facts = |status: &libc::stat| {
        let (changed, made) = (
            (status.st_mtime, status.st_mtime_nsec),
            (status.st_ctime, status.st_ctime_nsec),
        );
        (changed, made, status.st_size)
    };
    is_same(before, now) && facts(before) == facts(now)
}

pub fn is_same(one: &libc::stat, other: &libc::stat) -> bool {
    one.st_ino == other.st_ino && one.st_dev == other.st_dev && other.st_nlink > 0
}

pub fn fstat(file: &OwnedFd) -> Option<libc::stat> {
    // SAFETY: plain numbers, all of which may be 0.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: an open file, and room for its status.
    (unsafe { libc::fstat(file.as_raw_fd(), &mut found) } == 0).then_some(found)
}

/// The status of what has a name, be it a link; or the number of the error.
pub fn status(folder: RawFd, name: &CStr) -> Result<libc::stat, i32> {
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
