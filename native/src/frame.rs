//! Frames of the vlen codecs: taken apart into columns, and made from them.

use crate::bytes::{Buffer, Item, Writer, lay_out, new_bytes, without_gil};
use crate::column::Column;
use crate::fault::Fault;
use crate::numpy::{self, with_offsets};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A frame whose count has been checked: what is behind the count, and how many items are in it.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    body: &'a [u8],
    count: usize,
}

impl<'a> Frame<'a> {
    /// The frame, if its count is `expected` and it has room for so many lengths.
    pub fn new(bytes: &'a [u8], expected: Expected) -> Result<Frame<'a>, Fault> {
        let length = bytes.len();
        let (head, body) = bytes
            .split_first_chunk::<4>()
            .ok_or(Fault::NoCount { length })?;
        let found = u32::from_le_bytes(*head) as usize;
        if expected.items != Some(found) {
            let expected = expected.name;
            return Err(Fault::Count { expected, found });
        }
        match found.checked_mul(4) {
            Some(lengths) if lengths <= body.len() => Ok(Frame { body, count: found }),
            _ => Err(Fault::Crowded { found, length }),
        }
    }

    /// How many bytes the items have together, if every length is right.
    fn total(&self) -> usize {
        self.body.len() - 4 * self.count
    }

    /// The items in turn, and what is wrong with the frame as soon as it shows.
    #[inline(always)]
    pub fn items(&self) -> Items<'a> {
        Items {
            rest: self.body,
            item: 0,
            count: self.count,
        }
    }

    /// Every length is right.
    pub fn check(&self) -> Result<(), Fault> {
        self.items().try_for_each(|item| item.map(|_| ()))
    }

    /// Every length is right and every item is UTF-8.
    pub fn check_text(&self) -> Result<(), Fault> {
        // What is wrong with the frame comes before what is wrong with its text.
        self.check()?;
        // Lengths below 128 are ASCII as well, so one look at everything mostly decides.
        if self.body.is_ascii() {
            return Ok(());
        }
        for (item, bytes) in self.items().enumerate() {
            if std::str::from_utf8(bytes?.bytes()).is_err() {
                return Err(Fault::NotText { item });
            }
        }
        Ok(())
    }
}

/// The items of a frame.
pub struct Items<'a> {
    rest: &'a [u8],
    item: usize,
    count: usize,
}

impl<'a> Items<'a> {
    #[inline(always)]
    fn take(&mut self) -> Result<Item<'a>, Fault> {
        let item = self.item;
        let Some((head, memory)) = self.rest.split_first_chunk::<4>() else {
            let left = self.rest.len();
            return Err(Fault::NoLength { item, left });
        };
        // SAFETY: a reference to four bytes. Read once, since others may write to the frame.
        let needed = u32::from_le_bytes(unsafe { std::ptr::read_volatile(head) }) as usize;
        let Some((bytes, behind)) = Item::split(memory, needed) else {
            let left = memory.len();
            return Err(Fault::Truncated { item, needed, left });
        };
        self.rest = behind;
        self.item += 1;
        Ok(bytes)
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Fault>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.item < self.count {
            return Some(self.take());
        }
        match std::mem::take(&mut self.rest) {
            [] => None,
            rest => Some(Err(Fault::Trailing { left: rest.len() })),
        }
    }
}

/// The number of items that the caller expects; a number that no frame can have is kept as text.
pub struct Expected {
    items: Option<usize>,
    name: String,
}

impl Expected {
    /// As many as `out` has.
    pub fn length(items: usize) -> Expected {
        Expected {
            items: Some(items),
            name: items.to_string(),
        }
    }

    /// Any Python integer.
    pub fn integer(object: &Bound<'_, PyAny>) -> PyResult<Expected> {
        // SAFETY: the GIL is held; NULL becomes an Err.
        let number: Bound<'_, PyAny> = unsafe {
            Bound::from_owned_ptr_or_err(object.py(), ffi::PyNumber_Index(object.as_ptr()))?
        };
        Ok(Expected {
            items: number.extract::<u32>().ok().map(|items| items as usize),
            name: number.str()?.to_string(),
        })
    }
}

/// The items of a frame as a column.
#[pyfunction]
#[pyo3(signature = (frame, count, /))]
pub fn frame_split<'py>(
    py: Python<'py>,
    frame: &Bound<'py, PyAny>,
    count: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let expected = Expected::integer(count)?;
    let buffer = Buffer::new(frame, "frame")?;
    let frame = Frame::new(buffer.bytes(), expected)?;
    let size = frame.body.len();
    without_gil(py, size, || frame.check())?;
    let mut offsets = numpy::fresh_offsets(py, frame.count + 1)?;
    let mut data = numpy::fresh_bytes(py, frame.total())?;
    let (ends, target) = (offsets.elements(), data.elements());
    without_gil(py, size, || lay_out(frame.items(), ends, target))?;
    Ok((offsets.array(), data.array()))
}

/// A column as a frame.
#[pyfunction]
#[pyo3(signature = (offsets, data, /))]
pub fn frame_join<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    data: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let offsets = numpy::offsets(offsets)?;
    let data = numpy::bytes(data, "data")?;
    with_offsets!(offsets, words => {
        let (column, length) = without_gil(py, words.len(), || {
            let (column, total) = Column::new(words, data)?;
            let items = column.len();
            u32::try_from(items).map_err(|_| Fault::TooMany { items })?;
            for (item, bytes) in column.items().enumerate() {
                u32::try_from(bytes?.bytes().len()).map_err(|_| Fault::Huge { item })?;
            }
            let headers = items.checked_add(1).and_then(|n| n.checked_mul(4));
            let length = headers.and_then(|n| n.checked_add(total)).ok_or(Fault::Memory)?;
            Ok::<_, Fault>((column, length))
        })?;
        new_bytes(py, length, |target| join(&column, target))
    })
}

fn join<T: Copy + Into<i64>>(column: &Column<'_, T>, target: &mut [u8]) -> Result<(), Fault> {
    let mut writer = Writer::new(target);
    writer.put_length(column.len())?;
    for item in column.items() {
        let item = item?;
        writer.put_length(item.bytes().len())?;
        writer.put(item)?;
    }
    writer.finish()
}
