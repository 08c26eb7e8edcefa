//! Zstandard frames.

use super::context::Context;
use super::room::Room;
use std::ffi::c_int;
use zstd_sys::{ZSTD_CCtx, ZSTD_DCtx, ZSTD_cParameter};

/// The greatest level that the library has.
pub const HIGHEST: c_int = 22;

/// Decodes frames of known total size.
pub struct Decompressor(Context<ZSTD_DCtx>);

impl Decompressor {
    pub fn new() -> Option<Decompressor> {
        unsafe fn free(context: *mut ZSTD_DCtx) {
            // SAFETY: as `Context` has it.
            unsafe { zstd_sys::ZSTD_freeDCtx(context) };
        }
        // SAFETY: made here, freed there.
        unsafe { Context::new(zstd_sys::ZSTD_createDCtx(), free) }.map(Decompressor)
    }

    /// Fill the room exactly; None if these are not frames of this size.
    pub fn decode(&mut self, data: &[u8], room: &Room) -> Option<()> {
        let (source, target) = (data.as_ptr().cast(), room.start.cast());
        let context = self.0.pointer();
        // SAFETY: a live context, and the true sizes of both sides.
        let found = unsafe {
            zstd_sys::ZSTD_decompressDCtx(context, target, room.size, source, data.len())
        };
        // An error is a number beyond any size.
        (found == room.size).then_some(())
    }
}

/// Makes a frame that declares its decoded size.
pub struct Compressor(Context<ZSTD_CCtx>);

impl Compressor {
    pub fn new(level: c_int, checksum: bool) -> Option<Compressor> {
        unsafe fn free(context: *mut ZSTD_CCtx) {
            // SAFETY: as `Context` has it.
            unsafe { zstd_sys::ZSTD_freeCCtx(context) };
        }
        // SAFETY: made here, freed there.
        let mut context = unsafe { Context::new(zstd_sys::ZSTD_createCCtx(), free) }?;
        for (parameter, value) in [
            (ZSTD_cParameter::ZSTD_c_compressionLevel, level.min(HIGHEST)),
            (ZSTD_cParameter::ZSTD_c_checksumFlag, c_int::from(checksum)),
        ] {
            // SAFETY: a live context.
            usable(unsafe {
                zstd_sys::ZSTD_CCtx_setParameter(context.pointer(), parameter, value)
            })?;
        }
        Some(Compressor(context))
    }

    /// The most bytes that so many become.
    pub fn bound(size: usize) -> Option<usize> {
        // SAFETY: a function of numbers.
        usable(unsafe { zstd_sys::ZSTD_compressBound(size) })
    }

    /// How many bytes of the room the frame takes; None if it is too small.
    pub fn encode(&mut self, data: &[u8], room: &Room) -> Option<usize> {
        let (source, target) = (data.as_ptr().cast(), room.start.cast());
        let context = self.0.pointer();
        // SAFETY: a live context, and the true sizes of both sides.
        usable(unsafe { zstd_sys::ZSTD_compress2(context, target, room.size, source, data.len()) })
    }
}

/// A size that is no error.
fn usable(size: usize) -> Option<usize> {
    // SAFETY: a function of numbers.
    (unsafe { zstd_sys::ZSTD_isError(size) } == 0).then_some(size)
}
