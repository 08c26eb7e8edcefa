//! How chunks are stored, and where they are in an array.

use super::moves::Moves;
use super::refused;
use super::selection::{Factor, is_whole};
use crate::codecs::Steps;
use crate::fault::Fault;
use crate::numpy::View;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Chunks from so many bytes on are decoded and encoded some rows at a time.
pub const LARGE: usize = 1 << 20;

/// Pages have at least this size; an address within a larger one is refused, and nothing is lost.
#[cfg(target_os = "linux")]
const PAGE: usize = 1 << 12;
/// Fewer bytes have few pages. Arrays of more are in large pages, where the system has them: NumPy
/// asks for that.
#[cfg(target_os = "linux")]
const PROVIDED: std::ops::Range<usize> = 1 << 16..1 << 22;

/// How a chunk of numbers is stored.
pub struct Layout {
    pub shape: Vec<usize>,
    /// Bytes from one element to the next along every axis, once it is decoded.
    pub strides: Vec<isize>,
    pub item: usize,
    pub size: usize,
    /// The axis that is stored outermost, of those with more than one element.
    pub first: usize,
    pub steps: Steps,
    /// Groups of so many bytes are reversed.
    pub swap: usize,
    /// No sound chunk takes more bytes.
    pub limit: usize,
}

/// Shape, order of the axes as stored, size of an element, codecs, groups of bytes to reverse, most
/// encoded bytes.
pub type LayoutArguments<'py> = (
    Vec<usize>,
    Vec<usize>,
    usize,
    Bound<'py, PyTuple>,
    usize,
    usize,
);

impl Layout {
    pub fn new(arguments: LayoutArguments<'_>) -> PyResult<Layout> {
        let (shape, order, item, codecs, swap, limit) = arguments;
        let mut strides = vec![0; shape.len()];
        let mut size = item;
        let mut left: Vec<usize> = (0..shape.len()).collect();
        for &axis in order.iter().rev() {
            let known = left.iter().position(|&other| other == axis);
            left.remove(known.ok_or_else(|| refused("order", format!("{order:?}")))?);
            strides[axis] = isize::try_from(size).map_err(|_| Fault::Memory)?;
            size = size.checked_mul(shape[axis]).ok_or(Fault::Memory)?;
        }
        if !left.is_empty() || size == 0 || isize::try_from(size).is_err() {
            return Err(refused("shape", format!("{shape:?} in order {order:?}")));
        }
        if swap == 0 || item % swap != 0 {
            return Err(refused("swap", format!("{swap} of {item} bytes")));
        }
        let first = order.iter().find(|&&axis| shape[axis] > 1);
        let first = first.or(order.first()).copied().unwrap_or(0);
        Ok(Layout {
            shape,
            strides,
            item,
            size,
            first,
            steps: Steps::new(&codecs)?,
            swap,
            limit,
        })
    }
}

impl Layout {
    /// How many rows a chunk has, and the bytes of one.
    pub fn rows(&self) -> (usize, usize) {
        let rows = self.shape.get(self.first).copied().unwrap_or(1);
        (rows, self.size / rows)
    }

    /// Chunks are decoded some rows at a time.
    pub fn reads_rows(&self) -> bool {
        self.size >= LARGE && self.swap == 1 && self.steps.has_rows()
    }

    /// Chunks are decoded while they are read.
    pub fn reads_pieces(&self) -> bool {
        let steps = &self.steps;
        self.size >= LARGE && (steps.is_plain() || steps.takes_pieces() && self.swap == 1)
    }

    /// Chunks are encoded some rows at a time, and stored as they are encoded.
    pub fn writes_rows(&self) -> bool {
        self.size >= LARGE && self.swap == 1 && self.steps.streams()
    }

    /// Bytes that decoding a chunk takes: the encoded ones, and where it can neither be decoded
    /// straight into its place nor row by row, the decoded ones.
    pub fn memory_to_read(&self, straight: bool) -> usize {
        match straight || self.reads_rows() || self.steps.is_plain() {
            true => self.size,
            false => self.size.saturating_mul(2),
        }
    }

