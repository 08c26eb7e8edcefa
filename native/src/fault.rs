//! What can be wrong, without Python: found with the GIL released, raised when it is held again.

use pyo3::PyErr;
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyTypeError, PyValueError};
use std::fmt;

/// One thing that is wrong. `Display` gives the exact text that the Python reference raises too.
#[derive(Debug)]
pub enum Fault {
    /// A frame too short for its own count.
    NoCount { length: usize },
    /// Not as many items as the caller knows there must be.
    Count { expected: String, found: usize },
    /// A count that the frame's length rules out.
    Crowded { found: usize, length: usize },
    /// A frame that ends before an item's length.
    NoLength { item: usize, left: usize },
    /// An item that passes the end of the frame.
    Truncated {
        item: usize,
        needed: usize,
        left: usize,
    },
    /// Bytes behind the last item.
    Trailing { left: usize },
    /// An item whose length does not fit into 32 bits.
    Huge { item: usize },
    /// More items than 32 bits can count.
    TooMany { items: usize },
    /// An offset below its predecessor or beyond the data.
    Offset {
        place: usize,
        value: i64,
        low: i64,
        high: usize,
    },
    /// Zero offsets, where n items have n + 1.
    NoOffsets,
    /// An item that is not UTF-8 by itself.
    NotText { item: usize },
    /// A missing value of a StringDType with an `na_object`.
    Missing { item: usize },
    /// An object of another type than asked for.
    WrongObject { item: usize, type_name: String },
    /// An index that names no item.
    Index { value: i64, items: usize },
    /// An argument of the wrong kind.
    Argument {
        name: &'static str,
        found: String,
        expected: &'static str,
    },
    /// The arguments' memory was written while it was read.
    Changed,
    /// The memory cannot be had.
    Memory,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoCount { length } => {
                write!(f, "{length} bytes, fewer than the 4 of the item count")
            }
            Fault::Count { expected, found } => {
                write!(f, "expected {expected} items, found {found}")
            }
            Fault::Crowded { found, length } => {
                write!(f, "{found} items cannot lie in {length} bytes")
            }
            Fault::NoLength { item, left } => {
                write!(f, "item {item} has no length: only {left} bytes are left")
            }
            Fault::Truncated { item, needed, left } => {
                write!(
                    f,
                    "item {item} has {needed} bytes, but only {left} are left"
                )
            }
            Fault::Trailing { left } => write!(f, "{left} bytes follow the last item"),
            Fault::Huge { item } => write!(f, "item {item} has 4 GiB or more"),
            Fault::TooMany { items } => write!(f, "{items} items, more than 32 bits can count"),
            Fault::Offset {
                place,
                value,
                low,
                high,
            } => write!(f, "offset {place} is {value}, expected {low} … {high}"),
            Fault::NoOffsets => write!(f, "no offsets, expected at least 1"),
            Fault::NotText { item } => write!(f, "item {item} is not UTF-8"),
            Fault::Missing { item } => write!(f, "item {item} is missing"),
            Fault::WrongObject { item, type_name } => write!(f, "item {item} is {type_name}"),
            Fault::Index { value, items } => write!(f, "index {value} of {items} items"),
            Fault::Argument {
                name,
                found,
                expected,
            } => write!(f, "{name} is {found}, expected {expected}"),
            Fault::Changed => write!(f, "the arguments changed while they were read"),
            Fault::Memory => write!(f, "not enough memory for the items"),
        }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> PyErr {
        let text = fault.to_string();
        match fault {
            Fault::Index { .. } => PyIndexError::new_err(text),
            Fault::WrongObject { .. } | Fault::Argument { .. } => PyTypeError::new_err(text),
            Fault::Memory => PyMemoryError::new_err(text),
            _ => PyValueError::new_err(text),
        }
    }
}
