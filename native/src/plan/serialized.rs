//! Chunks whose size in memory is not known beforehand, as those of text: what their serializer made
//! is read from files, or stored in them, many chunks in one call. The caller does the serializer's
//! part, which needs the interpreter.
//!
//! As with whole plans, nothing is raised for what files say. A chunk that is not exactly sound and
//! usual is left, and so is one that does not fit into the memory that the call may take.

use super::encode::{ENCODING, Watched};
use super::files::{self, Absent, Opener};
use super::layout::LARGE;
use super::pool::{self, Tasks};
use super::publish::Publisher;
use super::value::{Given, Held, held};
use super::{Keys, TOGETHER, paying};
use crate::bytes::filled_bytes;
use crate::codecs::{Decoder, Encoder, Room, Sink, Steps, Whole};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Reads and writes the chunks of one array, without their serializer.
#[pyclass(frozen)]
pub struct Serialized {
    steps: Steps,
    keys: Keys,
    /// No sound chunk takes more bytes in its file.
    limit: usize,
    /// Nor does its serializer make more.
    most: usize,
    /// Bytes that it makes of a chunk, about.
    usual: usize,
}

/// For each chunk its bytes, unless it is missing; and the places of those that were left.
type Found<'py> = (Vec<Option<Bound<'py, PyBytes>>>, Vec<usize>);

#[pymethods]
impl Serialized {
    /// `codecs` and `keys` are those of `Chunks`. `sizes` is (most encoded bytes, most bytes of the
    /// serializer, usual bytes of the serializer).
    #[new]
    #[pyo3(signature = (codecs, keys, sizes, /))]
    fn new(
        codecs: &Bound<'_, PyTuple>,
        keys: (Vec<u8>, u8, Vec<u8>),
        sizes: (usize, usize, usize),
    ) -> PyResult<Serialized> {
        let (before, between, behind) = keys;
        let (limit, most, usual) = sizes;
        Ok(Serialized {
            steps: Steps::new(codecs)?,
            keys: Keys {
                before,
                between,
                behind,
            },
            limit,
            most,
            usual,
        })
    }

