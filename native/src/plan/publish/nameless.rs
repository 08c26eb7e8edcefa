//! A file without a name, which gets that of a value that was absent.
//!
//! Five system calls where a lock takes eight, and one change of the directory instead of two, for which the
//! threads that write into one directory wait. Giving the name fails if there is a value: no value is
//! replaced without its lock. A writer that holds the lock, and has found no value, looks once more
//! when it stores its own. What a killed writer leaves has no name, and is gone.

use super::written::Written;
use crate::plan::files::create;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

const FLAGS: i32 = libc::O_WRONLY | libc::O_TMPFILE | libc::O_CLOEXEC;

/// What became of a file without a name.
pub enum Named {
    /// It is the value, of so many bytes.
    Done(usize),
    /// There is a value.
    Taken,
    /// The file system, or the system, has no such files.
    Unable,
    /// Anything else.
    Left,
}

/// Write a file of a directory, and give it a name that is free, if the directory is there still.
pub fn publish(
    folder: RawFd,
    name: &CStr,
    memory: &mut Vec<u8>,
    fill: &mut dyn FnMut(&mut Written<'_>) -> Option<()>,
    is_there: impl FnOnce() -> bool,
) -> Named {
    let file = match create(folder, c".", FLAGS) {
        Ok(file) => file,
        Err(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL) => return Named::Unable,
        Err(_) => return Named::Left,
    };
    let mut written = Written::new(folder, name, &file, memory, false);
    if fill(&mut written).is_none() {
        return match written.needs_lock {
            true => Named::Taken,
            false => Named::Left,
        };
    }
    if !is_there() {
        return Named::Left;
    }
    match give(&file, folder, name) {
        0 => Named::Done(written.count),
        libc::EEXIST => Named::Taken,
        libc::ENOENT => Named::Unable,
        _ => Named::Left,
    }
}

/// Give a file a name: 0, or the number of the error. ENOENT also where neither way is allowed.
fn give(file: &OwnedFd, folder: RawFd, name: &CStr) -> i32 {
    let link = |from: RawFd, path: &CStr, flags| {
        // SAFETY: open files, and names that end with 0.
        match unsafe { libc::linkat(from, path.as_ptr(), folder, name.as_ptr(), flags) } {
            0 => 0,
            _ => std::io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::EIO),
        }
    };
    // Before Linux 6.10 only a privileged process may do this; /proc may not be there.
    match link(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH) {
        libc::ENOENT => {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            CString::new(path).map_or(libc::EIO, |path| {
                link(libc::AT_FDCWD, &path, libc::AT_SYMLINK_FOLLOW)
            })
        }
        answer => answer,
    }
}
