//! Boxes within one chunk: what integers and slices between the brackets of `array[…]` select.
//!
//! What is said of a key is what `omnizarr.indexing.boxes` says of it. A key that is anything else, or
//! that touches several chunks, is left to the caller, who plans it.

use super::selected::Wanted;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice, PyTuple};

/// A box within one chunk.
pub struct Single {
    pub wanted: Wanted,
    /// How many indices are taken along every axis.
    pub lengths: Vec<usize>,
    /// The axes that are part of the result: an integer takes its axis away.
    pub kept: Vec<bool>,
}

impl Single {
    /// What a key selects of an array of this shape; None if it is anything but exact integers and
    /// slices of step 1 between them, or does not lie within one chunk, or is empty. Chunks have no
    /// lengths of 0.
    pub fn new(
        key: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyTuple>,
        chunk: &[usize],
    ) -> Option<Single> {
        let axes = chunk.len();
        let several = key.cast_exact::<PyTuple>().ok();
        let given = several.map_or(1, |items| items.len());
        if shape.len() != axes || given > axes {
            return None;
        }
        let mut starts = Vec::with_capacity(axes);
        let mut lengths = Vec::with_capacity(axes);
        let mut kept = Vec::with_capacity(axes);
        for (axis, &size) in chunk.iter().enumerate() {
            let length: isize = shape.get_borrowed_item(axis).ok()?.extract().ok()?;
            let (start, stop, stays) = match several {
                _ if axis >= given => (0, length, true),
                Some(items) => taken(&*items.get_borrowed_item(axis).ok()?, length)?,
                None => taken(key, length)?,
            };
            let (start, stop) = (usize::try_from(start).ok()?, usize::try_from(stop).ok()?);
            if start >= stop || start / size != (stop - 1) / size {
                return None;
            }
            starts.push(start);
            lengths.push(stop - start);
            kept.push(stays);
        }
        Some(Single {
            wanted: Wanted::from(starts),
            lengths,
            kept,
        })
    }

    /// The shape of the result.
    pub fn result(&self) -> Vec<isize> {
        let axes = self.lengths.iter().zip(&self.kept);
        let kept = axes.filter_map(|(&length, &kept)| kept.then_some(length as isize));
        kept.collect()
    }
}

/// The first index along an axis, the one behind the last, and whether the axis is part of the result.
fn taken(item: &Bound<'_, PyAny>, length: isize) -> Option<(isize, isize, bool)> {
    if item.is_exact_instance_of::<PyInt>() {
        let number: isize = item.extract().ok()?;
        let index = if number < 0 {
            number.checked_add(length)?
        } else {
            number
        };
        return (0..length)
            .contains(&index)
            .then_some((index, index + 1, false));
    }
    let slice = item.cast_exact::<PySlice>().ok()?;
    // Anything else runs Python code, which may raise what it likes.
    for name in ["start", "stop", "step"] {
        let bound = slice.getattr(name).ok()?;
        if !bound.is_none() && !bound.is_exact_instance_of::<PyInt>() {
            return None;
        }
    }
    let found = slice.indices(length).ok()?;
    (found.step == 1).then_some((found.start, found.stop, true))
}
