//! What chunks are encoded with: how that is undone, and done.
//!
//! The compressors are C libraries that are linked statically. A decoder never says what is wrong
//! with bytes: what is not exactly sound and usual it leaves to the reference code. An encoder leaves
//! what it does not make.

mod blosc;
mod blosclz;
mod context;
mod crc32c;
mod deflate;
mod lz4;
mod numbers;
mod room;
mod shuffle;
mod source;
mod zstd;

use crate::fault::Fault;
use crc32c::Checksum;
use deflate::Container;
use numbers::Rounding;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use room::{grow, refill};
use std::ffi::c_int;

pub use crc32c::checksum;
pub use room::Room;
use source::Given;
pub use source::{Appended, Input, PIECE, Rows, Sink, Source, Whole};

/// What a container is longer than its content at most, and a checksum.
const SLACK: usize = 32;

/// One codec.
enum Step {
    Crc32c(Checksum),
    Shuffle { width: usize },
    Delta { width: usize },
    Bitround(Rounding),
    Zstd { level: c_int, checksum: bool },
    Lz4 { acceleration: c_int },
    Deflate { container: Container, level: c_int },
    Blosc(blosc::Options),
}

impl Step {
    /// From a name and what belongs to it; None if it is unknown or wrong.
    fn new(codec: &Bound<'_, PyTuple>) -> Option<Step> {
        let name: String = codec.get_item(0).ok()?.extract().ok()?;
        let (step, arguments) = match name.as_str() {
            "crc32c" => (
                Step::Crc32c(Checksum {
                    at_start: argument(codec, 1)?,
                    least: argument(codec, 2)?,
                    most: argument(codec, 3)?,
                }),
                3,
            ),
            "shuffle" => {
                let width = argument(codec, 1).filter(|&width| width > 0)?;
                (Step::Shuffle { width }, 1)
            }
            "delta" => {
                let width = argument(codec, 1).filter(|width| matches!(width, 1 | 2 | 4 | 8))?;
                (Step::Delta { width }, 1)
            }
            "bitround" => {
                let rounding = Rounding {
                    width: argument(codec, 1)?,
                    drop: argument(codec, 2)?,
                    mantissa: argument(codec, 3)?,
                };
                let sound = rounding.is_sound().then_some(rounding)?;
                (Step::Bitround(sound), 3)
            }
            "zstd" => {
                let (level, checksum) = (argument(codec, 1)?, argument(codec, 2)?);
                (Step::Zstd { level, checksum }, 2)
            }
            "lz4" => {
                let acceleration = argument(codec, 1)?;
                (Step::Lz4 { acceleration }, 1)
            }
            "gzip" | "zlib" => {
                let level = argument(codec, 1).filter(|level| (-1..=9).contains(level))?;
                let container = match name.as_str() {
                    "gzip" => Container::Gzip,
                    _ => Container::Zlib,
                };
                (Step::Deflate { container, level }, 1)
            }
            "blosc" => (
                Step::Blosc(blosc::Options {
                    compressor: argument(codec, 1)?,
                    level: argument(codec, 2).filter(|level| (0..=9).contains(level))?,
                    shuffle: argument(codec, 3).filter(|&shuffle| shuffle <= 2)?,
                    typesize: argument(codec, 4).filter(|&size| size > 0)?,
                    block: argument(codec, 5)?,
                }),
                5,
            ),
            _ => return None,
        };
        (codec.len() == arguments + 1).then_some(step)
    }

    /// It makes bytes of another number, which is known only when it is done.
    fn compresses(&self) -> bool {
        !matches!(
            self,
            Step::Crc32c(_) | Step::Shuffle { .. } | Step::Delta { .. } | Step::Bitround(_)
        )
    }
}

fn argument<'py, T: for<'a> FromPyObject<'a, 'py>>(
    codec: &Bound<'py, PyTuple>,
    place: usize,
) -> Option<T> {
    codec.get_item(place).ok()?.extract().ok()
}

/// The codecs of a chunk, from the outside in.
pub struct Steps(Vec<Step>);

impl Steps {
    /// From tuples of a name and what belongs to it; see `README.md`.
    ///
    /// The size on each side of a codec must be known when it is undone: so at most one of them
    /// compresses, and only checksums are around it.
    pub fn new(codecs: &Bound<'_, PyTuple>) -> PyResult<Steps> {
        let mut steps: Vec<Step> = Vec::new();
        for codec in codecs.iter() {
            let found = codec.cast::<PyTuple>().ok().and_then(Step::new);
            let fits = |step: &Step| {
                let around = |outer: &Step| matches!(outer, Step::Crc32c(_));
                !step.compresses() || steps.iter().all(around)
            };
            match found.filter(fits) {
                Some(step) => steps.push(step),
                None => return Err(unknown(codec.repr()?.to_string())),
            }
        }
        Ok(Steps(steps))
    }

