//! Whole plans: every chunk that a selection touches is read, decoded and put into its places, by
//! several threads, in one call with the GIL released.
//!
//! Nothing is raised for what files or bytes say. A chunk that is anything but sound and usual is
//! left to the caller, who reads it again with the reference code and so gets the one true error.
//! What a chunk that is left has made of its own places is undefined; no other place is touched.

pub mod files;
mod moves;
mod pool;
mod publish;
mod selection;
mod shard;
mod write;

use crate::codecs::{Decoder, Room, Steps};
use crate::fault::Fault;
use crate::numpy::{self, View};
use files::{Absent, Keys, Opener};
use moves::Moves;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use selection::{Cuts, Factor, Points, Run, is_whole};
use shard::Shard;
use std::sync::Mutex;

/// So many threads share the scratch memory; each further one may have as much as one of them.
const SHARING: usize = 4;
/// What a thread does of a chunk beside decoding, in bytes that could be decoded meanwhile.
const CHUNK_COST: usize = 4096;
/// A thread pays from so many bytes on.
const THREAD_COST: usize = 1 << 17;
/// Chunks from so many bytes on are decoded some rows at a time.
const LARGE: usize = 1 << 20;
/// Most chunks that a thread takes at once.
const TOGETHER: usize = 32;

/// How a chunk of numbers is stored.
pub struct Layout {
    shape: Vec<usize>,
    /// Bytes from one element to the next along every axis, once it is decoded.
    strides: Vec<isize>,
    item: usize,
    size: usize,
    /// The axis that is stored outermost.
    first: usize,
    steps: Steps,
    /// Groups of so many bytes are reversed.
    swap: usize,
    /// No sound chunk takes more bytes.
    limit: usize,
}

type LayoutArguments<'py> = (
    Vec<usize>,
    Vec<usize>,
    usize,
    Bound<'py, PyTuple>,
    usize,
    usize,
);

impl Layout {
    fn new(arguments: LayoutArguments<'_>) -> PyResult<Layout> {
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
        Ok(Layout {
            shape,
            strides,
            item,
            size,
            first: order.first().copied().unwrap_or(0),
            steps: Steps::new(&codecs)?,
            swap,
            limit,
        })
    }
}

impl Layout {
    /// Bytes that decoding a chunk takes: the encoded ones, and where it can neither be decoded
    /// straight into its place nor row by row, the decoded ones.
    fn memory(&self, straight: bool) -> usize {
        let by_rows = self.size >= LARGE && self.swap == 1 && self.steps.has_rows();
        match straight || by_rows || self.steps.is_plain() {
            true => self.size,
            false => self.size.saturating_mul(2),
        }
    }
}

/// The memory of one thread, used again for chunk after chunk.
pub struct Desk<'a> {
    decoder: Option<Decoder<'a>>,
    encoded: Vec<u8>,
    aside: Vec<u8>,
}

/// What became of a chunk.
#[derive(PartialEq)]
enum Outcome {
    Done,
    Missing,
    Left,
}

/// Where chunks go.
pub struct Target<'a> {
    view: &'a View,
    /// A chunk that is taken whole is contiguous there.
    contiguous: bool,
    fill: Option<&'a [u8]>,
}

