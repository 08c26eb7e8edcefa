//! The functions of `files` where there is no `openat2`: they always leave the work to Python.

use pyo3::prelude::*;

/// ENOSYS.
const MISSING: i32 = -38;

/// Nothing is opened.
#[pyfunction]
#[pyo3(signature = (_path, _flags, /))]
pub fn file_open(_path: &[u8], _flags: i32) -> i32 {
    MISSING
}

/// Nothing is read.
#[pyfunction]
#[pyo3(signature = (_path, _flags, _start, _stop, _most, /))]
pub fn file_read(
    _path: &[u8],
    _flags: i32,
    _start: &Bound<'_, PyAny>,
    _stop: &Bound<'_, PyAny>,
    _most: &Bound<'_, PyAny>,
) -> i32 {
    MISSING
}

/// None is read.
#[pyfunction]
#[pyo3(signature = (_root, names, _flags, _stop, _most, _threads, _check, /))]
pub fn file_read_many(
    _root: &[u8],
    names: Vec<Bound<'_, PyAny>>,
    _flags: i32,
    _stop: usize,
    _most: usize,
    _threads: Option<usize>,
    _check: &Bound<'_, PyAny>,
) -> Vec<i32> {
    vec![MISSING; names.len()]
}
