//! Files on Linux: opened only if no part of the path is a symbolic link, and read in the same call.
//!
//! Nothing is judged here. Whatever is not an open regular file that can be read as asked is a number,
//! that of the system's error; the caller then does the same in Python, which says what is wrong. The
//! GIL is released around every system call, however short: a file system may be slow, or served by a
//! thread of this process.
//!
//! This module knows paths and descriptors. It knows no keys and no roots.

use crate::bytes::filled_bytes;
use crate::plan::files::{NO_SYMLINKS, SEARCH, length, open, read, read_to};
use crate::plan::pool::{Tasks, cores, run};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyList};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

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
    match read_one(py, path, flags, start, stop, most)? {
        Ok(bytes) => Ok(bytes.into_any()),
        Err(error) => Ok((-error).into_pyobject(py)?.into_any()),
    }
}

fn read_one<'py>(
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

/// Opening fails with EXDEV if the path leads out of the directory.
const BENEATH: u64 = 0x08;
/// How many files a thread takes at once, and the fewest for which one is started.
const TOGETHER: usize = 16;
const WORTHWHILE: usize = 64;

/// The first `stop` bytes of several files, which no symbolic link below the directory `root` leads
/// to; or minus the number of the error of each. EFBIG if that is more than `most` bytes.
#[pyfunction]
#[pyo3(signature = (root, names, flags, stop, most, threads, check, /))]
#[allow(clippy::too_many_arguments)]
pub fn file_read_many<'py>(
    py: Python<'py>,
    root: &[u8],
    names: Vec<PyBackedStr>,
    flags: i32,
    stop: usize,
    most: usize,
    threads: Option<usize>,
    check: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let found: Vec<OnceLock<Result<Vec<u8>, i32>>> =
        names.iter().map(|_| OnceLock::new()).collect();
    let folder = py.detach(|| open(libc::AT_FDCWD, root, SEARCH, NO_SYMLINKS));
    let stopped = AtomicBool::new(false);
    let tasks = Tasks {
        threads: threads.unwrap_or_else(cores).min(names.len() / WORTHWHILE),
        count: names.len(),
        together: TOGETHER,
        bytes: 0,
        stopped: &stopped,
    };
    run(
        py,
        &tasks,
        check,
        || (),
        |(), task| {
            let answer = match &folder {
                Ok(folder) => start(
                    folder.as_raw_fd(),
                    names[task].as_bytes(),
                    flags,
                    stop,
                    most,
                ),
                Err(error) => Err(*error),
            };
            let _ = found[task].set(answer); // each task is done once
        },
    )?;
    let answers = PyList::empty(py);
    for answer in found {
        match answer.into_inner().unwrap_or(Err(libc::EINTR)) {
            Ok(bytes) => answers.append(PyBytes::new(py, &bytes))?,
            Err(error) => answers.append(-error)?,
        }
    }
    Ok(answers)
}

fn start(folder: RawFd, name: &[u8], flags: i32, stop: usize, most: usize) -> Result<Vec<u8>, i32> {
    let file = open(folder, name, flags, NO_SYMLINKS | BENEATH)?;
    let length = length(&file).ok_or(libc::EISDIR)?.min(stop);
    if length > most {
        return Err(libc::EFBIG);
    }
    let mut bytes = Vec::new();
    match read(&file, 0, length, &mut bytes) {
        Some(_) => Ok(bytes),
        None => Err(libc::EIO),
    }
}
