//! Containers of c-blosc 1: a header, the starts of the blocks, and the blocks, each shuffled, maybe
//! split into one piece for each byte of an element, and compressed.
//!
//! Every claim of a container is checked against its real length before it is used, no less strictly
//! than the reference code and c-blosc together do.

use super::deflate::{self, Container};
use super::room::{Room, grow};
use super::source::{PIECE, Sink, Source};
use super::{blosclz, lz4, shuffle, zstd};
use std::ffi::c_int;

const HEADER: usize = 16;
/// Of the container, and of what each compressor writes.
const VERSIONS: [u8; 2] = [2, 1];
const SHUFFLED: u8 = 0x01;
const MEMCPYED: u8 = 0x02;
const BITSHUFFLED: u8 = 0x04;
const FUTURE: u8 = 0x08;
const UNSPLIT: u8 = 0x10;
const BLOSCLZ: u8 = 0;
const LZ4: u8 = 1;
const ZLIB: u8 = 3;
const ZSTD: u8 = 4;
/// Up to this many bytes may follow a container.
const SLACK: usize = 16;
const MOST_BYTES: usize = i32::MAX as usize - HEADER;
const MOST_BLOCK: usize = (i32::MAX as usize - 255 * 4) / 3;
const MOST_SPLITS: usize = 16;
/// Fewer bytes than this are not compressed, and not split off.
const FEW: usize = 128;

/// What a container says of its blocks, checked.
struct Layout {
    flags: u8,
    typesize: usize,
    size: usize,
    block: usize,
}

impl Layout {
    /// The pieces of a block of `size` bytes.
    fn splits(&self, size: usize) -> usize {
        let split = self.flags & UNSPLIT == 0 && size == self.block;
        match split && splittable(self.typesize, size) {
            true => self.typesize,
            false => 1,
        }
    }

    /// The header of a container of so many bytes.
    fn header(&self, length: usize) -> Option<[u8; HEADER]> {
        let mut header = [0; HEADER];
        let typesize = u8::try_from(self.typesize).ok()?;
        header[..4].copy_from_slice(&[VERSIONS[0], VERSIONS[1], self.flags, typesize]);
        for (at, value) in [(4, self.size), (8, self.block), (12, length)] {
            header[at..at + 4].copy_from_slice(&u32::try_from(value).ok()?.to_le_bytes());
        }
        Some(header)
    }

