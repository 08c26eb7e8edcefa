//! Reading: files are opened, decoded, and put into their places.

use super::files::{self, Absent, Opener};
use super::layout::{Layout, Target, swap};
use super::selection::{Cuts, Factor};
use super::{ChunkFiles, TOGETHER, pool, shard};
use crate::codecs::{Decoder, Room};
use pyo3::prelude::*;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

/// The memory of one thread, used again for chunk after chunk.
pub struct Desk<'a> {
    decoder: Option<Decoder<'a>>,
    pub encoded: Vec<u8>,
    aside: Vec<u8>,
}

/// What became of a chunk.
#[derive(PartialEq)]
enum Outcome {
    Done,
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
        let straight = target.straight(layout, factors);
        if straight.is_none()
            && layout.reads_rows()
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
    let (rows, row) = layout.rows();
    // Rows that come together are a chunk as well; the first ones tell how many come.
    let mut cuts = None;
    let mut sound = true;
    let (mut piece, mut next) = (0, 0);
    let decoded = decoder.decode_rows(data, rows, row, |count, bytes| {
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

/// One call.
pub struct Job<'a> {
    pub files: &'a ChunkFiles,
    pub root: &'a [u8],
    pub follow_links: bool,
    pub cuts: Cuts,
    pub target: Target<'a>,
    pub left: Mutex<Vec<Vec<usize>>>,
}

impl<'a> Job<'a> {
    pub fn run(&self, py: Python<'_>, threads: usize, check: &Bound<'_, PyAny>) -> PyResult<()> {
        let layout = &self.files.layout;
        let count = self.cuts.len();
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

    pub fn opener(&self) -> Opener<'_> {
        Opener::new(self.root, &self.files.keys, self.follow_links)
    }

    pub fn leave(&self, coordinates: &[usize]) {
        if let Ok(mut left) = self.left.lock() {
            left.push(coordinates.to_vec());
        }
    }

    fn read_chunk(&self, file: &OwnedFd, factors: &[Factor<'_>], desk: &mut Desk<'_>) -> Outcome {
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
        file: &OwnedFd,
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
