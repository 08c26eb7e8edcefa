//! Reading: what is stored is opened, decoded, and put into its places.

#[cfg(target_os = "linux")]
use super::files::{self, Absent, Opener};
use super::layout::{Layout, Target, swap};
use super::pool::{self, Tasks};
use super::selection::{Cuts, Factor};
use super::value::{Given, Value};
use super::{Chunks, TOGETHER, shard};
use crate::codecs::{Decoder, Room};
#[cfg(target_os = "linux")]
use crate::codecs::{Input, PIECE};
use pyo3::prelude::*;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The memory of one thread, used again for chunk after chunk.
pub struct Desk<'a> {
    decoder: Option<Decoder<'a>>,
    pub encoded: Vec<u8>,
    aside: Vec<u8>,
}

/// What became of a chunk.
#[derive(PartialEq)]
enum Outcome {
    /// So many bytes were read of it.
    Done(usize),
    Missing,
    Left,
}

impl<'a> Desk<'a> {
    pub fn new(layout: &'a Layout) -> Desk<'a> {
        Desk {
            decoder: Decoder::new(&layout.steps).ok(),
            encoded: Vec::new(),
            aside: Vec::new(),
        }
    }

    /// Decode a chunk and put what is taken of it into its places; false if it is left.
    pub fn place(
        &mut self,
        layout: &Layout,
        data: &[u8],
        factors: &[Factor<'_>],
        target: &Target<'_>,
    ) -> bool {
        let Some(decoder) = &mut self.decoder else {
            return false;
        };
        let straight = target.room(layout, factors);
        if straight.is_none() && layout.steps.is_plain() && layout.swap == 1 {
            // SAFETY: a whole chunk; `checked` has compared the factors with the array.
            let put = || unsafe {
                let moves = target.moves(layout, factors);
                moves.scatter(data.as_ptr(), target.view.start());
            };
            return (data.len() == layout.size).then(put).is_some();
        }
        if straight.is_none()
            && layout.reads_rows()
            && place_rows(layout, factors, target, |put| {
                let (rows, row) = layout.rows();
                decoder.decode_rows(data, rows, row, put)
            })
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

/// Puts rows of a chunk into their places, from the first to the last.
struct RowPlaces<'a> {
    layout: &'a Layout,
    target: &'a Target<'a>,
    /// What is taken of rows that come together.
    cuts: Cuts,
    /// The number of rows that come next, and of the first cut that is not done.
    piece: usize,
    next: usize,
}

impl<'a> RowPlaces<'a> {
    /// So many rows come together, but at the end; None if they cannot be numbered.
    fn new(
        layout: &'a Layout,
        factors: &[Factor<'_>],
        target: &'a Target<'a>,
        together: usize,
    ) -> Option<RowPlaces<'a>> {
        // Rows that come together are a chunk as well.
        let mut shape = layout.shape.clone();
        *shape.get_mut(layout.first)? = together;
        Some(RowPlaces {
            layout,
            target,
            cuts: Cuts::new(factors, &shape)?,
            piece: 0,
            next: 0,
        })
    }

    fn put(&mut self, bytes: &[u8]) {
        let mut coordinates = vec![0; self.layout.shape.len()];
        let mut taken = Vec::new();
        while self.next < self.cuts.len() {
            self.cuts.part(self.next, &mut coordinates, &mut taken);
            if coordinates[self.layout.first] != self.piece {
                break;
            }
            // SAFETY: so many rows; `checked` has compared the factors with the array.
            unsafe {
                let moves = self.target.moves(self.layout, &taken);
                moves.scatter(bytes.as_ptr(), self.target.view.start());
            }
            self.next += 1;
        }
        self.piece += 1;
    }
}

/// Decode some rows at a time, so that the chunk needs no memory of its own.
fn place_rows(
    layout: &Layout,
    factors: &[Factor<'_>],
    target: &Target<'_>,
    decode: impl FnOnce(&mut dyn FnMut(usize, &[u8])) -> bool,
) -> bool {
    // The first rows tell how many come together.
    let mut places = None;
    let mut sound = true;
    let decoded = decode(&mut |count, bytes| {
        let new = || RowPlaces::new(layout, factors, target, count);
        match places.get_or_insert_with(new) {
            Some(places) => places.put(bytes),
            None => sound = false,
        }
    });
    decoded && sound
}

/// A file, from its beginning to its end.
#[cfg(target_os = "linux")]
struct Pieces<'a> {
    file: &'a OwnedFd,
    length: usize,
    done: usize,
    memory: &'a mut Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Input for Pieces<'_> {
    fn next(&mut self) -> Option<&[u8]> {
        let count = PIECE.min(self.length - self.done);
        let piece = files::read(self.file, self.done, count, self.memory)?;
        self.done += count;
        Some(piece)
    }

    fn last(&self) -> &[u8] {
        self.memory
    }
}

/// Where chunks are stored.
pub enum Origin<'a> {
    /// In files beneath a path; all that are selected are read.
    #[cfg(target_os = "linux")]
    Files { root: &'a [u8], follow_links: bool },
    /// In memory, together with their numbers; others are not read.
    Given(&'a [usize], &'a [Given<'a>]),
}

/// What is stored of a chunk.
pub enum Found<'a> {
    Value(Value<'a>),
    /// Of a shard: its index, and some ranges.
    Parts(&'a [u8], &'a [(usize, &'a [u8])]),
    Missing,
    /// Anything else: a link, no right to read it, …
    Unusual,
}

/// Looks for chunks, one after the other, in one thread.
pub enum Finder<'a> {
    #[cfg(target_os = "linux")]
    Files(Opener<'a>),
    Given(&'a [Given<'a>]),
}

impl<'a> Finder<'a> {
    pub fn find(&mut self, task: usize, coordinates: &[usize]) -> Found<'a> {
        match self {
            #[cfg(target_os = "linux")]
            Finder::Files(opener) => match opener.open(coordinates) {
                Ok(file) => Found::Value(Value::File(file)),
                Err(Absent::Missing) => Found::Missing,
                Err(Absent::Unusual) => Found::Unusual,
            },
            Finder::Given(values) => match values.get(task) {
                Some(Given::Whole(bytes)) => Found::Value(Value::Memory(bytes)),
                Some(Given::Parts(index, ranges)) => Found::Parts(index, ranges),
                Some(Given::Nothing) => Found::Missing,
                None => Found::Unusual,
            },
        }
    }
}

/// One call.
pub struct Job<'a> {
    pub chunks: &'a Chunks,
    pub origin: Origin<'a>,
    pub cuts: &'a Cuts,
    pub target: Target<'a>,
    /// Decoded bytes of the chunks, about.
    pub bytes: usize,
    pub stopped: AtomicBool,
    /// The tasks of chunks that were left.
    pub left: Mutex<Vec<usize>>,
    /// Chunks that are missing and were filled.
    pub filled: AtomicUsize,
    /// Bytes of files that were read.
    pub nbytes: AtomicUsize,
    /// The memory of chunks that turn out to need more than the threads were counted for.
    pub shared: Mutex<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Job<'a> {
    pub fn run(&self, py: Python<'_>, threads: usize, check: &Bound<'_, PyAny>) -> PyResult<()> {
        let layout = &self.chunks.layout;
        if let Some(shard) = &self.chunks.shard {
            return shard::read(self, shard, py, threads, check);
        }
        let count = self.count();
        let together = (count / (threads * 8)).clamp(1, TOGETHER);
        let tasks = self.tasks(threads, count, 1, together);
        let axes = layout.shape.len();
        let state = || (self.finder(), Desk::new(layout), vec![0; axes], Vec::new());
        pool::run(py, &tasks, check, state, |own, task| {
            let (finder, desk, coordinates, factors) = own;
            self.part(task, coordinates, factors);
            let outcome = match finder.find(task, coordinates) {
                #[cfg(target_os = "linux")]
                Found::Value(Value::File(file)) => self.read_chunk(&file, factors, desk),
                Found::Value(Value::Memory(data)) if data.len() <= layout.limit => {
                    match desk.place(layout, data, factors, &self.target) {
                        true => Outcome::Done(0),
                        false => Outcome::Left,
                    }
                }
                Found::Missing => Outcome::Missing,
                _ => Outcome::Left,
            };
            let done = match outcome {
                Outcome::Done(nbytes) => {
                    self.nbytes.fetch_add(nbytes, Ordering::Relaxed);
                    true
                }
                Outcome::Missing => self.fill_missing(factors),
                Outcome::Left => false,
            };
            if !done {
                self.leave(task);
            }
        })
    }

    /// How many chunks or shards are read.
    pub fn count(&self) -> usize {
        match self.origin {
            #[cfg(target_os = "linux")]
            Origin::Files { .. } => self.cuts.len(),
            Origin::Given(numbers, _) => numbers.len(),
        }
    }

    /// What is taken from the chunk of a task, and its coordinates.
    pub fn part(&self, task: usize, coordinates: &mut [usize], factors: &mut Vec<Factor<'a>>) {
        let number = match self.origin {
            #[cfg(target_os = "linux")]
            Origin::Files { .. } => task,
            Origin::Given(numbers, _) => numbers[task],
        };
        self.cuts.part(number, coordinates, factors);
    }

    pub fn finder(&self) -> Finder<'a> {
        match self.origin {
            #[cfg(target_os = "linux")]
            Origin::Files { root, follow_links } => {
                Finder::Files(Opener::new(root, &self.chunks.keys, follow_links))
            }
            Origin::Given(_, values) => Finder::Given(values),
        }
    }

    pub fn tasks(&self, threads: usize, files: usize, parts: usize, together: usize) -> Tasks<'_> {
        Tasks {
            threads,
            count: files * parts,
            together,
            bytes: self.bytes / files.max(1) / parts,
            stopped: &self.stopped,
        }
    }

    /// None if the call was interrupted.
    pub fn goes_on(&self) -> Option<()> {
        (!self.stopped.load(Ordering::Relaxed)).then_some(())
    }

    /// Put the fill value where a whole chunk or shard would be; false if the caller does that.
    pub fn fill_missing(&self, factors: &[Factor<'_>]) -> bool {
        let chunks = self.chunks;
        let filled = !chunks.leaves_missing && self.target.fill(&chunks.layout, factors);
        self.filled
            .fetch_add(usize::from(filled), Ordering::Relaxed);
        filled
    }

    pub fn leave(&self, task: usize) {
        if let Ok(mut left) = self.left.lock() {
            left.push(task);
        }
    }
}

#[cfg(target_os = "linux")]
impl Job<'_> {
    fn read_chunk(&self, file: &OwnedFd, factors: &[Factor<'_>], desk: &mut Desk<'_>) -> Outcome {
        let layout = &self.chunks.layout;
        let Some(length) = files::length(file).filter(|&length| length <= layout.limit) else {
            return Outcome::Left;
        };
        let done = match layout.steps.is_plain() {
            true => self.read_plain(file, length, factors, desk),
            false if layout.reads_pieces() && self.read_pieces(file, length, factors, desk) => true,
            false if layout.reads_pieces() => {
                // The threads were counted for chunks in pieces: whole ones share memory.
                let Ok(mut shared) = self.shared.lock() else {
                    return Outcome::Left;
                };
                let (encoded, aside) = &mut *shared;
                std::mem::swap(encoded, &mut desk.encoded);
                std::mem::swap(aside, &mut desk.aside);
                let done = self.read_whole(file, length, factors, desk);
                std::mem::swap(encoded, &mut desk.encoded);
                std::mem::swap(aside, &mut desk.aside);
                done
            }
            false => self.read_whole(file, length, factors, desk),
        };
        match done {
            true => Outcome::Done(length),
            false => Outcome::Left,
        }
    }

    /// A chunk whose bytes are all read before it is decoded.
    fn read_whole(
        &self,
        file: &OwnedFd,
        length: usize,
        factors: &[Factor<'_>],
        desk: &mut Desk<'_>,
    ) -> bool {
        let mut encoded = std::mem::take(&mut desk.encoded);
        let data = files::read(file, 0, length, &mut encoded);
        let done = data.is_some_and(|data| {
            let layout = &self.chunks.layout;
            desk.place(layout, data, factors, &self.target)
        });
        desk.encoded = encoded;
        done
    }

    /// A chunk that is stored as it is: straight to its place, or through one buffer.
    fn read_plain(
        &self,
        file: &OwnedFd,
        length: usize,
        factors: &[Factor<'_>],
        desk: &mut Desk<'_>,
    ) -> bool {
        let layout = &self.chunks.layout;
        if length != layout.size {
            return false;
        }
        if let Some(place) = self.target.room(layout, factors) {
            // SAFETY: a whole chunk in the array, and then written.
            unsafe {
                if !files::read_to(file, 0, place, length) {
                    return false;
                }
                swap(layout, std::slice::from_raw_parts_mut(place, length));
            }
            return true;
        }
        if layout.reads_pieces() {
            return self.read_rows(file, factors, desk).is_some();
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

    /// The same some rows at a time.
    fn read_rows(&self, file: &OwnedFd, factors: &[Factor<'_>], desk: &mut Desk<'_>) -> Option<()> {
        let layout = &self.chunks.layout;
        let (rows, row) = layout.rows();
        let together = (PIECE / row).clamp(1, rows);
        let mut places = RowPlaces::new(layout, factors, &self.target, together)?;
        for first in (0..rows).step_by(together) {
            let size = together.min(rows - first) * row;
            let data = files::read(file, first * row, size, &mut desk.encoded)?;
            swap(layout, data);
            places.put(data);
        }
        Some(())
    }

    /// A chunk that is decoded while it is read.
    fn read_pieces(
        &self,
        file: &OwnedFd,
        length: usize,
        factors: &[Factor<'_>],
        desk: &mut Desk<'_>,
    ) -> bool {
        let (layout, target) = (&self.chunks.layout, &self.target);
        let Some(decoder) = &mut desk.decoder else {
            return false;
        };
        let mut pieces = Pieces {
            file,
            length,
            done: 0,
            memory: &mut desk.encoded,
        };
        match target.room(layout, factors) {
            Some(place) => {
                // SAFETY: a whole chunk in the array.
                let room = unsafe { Room::new(place, layout.size) };
                decoder.decode_pieces(&mut pieces, &room)
            }
            None => place_rows(layout, factors, target, |put| {
                let (rows, row) = layout.rows();
                decoder.decode_pieces_to_rows(&mut pieces, rows, row, put)
            }),
        }
    }
}