    fn filter(&self, size: usize) -> Filter {
        if self.flags & SHUFFLED != 0 && self.typesize > 1 {
            Filter::Bytes
        } else if self.flags & BITSHUFFLED != 0 && size >= self.typesize {
            Filter::Bits
        } else {
            Filter::None
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filter {
    None,
    Bytes,
    Bits,
}

fn splittable(typesize: usize, block: usize) -> bool {
    typesize <= MOST_SPLITS && block / typesize >= FEW
}

/// What is in a container of exactly `size` decoded bytes; None if it is not sound, or unusual.
/// Without a layout it is the bytes themselves.
fn open(data: &[u8], size: usize) -> Option<(&[u8], Option<Layout>)> {
    let [version, format, flags, typesize, ..] = *data.first_chunk::<HEADER>()?;
    let [nbytes, block, length] = [number(data, 4)?, number(data, 8)?, number(data, 12)?];
    let slack = data.len().checked_sub(length)?;
    if version != VERSIONS[0] || slack > SLACK || length < HEADER || nbytes != size || size == 0 {
        return None;
    }
    let data = &data[..length];
    if flags & MEMCPYED != 0 {
        let plain = &data[HEADER..];
        return (plain.len() == size).then_some((plain, None));
    }
    if flags & FUTURE != 0 || format != VERSIONS[1] || typesize == 0 || size > MOST_BYTES {
        return None;
    }
    if block == 0 || block > size || block > MOST_BLOCK {
        return None;
    }
    let table = size.div_ceil(block).checked_mul(4)?;
    let first = table.checked_add(HEADER)?;
    if first.checked_add(table)? > length {
        return None;
    }
    for at in (HEADER..first).step_by(4) {
        let start = number(data, at)?;
        if start < first || start > length - 4 {
            return None;
        }
    }
    let layout = Layout {
        flags,
        typesize: usize::from(typesize),
        size,
        block,
    };
    Some((data, Some(layout)))
}

/// The decoded size, as it says.
pub fn declared(data: &[u8]) -> Option<usize> {
    number(data, 4)
}

fn number(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// Decodes containers, whatever compressor they name.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<zstd::Decompressor>,
    deflate: Option<deflate::Decompressor>,
    block: Vec<u8>,
    tile: Vec<u8>,
}

impl Decompressor {
    /// Fill the room exactly; None if this is no sound container of that size, or an unusual one.
    pub fn decode(&mut self, data: &[u8], room: &Room) -> Option<()> {
        let (data, layout) = open(data, room.size)?;
        let Some(layout) = layout else {
            return room.put(data);
        };
        for (index, first) in (0..layout.size).step_by(layout.block).enumerate() {
            let size = layout.block.min(layout.size - first);
            let start = number(data, HEADER + 4 * index)?;
            self.decode_block(&layout, data, start, &room.part(first, size)?)?;
        }
        Some(())
    }

    /// The same in pieces of whole rows, which are whole blocks; None also if there are none such.
    pub fn decode_rows(
        &mut self,
        data: &[u8],
        rows: usize,
        row: usize,
        memory: &mut Vec<u8>,
        mut put: impl FnMut(usize, &[u8]),
    ) -> Option<()> {
        let (data, layout) = open(data, rows.checked_mul(row)?)?;
        let Some(layout) = layout else {
            put(rows, data);
            return Some(());
        };
        let piece = layout.block.max(row);
        if piece % row != 0 || piece % layout.block != 0 {
            return None;
        }
        grow(memory, piece.min(layout.size))?;
        for first in (0..layout.size).step_by(piece) {
            let size = piece.min(layout.size - first);
            let memory = memory.get_mut(..size)?;
            let room = Room::over(memory);
            for begin in (0..size).step_by(layout.block) {
                let start = number(data, HEADER + 4 * ((first + begin) / layout.block))?;
                let part = room.part(begin, layout.block.min(size - begin))?;
                self.decode_block(&layout, data, start, &part)?;
            }
            put(size / row, memory);
        }
        Some(())
    }

    fn decode_block(
        &mut self,
        layout: &Layout,
        data: &[u8],
        start: usize,
        room: &Room,
    ) -> Option<()> {
        let size = room.size;
        let (splits, filter) = (layout.splits(size), layout.filter(size));
        if !size.is_multiple_of(splits) {
            return None;
        }
        let piece = size / splits;
        // BloscLZ reads what it has written: it needs memory of our own.
        let straight = filter == Filter::None && layout.flags >> 5 != BLOSCLZ;
        let mut aside = std::mem::take(&mut self.block);
        if !straight {
            grow(&mut aside, size)?;
        }
        let mut at = start;
        for split in 0..splits {
            let length = number(data, at)?;
            let stored = data.get(at + 4..(at + 4).checked_add(length)?)?;
            at += 4 + length;
            let first = split * piece;
            let target = match straight {
                true => room.part(first, piece)?,
                false => Room::over(aside.get_mut(first..first + piece)?),
            };
            if length == piece {
                target.put(stored)?;
                continue;
            }
            match layout.flags >> 5 {
                BLOSCLZ => blosclz::decode(stored, aside.get_mut(first..first + piece)?)?,
                LZ4 => lz4::decode_block(stored, &target)?,
                ZLIB => {
                    let context = made(&mut self.deflate, deflate::Decompressor::new)?;
                    context.decode(Container::Zlib, stored, &target)?;
                }
                ZSTD => made(&mut self.zstd, zstd::Decompressor::new)?.decode(stored, &target)?,
                _ => return None,
            }
        }
        if !straight {
            let block = aside.get(..size)?;
            match filter {
                Filter::None => room.put(block)?,
                Filter::Bytes => shuffle::unshuffle(layout.typesize, block, room)?,
                Filter::Bits => {
                    shuffle::bitunshuffle(layout.typesize, block, &mut self.tile, room)?;
                }
            }
        }
        self.block = aside;
        Some(())
    }
}

/// What is there, or is made now.
fn made<T>(place: &mut Option<T>, new: impl FnOnce() -> Option<T>) -> Option<&mut T> {
    if place.is_none() {
        *place = new();
    }
    place.as_mut()
}

/// How containers are made.
pub struct Options {
    /// Its name in metadata.
    pub compressor: String,
    /// 0 to 9.
    pub level: c_int,
    /// 0: not at all, 1: bytes, 2: bits.
    pub shuffle: u8,
    /// Bytes of an element, not 0.
    pub typesize: usize,
    /// Bytes of a block; 0: as c-blosc chooses it.
    pub block: usize,
}

/// Makes containers, with the block sizes, the splits and the levels of c-blosc.
pub struct Compressor<'a> {
    options: &'a Options,
    engine: Engine,
    block: Vec<u8>,
    tile: Vec<u8>,
}

enum Engine {
    Lz4,
    Lz4Hc,
    Zlib(deflate::Compressor),
    Zstd(zstd::Compressor),
}

impl Engine {
    fn new(options: &Options) -> Option<Engine> {
        let level = options.level;
        Some(match options.compressor.as_str() {
            "lz4" => Engine::Lz4,
            "lz4hc" => Engine::Lz4Hc,
            "zlib" => Engine::Zlib(deflate::Compressor::new(Container::Zlib, level)?),
            "zstd" => {
                let level = if level < 9 {
                    2 * level - 1
                } else {
                    zstd::HIGHEST
                };
                Engine::Zstd(zstd::Compressor::new(level, false)?)
            }
            _ => return None,
        })
    }

    fn format(&self) -> u8 {
        match self {
            Engine::Lz4 | Engine::Lz4Hc => LZ4,
            Engine::Zlib(_) => ZLIB,
            Engine::Zstd(_) => ZSTD,
        }
    }

    /// How many bytes of the room these become; None if they do not fit.
    fn encode(&mut self, level: c_int, data: &[u8], room: &Room) -> Option<usize> {
        match self {
            Engine::Lz4 => lz4::encode_block(data, room, 10 - level),
            Engine::Lz4Hc => lz4::encode_block_well(data, room, level),
            Engine::Zlib(compressor) => compressor.encode(data, room),
            Engine::Zstd(compressor) => compressor.encode(data, room),
        }
    }
}

impl<'a> Compressor<'a> {
    /// None for a compressor that is only decoded here.
    pub fn new(options: &'a Options) -> Option<Compressor<'a>> {
        Some(Compressor {
            options,
            engine: Engine::new(options)?,
            block: Vec::new(),
            tile: Vec::new(),
        })
    }

    /// Make a container.
    pub fn encode(&mut self, source: &mut dyn Source, sink: &mut dyn Sink) -> Option<()> {
        let (options, size) = (self.options, source.size());
        if size == 0 || size > MOST_BYTES {
            return None;
        }
        let typesize = match options.typesize {
            typesize if typesize > 255 || size % typesize != 0 => 1,
            typesize => typesize,
        };
        let block = self.block_size(size, typesize);
        let mut flags =
            self.engine.format() << 5 | [0, SHUFFLED, BITSHUFFLED][usize::from(options.shuffle)];
        if !self.splits(typesize, block) {
            flags |= UNSPLIT;
        }
        let layout = Layout {
            flags,
            typesize,
            size,
            block,
        };
        if options.level > 0 && size >= FEW && self.encode_blocks(&layout, source, sink)? {
            return Some(());
        }
        sink.restart()?;
        let plain = Layout {
            flags: flags | MEMCPYED,
            ..layout
        };
        sink.put(&plain.header(HEADER + size)?)?;
        let mut put = |piece: &[u8]| sink.put(piece).is_some();
        source.all(PIECE, &mut put)?.then_some(())
    }

    /// The blocks with their table; false if they are longer than the data.
    fn encode_blocks(
        &mut self,
        layout: &Layout,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
    ) -> Option<bool> {
        let blocks = layout.size.div_ceil(layout.block);
        let mut end = HEADER + 4 * blocks;
        // The header and the table are known at the end.
        let mut table = vec![0; end];
        sink.put(&table)?;
        source.rewind();
        for index in 0..blocks {
            let first = index * layout.block;
            let start = u32::try_from(end).ok()?.to_le_bytes();
            table[HEADER + 4 * index..][..4].copy_from_slice(&start);
            let size = layout.block.min(layout.size - first);
            let room = sink.room(size + 4 * layout.splits(size))?;
            let length = self.encode_block(layout, source.next(size)?, &room)?;
            // SAFETY: as `encode_block` says.
            unsafe { sink.took(length) }?;
            end += length;
            if end > HEADER + layout.size {
                return Some(false);
            }
        }
        table[..HEADER].copy_from_slice(&layout.header(end)?);
        sink.rewrite(&table)?;
        Some(true)
    }

    /// One block, in a room for its pieces as they are: how many bytes of it are written.
    fn encode_block(&mut self, layout: &Layout, block: &[u8], room: &Room) -> Option<usize> {
        let (size, typesize) = (block.len(), layout.typesize);
        let filter = layout.filter(size);
        if filter != Filter::None {
            grow(&mut self.block, size)?;
            let aside = Room::over(self.block.get_mut(..size)?);
            match filter {
                Filter::Bits => shuffle::bitshuffle(typesize, block, &mut self.tile, &aside)?,
                _ => shuffle::shuffle(typesize, block, &aside)?,
            }
        }
        let block = match filter {
            Filter::None => block,
            _ => self.block.get(..size)?,
        };
        let piece = size / layout.splits(size);
        let mut end = 0;
        for part in block.chunks(piece) {
            let place = end + 4;
            let target = room.part(place, piece)?;
            let found = self.engine.encode(self.options.level, part, &target);
            let length = match found.filter(|&length| length < piece) {
                Some(length) => length,
                None => {
                    target.put(part)?;
                    piece
                }
            };
            let stored = u32::try_from(length).ok()?.to_le_bytes();
            room.part(end, 4)?.put(&stored)?;
            end = place + length;
        }
        Some(end)
    }

    fn splits(&self, typesize: usize, block: usize) -> bool {
        !matches!(self.engine, Engine::Zstd(_)) && splittable(typesize, block)
    }

    /// As c-blosc chooses it.
    fn block_size(&self, size: usize, typesize: usize) -> usize {
        const KIB: usize = 1024;
        let level = self.options.level;
        let mut block = size;
        if self.options.block > 0 {
            block = self.options.block.clamp(FEW, MOST_BLOCK);
        } else if size >= 32 * KIB {
            // The compressors that are slow get larger blocks.
            let slow = usize::from(!matches!(self.engine, Engine::Lz4));
            block = match level {
                0 => 8 * KIB,
                1 => 16 * KIB,
                2 => 32 * KIB,
                3 => 64 * KIB,
                4 | 5 => 128 * KIB,
                6..=8 => 256 * KIB,
                _ => (256 * KIB) << slow,
            } << slow;
        }
        if level > 0 && self.splits(typesize, block) {
            block = (block.min(256 * KIB) * typesize).clamp(64 * KIB, KIB * KIB);
        }
        block = block.min(size);
        if block > typesize {
            block -= block % typesize;
        }
        block
    }
}
