//! Python's own `str` and `bytes` between columns and arrays of objects.

use crate::bytes::{Item, Writer};
use crate::fault::Fault;
use crate::numpy::{self, Objects, Words, with_offsets};
use crate::text::{column_of_length, text_of_length};
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyByteArrayMethods, PyBytes, PyString};
use std::slice;

/// An array of `str`, or of `bytes` and `bytearray`, as a column.
#[pyfunction]
#[pyo3(signature = (array, text, /))]
pub fn objects_column<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    text: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    // Asking an object for its bytes runs none of its code, so the array stays as it is.
    let objects = Objects::source(array)?;
    let mut total: usize = 0;
    for item in 0..objects.len() {
        // An object of the wrong type, wherever it is, comes before text that is not UTF-8.
        let length = with_bytes(&objects.get(py, item), text, item, |bytes| Ok(bytes.len()))
            .map_err(|error| wrong_object(array, text).unwrap_or(error))?;
        total = total.checked_add(length).ok_or(Fault::Memory)?;
    }
    let mut offsets = numpy::fresh_offsets(py, objects.len() + 1)?;
    let mut data = numpy::fresh_bytes(py, total)?;
    let objects = Objects::source(array)?;
    let (ends, target) = (offsets.elements(), data.elements());
    if objects.len() + 1 != ends.len() {
        return Err(Fault::Changed.into());
    }
    let mut writer = Writer::new(target);
    let mut stop = 0;
    ends[0] = 0;
    for (item, end) in ends[1..].iter_mut().enumerate() {
        stop += with_bytes(&objects.get(py, item), text, item, |bytes| {
            writer.put(Item::whole(bytes))?;
            Ok(bytes.len() as i64)
        })?;
        *end = stop;
    }
    writer.finish()?;
    Ok((offsets.array(), data.array()))
}

/// The error for the first object of the wrong type, if there is one.
fn wrong_object(array: &Bound<'_, PyAny>, text: bool) -> Option<PyErr> {
    let (py, objects) = (array.py(), Objects::source(array).ok()?);
    (0..objects.len()).find_map(|item| {
        let object = objects.get(py, item);
        let right = match text {
            true => object.is_instance_of::<PyString>(),
            false => object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>(),
        };
        (!right).then(|| refuse(&object, item))
    })
}

fn refuse(object: &Bound<'_, PyAny>, item: usize) -> PyErr {
    match object.get_type().name() {
        Ok(name) => {
            let type_name = name.to_string();
            Fault::WrongObject { item, type_name }.into()
        }
        Err(error) => error,
    }
}

/// What `each` makes of the bytes of one object.
#[inline(always)]
fn with_bytes<T>(
    object: &Bound<'_, PyAny>,
    text: bool,
    item: usize,
    each: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> PyResult<T> {
    if text {
        if let Ok(string) = object.cast::<PyString>() {
            return match string.to_str() {
                Ok(utf8) => Ok(each(utf8.as_bytes())?),
                Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(object.py()) => {
                    Err(Fault::NotText { item }.into())
                }
                Err(error) => Err(error),
            };
        }
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(each(bytes.as_bytes())?);
    } else if let Ok(bytes) = object.cast::<PyByteArray>() {
        // SAFETY: the GIL is held and `each` runs no Python code, so it is not resized meanwhile.
        return Ok(each(unsafe {
            slice::from_raw_parts(bytes.data(), bytes.len())
        })?);
    }
    Err(refuse(object, item))
}

/// A column into an array of objects, as `str` or as `bytes`.
#[pyfunction]
#[pyo3(signature = (offsets, data, text, out, /))]
pub fn column_objects(
    py: Python<'_>,
    offsets: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
    text: bool,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let offsets = numpy::offsets(offsets)?;
    let data = numpy::bytes(data, "data")?;
    let length = Objects::target(out)?.len();
    let mut made = with_offsets!(offsets, words => make(py, words, data, text, length))?;
    // Making objects may run the collector, and that any code: only now is the array looked at.
    let objects = Objects::target(out)?;
    if objects.len() != made.len() {
        return Err(Fault::Changed.into());
    }
    for (place, object) in made.iter_mut().enumerate() {
        objects.swap(py, place, object);
    }
    // The old objects go last: their finalizers may look at the array, which is whole again.
    drop(made);
    Ok(())
}

fn make<T: Copy + Into<i64>>(
    py: Python<'_>,
    words: Words<T>,
    data: &[u8],
    text: bool,
    length: usize,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let column = match text {
        true => text_of_length(py, words, data, length)?,
        false => column_of_length(py, words, data, length)?,
    };
    let mut made = Vec::new();
    made.try_reserve_exact(length).map_err(|_| Fault::Memory)?;
    for bytes in column.items() {
        let bytes = bytes?.bytes();
        let start = bytes.as_ptr().cast();
        let size = bytes.len() as ffi::Py_ssize_t;
        // SAFETY: so many bytes at that place; NULL (with an error set) becomes an Err.
        let object = unsafe {
            let object = match text {
                true => ffi::PyUnicode_FromStringAndSize(start, size),
                false => ffi::PyBytes_FromStringAndSize(start, size),
            };
            Bound::<PyAny>::from_owned_ptr_or_err(py, object)?
        };
        made.push(Some(object.unbind()));
    }
    Ok(made)
}
