//! Files on Linux: opened only if no part of the path is a symbolic link, and read in the same call.
//!
//! Nothing is judged here. Whatever is not an open regular file that can be read as asked is a number,
//! that of the system's error; the caller then does the same in Python, which says what is wrong. The
//! GIL is released around every system call, however short: a file system may be slow, or served by a
//! thread of this process.
//!
//! This module knows paths and descriptors. It knows no keys and no roots.

use crate::bytes::filled_bytes;
use crate::plan::files::{NO_SYMLINKS, length, open, read_to};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::os::fd::{IntoRawFd, OwnedFd};

/// The part of `size` bytes that `value[start:stop]` is in Python: where it begins, and its length.
///
/// A negative start counts from the end and has no stop. None where that is not so.
fn span(start: i64, stop: Option<i64>, size: usize) -> Option<(usize, usize)> {
    if start < 0 {
        let length = usize::try_from(start.unsigned_abs()).map_or(size, |wanted| wanted.min(size));
        return stop.is_none().then_some((size - length, length));
    }
    let stop = match stop {
        Some(stop) => within(stop, size)?,
        None => size,
    };
    let start = within(start, stop)?;
    Some((start, stop - start))
}

/// A number, and no more than `most`; None of a negative one.
fn within(number: i64, most: usize) -> Option<usize> {
    let number = u64::try_from(number).ok()?;
    Some(usize::try_from(number).map_or(most, |number| number.min(most)))
}

/// Open a path in which no symbolic link is: a descriptor, or minus the number of the error.
#[pyfunction]
#[pyo3(signature = (path, flags, /))]
pub fn file_open(py: Python<'_>, path: &[u8], flags: i32) -> i32 {
    match py.detach(|| open(libc::AT_FDCWD, path, flags, NO_SYMLINKS)) {
        Ok(file) => OwnedFd::into_raw_fd(file),
        Err(error) => -error,
    }
}

/// Part of the regular file at a path in which no symbolic link is; or minus the number of the error.
///
/// `start` and `stop` are as in Python's `value[start:stop]`. EFBIG if there are more than `most` bytes.
#[pyfunction]
#[pyo3(signature = (path, flags, start, stop, most, /))]
pub fn file_read<'py>(
    py: Python<'py>,
    path: &[u8],
    flags: i32,
    start: &Bound<'py, PyAny>,
    stop: &Bound<'py, PyAny>,
    most: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match read(py, path, flags, start, stop, most)? {
        Ok(bytes) => Ok(bytes.into_any()),
        Err(error) => Ok((-error).into_pyobject(py)?.into_any()),
    }
}

fn read<'py>(
    py: Python<'py>,
    path: &[u8],
    flags: i32,
    start: &Bound<'py, PyAny>,
    stop: &Bound<'py, PyAny>,
    most: &Bound<'py, PyAny>,
) -> PyResult<Result<Bound<'py, PyBytes>, i32>> {
    // Integers of any size come here; those that no file can have are left to Python.
    let (Ok(start), Ok(stop), Ok(most)) = (
        start.extract::<i64>(),
        stop.extract::<Option<i64>>(),
        most.extract::<u64>(),
    ) else {
        return Ok(Err(libc::EINVAL));
    };
    let opened = py.detach(|| {
        let file = open(libc::AT_FDCWD, path, flags, NO_SYMLINKS)?;
        let size = length(&file).ok_or(libc::EISDIR)?;
        let (start, length) = span(start, stop, size).ok_or(libc::EINVAL)?;
        match u64::try_from(length) {
            Ok(wanted) if wanted <= most => Ok((file, start, length)),
            _ => Err(libc::EFBIG),
        }
    });
    let (file, start, length) = match opened {
        Ok(found) => found,
        Err(error) => return Ok(Err(error)),
    };
    let mut done = true;
    let bytes = filled_bytes(py, length, |target| {
        done = py.detach(move || {
            // SAFETY: new memory of this length.
            unsafe { read_to(&file, start, target.as_mut_ptr(), target.len()) }
        });
        Ok(())
    })?;
    Ok(if done { Ok(bytes) } else { Err(libc::EIO) })
}
