//! LZ4 blocks: bare, as blosc has them, and behind their decoded size, as numcodecs has them.

use super::room::Room;
use std::ffi::c_int;

const PREFIX: usize = 4;

/// Fill the room exactly from a bare block.
pub fn decode_block(block: &[u8], room: &Room) -> Option<()> {
    let (length, size) = (block.len().try_into().ok()?, room.size.try_into().ok()?);
    let (source, target) = (block.as_ptr().cast(), room.start.cast());
    // SAFETY: the true sizes of both sides.
    let found = unsafe { lz4_sys::LZ4_decompress_safe(source, target, length, size) };
    (found == size).then_some(())
}

/// Make a bare block; how many bytes of the room it takes, None if it is too small.
pub fn encode_block(data: &[u8], room: &Room, acceleration: c_int) -> Option<usize> {
    let (length, most) = (data.len().try_into().ok()?, cut(room.size));
    let (source, target) = (data.as_ptr().cast(), room.start.cast());
    // SAFETY: the true sizes of both sides.
    let found = unsafe { lz4_sys::LZ4_compress_fast(source, target, length, most, acceleration) };
    usize::try_from(found).ok().filter(|&found| found > 0)
}

/// As `encode_block`, with more effort.
pub fn encode_block_well(data: &[u8], room: &Room, level: c_int) -> Option<usize> {
    let (length, most) = (data.len().try_into().ok()?, cut(room.size));
    let (source, target) = (data.as_ptr().cast(), room.start.cast());
    // SAFETY: the true sizes of both sides.
    let found = unsafe { lz4_sys::LZ4_compress_HC(source, target, length, most, level) };
    usize::try_from(found).ok().filter(|&found| found > 0)
}

fn cut(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or(c_int::MAX)
}

/// The decoded size, as it says.
pub fn declared(data: &[u8]) -> Option<usize> {
    data.first_chunk::<PREFIX>()
        .map(|size| u32::from_le_bytes(*size) as usize)
}

/// Fill the room exactly from a block behind its decoded size.
pub fn decode(data: &[u8], room: &Room) -> Option<()> {
    let block = data.get(PREFIX..)?;
    if declared(data)? != room.size || block.is_empty() {
        return None;
    }
    decode_block(block, room)
}

/// The most bytes that so many become, prefix included; None if they are too many.
pub fn bound(size: usize) -> Option<usize> {
    // SAFETY: a function of numbers.
    let bound = unsafe { lz4_sys::LZ4_compressBound(size.try_into().ok()?) };
    usize::try_from(bound)
        .ok()
        .filter(|&bound| bound > 0)
        .map(|bound| bound + PREFIX)
}

/// Make a block behind its decoded size; how many bytes of the room both take.
pub fn encode(data: &[u8], room: &Room, acceleration: c_int) -> Option<usize> {
    let size = u32::try_from(data.len()).ok()?;
    room.part(0, PREFIX)?.put(&size.to_le_bytes())?;
    let block = room.part(PREFIX, room.size.checked_sub(PREFIX)?)?;
    Some(PREFIX + encode_block(data, &block, acceleration)?)
}
