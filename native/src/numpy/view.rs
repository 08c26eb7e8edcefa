//! An array of plain elements and any strides, read or written at places that the caller knows.

use super::{WRITEABLE, description, fields};
use crate::fault::Fault;
use pyo3::prelude::*;

const EXPECTED: &str = "an array of plain elements with as many dimensions as a chunk";
const WRITTEN: &str = "a writeable array of plain elements with as many dimensions as a chunk";

/// NPY_ITEM_REFCOUNT, NPY_ITEM_IS_POINTER.
pub(super) const NOT_PLAIN: u64 = 0x01 | 0x04;

/// The memory of an array, for as long as the caller keeps a reference: NumPy resizes no array that
/// others refer to, unless it is told not to look (`refcheck=False`).
pub struct View {
    pub(super) start: *mut u8,
    /// Length of every dimension.
    pub shape: Vec<usize>,
    /// Bytes from one element to the next along every dimension.
    pub strides: Vec<isize>,
}

// SAFETY: plain memory, kept alive by the caller's reference; threads write to places of their own.
unsafe impl Sync for View {}

impl View {
    /// An array of elements of this size with so many dimensions, to be written or only read.
    pub fn new(
        object: &Bound<'_, PyAny>,
        dimensions: usize,
        item: usize,
        written: bool,
    ) -> PyResult<View> {
        let refused = || Fault::Argument {
            name: if written { "out" } else { "array" },
            found: description(object),
            expected: if written { WRITTEN } else { EXPECTED },
        };
        let array = fields(object).ok_or_else(refused)?;
        // SAFETY: every array has a descriptor.
        let descriptor = unsafe { &*array.descriptor };
        if (written && array.flags & WRITEABLE == 0)
            || descriptor.flags & NOT_PLAIN != 0
            || usize::try_from(array.dimensions) != Ok(dimensions)
            || usize::try_from(descriptor.item_size) != Ok(item)
        {
            return Err(refused().into());
        }
        // SAFETY: both have as many entries as there are dimensions; a length is never negative.
        let axes = (0..dimensions)
            .map(|axis| unsafe { (*array.shape.add(axis) as usize, *array.strides.add(axis)) });
        let (shape, strides) = axes.unzip();
        Ok(View {
            start: array.data,
            shape,
            strides,
        })
    }

    /// Where the first element is.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}
