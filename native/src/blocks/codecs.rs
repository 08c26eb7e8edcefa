//! What blocks are encoded with, and how that is undone.
//!
//! The compressors are those of the libraries that the reference code uses: the caller names the
//! addresses of their functions and vouches for them. They are called as their headers have it, with
//! the true sizes of both sides.

use super::blosc::{self, Content};
use super::crc32c::checksum;
use crate::fault::Fault;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

type New = unsafe extern "C" fn() -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void) -> usize;
type Zstd = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *const c_void, usize) -> usize;
type Blosc = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int) -> c_int;
type Lz4 = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, c_int) -> c_int;

/// Memory that one block is decoded into: of exactly its size, and written, never read.
pub struct Room {
    start: *mut u8,
    size: usize,
}

impl Room {
    /// # Safety
    /// So many bytes may be written there for as long as this lives.
    pub unsafe fn new(start: *mut u8, size: usize) -> Room {
        Room { start, size }
    }

    fn put(&self, bytes: &[u8]) -> bool {
        if bytes.len() != self.size {
            return false;
        }
        // SAFETY: the room is this large. The two may be the same memory, if the caller is odd.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.start, self.size) };
        true
    }
}

/// A checksum around what is encoded.
struct Checksum {
    at_start: bool,
    least: usize,
    most: usize,
}

impl Checksum {
    fn strip<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        if data.len() < self.least || data.len() > self.most {
            return None;
        }
        let (stored, payload) = match self.at_start {
            true => data.split_first_chunk::<4>()?,
            false => data
                .split_last_chunk::<4>()
                .map(|(rest, last)| (last, rest))?,
        };
        (checksum(payload) == u32::from_le_bytes(*stored)).then_some(payload)
    }
}

#[derive(Clone, Copy)]
enum Compressor {
    None,
    Zstd { new: New, free: Free, decode: Zstd },
    Blosc(Blosc),
    Lz4(Lz4),
}

/// The codecs of a block, from the outside in.
pub struct Steps {
    checksums: Vec<Checksum>,
    compressor: Compressor,
}

impl Steps {
    /// Whether the stored bytes are the chunk's memory.
    pub fn is_plain(&self) -> bool {
        self.checksums.is_empty() && matches!(self.compressor, Compressor::None)
    }

    /// From tuples of a name and what belongs to it; see `README.md`.
    pub fn new(codecs: &Bound<'_, PyTuple>) -> PyResult<Steps> {
        let mut steps = Steps {
            checksums: Vec::new(),
            compressor: Compressor::None,
        };
        for codec in codecs.iter() {
            let codec = codec.cast_into::<PyTuple>()?;
            let name: String = codec.get_item(0)?.extract()?;
            if !matches!(steps.compressor, Compressor::None) {
                return Err(unknown(name));
            }
            match name.as_str() {
                "crc32c" => steps.checksums.push(Checksum {
                    at_start: codec.get_item(1)?.extract()?,
                    least: codec.get_item(2)?.extract()?,
                    most: codec.get_item(3)?.extract()?,
                }),
                // SAFETY: the caller vouches for the addresses.
                "zstd" => unsafe {
                    steps.compressor = Compressor::Zstd {
                        new: transmute::<usize, New>(address(&codec, 1)?),
                        free: transmute::<usize, Free>(address(&codec, 2)?),
                        decode: transmute::<usize, Zstd>(address(&codec, 3)?),
                    }
                },
                // SAFETY: as above.
                "blosc" => unsafe {
                    steps.compressor =
                        Compressor::Blosc(transmute::<usize, Blosc>(address(&codec, 1)?))
                },
                // SAFETY: as above.
                "lz4" => unsafe {
                    steps.compressor = Compressor::Lz4(transmute::<usize, Lz4>(address(&codec, 1)?))
                },
                _ => return Err(unknown(name)),
            }
        }
        Ok(steps)
    }
}

fn address(codec: &Bound<'_, PyTuple>, place: usize) -> PyResult<usize> {
    match codec.get_item(place)?.extract()? {
        0 => Err(unknown("a function at address 0".to_owned())),
        address => Ok(address),
    }
}

fn unknown(found: String) -> PyErr {
    Fault::Argument {
        name: "codecs",
        found,
        expected: "any crc32c, then at most one of zstd, blosc and lz4",
    }
    .into()
}

/// The codecs at work on one block after the other.
pub struct Decoder<'a> {
    steps: &'a Steps,
    context: Option<(*mut c_void, Free)>,
}

impl<'a> Decoder<'a> {
    /// With a context of its own, where the compressor has such a thing.
    pub fn new(steps: &'a Steps) -> Result<Decoder<'a>, Fault> {
        let context = match steps.compressor {
            Compressor::Zstd { new, free, .. } => {
                // SAFETY: as its header has it.
                let context = unsafe { new() };
                if context.is_null() {
                    return Err(Fault::Memory);
                }
                Some((context, free))
            }
            _ => None,
        };
        Ok(Decoder { steps, context })
    }

    /// Fill the room from these bytes; false if they are not exactly a block, or an unusual one.
    pub fn decode(&mut self, data: &[u8], room: &Room) -> bool {
        self.decoded(data, room).unwrap_or(false)
    }

    fn decoded(&mut self, mut data: &[u8], room: &Room) -> Option<bool> {
        for checksum in &self.steps.checksums {
            data = checksum.strip(data)?;
        }
        let size = room.size;
        let target = room.start.cast::<c_void>();
        let source = data.as_ptr().cast::<c_void>();
        Some(match self.steps.compressor {
            Compressor::None => room.put(data),
            Compressor::Zstd { decode, .. } => {
                let (context, _) = self.context?;
                // SAFETY: a live context, and the true sizes of both sides. An error is a number
                // beyond any size.
                size == unsafe { decode(context, target, size, source, data.len()) }
            }
            Compressor::Blosc(decode) => match blosc::content(data, size)? {
                Content::Plain(plain) => room.put(plain),
                Content::Blocks => {
                    // SAFETY: the container is sound as far as c-blosc relies on it, and declares
                    // exactly the size of the room. One thread, no state of its own.
                    let found = unsafe { decode(source, target, size, 1) };
                    usize::try_from(found) == Ok(size)
                }
            },
            Compressor::Lz4(decode) => {
                let (declared, block) = data.split_first_chunk::<4>()?;
                if u32::from_le_bytes(*declared) as usize != size || block.is_empty() {
                    return None;
                }
                let (length, room) = (block.len().try_into().ok()?, size.try_into().ok()?);
                // SAFETY: the true sizes of both sides.
                let found = unsafe { decode(block.as_ptr().cast(), target, length, room) };
                usize::try_from(found) == Ok(size)
            }
        })
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        if let Some((context, free)) = self.context.take() {
            // SAFETY: made in `new`, freed once.
            unsafe { free(context) };
        }
    }
}