    /// Read chunks, and undo the codecs: for each of the `coordinates` the bytes of the serializer,
    /// or None if it is missing; and the places of those that were left. All of them, and what is
    /// needed meanwhile, take at most `scratch` bytes, or for a moment twice that.
    #[pyo3(signature = (root, follow_links, coordinates, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn read<'py>(
        &self,
        py: Python<'py>,
        root: &Bound<'_, PyBytes>,
        follow_links: bool,
        coordinates: Vec<Vec<usize>>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Found<'py>> {
        let root = root.as_bytes();
        let memory = Memory {
            taken: AtomicUsize::new(0),
            most: scratch,
        };
        // Nothing: left. None: missing.
        let found: Vec<OnceLock<Option<Vec<u8>>>> =
            coordinates.iter().map(|_| OnceLock::new()).collect();
        let state = || {
            let opener = Opener::new(root, &self.keys, follow_links);
            (opener, Decoder::new(&self.steps).ok(), Vec::new())
        };
        let threads = self.threads(threads, found.len(), 1);
        let stopped = AtomicBool::new(false);
        let tasks = tasks(threads, found.len(), self.usual, &stopped);
        pool::run(py, &tasks, check, state, |own, task| {
            let (opener, decoder, encoded) = own;
            let value = match opener.open(&coordinates[task]) {
                Ok(file) => decoder
                    .as_mut()
                    .and_then(|decoder| self.unwrapped(&file, decoder, encoded, &memory))
                    .map(Some),
                Err(Absent::Missing) => Some(None),
                Err(Absent::Unusual) => None,
            };
            if let Some(value) = value {
                let _ = found[task].set(value); // each task is done once
            }
        })?;
        let (mut values, mut left) = (Vec::with_capacity(found.len()), Vec::new());
        for (task, found) in found.into_iter().enumerate() {
            let value = found.into_inner().map(|bytes| match bytes {
                Some(bytes) => filled_bytes(py, bytes.len(), |target| {
                    target.copy_from_slice(&bytes);
                    Ok(())
                })
                .map(Some),
                None => Ok(None),
            });
            match value {
                Some(Ok(value)) => values.push(value),
                _ => {
                    values.push(None);
                    left.push(task);
                }
            }
        }
        Ok((values, left))
    }

    /// Encode what the serializer made of chunks, and store each under its lock: the places of those
    /// that were left.
    #[pyo3(signature = (root, coordinates, values, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        py: Python<'_>,
        root: &Bound<'_, PyBytes>,
        coordinates: Vec<Vec<usize>>,
        values: Vec<Bound<'_, PyAny>>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<usize>> {
        let root = root.as_bytes();
        let held = held(&values, coordinates.len())?;
        let given: Vec<Given<'_>> = held.iter().map(Held::bytes).collect();
        let size = |given: &Given<'_>| match given {
            Given::Whole(bytes) => bytes.len(),
            _ => 0,
        };
        let largest = given.iter().map(size).max().unwrap_or(0).max(1);
        let threads = self
            .threads(threads, given.len(), ENCODING)
            .min(scratch / largest)
            .max(1);
        let stopped = AtomicBool::new(false);
        let bytes = largest.saturating_mul(ENCODING);
        let tasks = tasks(threads, given.len(), bytes, &stopped);
        let left = Mutex::new(Vec::new());
        let state = || {
            let publisher = Publisher::new(root, &self.keys);
            (publisher, Encoder::new(&self.steps).ok())
        };
        pool::run(py, &tasks, check, state, |own, task| {
            let (publisher, encoder) = own;
            let mut store = || {
                let Given::Whole(bytes) = given[task] else {
                    return None;
                };
                let (encoder, place) = (encoder.as_mut()?, &coordinates[task]);
                if bytes.len() >= LARGE && self.steps.streams() {
                    return publisher.publish(place, |file| {
                        let mut file = Watched::new(&stopped, file);
                        encoder.encode_pieces(&mut Whole::new(bytes), &mut file)
                    });
                }
                let value = encoder.encode(bytes)?;
                publisher.publish(place, |file| file.put(value))
            };
            if store().is_none()
                && let Ok(mut left) = left.lock()
            {
                left.push(task);
            }
        })?;
        Ok(left.into_inner().unwrap_or_default())
    }
}

impl Serialized {
    /// How many threads pay for so many chunks, each of which takes so many times as long.
    fn threads(&self, most: Option<usize>, count: usize, times: usize) -> usize {
        paying(count.saturating_mul(times), self.usual, most)
    }

    /// What the serializer made of a chunk; None if that is left.
    fn unwrapped(
        &self,
        file: &OwnedFd,
        decoder: &mut Decoder<'_>,
        encoded: &mut Vec<u8>,
        memory: &Memory,
    ) -> Option<Vec<u8>> {
        let length = files::length(file).filter(|&length| length <= self.limit)?;
        let mut value = Vec::new();
        if self.steps.is_plain() && length <= self.most {
            memory.take(length)?;
            files::read(file, 0, length, &mut value)?;
            return Some(value);
        }
        memory.take(length.saturating_sub(encoded.capacity()))?;
        let data = files::read(file, 0, length, encoded)?;
        let size = (self.steps.declared(data)).filter(|&size| size <= self.most)?;
        memory.take(size)?;
        value.try_reserve_exact(size).ok()?;
        // SAFETY: reserved, and written if it says so.
        unsafe {
            let room = Room::new(value.as_mut_ptr(), size);
            decoder.decode(data, &room).then_some(())?;
            value.set_len(size);
        }
        Some(value)
    }
}

/// One for each of so many chunks, which take so long.
fn tasks(threads: usize, count: usize, bytes: usize, stopped: &AtomicBool) -> Tasks<'_> {
    Tasks {
        threads,
        count,
        together: (count / (threads * 8)).clamp(1, TOGETHER),
        bytes,
        stopped,
    }
}

/// The memory that the threads of a call take together.
struct Memory {
    taken: AtomicUsize,
    most: usize,
}

impl Memory {
    /// None if so many bytes more are too many; nothing is taken then.
    fn take(&self, size: usize) -> Option<()> {
        let add = |taken: usize| taken.checked_add(size).filter(|&all| all <= self.most);
        let order = Ordering::Relaxed;
        self.taken.fetch_update(order, order, add).ok().map(drop)
    }
}