    /// The stored bytes are the chunk's memory.
    pub fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes a chunk becomes, as it says itself. None if it does not say. Nothing of that is
    /// true before the chunk is decoded.
    pub fn declared(&self, data: &[u8]) -> Option<usize> {
        let (mut size, mut inner) = (data.len(), data);
        for step in &self.0 {
            match step {
                Step::Crc32c(checksum) => {
                    size = size.checked_sub(4)?;
                    inner = checksum.content(inner).unwrap_or_default();
                }
                Step::Zstd { .. } => size = zstd::declared(inner)?,
                Step::Lz4 { .. } => size = lz4::declared(inner)?,
                Step::Blosc(_) => size = blosc::declared(inner)?,
                Step::Deflate { container, .. } => size = container.declared(inner)?,
                Step::Shuffle { .. } | Step::Delta { .. } | Step::Bitround(_) => {}
            }
        }
        Some(size)
    }

    /// Chunks can be encoded piece by piece.
    pub fn streams(&self) -> bool {
        matches!(self.0[..], [] | [Step::Zstd { .. } | Step::Blosc(_)])
    }

    /// Chunks can be decoded while they are read.
    pub fn takes_pieces(&self) -> bool {
        matches!(self.0[..], [Step::Zstd { .. }])
    }

    /// Chunks can be decoded some rows at a time, mostly.
    pub fn has_rows(&self) -> bool {
        matches!(self.0.last(), Some(Step::Zstd { .. } | Step::Blosc(_)))
    }
}

fn unknown(found: String) -> PyErr {
    Fault::Argument {
        name: "codecs",
        found: format!("{found} among them"),
        expected: "any crc32c, at most one compressor, then any crc32c and filters",
    }
    .into()
}

/// The codecs at work on one chunk after the other, in one thread.
pub struct Decoder<'a>(Vec<Undo<'a>>);

/// A codec, what it needs, and memory for what it gives to the next.
struct Undo<'a> {
    way: Decoding<'a>,
    memory: Vec<u8>,
}

enum Decoding<'a> {
    Crc32c(&'a Checksum),
    Shuffle(usize),
    Delta(usize),
    Zstd(zstd::Decompressor),
    Lz4,
    Deflate(Container, deflate::Decompressor),
    Blosc(blosc::Decompressor),
}

impl Decoding<'_> {
    /// None if there is nothing to undo.
    fn new(step: &Step) -> Result<Option<Decoding<'_>>, Fault> {
        Ok(Some(match step {
            Step::Bitround(_) => return Ok(None),
            Step::Crc32c(checksum) => Decoding::Crc32c(checksum),
            Step::Shuffle { width } => Decoding::Shuffle(*width),
            Step::Delta { width } => Decoding::Delta(*width),
            Step::Zstd { .. } => Decoding::Zstd(zstd::Decompressor::new().ok_or(Fault::Memory)?),
            Step::Lz4 { .. } => Decoding::Lz4,
            Step::Deflate { container, .. } => {
                let context = deflate::Decompressor::new().ok_or(Fault::Memory)?;
                Decoding::Deflate(*container, context)
            }
            Step::Blosc(_) => Decoding::Blosc(blosc::Decompressor::default()),
        }))
    }

    fn decode(&mut self, data: &[u8], room: &Room) -> Option<()> {
        match self {
            Decoding::Crc32c(checksum) => room.put(checksum.strip(data)?),
            Decoding::Shuffle(width) => shuffle::unshuffle(*width, data, room),
            Decoding::Delta(width) => numbers::sums(*width, data, room),
            Decoding::Zstd(context) => context.decode(data, room),
            Decoding::Lz4 => lz4::decode(data, room),
            Decoding::Deflate(container, context) => {
                let used = context.decode(*container, data, room)?;
                (used == data.len()).then_some(())
            }
            Decoding::Blosc(context) => context.decode(data, room),
        }
    }
}