impl<'a> Target<'a> {
    fn new(view: &'a View, layout: &Layout, fill: Option<&'a [u8]>) -> Target<'a> {
        let mut axes = layout.shape.iter().zip(&layout.strides).zip(&view.strides);
        let contiguous = axes.all(|((&length, inner), outer)| length == 1 || inner == outer);
        Target {
            view,
            contiguous,
            fill,
        }
    }

    fn moves(&self, layout: &Layout, factors: &[Factor<'_>]) -> Moves {
        Moves::new(factors, &layout.strides, &self.view.strides, layout.item)
    }

    /// Where a chunk begins that is taken whole and is contiguous there.
    fn straight(&self, layout: &Layout, factors: &[Factor<'_>]) -> Option<*mut u8> {
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

    /// The fill value where a chunk would be; false if the caller decides about that.
    fn fill(&self, layout: &Layout, factors: &[Factor<'_>]) -> bool {
        let Some(fill) = self.fill else { return false };
        // SAFETY: `checked` has compared the factors with the array.
        unsafe { self.moves(layout, factors).fill(fill, self.view.start()) };
        true
    }
}

impl<'a> Desk<'a> {
    fn new(layout: &'a Layout) -> Desk<'a> {
        Desk {
            decoder: Decoder::new(&layout.steps).ok(),
            encoded: Vec::new(),
            aside: Vec::new(),
        }
    }

    /// Decode a chunk and put what is taken of it into its places; false if it is left.
    fn place(
        &mut self,
        layout: &Layout,
        data: &[u8],
        factors: &[Factor<'_>],
        target: &Target<'_>,
    ) -> bool {
        let Some(decoder) = &mut self.decoder else {
            return false;
        };
        let straight = target.straight(layout, factors);
        if straight.is_none()
            && layout.size >= LARGE
            && place_rows(decoder, layout, data, factors, target)
        {
            return true;
        }
        let memory = match straight {
            Some(place) => place,
            None => {
                self.aside.clear();
                if self.aside.try_reserve_exact(layout.size).is_err() {
                    return false;
                }
                self.aside.as_mut_ptr()
            }
        };
        // SAFETY: a whole chunk in the array, or as much memory of our own.
        if !decoder.decode(data, &unsafe { Room::new(memory, layout.size) }) {
            return false;
        }
        // SAFETY: just written, all of it.
        swap(layout, unsafe {
            std::slice::from_raw_parts_mut(memory, layout.size)
        });
        if straight.is_none() {
            // SAFETY: a whole decoded chunk; `checked` has compared the factors with the array.
            unsafe {
                let moves = target.moves(layout, factors);
                moves.scatter(memory, target.view.start());
            }
        }
        true
    }
}

/// The same some rows at a time, so that the chunk needs no memory of its own.
fn place_rows(
    decoder: &mut Decoder<'_>,
    layout: &Layout,
    data: &[u8],
    factors: &[Factor<'_>],
    target: &Target<'_>,
) -> bool {
    let (Some(&rows), Some(&row)) = (
        layout.shape.get(layout.first),
        layout.strides.get(layout.first),
    ) else {
        return false;
    };
    if layout.swap > 1 {
        return false;
    }
    // Rows that come together are a chunk as well; the first ones tell how many come.
    let mut cuts = None;
    let mut sound = true;
    let (mut piece, mut next) = (0, 0);
    let decoded = decoder.decode_rows(data, rows, row as usize, |count, bytes| {
        let cut = || {
            let mut shape = layout.shape.clone();
            shape[layout.first] = count;
            Cuts::new(factors, &shape)
        };
        let Some(cuts) = cuts.get_or_insert_with(cut) else {
            sound = false;
            return;
        };
        let mut coordinates = vec![0; layout.shape.len()];
        let mut taken = Vec::with_capacity(factors.len());
        while next < cuts.len() {
            cuts.part(next, &mut coordinates, &mut taken);
            if coordinates[layout.first] != piece {
                break;
            }
            // SAFETY: so many rows; `checked` has compared the factors with the array.
            unsafe {
                let moves = target.moves(layout, &taken);
                moves.scatter(bytes.as_ptr(), target.view.start());
            }
            next += 1;
        }
        piece += 1;
    });
    decoded && sound
}

fn swap(layout: &Layout, bytes: &mut [u8]) {
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

/// Reads the chunks of one array from files.
#[pyclass(frozen)]
pub struct ChunkFiles {
    layout: Layout,
    shard: Option<Shard>,
    keys: Keys,
    fill: Option<Vec<u8>>,
}

type KeyArguments = (Vec<u8>, u8, Vec<u8>);

#[pymethods]
impl ChunkFiles {
    /// `chunk` is (shape, order of the axes as stored, size of an element, codecs, groups of bytes
    /// to reverse, most encoded bytes). For a shard it describes the inner chunks, and `shard` is
    /// (shape of the shard, whether the index is at the start, whether it has a checksum).
    /// `keys` is (before, between, behind). Without `fill`, missing chunks are left.
    #[new]
    #[pyo3(signature = (chunk, shard, keys, fill, /))]
    fn new(
        chunk: LayoutArguments<'_>,
        shard: Option<(Vec<usize>, bool, bool)>,
        keys: KeyArguments,
        fill: Option<Vec<u8>>,
    ) -> PyResult<ChunkFiles> {
        let layout = Layout::new(chunk)?;
        if fill.as_ref().is_some_and(|fill| fill.len() != layout.item) {
            return Err(refused("fill", "another size than an element".to_owned()));
        }
        let shard = match shard {
            Some((shape, at_start, checksum)) => {
                let found = Shard::new(shape, at_start, checksum, &layout.shape);
                Some(found.ok_or_else(|| refused("shard", "no multiple of a chunk".to_owned()))?)
            }
            None => None,
        };
        let (before, between, behind) = keys;
        let keys = Keys {
            before,
            between,
            behind,
        };
        Ok(ChunkFiles {
            layout,
            shard,
            keys,
            fill,
        })
    }

    /// Read what a selection takes into `out`: the coordinates of chunks that were left, or None
    /// for all of them.
    ///
    /// `root` is the path before a chunk's key. `runs` are (axis, start, step, length, place), `points`
    /// are (axes, an array of indices for each, places). `scratch` is how much memory
    /// up to four threads may take beside `out`. `check` is called now and then.
    #[pyo3(signature = (root, follow_links, runs, points, out, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)] // one call for all: that is the point
    fn read(
        &self,
        py: Python<'_>,
        root: &Bound<'_, PyBytes>,
        follow_links: bool,
        runs: Vec<(usize, usize, usize, usize, usize)>,
        points: Vec<Bound<'_, PyTuple>>,
        out: &Bound<'_, PyAny>,
        threads: usize,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Vec<Vec<usize>>>> {
        let layout = &self.layout;
        let points = points.iter().map(listed).collect::<PyResult<Vec<_>>>()?;
        // From here on no Python code runs until the end: the array stays as it is.
        let view = View::new(out, layout.shape.len(), layout.item, true)?;
        let factors = checked(&view, runs, &points)?;
        let Some(cuts) = Cuts::new(&factors, self.grid()) else {
            return Ok(None);
        };
        let target = Target::new(&view, layout, self.fill.as_deref());
        let job = Job {
            files: self,
            root: root.as_bytes(),
            follow_links,
            cuts,
            target,
            left: Mutex::new(Vec::new()),
        };
        job.run(py, threads, scratch, check)?;
        Ok(Some(job.left.into_inner().unwrap_or_default()))
    }

    /// Store chunks that a box of indices covers whole, from `array`: the coordinates of the chunks
    /// that were left, or None for all of them.
    ///
    /// Chunks of nothing but the element `elided` are not stored: they are left, unless they are
    /// absent and `absent` says that this will do. The other arguments are as in `read`.
    #[pyo3(signature = (root, runs, array, elided, absent, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        py: Python<'_>,
        root: &Bound<'_, PyBytes>,
        runs: Vec<(usize, usize, usize, usize, usize)>,
        array: &Bound<'_, PyAny>,
        elided: Option<Vec<u8>>,
        absent: bool,
        threads: usize,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Vec<Vec<usize>>>> {
        let layout = &self.layout;
        if elided
            .as_ref()
            .is_some_and(|element| element.len() != layout.item)
        {
            return Err(refused("elided", "another size than an element".to_owned()));
        }
        // From here on no Python code runs until the end: the array stays as it is.
        let view = View::new(array, layout.shape.len(), layout.item, false)?;
        let factors = checked(&view, runs, &[])?;
        let Some(cuts) = Cuts::new(&factors, self.grid()) else {
            return Ok(None);
        };
        let count = cuts.len();
        let size = self
            .grid()
            .iter()
            .try_fold(layout.item, |all, &n| all.checked_mul(n));
        let each = size
            .and_then(|size| size.checked_mul(2))
            .ok_or(Fault::Memory)?;
        let threads = self.threads(threads, count, &view, each, scratch);
        let together = (count / (threads * 8)).clamp(1, TOGETHER);
        let job = write::Job {
            files: self,
            root: root.as_bytes(),
            cuts,
            target: Target::new(&view, layout, None),
            elided: elided.as_deref(),
            absent,
            left: Mutex::new(Vec::new()),
        };
        job.run(py, threads, together, check)?;
        Ok(Some(job.left.into_inner().unwrap_or_default()))
    }
}

impl ChunkFiles {
    /// The shape of what is a file.
    fn grid(&self) -> &Vec<usize> {
        self.shard.as_ref().map_or(&self.layout.shape, Shard::shape)
    }

    /// How many threads work on so many files: as many as pay, and as the scratch memory allows.
    fn threads(
        &self,
        most: usize,
        count: usize,
        view: &View,
        each: usize,
        scratch: usize,
    ) -> usize {
        // An element takes its whole chunk, or inner chunk.
        let elements: usize = view.shape.iter().product();
        let inner = self.shard.as_ref().map_or(1, Shard::chunks);
        let taken = elements.div_ceil(count.max(1)).min(inner);
        let bytes = taken.saturating_mul(self.layout.size.saturating_add(CHUNK_COST));
        let cost = count.saturating_mul(bytes);
        let paying = most.min(1 + cost / THREAD_COST);
        match each <= scratch / SHARING {
            true => paying,
            false => paying.min(scratch / each).max(1),
        }
    }
}

/// One call.
struct Job<'a> {
    files: &'a ChunkFiles,
    root: &'a [u8],
    follow_links: bool,
    cuts: Cuts,
    target: Target<'a>,
    left: Mutex<Vec<Vec<usize>>>,
}

impl<'a> Job<'a> {
    fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let layout = &self.files.layout;
        let count = self.cuts.len();
        let each = layout.memory(self.target.contiguous);
        let view = self.target.view;
        let threads = self.files.threads(threads, count, view, each, scratch);
        if let Some(shard) = &self.files.shard {
            return shard::read(self, shard, py, threads, check);
        }
        let together = (count / (threads * 8)).clamp(1, TOGETHER);
        let state = || (self.opener(), Desk::new(layout));
        pool::run(
            py,
            threads,
            count,
            together,
            check,
            state,
            |own, from, to| {
                let (opener, desk) = own;
                let mut factors = Vec::new();
                let mut coordinates = vec![0; layout.shape.len()];
                for number in from..to {
                    self.cuts.part(number, &mut coordinates, &mut factors);
                    let outcome = match opener.open(&coordinates) {
                        Ok(file) => self.read_chunk(&file, &factors, desk),
                        Err(Absent::Missing) => Outcome::Missing,
                        Err(Absent::Unusual) => Outcome::Left,
                    };
                    let done = match outcome {
                        Outcome::Done => true,
                        Outcome::Missing => self.target.fill(layout, &factors),
                        Outcome::Left => false,
                    };
                    if !done {
                        self.leave(&coordinates);
                    }
                }
            },
        )
    }

    fn opener(&self) -> Opener<'_> {
        Opener::new(self.root, &self.files.keys, self.follow_links)
    }

    fn leave(&self, coordinates: &[usize]) {
        if let Ok(mut left) = self.left.lock() {
            left.push(coordinates.to_vec());
        }
    }

    fn read_chunk(
        &self,
        file: &std::os::fd::OwnedFd,
        factors: &[Factor<'_>],
        desk: &mut Desk<'_>,
    ) -> Outcome {
        let layout = &self.files.layout;
        let Some(length) = files::length(file).filter(|&length| length <= layout.limit) else {
            return Outcome::Left;
        };
        let done = match layout.steps.is_plain() {
            true => self.read_plain(file, length, factors, desk),
            false => {
                let mut encoded = std::mem::take(&mut desk.encoded);
                let data = files::read(file, 0, length, &mut encoded);
                let done = data.is_some_and(|data| desk.place(layout, data, factors, &self.target));
                desk.encoded = encoded;
                done
            }
        };
        match done {
            true => Outcome::Done,
            false => Outcome::Left,
        }
    }

    /// A chunk that is stored as it is: straight to its place, or through one buffer.
    fn read_plain(
        &self,
        file: &std::os::fd::OwnedFd,
        length: usize,
        factors: &[Factor<'_>],
        desk: &mut Desk<'_>,
    ) -> bool {
        let layout = &self.files.layout;
        if length != layout.size {
            return false;
        }
        if let Some(place) = self.target.straight(layout, factors) {
            // SAFETY: a whole chunk in the array, and then written.
            unsafe {
                if !files::read_to(file, 0, place, length) {
                    return false;
                }
                swap(layout, std::slice::from_raw_parts_mut(place, length));
            }
            return true;
        }
        let Some(data) = files::read(file, 0, length, &mut desk.encoded) else {
            return false;
        };
        swap(layout, data);
        let moves = self.target.moves(layout, factors);
        // SAFETY: a whole chunk; `checked` has compared the factors with the array.
        unsafe { moves.scatter(data.as_ptr(), self.target.view.start()) };
        true
    }
}

/// The factors, of which every place is inside the array, and which are one for each axis.
fn checked<'a>(
    view: &View,
    runs: Vec<(usize, usize, usize, usize, usize)>,
    points: &'a [Points],
) -> PyResult<Vec<Factor<'a>>> {
    let mut factors: Vec<(usize, Factor<'a>)> = Vec::new();
    let mut seen = vec![false; view.shape.len()];
    let mut see = |axis: usize| match seen.get_mut(axis) {
        Some(seen) if !*seen => {
            *seen = true;
            Ok(())
        }
        _ => Err(refused("runs", format!("axis {axis}, twice or none"))),
    };
    for (axis, start, step, length, outer) in runs {
        see(axis)?;
        let end = outer.checked_add(length);
        if step == 0 || length == 0 || end.is_none_or(|end| end > view.shape[axis]) {
            return Err(refused(
                "runs",
                format!("a place outside out on axis {axis}"),
            ));
        }
        let run = Run {
            axis,
            start,
            step,
            length,
            outer,
        };
        factors.push((axis, Factor::Run(run)));
    }
    for listed in points {
        for &axis in &listed.axes {
            see(axis)?;
        }
        let first = *listed.axes.first().ok_or(Fault::Changed)?;
        let others = listed.axes.iter().skip(1).all(|&axis| view.shape[axis] > 0);
        if !others
            || listed
                .places
                .iter()
                .any(|&place| place >= view.shape[first])
        {
            return Err(refused("points", "a place outside out".to_owned()));
        }
        factors.push((first, Factor::Points(listed)));
    }
    if !seen.iter().all(|&seen| seen) {
        return Err(refused("runs", "not one for every axis".to_owned()));
    }
    factors.sort_by_key(|(axis, _)| *axis);
    Ok(factors.into_iter().map(|(_, factor)| factor).collect())
}

fn listed(points: &Bound<'_, PyTuple>) -> PyResult<Points> {
    type Arguments<'py> = (Vec<usize>, Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>);
    let (axes, indices, places): Arguments<'_> = points.extract()?;
    let numbers = |array: &Bound<'_, PyAny>| -> PyResult<Vec<usize>> {
        let words = numpy::indices(array, "points")?;
        let read = |place| usize::try_from(words.at(place));
        let numbers = (0..words.len()).map(read).collect::<Result<_, _>>();
        numbers.map_err(|_| refused("points", "a negative index".to_owned()))
    };
    let indices = indices.iter().map(numbers).collect::<PyResult<Vec<_>>>()?;
    let places = numbers(&places)?;
    if indices.len() != axes.len() || indices.iter().any(|list| list.len() != places.len()) {
        return Err(refused("points", "lists of several lengths".to_owned()));
    }
    Ok(Points {
        axes,
        indices,
        places,
    })
}

fn refused(name: &'static str, found: String) -> PyErr {
    Fault::Argument {
        name,
        found,
        expected: "what README.md says",
    }
    .into()
}
