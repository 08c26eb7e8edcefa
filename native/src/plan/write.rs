//! Writing: chunks that are covered whole are gathered, encoded and stored.

use super::layout::{Layout, Target, swap};
use super::publish::Publisher;
use super::selection::{Cuts, Factor, is_whole};
use super::shard::Shard;
use super::{ChunkFiles, pool};
use crate::codecs::{Encoder, checksum};
use pyo3::prelude::*;
use std::sync::Mutex;

/// One call.
pub struct Job<'a> {
    pub files: &'a ChunkFiles,
    pub root: &'a [u8],
    pub cuts: Cuts,
    pub target: Target<'a>,
    /// Chunks of nothing but this element are not stored.
    pub elided: Option<&'a [u8]>,
    /// Of these, those that are absent already are done.
    pub absent: bool,
    pub left: Mutex<Vec<Vec<usize>>>,
}

/// The memory of one thread, used again for chunk after chunk.
struct Desk<'a> {
    encoder: Option<Encoder<'a>>,
    gathered: Vec<u8>,
    shard: Vec<u8>,
}

/// What becomes of a chunk.
enum Encoded<'a> {
    Bytes(&'a [u8]),
    /// Nothing but the fill value.
    Elided,
}

impl Job<'_> {
    /// Store what can be stored.
    pub fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        together: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let layout = &self.files.layout;
        let grid = self.files.grid();
        let state = || {
            let desk = Desk {
                encoder: Encoder::new(&layout.steps).ok(),
                gathered: Vec::new(),
                shard: Vec::new(),
            };
            (Publisher::new(self.root, &self.files.keys), desk)
        };
        let count = self.cuts.len();
        pool::run(
            py,
            threads,
            count,
            together,
            check,
            state,
            |own, from, to| {
                let (publisher, desk) = own;
                let mut factors = Vec::new();
                let mut coordinates = vec![0; layout.shape.len()];
                for number in from..to {
                    self.cuts.part(number, &mut coordinates, &mut factors);
                    let done = is_whole(&factors, grid)
                        && match desk.chunk(self, &factors) {
                            Some(Encoded::Bytes(value)) => {
                                publisher.publish(&coordinates, value).is_some()
                            }
                            Some(Encoded::Elided) => {
                                self.absent && publisher.is_absent(&coordinates)
                            }
                            None => false,
                        };
                    if !done && let Ok(mut left) = self.left.lock() {
                        left.push(coordinates.clone());
                    }
                }
            },
        )
    }
}

impl Job<'_> {
    /// Whether memory holds nothing but the element that is not stored, bit for bit.
    fn is_elided(&self, memory: &[u8]) -> bool {
        self.elided.is_some_and(|element| {
            let item = element.len();
            memory.starts_with(element) && memory[item..] == memory[..memory.len() - item]
        })
    }
}

impl Desk<'_> {
    fn chunk(&mut self, job: &Job<'_>, factors: &[Factor<'_>]) -> Option<Encoded<'_>> {
        match &job.files.shard {
            Some(shard) => self.shard(job, shard, factors),
            None => self.encode(job, factors),
        }
    }

    /// One chunk or inner chunk, all of whose elements are in the array.
    fn encode(&mut self, job: &Job<'_>, factors: &[Factor<'_>]) -> Option<Encoded<'_>> {
        let (layout, target) = (&job.files.layout, &job.target);
        let straight = target.straight(layout, factors);
        if let Some(place) = straight.filter(|_| layout.swap == 1) {
            // SAFETY: a whole chunk in the array, which is contiguous there.
            let memory = unsafe { std::slice::from_raw_parts(place, layout.size) };
            return match job.is_elided(memory) {
                true => Some(Encoded::Elided),
                false => self.encoder.as_mut()?.encode(memory).map(Encoded::Bytes),
            };
        }
        gather(&mut self.gathered, layout, target, factors)?;
        if job.is_elided(&self.gathered) {
            return Some(Encoded::Elided);
        }
        swap(layout, &mut self.gathered);
        let encoder = self.encoder.as_mut()?;
        encoder.encode(&self.gathered).map(Encoded::Bytes)
    }

    /// A whole shard: its inner chunks, and the index of them.
    fn shard(
        &mut self,
        job: &Job<'_>,
        shard: &Shard,
        factors: &[Factor<'_>],
    ) -> Option<Encoded<'_>> {
        let layout = &job.files.layout;
        let cuts = Cuts::new(factors, &layout.shape)?;
        let mut bytes = std::mem::take(&mut self.shard);
        bytes.clear();
        let index_bytes = shard.index_bytes();
        if shard.at_start() {
            bytes.try_reserve(index_bytes).ok()?;
            bytes.resize(index_bytes, 0);
        }
        let mut index = Vec::new();
        index.try_reserve_exact(index_bytes).ok()?;
        let mut coordinates = vec![0; layout.shape.len()];
        let mut taken = Vec::with_capacity(factors.len());
        let mut stored = 0usize;
        for number in 0..cuts.len() {
            cuts.part(number, &mut coordinates, &mut taken);
            let entry = match self.encode(job, &taken)? {
                Encoded::Bytes(value) => {
                    let offset = bytes.len() as u64;
                    bytes.try_reserve(value.len()).ok()?;
                    bytes.extend_from_slice(value);
                    stored += 1;
                    [offset, value.len() as u64]
                }
                Encoded::Elided => [u64::MAX; 2],
            };
            for word in entry {
                index.extend_from_slice(&word.to_le_bytes());
            }
        }
        if shard.has_checksum() {
            index.extend_from_slice(&checksum(&index).to_le_bytes());
        }
        match shard.at_start() {
            true => bytes.get_mut(..index_bytes)?.copy_from_slice(&index),
            false => {
                bytes.try_reserve(index_bytes).ok()?;
                bytes.extend_from_slice(&index);
            }
        }
        self.shard = bytes;
        Some(match stored {
            0 => Encoded::Elided,
            _ => Encoded::Bytes(&self.shard),
        })
    }
}

/// Copy a chunk out of the array.
fn gather(
    memory: &mut Vec<u8>,
    layout: &Layout,
    target: &Target<'_>,
    factors: &[Factor<'_>],
) -> Option<()> {
    memory.clear();
    memory.try_reserve_exact(layout.size).ok()?;
    let moves = target.moves(layout, factors).reversed();
    // SAFETY: `checked` has compared the factors with the array, and they take every element of the
    // chunk, so all of the memory is written.
    unsafe {
        moves.scatter(target.view.start(), memory.as_mut_ptr());
        memory.set_len(layout.size);
    }
    Some(())
}
