//! Zstandard frames.

use super::context::Context;
use super::room::{Room, grow};
use super::source::{Input, PIECE, Sink, Source};
use std::cell::Cell;
use std::ffi::c_int;
use zstd_sys::{
    ZSTD_CCtx, ZSTD_DCtx, ZSTD_EndDirective, ZSTD_ResetDirective, ZSTD_cParameter, ZSTD_dParameter,
    ZSTD_inBuffer, ZSTD_outBuffer,
};

/// The greatest level that the library has.
pub const HIGHEST: c_int = 22;

thread_local! {
    /// The context of the last decompressor of this thread. Making one takes longer than decoding a
    /// small chunk, and nothing of a frame stays in it.
    static SPARE: Cell<Option<Context<ZSTD_DCtx>>> = const { Cell::new(None) };
}

/// Decodes frames of known total size.
pub struct Decompressor(Option<Context<ZSTD_DCtx>>);

impl Decompressor {
    pub fn new() -> Option<Decompressor> {
        if let Ok(Some(mut spare)) = SPARE.try_with(Cell::take) {
            let reset = ZSTD_ResetDirective::ZSTD_reset_session_and_parameters;
            // SAFETY: a live context.
            usable(unsafe { zstd_sys::ZSTD_DCtx_reset(spare.pointer(), reset) })?;
            return Some(Decompressor(Some(spare)));
        }
        unsafe fn free(context: *mut ZSTD_DCtx) {
            // SAFETY: as `Context` has it.
            unsafe { zstd_sys::ZSTD_freeDCtx(context) };
        }
        // SAFETY: made here, freed there.
        let made = unsafe { Context::new(zstd_sys::ZSTD_createDCtx(), free) }?;
        Some(Decompressor(Some(made)))
    }

    /// Fill the room exactly; None if these are not frames of this size.
    pub fn decode(&mut self, data: &[u8], room: &Room) -> Option<()> {
        let (source, target) = (data.as_ptr().cast(), room.start.cast());
        let context = self.0.as_mut()?.pointer();
        // SAFETY: a live context, and the true sizes of both sides.
        let found = unsafe {
            zstd_sys::ZSTD_decompressDCtx(context, target, room.size, source, data.len())
        };
        // An error is a number beyond any size.
        (found == room.size).then_some(())
    }
}

/// The decoded size of the first frame, as it says.
pub fn declared(data: &[u8]) -> Option<usize> {
    // SAFETY: the true size.
    let size = unsafe { zstd_sys::ZSTD_getFrameContentSize(data.as_ptr().cast(), data.len()) };
    // Unknown sizes and errors are numbers beyond any size.
    usize::try_from(size)
        .ok()
        .filter(|&size| size <= isize::MAX as usize)
}

/// Frames that refer back further than 2²³ bytes need too much memory to be decoded in pieces.
const WINDOW: c_int = 23;
/// The decoded bytes stay where they are until the end of the frame: no copy of them is needed.
const STABLE_OUTPUT: ZSTD_dParameter = ZSTD_dParameter::ZSTD_d_experimentalParam2;
/// The greatest window that the library takes unasked.
const WIDEST: c_int = 27;

impl Decompressor {
    /// Begin a frame that is decoded in pieces.
    fn begin(&mut self, window: c_int, stable: bool) -> Option<*mut ZSTD_DCtx> {
        let context = self.0.as_mut()?.pointer();
        // SAFETY: a live context.
        unsafe {
            let reset = ZSTD_ResetDirective::ZSTD_reset_session_only;
            usable(zstd_sys::ZSTD_DCtx_reset(context, reset))?;
            for (parameter, value) in [
                (ZSTD_dParameter::ZSTD_d_windowLogMax, window),
                (STABLE_OUTPUT, c_int::from(stable)),
            ] {
                usable(zstd_sys::ZSTD_DCtx_setParameter(context, parameter, value))?;
            }
        }
        Some(context)
    }

    /// Decode one frame in pieces of whole rows.
    pub fn decode_rows(
        &mut self,
        data: &mut dyn Input,
        rows: usize,
        row: usize,
        memory: &mut Vec<u8>,
        mut put: impl FnMut(usize, &[u8]),
    ) -> Option<()> {
        let mut frame = Frame::new(self.begin(WINDOW, false)?, data);
        let together = (PIECE / row).clamp(1, rows);
        grow(memory, together.checked_mul(row)?)?;
        for first in (0..rows).step_by(together) {
            let count = together.min(rows - first);
            let piece = memory.get_mut(..count * row)?;
            frame.fill(&Room::over(piece))?;
            put(count, piece);
        }
        frame.end()
    }

    /// Decode one frame, which is given in pieces, and which fills the room exactly.
    pub fn decode_pieces(&mut self, data: &mut dyn Input, room: &Room) -> Option<()> {
        let mut frame = Frame::new(self.begin(WIDEST, true)?, data);
        frame.fill(room)?;
        frame.end()
    }
}

/// A frame that is being decoded.
struct Frame<'a> {
    context: *mut ZSTD_DCtx,
    data: &'a mut dyn Input,
    /// The piece of the input that is at work: its length, and how much of it was used.
    piece: (usize, usize),
    output: ZSTD_outBuffer,
    /// The frame goes on.
    open: bool,
}

