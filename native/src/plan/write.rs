//! Writing: chunks that are covered whole are gathered, encoded and stored. Others are read, changed
//! and stored under their lock.

use super::encode::{Desk, Part, put_shard};
use super::layout::Target;
use super::pool::{self, Tasks};
use super::publish::Publisher;
use super::selection::{Cuts, Factor, Numbers};
use super::shard::Shard;
use super::{ChunkFiles, TOGETHER};
use crate::codecs::Decoder;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Encoding takes about so many times as long as decoding.
const ENCODING: usize = 8;

/// One call.
pub struct Job<'a> {
    pub files: &'a ChunkFiles,
    pub root: &'a [u8],
    pub cuts: Cuts,
    pub target: Target<'a>,
    /// Decoded bytes of the chunks, about.
    pub bytes: usize,
    pub stopped: AtomicBool,
    /// Chunks of nothing but this element are not stored.
    pub elided: Option<&'a [u8]>,
    /// Of these, those that are absent already are done.
    pub absent: bool,
    /// The numbers of chunks that were left.
    pub left: Mutex<Vec<usize>>,
}

/// How much of what there may be.
#[derive(Clone, Copy)]
pub struct Amounts {
    /// Threads that encode whole chunks, or parts of shards.
    pub threads: usize,
    /// Threads that change chunks.
    pub changing: usize,
    /// Bytes of encoded shards, about.
    pub scratch: usize,
}

/// The parts of a shard that are there, and how many there are.
type Parts = Mutex<(usize, Vec<Option<Part>>)>;

impl<'a> Job<'a> {
    /// Store what can be stored: the coordinates of all other chunks.
    pub fn run(
        self,
        py: Python<'_>,
        amounts: Amounts,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Vec<usize>>> {
        let (whole, others) = self.cuts.split(self.files.grid());
        match &self.files.shard {
            Some(shard) => self.run_shards(shard, &whole, py, amounts, check)?,
            None => self.run_chunks(&whole, py, amounts.threads, check)?,
        }
        self.change(&others, py, amounts.changing, check)?;
        let left = self.left.into_inner().unwrap_or_default();
        let mut coordinates = vec![0; self.files.grid().len()];
        let mut name = |number| {
            self.cuts.part(number, &mut coordinates, &mut Vec::new());
            coordinates.clone()
        };
        Ok(left.into_iter().map(&mut name).collect())
    }

    /// Chunks that are covered whole.
    fn run_chunks(
        &self,
        numbers: &Numbers,
        py: Python<'_>,
        threads: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let count = numbers.len();
        let together = match self.cuts.last_axis() {
            // Threads that write into one directory wait for each other.
            row if self.files.keys.between == b'/' && row <= count / (threads * 4) => row,
            _ => (count / (threads * 8)).clamp(1, TOGETHER),
        };
        let tasks = self.tasks(threads, count, 1, together);
        pool::run(
            py,
            &tasks,
            check,
            || self.state(),
            |own, task| {
                let (publisher, desk) = own;
                self.store(numbers.at(task), |factors, coordinates| {
                    desk.publish(self, factors, publisher, coordinates)
                });
            },
        )
    }

    /// Chunks and shards of which something remains.
    fn change(
        &self,
        numbers: &[usize],
        py: Python<'_>,
        threads: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let layout = &self.files.layout;
        let state = || (self.state(), Decoder::new(&layout.steps).ok());
        let tasks = self.tasks(threads, numbers.len(), 1, 1);
        pool::run(py, &tasks, check, state, |own, task| {
            let ((publisher, desk), decoder) = own;
            self.store(numbers[task], |factors, coordinates| {
                let decoder = decoder.as_mut()?;
                publisher.publish(coordinates, |file| {
                    let old = file.old()?;
                    match &self.files.shard {
                        Some(shard) => desk.change_shard(self, shard, old, factors, decoder, file),
                        None => {
                            let stored = desk.read(self, old)?;
                            desk.change_file(self, stored, factors, decoder, file)
                        }
                    }
                })
            });
        })
    }

    fn tasks(&self, threads: usize, files: usize, parts: usize, together: usize) -> Tasks<'_> {
        Tasks {
            threads,
            count: files * parts,
            together,
            bytes: (self.bytes / self.cuts.len().max(1) / parts).saturating_mul(ENCODING),
            stopped: &self.stopped,
        }
    }

