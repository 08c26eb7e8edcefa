//! Text between frames, columns and arrays of StringDType.
//!
//! The bytes are validated first, without the GIL; then they are packed into the array under the
//! lock of its allocator, with the GIL held. So `out` is left as it was when the text is wrong.

use crate::bytes::{Buffer, Item, lay_out, without_gil};
use crate::column::Column;
use crate::fault::Fault;
use crate::frame::{Expected, Frame};
use crate::numpy::{self, Locked, Strings, Words, with_offsets};
use pyo3::prelude::*;

/// A frame of text into an array of StringDType.
#[pyfunction]
#[pyo3(signature = (frame, out, /))]
pub fn frame_text(
    py: Python<'_>,
    frame: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    Strings::check_target(out)?;
    // An object's buffer may be code of its own.
    let buffer = Buffer::new(frame, "frame")?;
    let strings = Strings::target(out)?;
    let frame = Frame::new(buffer.bytes(), Expected::length(strings.len()))?;
    without_gil(py, buffer.bytes().len(), || frame.check_text())?;
    Ok(pack(py, &strings, frame.items())?)
}

/// Store the items. The allocator is locked meanwhile, and released before anything is raised.
#[inline(always)]
fn pack<'a>(
    py: Python<'_>,
    strings: &Strings<'_>,
    items: impl Iterator<Item = Result<Item<'a>, Fault>>,
) -> Result<(), Fault> {
    let mut locked = strings.lock(py);
    for (place, item) in items.enumerate() {
        locked.set(place, item?.bytes())?;
    }
    Ok(())
}

/// A column of text into an array of StringDType.
#[pyfunction]
#[pyo3(signature = (offsets, data, out, /))]
pub fn text_fill(
    py: Python<'_>,
    offsets: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    Strings::check_target(out)?;
    let offsets = numpy::offsets(offsets)?;
    let data = numpy::bytes(data, "data")?;
    let strings = Strings::target(out)?;
    with_offsets!(offsets, words => fill(py, words, data, &strings))
}

fn fill<T: Copy + Into<i64>>(
    py: Python<'_>,
    words: Words<T>,
    data: &[u8],
    strings: &Strings<'_>,
) -> PyResult<()> {
    let column = text_of_length(py, words, data, strings.len())?;
    Ok(pack(py, strings, column.items())?)
}

/// The column, if it is text and has this many items.
pub fn text_of_length<'a, T: Copy + Into<i64>>(
    py: Python<'_>,
    words: Words<T>,
    data: &'a [u8],
    items: usize,
) -> Result<Column<'a, T>, Fault> {
    let column = column_of_length(py, words, data, items)?;
    without_gil(py, data.len() + words.len(), || column.check_text())?;
    Ok(column)
}

/// The column, if it has this many items.
pub fn column_of_length<'a, T: Copy + Into<i64>>(
    py: Python<'_>,
    words: Words<T>,
    data: &'a [u8],
    items: usize,
) -> Result<Column<'a, T>, Fault> {
    let found = words.len() - 1;
    if found != items {
        let expected = items.to_string();
        return Err(Fault::Count { expected, found });
    }
    Ok(without_gil(py, words.len(), || Column::new(words, data))?.0)
}

/// An array of StringDType as a column.
#[pyfunction]
#[pyo3(signature = (array, /))]
pub fn text_column<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let strings = Strings::source(array)?;
    let total = {
        let locked = strings.lock(py);
        size(&locked, strings.len())
    }?;
    let mut offsets = numpy::fresh_offsets(py, strings.len() + 1)?;
    let mut data = numpy::fresh_bytes(py, total)?;
    {
        let locked = strings.lock(py);
        let items = (0..strings.len()).map(|item| load(&locked, item));
        lay_out(items, offsets.elements(), data.elements())
    }?;
    Ok((offsets.array(), data.array()))
}

fn size(locked: &Locked<'_>, items: usize) -> Result<usize, Fault> {
    let mut total: usize = 0;
    for item in 0..items {
        let length = load(locked, item)?.bytes().len();
        total = total.checked_add(length).ok_or(Fault::Memory)?;
    }
    Ok(total)
}

#[inline(always)]
fn load<'a>(locked: &'a Locked<'_>, item: usize) -> Result<Item<'a>, Fault> {
    let bytes = locked.get(item)?.ok_or(Fault::Missing { item })?;
    Ok(Item::whole(bytes))
}
