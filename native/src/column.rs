//! Columns: offsets that are checked, text that is validated, items that are picked out.

use crate::bytes::{Item, lay_out, without_gil};
use crate::fault::Fault;
use crate::numpy::{self, Words, with_offsets};
use pyo3::prelude::*;

/// The bounds of the whole column, after every offset has been checked.
pub fn check_offsets<T: Copy + Into<i64>>(
    offsets: Words<T>,
    data: &[u8],
) -> Result<(usize, usize), Fault> {
    let high = data.len();
    let first = offsets.at(0);
    let mut low = 0;
    for place in 0..offsets.len() {
        let value = offsets.at(place);
        if value < low || value as u64 > high as u64 {
            return Err(Fault::Offset {
                place,
                value,
                low,
                high,
            });
        }
        low = value;
    }
    // A first offset that changed since must not turn into a negative length.
    if first < 0 || first > low {
        return Err(Fault::Changed);
    }
    Ok((first as usize, low as usize))
}

/// A column whose offsets have been checked, and are again wherever they are used.
#[derive(Clone, Copy)]
pub struct Column<'a, T> {
    offsets: Words<T>,
    data: &'a [u8],
}

impl<'a, T: Copy + Into<i64>> Column<'a, T> {
    /// The column, and how many bytes its items have together.
    pub fn new(offsets: Words<T>, data: &'a [u8]) -> Result<(Self, usize), Fault> {
        let (start, stop) = check_offsets(offsets, data)?;
        Ok((Column { offsets, data }, stop - start))
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// One item.
    #[inline(always)]
    pub fn get(&self, item: usize) -> Result<Item<'a>, Fault> {
        self.between(self.offsets.at(item), self.offsets.at(item + 1))
    }

    /// All items in turn, each offset read once.
    #[inline(always)]
    pub fn items(&self) -> impl Iterator<Item = Result<Item<'a>, Fault>> + use<'a, T> {
        let column = *self;
        let mut start = column.offsets.at(0);
        (0..column.len()).map(move |item| {
            let stop = column.offsets.at(item + 1);
            let found = column.between(start, stop);
            start = stop;
            found
        })
    }

    #[inline(always)]
    fn between(&self, start: i64, stop: i64) -> Result<Item<'a>, Fault> {
        if start < 0 || stop < start {
            return Err(Fault::Changed);
        }
        let memory = usize::try_from(start)
            .ok()
            .and_then(|start| self.data.get(start..));
        let length = usize::try_from(stop - start).ok();
        let found = memory
            .zip(length)
            .and_then(|(memory, length)| Item::split(memory, length));
        Ok(found.ok_or(Fault::Changed)?.0)
    }

    /// Every item is UTF-8 by itself.
    ///
    /// Whole data that is UTF-8 and cut nowhere inside a character is so item by item; if it is
    /// not, the items are looked at one by one to name the first.
    pub fn check_text(&self) -> Result<(), Fault> {
        let last = self.offsets.len() - 1;
        let all = self
            .between(self.offsets.at(0), self.offsets.at(last))?
            .bytes();
        if all.is_ascii() {
            return Ok(());
        }
        if std::str::from_utf8(all).is_ok() && self.cut_between_characters() {
            return Ok(());
        }
        for (item, bytes) in self.items().enumerate() {
            if std::str::from_utf8(bytes?.bytes()).is_err() {
                return Err(Fault::NotText { item });
            }
        }
        Ok(())
    }

    fn cut_between_characters(&self) -> bool {
        (0..self.offsets.len()).all(|place| {
            let byte = usize::try_from(self.offsets.at(place))
                .ok()
                .and_then(|offset| self.data.get(offset));
            // The data may go on behind the last item with anything.
            place == self.len() || !matches!(byte, Some(0x80..=0xbf))
        })
    }
}

/// Refuse offsets that do not nest, and items that are not UTF-8.
#[pyfunction]
#[pyo3(signature = (offsets, data, /))]
pub fn check_text(
    py: Python<'_>,
    offsets: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let offsets = numpy::offsets(offsets)?;
    let data = numpy::bytes(data, "data")?;
    with_offsets!(offsets, words => without_gil(py, data.len() + words.len(), || {
        Column::new(words, data)?.0.check_text()
    }))?;
    Ok(())
}

/// The items at `indices`, as a new column.
#[pyfunction]
#[pyo3(signature = (offsets, data, indices, /))]
pub fn column_take<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    data: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let offsets = numpy::offsets(offsets)?;
    let data = numpy::bytes(data, "data")?;
    let indices = numpy::indices(indices, "indices")?;
    with_offsets!(offsets, words => take(py, words, data, indices))
}

fn take<'py, T: Copy + Into<i64>>(
    py: Python<'py>,
    words: Words<T>,
    data: &[u8],
    indices: Words<i64>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let size = words.len().saturating_add(indices.len());
    let (column, total) = without_gil(py, size, || {
        let (column, _) = Column::new(words, data)?;
        let mut total: usize = 0;
        for place in 0..indices.len() {
            let length = column
                .get(index(indices, place, column.len())?)?
                .bytes()
                .len();
            total = total.checked_add(length).ok_or(Fault::Memory)?;
        }
        Ok::<_, Fault>((column, total))
    })?;
    let mut new_offsets = numpy::fresh_offsets(py, indices.len() + 1)?;
    let mut new_data = numpy::fresh_bytes(py, total)?;
    let (ends, target) = (new_offsets.elements(), new_data.elements());
    without_gil(py, size.saturating_add(total), || {
        let items = (0..indices.len())
            .map(|place| index(indices, place, column.len()).and_then(|item| column.get(item)));
        lay_out(items, ends, target)
    })?;
    Ok((new_offsets.array(), new_data.array()))
}

fn index(indices: Words<i64>, place: usize, items: usize) -> Result<usize, Fault> {
    let value = indices.at(place);
    match usize::try_from(value) {
        Ok(index) if index < items => Ok(index),
        _ => Err(Fault::Index { value, items }),
    }
}