impl<'a> Decoder<'a> {
    /// With contexts and memory of its own.
    pub fn new(steps: &'a Steps) -> Result<Decoder<'a>, Fault> {
        let mut codecs = Vec::new();
        for step in &steps.0 {
            if let Some(way) = Decoding::new(step)? {
                let memory = Vec::new();
                codecs.push(Undo { way, memory });
            }
        }
        Ok(Decoder(codecs))
    }

    /// Fill the room from these bytes; false if they are not exactly a chunk, or an unusual one.
    pub fn decode(&mut self, data: &[u8], room: &Room) -> bool {
        undo(&mut self.0, data, room).is_some()
    }

    /// The same from bytes that are read meanwhile, if the steps say that they take them.
    pub fn decode_pieces(&mut self, data: &mut dyn Input, room: &Room) -> bool {
        match &mut self.0[..] {
            [
                Undo {
                    way: Decoding::Zstd(context),
                    ..
                },
            ] => context.decode_pieces(data, room).is_some(),
            _ => false,
        }
    }

    /// The same some rows at a time, as `decode_rows` has it.
    pub fn decode_pieces_to_rows(
        &mut self,
        data: &mut dyn Input,
        rows: usize,
        row: usize,
        put: impl FnMut(usize, &[u8]),
    ) -> bool {
        match &mut self.0[..] {
            [
                Undo {
                    way: Decoding::Zstd(context),
                    memory,
                },
            ] => context.decode_rows(data, rows, row, memory, put).is_some(),
            _ => false,
        }
    }

    /// Decode a chunk of so many rows of bytes from its beginning to its end, some rows at a time,
    /// which `put` gets with their number; without memory for the whole chunk. False if that cannot
    /// be, also when some rows were put already.
    pub fn decode_rows(
        &mut self,
        data: &[u8],
        rows: usize,
        row: usize,
        put: impl FnMut(usize, &[u8]),
    ) -> bool {
        decode_rows(&mut self.0, data, rows, row, put).is_some()
    }
}

fn decode_rows(
    codecs: &mut [Undo<'_>],
    mut data: &[u8],
    rows: usize,
    row: usize,
    put: impl FnMut(usize, &[u8]),
) -> Option<()> {
    let (last, around) = codecs.split_last_mut()?;
    for codec in around {
        match &codec.way {
            Decoding::Crc32c(checksum) => data = checksum.strip(data)?,
            _ => return None,
        }
    }
    match &mut last.way {
        Decoding::Zstd(context) => {
            let last_memory = &mut last.memory;
            let given = &mut Given {
                next: data,
                last: &[],
            };
            context.decode_rows(given, rows, row, last_memory, put)
        }
        Decoding::Blosc(context) => context.decode_rows(data, rows, row, &mut last.memory, put),
        _ => None,
    }
}

/// Undo these codecs, the first one first.
fn undo(codecs: &mut [Undo<'_>], data: &[u8], room: &Room) -> Option<()> {
    let Some((first, inner)) = codecs.split_first_mut() else {
        return room.put(data);
    };
    if let Decoding::Crc32c(checksum) = &first.way {
        return undo(inner, checksum.strip(data)?, room);
    }
    if inner.is_empty() {
        return first.way.decode(data, room);
    }
    // Inside of a compressor there are only codecs that keep the size, and checksums.
    let size = room.size.checked_add(4 * checksums(inner))?;
    grow(&mut first.memory, size)?;
    let memory = first.memory.get_mut(..size)?;
    first.way.decode(data, &Room::over(memory))?;
    undo(inner, memory, room)
}

fn checksums(codecs: &[Undo<'_>]) -> usize {
    let is_one = |codec: &&Undo<'_>| matches!(codec.way, Decoding::Crc32c(_));
    codecs.iter().filter(is_one).count()
}

/// The codecs at work on one chunk after the other, in one thread, from the inside out.
pub struct Encoder<'a>(Option<Vec<Do<'a>>>);

/// A codec, what it needs, and memory for what it makes.
struct Do<'a> {
    way: Encoding<'a>,
    memory: Vec<u8>,
}

enum Encoding<'a> {
    Crc32c { at_start: bool },
    Shuffle(usize),
    Delta(usize),
    Bitround(Rounding),
    Zstd(zstd::Compressor),
    Lz4(c_int),
    Deflate(deflate::Compressor),
    Blosc(blosc::Compressor<'a>),
}

impl<'a> Encoding<'a> {
    /// None if it is not made here.
    fn new(step: &'a Step) -> Option<Encoding<'a>> {
        Some(match step {
            Step::Crc32c(checksum) => Encoding::Crc32c {
                at_start: checksum.at_start,
            },
            Step::Shuffle { width } => Encoding::Shuffle(*width),
            Step::Delta { width } => Encoding::Delta(*width),
            Step::Bitround(rounding) => Encoding::Bitround(*rounding),
            Step::Zstd { level, checksum } => {
                Encoding::Zstd(zstd::Compressor::new(*level, *checksum)?)
            }
            Step::Lz4 { acceleration } => Encoding::Lz4(*acceleration),
            Step::Deflate { container, level } => {
                Encoding::Deflate(deflate::Compressor::new(*container, *level)?)
            }
            Step::Blosc(options) => Encoding::Blosc(blosc::Compressor::new(options)?),
        })
    }

    /// The bytes that a chunk's memory becomes, with memory for four more.
    fn encode(&mut self, data: &[u8], memory: &mut Vec<u8>) -> Option<()> {
        if let Encoding::Blosc(context) = self {
            memory.clear();
            memory.try_reserve(data.len().checked_add(SLACK)?).ok()?;
            return context.encode(&mut Whole::new(data), &mut Appended::new(memory));
        }
        let most = self.bound(data.len())?;
        // SAFETY: each codec writes what it says.
        unsafe { refill(memory, most, 4, |room| self.fill(data, room)) }
    }

    /// The most bytes that so many become.
    fn bound(&mut self, size: usize) -> Option<usize> {
        match self {
            Encoding::Crc32c { .. } => size.checked_add(4),
            Encoding::Shuffle(_) | Encoding::Delta(_) | Encoding::Bitround(_) => Some(size),
            Encoding::Zstd(_) => zstd::Compressor::bound(size),
            Encoding::Lz4(_) => lz4::bound(size),
            Encoding::Deflate(context) => Some(context.bound(size)),
            Encoding::Blosc(_) => None,
        }
    }

    /// How many bytes of a room of `bound` bytes these become.
    fn fill(&mut self, data: &[u8], room: &Room) -> Option<usize> {
        match self {
            Encoding::Crc32c { at_start } => {
                let sum = crc32c::checksum(data).to_le_bytes();
                let places = if *at_start { (0, 4) } else { (data.len(), 0) };
                room.part(places.0, 4)?.put(&sum)?;
                room.part(places.1, data.len())?.put(data)?;
                data.len().checked_add(4)
            }
            Encoding::Shuffle(width) => {
                shuffle::shuffle(*width, data, room)?;
                Some(data.len())
            }
            Encoding::Delta(width) => {
                numbers::differences(*width, data, room)?;
                Some(data.len())
            }
            Encoding::Bitround(rounding) => {
                numbers::round(*rounding, data, room)?;
                Some(data.len())
            }
            Encoding::Zstd(context) => context.encode(data, room),
            Encoding::Lz4(acceleration) => lz4::encode(data, room, *acceleration),
            Encoding::Deflate(context) => context.encode(data, room),
            Encoding::Blosc(_) => None,
        }
    }
}

impl<'a> Encoder<'a> {
    /// With contexts and memory of its own.
    pub fn new(steps: &'a Steps) -> Result<Encoder<'a>, Fault> {
        let make = |step| {
            let way = Encoding::new(step)?;
            let memory = Vec::new();
            Some(Do { way, memory })
        };
        Ok(Encoder(steps.0.iter().rev().map(make).collect()))
    }

    /// Encode a chunk's memory; None if that is left to the reference code. The bytes are valid until
    /// the next call.
    pub fn encode<'b>(&'b mut self, memory: &'b [u8]) -> Option<&'b [u8]> {
        encode(self.0.as_mut()?, memory)
    }

    /// The same piece by piece, if the steps say that they stream.
    pub fn encode_pieces(&mut self, source: &mut dyn Source, sink: &mut dyn Sink) -> Option<()> {
        match self.0.as_deref_mut()? {
            [] => {
                let mut put = |piece: &[u8]| sink.put(piece).is_some();
                source.all(PIECE, &mut put)?.then_some(())
            }
            [codec] => match &mut codec.way {
                Encoding::Zstd(context) => context.encode_pieces(source, sink),
                Encoding::Blosc(context) => context.encode(source, sink),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Do these codecs, the first one first.
fn encode<'b>(codecs: &'b mut [Do<'_>], data: &'b [u8]) -> Option<&'b [u8]> {
    let Some((first, mut outer)) = codecs.split_first_mut() else {
        return Some(data);
    };
    first.way.encode(data, &mut first.memory)?;
    // A checksum at the end needs no copy of the rest.
    let appended = |codec: &Do<'_>| matches!(codec.way, Encoding::Crc32c { at_start: false });
    while outer.first().is_some_and(appended) {
        let sum = crc32c::checksum(&first.memory).to_le_bytes();
        first.memory.try_reserve(sum.len()).ok()?;
        first.memory.extend_from_slice(&sum);
        outer = &mut outer[1..];
    }
    encode(outer, &first.memory)
}
