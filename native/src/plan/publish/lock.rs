//! The lock of a value, which becomes the value: `flock` on a file beside it that still has its name.

use super::written::{Written, empty, fstat, is_same, is_unchanged, status};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The file of a lock, which may or may not be held.
pub struct Lock<'a> {
    pub folder: RawFd,
    pub name: &'a CStr,
    pub file: OwnedFd,
    /// In a file system that tells of every failed write at once, where files may also get a name
    /// without a lock.
    pub local: bool,
}

impl Lock<'_> {
    /// Take the lock, write, rename: how many bytes were written. Without success nothing of the lock
    /// remains, unless another process holds it.
    pub fn publish(
        self,
        path: &CStr,
        name: &CStr,
        memory: &mut Vec<u8>,
        fill: &mut dyn FnMut(&mut Written<'_>) -> Option<()>,
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
        let mut written = Written::new(self.folder, name, &self.file, memory, true);
        let done = emptied.and_then(|()| fill(&mut written));
        let (count, seen) = (written.count, written.seen);
        if done.and_then(|()| self.close_copy()).is_none() || !self.rename(name, seen) {
            self.release();
            return None;
        }
        self.unlock();
        Some(count)
    }

    /// The status of the locked file, if the path names it and it is an ordinary one: then no other
    /// process has the lock.
    fn held(&self, path: &CStr) -> Option<libc::stat> {
        let (there, here) = (status(libc::AT_FDCWD, path).ok()?, fstat(&self.file)?);
        let regular = here.st_mode & libc::S_IFMT == libc::S_IFREG;
        (is_same(&there, &here) && regular && here.st_nlink == 1).then_some(here)
    }

    /// A network file system tells of failed writes only when a descriptor is closed.
    fn close_copy(&self) -> Option<()> {
        // SAFETY: a descriptor of our own.
        let closed = self.local
            || unsafe {
                let copy = libc::dup(self.file.as_raw_fd());
                copy >= 0 && libc::close(copy) == 0
            };
        closed.then_some(())
    }

    /// Give the file the name of the value. What was made of the value until now must not replace
    /// another one: new values get their name without a lock, and some are deleted without one.
    fn rename(&self, name: &CStr, seen: Option<Option<libc::stat>>) -> bool {
        let (folder, own) = (self.folder, self.name.as_ptr());
        let seen = seen.filter(|_| self.local); // nothing gets its name without a lock elsewhere
        if let Some(Some(before)) = seen
            && !status(folder, name).is_ok_and(|now| is_unchanged(&before, &now))
        {
            return false;
        }
        // SAFETY: an open directory, and names that end with 0.
        unsafe {
            if matches!(seen, Some(None)) {
                let (call, flags) = (libc::SYS_renameat2, libc::RENAME_NOREPLACE);
                libc::syscall(call, folder, own, folder, name.as_ptr(), flags) == 0
            } else {
                libc::renameat(folder, own, folder, name.as_ptr()) == 0
            }
        }
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
