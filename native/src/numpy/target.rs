//! An array of any strides that blocks of one shape are put into.

use super::{WRITEABLE, description, fields};
use crate::codecs::Room;
use crate::fault::Fault;
use pyo3::prelude::*;
use std::ffi::c_int;
use std::iter::zip;

const EXPECTED: &str = "a writeable array of plain elements with as many dimensions as a block";

/// NPY_ITEM_REFCOUNT, NPY_ITEM_IS_POINTER.
const NOT_PLAIN: u64 = 0x01 | 0x04;

/// The array, and how a block is laid out in it.
pub struct Target {
    start: *mut u8,
    shape: Vec<usize>,
    strides: Vec<isize>,
    block: Vec<usize>,
    size: usize,
    /// Contiguous bytes of a block.
    run: usize,
    /// Length and stride of the dimensions around them, outermost first.
    around: Vec<(usize, isize)>,
}

// SAFETY: the array is kept alive by the caller's reference; it is written at checked places only.
unsafe impl Sync for Target {}

impl Target {
    /// An array to be written block by block.
    pub fn new(object: &Bound<'_, PyAny>, block: &[usize]) -> PyResult<Target> {
        let refused = || Fault::Argument {
            name: "out",
            found: description(object),
            expected: EXPECTED,
        };
        let array = fields(object).ok_or_else(refused)?;
        // SAFETY: every array has a descriptor.
        let descriptor = unsafe { &*array.descriptor };
        if array.flags & WRITEABLE == 0
            || descriptor.flags & NOT_PLAIN != 0
            || array.dimensions != block.len() as c_int
        {
            return Err(refused().into());
        }
        // SAFETY: both have as many entries as there are dimensions; a length is never negative.
        let axes = (0..block.len())
            .map(|axis| unsafe { (*array.shape.add(axis) as usize, *array.strides.add(axis)) });
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.unzip();
        let itemsize = usize::try_from(descriptor.item_size).map_err(|_| refused())?;
        let mut size = itemsize;
        let mut run = itemsize;
        let mut around = Vec::new();
        for (&length, &stride) in block.iter().zip(&strides).rev() {
            size = size.checked_mul(length).ok_or(Fault::Memory)?;
            match length {
                1 => {}
                _ if around.is_empty() && stride == run as isize => run = size,
                _ => around.push((length, stride)),
            }
        }
        if size == 0 || size > isize::MAX as usize {
            return Err(refused().into());
        }
        around.reverse();
        Ok(Target {
            start: array.data,
            shape,
            strides,
            block: block.to_vec(),
            size,
            run,
            around,
        })
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        self.size
    }

    /// Whether a block is contiguous.
    pub fn contiguous(&self) -> bool {
        self.around.is_empty()
    }

    /// Whether a block that begins there is inside the array.
    pub fn holds(&self, start: &[Option<usize>]) -> bool {
        let inside = |((&length, &start), &end): ((&usize, &Option<usize>), &usize)| {
            start
                .and_then(|start| start.checked_add(length))
                .is_some_and(|stop| stop <= end)
        };
        start.len() == self.shape.len() && zip(zip(&self.block, start), &self.shape).all(inside)
    }

    /// Decode a block into its place, straight or through `aside`; false if it cannot be decoded.
    pub fn fill(
        &self,
        start: &[Option<usize>],
        swap: usize,
        aside: &mut [u8],
        decode: impl FnOnce(&Room) -> bool,
    ) -> bool {
        if !self.holds(start) {
            return false;
        }
        let steps = zip(start.iter().flatten(), &self.strides);
        let offset: isize = steps.map(|(&index, &stride)| index as isize * stride).sum();
        // SAFETY: the place of an element of the array.
        let place = unsafe { self.start.offset(offset) };
        let straight = self.contiguous();
        if !straight && aside.len() != self.size {
            return false;
        }
        let memory = if straight { place } else { aside.as_mut_ptr() };
        // SAFETY: a contiguous block is inside the array, as `holds` says; the other is this large.
        if !decode(&unsafe { Room::new(memory, self.size) }) {
            return false;
        }
        if swap > 1 {
            // SAFETY: just written. Nothing else reads it before it is complete.
            let bytes = unsafe { std::slice::from_raw_parts_mut(memory, self.size) };
            bytes.chunks_exact_mut(swap).for_each(<[u8]>::reverse);
        }
        if !straight {
            // SAFETY: `aside` holds a block, and the block at `place` is inside the array.
            unsafe { self.spread(&self.around, aside.as_ptr(), place) };
        }
        true
    }

    /// Copy what is behind these dimensions; where the next bytes are.
    ///
    /// # Safety
    /// `from` has as many bytes as are copied, and `to` is a place of the array followed by as
    /// many elements along each of the dimensions.
    unsafe fn spread(
        &self,
        around: &[(usize, isize)],
        mut from: *const u8,
        to: *mut u8,
    ) -> *const u8 {
        let Some((&(length, stride), behind)) = around.split_first() else {
            return from;
        };
        if !behind.is_empty() {
            for index in 0..length as isize {
                // SAFETY: as the caller promises.
                from = unsafe { self.spread(behind, from, to.offset(index * stride)) };
            }
            return from;
        }
        // SAFETY: as the caller promises.
        unsafe {
            match self.run {
                1 => runs::<1>(from, to, length, stride),
                2 => runs::<2>(from, to, length, stride),
                4 => runs::<4>(from, to, length, stride),
                8 => runs::<8>(from, to, length, stride),
                16 => runs::<16>(from, to, length, stride),
                run => {
                    for index in 0..length {
                        let target = to.offset(index as isize * stride);
                        std::ptr::copy_nonoverlapping(from.add(index * run), target, run);
                    }
                }
            }
            from.add(length * self.run)
        }
    }
}

/// Copy runs of a length that the compiler knows.
///
/// # Safety
/// As for `spread`.
unsafe fn runs<const RUN: usize>(from: *const u8, to: *mut u8, length: usize, stride: isize) {
    for index in 0..length {
        // SAFETY: as the caller promises; bytes need no alignment.
        unsafe {
            *to.offset(index as isize * stride).cast::<[u8; RUN]>() =
                *from.add(index * RUN).cast::<[u8; RUN]>();
        }
    }
}
