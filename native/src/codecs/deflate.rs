//! DEFLATE streams in the containers of gzip (RFC 1952) and zlib (RFC 1950).

use super::context::Context;
use super::room::Room;
use libdeflate_sys::{
    libdeflate_compressor, libdeflate_decompressor, libdeflate_result_LIBDEFLATE_SUCCESS,
};
use std::ffi::c_int;
use std::ptr::null_mut;

/// What a stream is wrapped in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Container {
    Gzip,
    Zlib,
}

impl Container {
    /// The decoded size of one stream, as it says; gzip ends with it, zlib has none.
    pub fn declared(self, data: &[u8]) -> Option<usize> {
        match self {
            Container::Gzip => data
                .last_chunk::<4>()
                .map(|size| u32::from_le_bytes(*size) as usize),
            Container::Zlib => None,
        }
    }
}

/// The level that -1 stands for.
const USUAL_LEVEL: c_int = 6;
/// A flag of gzip: a checksum of the header, which libdeflate does not look at.
const HEADER_CHECKSUM: u8 = 0x02;

/// Decodes a stream of known size.
pub struct Decompressor(Context<libdeflate_decompressor>);

impl Decompressor {
    pub fn new() -> Option<Decompressor> {
        unsafe fn free(context: *mut libdeflate_decompressor) {
            // SAFETY: as `Context` has it.
            unsafe { libdeflate_sys::libdeflate_free_decompressor(context) };
        }
        // SAFETY: made here, freed there.
        unsafe { Context::new(libdeflate_sys::libdeflate_alloc_decompressor(), free) }
            .map(Decompressor)
    }

    /// Fill the room exactly from one stream; how many bytes that took.
    pub fn decode(&mut self, container: Container, data: &[u8], room: &Room) -> Option<usize> {
        if container == Container::Gzip && data.get(3)? & HEADER_CHECKSUM != 0 {
            return None;
        }
        let decode = match container {
            Container::Gzip => libdeflate_sys::libdeflate_gzip_decompress_ex,
            Container::Zlib => libdeflate_sys::libdeflate_zlib_decompress_ex,
        };
        let mut used = 0;
        // SAFETY: a live context, the true sizes of both sides, and a place for the bytes used.
        // Without a place for the decoded size, only that of the room is a success.
        let result = unsafe {
            decode(
                self.0.pointer(),
                data.as_ptr().cast(),
                data.len(),
                room.start.cast(),
                room.size,
                &raw mut used,
                null_mut(),
            )
        };
        (result == libdeflate_result_LIBDEFLATE_SUCCESS).then_some(used)
    }
}

/// Makes one stream.
pub struct Compressor {
    context: Context<libdeflate_compressor>,
    container: Container,
}

impl Compressor {
    /// Levels are those of zlib, -1 to 9.
    pub fn new(container: Container, level: c_int) -> Option<Compressor> {
        unsafe fn free(context: *mut libdeflate_compressor) {
            // SAFETY: as `Context` has it.
            unsafe { libdeflate_sys::libdeflate_free_compressor(context) };
        }
        let level = if level < 0 { USUAL_LEVEL } else { level };
        // SAFETY: made here, freed there. A level that it does not have gives null.
        let context =
            unsafe { Context::new(libdeflate_sys::libdeflate_alloc_compressor(level), free) }?;
        Some(Compressor { context, container })
    }

    /// The most bytes that so many become.
    pub fn bound(&mut self, size: usize) -> usize {
        let bound = match self.container {
            Container::Gzip => libdeflate_sys::libdeflate_gzip_compress_bound,
            Container::Zlib => libdeflate_sys::libdeflate_zlib_compress_bound,
        };
        // SAFETY: a live context.
        unsafe { bound(self.context.pointer(), size) }
    }

    /// How many bytes of the room the stream takes; None if it is too small.
    pub fn encode(&mut self, data: &[u8], room: &Room) -> Option<usize> {
        let encode = match self.container {
            Container::Gzip => libdeflate_sys::libdeflate_gzip_compress,
            Container::Zlib => libdeflate_sys::libdeflate_zlib_compress,
        };
        let (source, target) = (data.as_ptr().cast(), room.start.cast());
        // SAFETY: a live context, and the true sizes of both sides.
        let found = unsafe {
            encode(
                self.context.pointer(),
                source,
                data.len(),
                target,
                room.size,
            )
        };
        (found > 0).then_some(found)
    }
}