    /// Bytes that decoding a chunk takes while it is read from a file of its own.
    pub fn memory_to_read_file(&self, straight: bool) -> usize {
        match self.reads_pieces() {
            true => self.size / self.rows().0 + LARGE,
            false => self.memory_to_read(straight),
        }
    }

    /// Bytes that changing a chunk takes: the encoded ones twice, and the decoded ones.
    pub fn memory_to_change(&self) -> usize {
        self.size.saturating_mul(3)
    }

    /// Bytes that encoding a chunk takes.
    pub fn memory_to_write(&self, straight: bool) -> usize {
        match self.writes_rows() {
            true => self.size / self.rows().0 + LARGE,
            false if straight || self.steps.is_plain() => self.size,
            false => self.size.saturating_mul(2),
        }
    }
}

/// Where chunks go.
pub struct Target<'a> {
    pub view: &'a View,
    /// A chunk that is taken whole is contiguous there.
    pub contiguous: bool,
    pub fill: Option<&'a [u8]>,
}

impl<'a> Target<'a> {
    pub fn new(view: &'a View, layout: &Layout, fill: Option<&'a [u8]>) -> Target<'a> {
        let mut axes = layout.shape.iter().zip(&layout.strides).zip(&view.strides);
        let contiguous = axes.all(|((&length, inner), outer)| length == 1 || inner == outer);
        Target {
            view,
            contiguous,
            fill,
        }
    }

    pub fn moves(&self, layout: &Layout, factors: &[Factor<'_>]) -> Moves {
        Moves::new(factors, &layout.strides, &self.view.strides, layout.item)
    }

    /// Where a chunk begins that is taken whole and is contiguous there.
    pub fn straight(&self, layout: &Layout, factors: &[Factor<'_>]) -> Option<*mut u8> {
        if !self.contiguous || !is_whole(factors, &layout.shape) {
            return None;
        }
        let offset: isize = factors
            .iter()
            .map(|factor| match factor {
                Factor::Run(run) => run.outer as isize * self.view.strides[run.axis],
                Factor::Points(_) => 0,
            })
            .sum();
        // SAFETY: the place of an element: `checked` has compared the factors with the array.
        Some(unsafe { self.view.start().offset(offset) })
    }

    /// The same, to write there: the system gives new memory at once, not page after page.
    pub fn room(&self, layout: &Layout, factors: &[Factor<'_>]) -> Option<*mut u8> {
        let place = self.straight(layout, factors)?;
        #[cfg(target_os = "linux")]
        if PROVIDED.contains(&layout.size) {
            let page = |place: usize| place / PAGE * PAGE;
            let (start, mut there) = (place as usize, 0);
            let (first, middle) = (page(start), page(start + layout.size / 2));
            // Memory that was used before has its pages: asking for them takes longer than raw bytes.
            // SAFETY: room for what is said of one page. It is said of any address.
            let asked = unsafe { libc::mincore(middle as *mut _, 1, &mut there) };
            if asked == 0 && there & 1 == 0 {
                let count = start + layout.size - first;
                // SAFETY: pages with memory that may be written, and no byte of them is changed.
                // Where they cannot be had at once, they come when they are written.
                unsafe { libc::madvise(first as *mut _, count, libc::MADV_POPULATE_WRITE) };
            }
        }
        Some(place)
    }

    /// The fill value where a chunk would be; false if the caller decides about that.
    pub fn fill(&self, layout: &Layout, factors: &[Factor<'_>]) -> bool {
        let Some(fill) = self.fill else { return false };
        // SAFETY: `checked` has compared the factors with the array.
        unsafe { self.moves(layout, factors).fill(fill, self.view.start()) };
        true
    }
}

/// Reverse groups of bytes, if the codecs say so.
pub fn swap(layout: &Layout, bytes: &mut [u8]) {
    match layout.swap {
        1 => {}
        2 => swap_all::<2>(bytes),
        4 => swap_all::<4>(bytes),
        8 => swap_all::<8>(bytes),
        size => bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse),
    }
}

fn swap_all<const SIZE: usize>(bytes: &mut [u8]) {
    for group in bytes.as_chunks_mut::<SIZE>().0 {
        group.reverse();
    }
}