    /// None if the call was interrupted.
    pub fn goes_on(&self) -> Option<()> {
        (!self.stopped.load(Ordering::Relaxed)).then_some(())
    }

    fn state(&self) -> (Publisher<'_>, Desk<'_>) {
        let desk = Desk::new(&self.files.layout);
        (Publisher::new(self.root, &self.files.keys), desk)
    }

    /// Store one chunk or shard, or leave it.
    fn store(&self, number: usize, work: impl FnOnce(&[Factor<'_>], &[usize]) -> Option<()>) {
        let mut factors = Vec::new();
        let mut coordinates = vec![0; self.files.grid().len()];
        self.cuts.part(number, &mut coordinates, &mut factors);
        if work(&factors, &coordinates).is_none()
            && let Ok(mut left) = self.left.lock()
        {
            left.push(number);
        }
    }

    /// What is not stored is done where it is absent already.
    pub fn elide(&self, publisher: &mut Publisher<'_>, coordinates: &[usize]) -> Option<()> {
        (self.absent && publisher.is_absent(coordinates)).then_some(())
    }

    /// Whether memory holds nothing but the element that is not stored, bit for bit.
    pub fn is_elided(&self, memory: &[u8]) -> bool {
        self.elided.is_some_and(|element| {
            let item = element.len();
            memory.starts_with(element) && memory[item..] == memory[..memory.len() - item]
        })
    }
}

impl Job<'_> {
    /// Shards that are covered whole, each of which several threads may encode.
    fn run_shards(
        &self,
        shard: &Shard,
        numbers: &Numbers,
        py: Python<'_>,
        amounts: Amounts,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (count, threads) = (numbers.len(), amounts.threads);
        let bytes = shard.entries().saturating_mul(self.files.layout.size);
        // So many shards at a time, whose encoded bytes wait for the rest of their shard.
        let open = (amounts.scratch / bytes.max(1)).clamp(1, count.max(1));
        let parts = match threads <= open && count >= 2 * threads {
            true => 1,
            false => (2 * threads).div_ceil(open).min(shard.entries()),
        };
        let shards: Vec<Parts> = match parts {
            1 => Vec::new(),
            _ => (0..count).map(|_| Mutex::default()).collect(),
        };
        let state = || (self.state(), Part::default());
        let tasks = self.tasks(threads, count, parts, 1);
        pool::run(py, &tasks, check, state, |own, task| {
            let ((publisher, desk), spare) = own;
            let (place, part) = (task / parts, task % parts);
            let number = numbers.at(place);
            if parts == 1 {
                self.store(number, |factors, coordinates| {
                    desk.part(self, factors, 0, 1, spare)?;
                    self.publish(shard, &[&*spare], publisher, coordinates)
                });
                return;
            }
            let encoded = self.encode_part(number, part, parts, desk);
            let Ok(mut there) = shards[place].lock() else {
                return;
            };
            there.1.resize_with(parts, || None);
            there.0 += 1;
            there.1[part] = encoded;
            if there.0 < parts {
                return;
            }
            let all = std::mem::take(&mut there.1);
            drop(there);
            self.store(number, |_, coordinates| {
                let all = all.iter().map(Option::as_ref).collect::<Option<Vec<_>>>()?;
                self.publish(shard, &all, publisher, coordinates)
            });
        })
    }

    fn encode_part(
        &self,
        number: usize,
        part: usize,
        parts: usize,
        desk: &mut Desk<'_>,
    ) -> Option<Part> {
        let mut factors = Vec::new();
        let mut coordinates = vec![0; self.files.grid().len()];
        self.cuts.part(number, &mut coordinates, &mut factors);
        let mut made = Part::default();
        desk.part(self, &factors, part, parts, &mut made)?;
        Some(made)
    }

    /// Store a shard: its parts, and the index of them.
    fn publish(
        &self,
        shard: &Shard,
        parts: &[&Part],
        publisher: &mut Publisher<'_>,
        coordinates: &[usize],
    ) -> Option<()> {
        let lengths = parts.iter().flat_map(|part| &part.lengths).copied();
        let Some(index) = shard.index(lengths)? else {
            return self.elide(publisher, coordinates);
        };
        publisher.publish(coordinates, |file| put_shard(shard, &index, parts, file))
    }
}