impl<'a> Frame<'a> {
    fn new(context: *mut ZSTD_DCtx, data: &'a mut dyn Input) -> Frame<'a> {
        let output = ZSTD_outBuffer {
            dst: std::ptr::null_mut(),
            size: 0,
            pos: 0,
        };
        Frame {
            context,
            data,
            piece: (0, 0),
            output,
            open: true,
        }
    }

    /// Fill a room with what comes next.
    fn fill(&mut self, room: &Room) -> Option<()> {
        self.output = ZSTD_outBuffer {
            dst: room.start.cast(),
            size: room.size,
            pos: 0,
        };
        while self.output.pos < self.output.size {
            self.step()?;
        }
        Some(())
    }

    /// Whether the frame, and with it the input, ends here.
    fn end(&mut self) -> Option<()> {
        while self.open {
            self.step()?;
        }
        let used = self.piece.0 == self.piece.1;
        (used && self.data.next()?.is_empty()).then_some(())
    }

    /// Go on; None at the end of the frame or of the input, or if that is wrong.
    fn step(&mut self) -> Option<()> {
        self.open.then_some(())?;
        let (length, used) = self.piece;
        let piece = match used < length {
            true => self.data.last(),
            false => self.data.next()?,
        };
        let begin = if used < length { used } else { 0 };
        let mut input = ZSTD_inBuffer {
            src: piece.as_ptr().cast(),
            size: piece.len(),
            pos: begin,
        };
        let before = self.output.pos;
        // SAFETY: a live context, and the true sizes of both sides.
        let rest = usable(unsafe {
            zstd_sys::ZSTD_decompressStream(self.context, &mut self.output, &mut input)
        })?;
        self.open = rest != 0;
        self.piece = (input.size, input.pos);
        let moved = input.pos > begin || self.output.pos > before || !self.open;
        moved.then_some(())
    }
}

/// A context with more memory than this is not kept.
const SPARED: usize = 1 << 20;

impl Drop for Decompressor {
    fn drop(&mut self) {
        let Some(mut spare) = self.0.take() else {
            return;
        };
        // SAFETY: a live context.
        if unsafe { zstd_sys::ZSTD_sizeof_DCtx(spare.pointer()) } <= SPARED {
            // At the end of the thread there is no place for it, and it is freed.
            let _ = SPARE.try_with(|place| place.set(Some(spare)));
        }
    }
}

/// The input stays where it is until the end of the frame: no copy of it is needed.
const STABLE_INPUT: ZSTD_cParameter = ZSTD_cParameter::ZSTD_c_experimentalParam9;

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

    /// The same piece by piece.
    pub fn encode_pieces(&mut self, source: &mut dyn Source, sink: &mut dyn Sink) -> Option<()> {
        let context = self.0.pointer();
        let size = source.size();
        // SAFETY: a live context.
        unsafe {
            let reset = ZSTD_ResetDirective::ZSTD_reset_session_only;
            usable(zstd_sys::ZSTD_CCtx_reset(context, reset))?;
            usable(zstd_sys::ZSTD_CCtx_setPledgedSrcSize(context, size as u64))?;
            let stable = c_int::from(source.whole().is_some());
            usable(zstd_sys::ZSTD_CCtx_setParameter(
                context,
                STABLE_INPUT,
                stable,
            ))?;
        }
        if let Some(data) = source.whole() {
            // The same input, of which more is there each time.
            let mut input = input(data);
            for end in (PIECE..size).step_by(PIECE).chain([size]) {
                input.size = end;
                encode_piece(context, &mut input, end == size, sink)?;
            }
            return Some(());
        }
        let mut taken = 0;
        let complete = source.all(PIECE, &mut |piece| {
            taken += piece.len();
            encode_piece(context, &mut input(piece), taken == size, sink).is_some()
        })?;
        complete.then_some(())
    }
}

fn input(bytes: &[u8]) -> ZSTD_inBuffer {
    ZSTD_inBuffer {
        src: bytes.as_ptr().cast(),
        size: bytes.len(),
        pos: 0,
    }
}

/// Go on with a frame.
fn encode_piece(
    context: *mut ZSTD_CCtx,
    input: &mut ZSTD_inBuffer,
    last: bool,
    sink: &mut dyn Sink,
) -> Option<()> {
    let directive = match last {
        true => ZSTD_EndDirective::ZSTD_e_end,
        false => ZSTD_EndDirective::ZSTD_e_continue,
    };
    loop {
        let room = sink.room(PIECE)?;
        let mut output = ZSTD_outBuffer {
            dst: room.start.cast(),
            size: room.size,
            pos: 0,
        };
        // SAFETY: a live context, the true sizes of both sides, and as many bytes written as it says.
        let rest = unsafe {
            let rest = zstd_sys::ZSTD_compressStream2(context, &mut output, input, directive);
            sink.took(output.pos)?;
            usable(rest)?
        };
        if input.pos == input.size && (rest == 0 || !last) {
            return Some(());
        }
    }
}

/// A size that is no error.
fn usable(size: usize) -> Option<usize> {
    // SAFETY: a function of numbers.
    (unsafe { zstd_sys::ZSTD_isError(size) } == 0).then_some(size)
}
