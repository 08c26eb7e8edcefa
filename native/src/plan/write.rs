//! Writing files: chunks that are covered whole are gathered, encoded and stored. Others are read,
//! changed and stored under their lock.

use super::TOGETHER;
use super::encode::{Amounts, Context, Desk, Encoded, Part, put_shard};
use super::pool;
use super::publish::Publisher;
use super::selection::{Factor, Numbers};
use super::shard::Shard;
use super::value::Value;
use crate::codecs::{Decoder, Sink};
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One call.
pub struct Job<'a> {
    pub context: Context<'a>,
    pub root: &'a [u8],
    /// What is absent is not stored, under no other name either.
    pub absent: bool,
    /// The numbers of chunks that were left.
    pub left: Mutex<Vec<usize>>,
    /// Bytes that were stored.
    pub nbytes: AtomicUsize,
}

impl<'a> Job<'a> {
    /// Store what can be stored: the coordinates of all other chunks, and how many bytes were written.
    pub fn run(
        self,
        py: Python<'_>,
        amounts: Amounts,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<(Vec<Vec<usize>>, usize)> {
        let context = &self.context;
        let (whole, others) = context.cuts.split(context.chunks.grid());
        match &context.chunks.shard {
            Some(shard) => {
                let state = || self.publisher();
                let done = |publisher: &mut Publisher<'_>, place, parts: Option<&[&Part]>| {
                    self.store(whole.at(place), |_, coordinates| {
                        self.publish_shard(shard, parts?, publisher, coordinates)
                    });
                };
                context.encode_shards(shard, &whole, py, amounts, check, state, done)?;
            }
            None => self.run_chunks(&whole, py, amounts.threads, check)?,
        }
        self.change(&others, py, amounts.changing, check)?;
        let left = self.left.into_inner().unwrap_or_default();
        let left = left.iter().map(|&number| self.context.part(number).1);
        Ok((left.collect(), self.nbytes.into_inner()))
    }

    /// Chunks that are covered whole.
    fn run_chunks(
        &self,
        numbers: &Numbers,
        py: Python<'_>,
        threads: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (context, count) = (&self.context, numbers.len());
        let together = match context.cuts.last_axis() {
            // Threads that write into one directory wait for each other.
            row if context.chunks.keys.between == b'/' && row <= count / (threads * 4) => row,
            _ => (count / (threads * 8)).clamp(1, TOGETHER),
        };
        let tasks = context.tasks(threads, count, 1, together);
        let state = || self.state();
        pool::run(py, &tasks, check, state, |own, task| {
            let (publisher, desk) = own;
            self.store(numbers.at(task), |factors, coordinates| {
                self.publish(desk, factors, publisher, coordinates)
            });
        })
    }

    /// Chunks and shards of which something remains.
    fn change(
        &self,
        numbers: &[usize],
        py: Python<'_>,
        threads: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let context = &self.context;
        let state = || {
            (
                self.state(),
                Decoder::new(&context.chunks.layout.steps).ok(),
            )
        };
        let tasks = context.tasks(threads, numbers.len(), 1, 1);
        pool::run(py, &tasks, check, state, |own, task| {
            let ((publisher, desk), decoder) = own;
            self.store(numbers[task], |factors, coordinates| {
                let decoder = decoder.as_mut()?;
                publisher.publish(coordinates, |file| {
                    let old = file.old()?.map(Value::File);
                    (old.is_some() || self.absent).then_some(())?;
                    match &context.chunks.shard {
                        Some(shard) => {
                            desk.change_shard(context, shard, old, factors, decoder, file)
                        }
                        None => {
                            let stored = desk.read(context, old)?;
                            desk.change_file(context, stored, factors, decoder, file)
                        }
                    }
                })
            });
        })
    }

    fn publisher(&self) -> Publisher<'_> {
        Publisher::new(self.root, &self.context.chunks.keys)
    }

    fn state(&self) -> (Publisher<'_>, Desk<'_>) {
        (self.publisher(), Desk::new(&self.context.chunks.layout))
    }

    /// Store one chunk or shard, or leave it.
    fn store(&self, number: usize, work: impl FnOnce(&[Factor<'_>], &[usize]) -> Option<usize>) {
        let (factors, coordinates) = self.context.part(number);
        if let Some(count) = work(&factors, &coordinates) {
            self.nbytes.fetch_add(count, Ordering::Relaxed);
        } else if let Ok(mut left) = self.left.lock() {
            left.push(number);
        }
    }

    /// Store a chunk that is covered whole: how many bytes were written.
    fn publish(
        &self,
        desk: &mut Desk<'_>,
        factors: &[Factor<'_>],
        publisher: &mut Publisher<'_>,
        coordinates: &[usize],
    ) -> Option<usize> {
        let context = &self.context;
        if context.chunks.layout.writes_rows() {
            return match desk.is_elided(context, factors)? {
                true => self.elide(publisher, coordinates),
                false => {
                    publisher.publish(coordinates, |file| desk.encode_rows(context, factors, file))
                }
            };
        }
        match desk.encode(context, factors)? {
            Encoded::Bytes(value) => publisher.publish(coordinates, |file| file.put(value)),
            Encoded::Elided => self.elide(publisher, coordinates),
        }
    }

    /// Store a shard: its parts, and the index of them.
    fn publish_shard(
        &self,
        shard: &Shard,
        parts: &[&Part],
        publisher: &mut Publisher<'_>,
        coordinates: &[usize],
    ) -> Option<usize> {
        let lengths = parts.iter().flat_map(|part| &part.lengths).copied();
        let Some(index) = shard.index(lengths)? else {
            return self.elide(publisher, coordinates);
        };
        publisher.publish(coordinates, |file| put_shard(shard, &index, parts, file))
    }

    /// What is not stored is done where it is absent already.
    fn elide(&self, publisher: &mut Publisher<'_>, coordinates: &[usize]) -> Option<usize> {
        (self.absent && publisher.is_absent(coordinates)).then_some(0)
    }
}
