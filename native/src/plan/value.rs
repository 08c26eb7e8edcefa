//! The stored bytes of a chunk or a shard: a file, or memory that the caller has.

#[cfg(target_os = "linux")]
use super::files;
use super::refused;
use crate::bytes::Buffer;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

/// A stored value.
pub enum Value<'a> {
    #[cfg(target_os = "linux")]
    File(OwnedFd),
    Memory(&'a [u8]),
    /// Parts of it, each behind its offset.
    Ranges(&'a [(usize, &'a [u8])]),
}

impl Value<'_> {
    /// How long it is, at the most; None of what is no regular file.
    pub fn length(&self) -> Option<usize> {
        match self {
            #[cfg(target_os = "linux")]
            Value::File(file) => files::length(file),
            Value::Memory(bytes) => Some(bytes.len()),
            Value::Ranges(_) => Some(usize::MAX),
        }
    }

    /// Reading takes a system call, so that what lies close together is read at once.
    pub fn is_far(&self) -> bool {
        !matches!(self, Value::Memory(_) | Value::Ranges(_))
    }

    /// Exactly so many bytes, if need be in a buffer that is used again; None if that fails.
    pub fn read<'b>(
        &'b self,
        start: usize,
        length: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Option<&'b [u8]> {
        match self {
            #[cfg(target_os = "linux")]
            Value::File(file) => files::read(file, start, length, buffer).map(|bytes| &*bytes),
            _ => {
                buffer.clear();
                self.piece(start, length)
            }
        }
    }

    /// Add so many bytes to others.
    pub fn append(&self, start: usize, length: usize, bytes: &mut Vec<u8>) -> Option<()> {
        bytes.try_reserve(length).ok()?;
        match self {
            #[cfg(target_os = "linux")]
            // SAFETY: reserved, and written if it says so.
            Value::File(file) => unsafe {
                let end = bytes.as_mut_ptr().add(bytes.len());
                files::read_to(file, start, end, length).then_some(())?;
                bytes.set_len(bytes.len() + length);
            },
            _ => bytes.extend_from_slice(self.piece(start, length)?),
        }
        Some(())
    }

    /// Bytes that are in memory.
    fn piece(&self, start: usize, length: usize) -> Option<&[u8]> {
        match self {
            #[cfg(target_os = "linux")]
            Value::File(_) => None,
            Value::Memory(bytes) => bytes.get(start..)?.get(..length),
            Value::Ranges(ranges) => ranges.iter().find_map(|(offset, bytes)| {
                bytes.get(start.checked_sub(*offset)?..)?.get(..length)
            }),
        }
    }
}

/// What the caller has of a chunk: nothing, all its bytes, or of a shard the index and some ranges.
pub enum Held<'py> {
    Nothing,
    Whole(Buffer<'py>),
    Parts(Buffer<'py>, Vec<(usize, Buffer<'py>)>),
}

impl<'py> Held<'py> {
    pub fn new(value: &Bound<'py, PyAny>) -> PyResult<Held<'py>> {
        const NAME: &str = "values";
        if value.is_none() {
            return Ok(Held::Nothing);
        }
        let Ok(parts) = value.cast::<PyTuple>() else {
            return Buffer::new(value, NAME).map(Held::Whole);
        };
        let (index, ranges): (Bound<'py, PyAny>, Vec<(usize, Bound<'py, PyAny>)>) =
            parts.extract()?;
        let ranges = ranges
            .iter()
            .map(|(offset, bytes)| Ok((*offset, Buffer::new(bytes, NAME)?)))
            .collect::<PyResult<_>>()?;
        Ok(Held::Parts(Buffer::new(&index, NAME)?, ranges))
    }

    /// The same for all threads.
    pub fn bytes(&self) -> Given<'_> {
        match self {
            Held::Nothing => Given::Nothing,
            Held::Whole(buffer) => Given::Whole(buffer.bytes()),
            Held::Parts(index, ranges) => {
                let ranges = ranges.iter();
                let ranges = ranges.map(|(offset, buffer)| (*offset, buffer.bytes()));
                Given::Parts(index.bytes(), ranges.collect())
            }
        }
    }
}

/// The bytes of what is held.
pub enum Given<'a> {
    Nothing,
    Whole(&'a [u8]),
    Parts(&'a [u8], Vec<(usize, &'a [u8])>),
}

/// All that the caller has of several chunks.
pub fn held<'py>(values: &[Bound<'py, PyAny>], expected: usize) -> PyResult<Vec<Held<'py>>> {
    if values.len() != expected {
        let found = format!("{} for {expected} chunks", values.len());
        return Err(refused("values", found));
    }
    values.iter().map(Held::new).collect()
}
