//! Many small chunks at once: each is undone and copied into its place of one array, with the GIL
//! released for all of them.
//!
//! Nothing is raised for what the bytes say. A block that is anything but sound and usual is left
//! to the caller, who decodes it again with the reference code and so gets the one true error. What
//! a block that is left has made of its own place is undefined; no other place is touched.

use crate::bytes::{Buffer, without_gil};
use crate::codecs::{Decoder, Encoder, Steps};
use crate::fault::Fault;
use crate::numpy::{self, Target};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// The encoded bytes of blocks.
enum Source<'py> {
    /// All in one buffer, and where: pairs of offset and length.
    One(Buffer<'py>, Vec<Option<usize>>),
    /// A buffer each.
    Each(Vec<Buffer<'py>>),
}

impl<'py> Source<'py> {
    fn new(data: &Bound<'py, PyAny>, places: Option<&Bound<'py, PyAny>>) -> PyResult<Source<'py>> {
        if let Some(places) = places {
            let buffer = Buffer::new(data, "data")?;
            let places = numbers(places, "places")?;
            if places.len() % 2 != 0 {
                let found = format!("{} integers", places.len());
                return Err(argument("places", found, "pairs"));
            }
            return Ok(Source::One(buffer, places));
        }
        let buffers = data.cast::<PyList>()?.iter();
        let buffers = buffers.map(|item| Buffer::new(&item, "data"));
        Ok(Source::Each(buffers.collect::<PyResult<_>>()?))
    }

    /// The bytes of each block; None where they pass the end of the buffer.
    fn pieces(&self) -> Vec<Option<&[u8]>> {
        match self {
            Source::One(buffer, places) => {
                let bytes = buffer.bytes();
                let piece = |&[offset, length]: &[Option<usize>; 2]| {
                    bytes.get(offset?..offset?.checked_add(length?)?)
                };
                places.as_chunks().0.iter().map(piece).collect()
            }
            Source::Each(buffers) => buffers.iter().map(|buffer| Some(buffer.bytes())).collect(),
        }
    }
}

/// The integers of an array, once and for all; None for what is negative.
fn numbers(array: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Vec<Option<usize>>> {
    let words = numpy::indices(array, name)?;
    Ok((0..words.len())
        .map(|place| usize::try_from(words.at(place)).ok())
        .collect())
}

/// Decode blocks of one shape into `out`; the numbers of those that were left.
///
/// `data` is one buffer with `places`, an offset and a length for each block; or a list of buffers
/// with None. `starts` has for each block as many indices of `out` as that has dimensions. `codecs`
/// are undone from the first to the last; what they give is the block's memory in C order, in which
/// groups of `swap` bytes are then reversed.
#[pyfunction]
#[pyo3(signature = (data, places, starts, shape, codecs, swap, out, /))]
#[allow(clippy::too_many_arguments)] // one call for all: that is the point
pub fn blocks_decode(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    places: Option<&Bound<'_, PyAny>>,
    starts: &Bound<'_, PyAny>,
    shape: Vec<usize>,
    codecs: &Bound<'_, PyTuple>,
    swap: usize,
    out: &Bound<'_, PyAny>,
) -> PyResult<Vec<usize>> {
    let steps = Steps::new(codecs)?;
    let source = Source::new(data, places)?;
    let pieces = source.pieces();
    let starts = numbers(starts, "starts")?;
    if pieces.len().checked_mul(shape.len()) != Some(starts.len()) {
        let found = format!("{} integers for {} blocks", starts.len(), pieces.len());
        return Err(argument("starts", found, "one for each dimension of each"));
    }
    let start_of = |number: usize| -> Option<&[Option<usize>]> {
        starts.get(number * shape.len()..(number + 1) * shape.len())
    };
    // From here on no Python code runs: the array stays as it is.
    let target = Target::new(out, &shape)?;
    let size = target.block_bytes();
    if swap == 0 || size % swap != 0 {
        let found = format!("{swap} for blocks of {size} bytes");
        return Err(argument("swap", found, "a divisor"));
    }
    for number in 0..pieces.len() {
        if !start_of(number).is_some_and(|start| target.holds(start)) {
            let found = format!("that of block {number} outside out");
            return Err(argument("starts", found, "places of whole blocks"));
        }
    }
    let work = || {
        let mut decoder = Decoder::new(&steps)?;
        let mut aside = Vec::new();
        if !target.contiguous() {
            aside.try_reserve_exact(size).map_err(|_| Fault::Memory)?;
            aside.resize(size, 0);
        }
        let mut left = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            let done = match (piece, start_of(number)) {
                (Some(piece), Some(start)) => {
                    target.fill(start, swap, &mut aside, |room| decoder.decode(piece, room))
                }
                _ => false,
            };
            if !done {
                left.push(number);
            }
        }
        Ok::<_, Fault>(left)
    };
    Ok(without_gil(py, size.saturating_mul(pieces.len()), work)?)
}

/// Encode one block's memory, in C order; None if that is left to the caller.
#[pyfunction]
#[pyo3(signature = (memory, codecs, /))]
pub fn block_encode<'py>(
    memory: &Bound<'py, PyAny>,
    codecs: &Bound<'py, PyTuple>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let py = memory.py();
    let steps = Steps::new(codecs)?;
    let buffer = Buffer::new(memory, "memory")?;
    let bytes = buffer.bytes();
    let work = || Ok::<_, Fault>(Encoder::new(&steps)?.encode(bytes).map(<[u8]>::to_vec));
    let encoded = without_gil(py, bytes.len(), work)?;
    Ok(encoded.map(|encoded| PyBytes::new(py, &encoded)))
}

fn argument(name: &'static str, found: String, expected: &'static str) -> PyErr {
    Fault::Argument {
        name,
        found,
        expected,
    }
    .into()
}
