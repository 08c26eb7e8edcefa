//! Shards: an index, and inner chunks whose bytes are read together where they are close.

use super::layout::Layout;
use super::pool;
use super::read::{Desk, Found, Job};
use super::selection::{Cuts, Factor};
use super::value::Value;
use crate::codecs::checksum;
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Offset and length of an inner chunk that is not stored.
const MISSING: [u64; 2] = [u64::MAX; 2];
/// The same of one that the caller does not ask for.
const SKIPPED: [u64; 2] = [u64::MAX, 0];
/// Larger offsets and lengths are refused, so that their sum does not wrap.
const FAR: u64 = 1 << 62;
/// Bytes between two inner chunks that are read with them.
const GAP: usize = 1 << 16;
/// Most bytes that are read at once.
const MOST: usize = 8 << 20;

/// How a shard is laid out.
pub struct Shard {
    shape: Vec<usize>,
    /// How many inner chunks there are along each axis.
    inner: Vec<usize>,
    at_start: bool,
    checksum: bool,
    index_bytes: usize,
    /// No sound shard takes more bytes.
    limit: usize,
}

impl Shard {
    /// Shards of this shape, of such inner chunks; None if these do not fill them.
    pub fn new(
        shape: Vec<usize>,
        at_start: bool,
        checksum: bool,
        layout: &Layout,
    ) -> Option<Shard> {
        let chunk = &layout.shape;
        if shape.len() != chunk.len() || shape.iter().zip(chunk).any(|(n, c)| n % c != 0) {
            return None;
        }
        let inner: Vec<usize> = shape.iter().zip(chunk).map(|(n, c)| n / c).collect();
        let entries = inner
            .iter()
            .try_fold(1usize, |all, &n| all.checked_mul(n))?;
        let index_bytes = entries
            .checked_mul(16)?
            .checked_add(if checksum { 4 } else { 0 })?;
        let limit = entries.saturating_mul(layout.limit);
        Some(Shard {
            shape,
            inner,
            at_start,
            checksum,
            index_bytes,
            limit: limit.saturating_add(index_bytes),
        })
    }

    /// The shape of a shard.
    pub fn shape(&self) -> &Vec<usize> {
        &self.shape
    }

    /// How many inner chunks there are.
    pub fn entries(&self) -> usize {
        self.index_bytes / 16
    }

    /// How many bytes the index has.
    pub fn index_bytes(&self) -> usize {
        self.index_bytes
    }

    /// The index is before the inner chunks, not behind them.
    pub fn at_start(&self) -> bool {
        self.at_start
    }

    /// The index of inner chunks of these lengths, without a gap; Some(None) if none is stored.
    pub fn index(&self, lengths: impl Iterator<Item = Option<usize>>) -> Option<Option<Vec<u8>>> {
        let mut index = Vec::new();
        index.try_reserve_exact(self.index_bytes).ok()?;
        let mut end = if self.at_start {
            self.index_bytes as u64
        } else {
            0
        };
        let mut stored = false;
        for length in lengths {
            let entry = match length {
                Some(length) => [end, length as u64],
                None => MISSING,
            };
            stored |= length.is_some();
            end += length.unwrap_or(0) as u64;
            for word in entry {
                index.extend_from_slice(&word.to_le_bytes());
            }
        }
        if self.checksum {
            index.extend_from_slice(&checksum(&index).to_le_bytes());
        }
        Some(stored.then_some(index))
    }

    /// The place of an inner chunk in the index.
    pub fn entry(&self, coordinates: &[usize]) -> usize {
        let axes = coordinates.iter().zip(&self.inner);
        axes.fold(0, |entry, (coordinate, length)| entry * length + coordinate)
    }

    /// Read the index of a shard; None if anything is wrong with it.
    pub fn open<'a>(&self, value: Value<'a>) -> Option<Open<'a>> {
        let length = value.length().filter(|&length| length <= self.limit)?;
        let start = match self.at_start {
            true => 0,
            false => length.checked_sub(self.index_bytes)?,
        };
        let mut bytes = Vec::new();
        let bytes = value.read(start, self.index_bytes, &mut bytes)?;
        let entries = match self.checksum {
            true => {
                let (entries, stored) = bytes.split_last_chunk::<4>()?;
                (checksum(entries) == u32::from_le_bytes(*stored)).then_some(entries)?
            }
            false => bytes,
        };
        let words = words(entries, &[MISSING])?;
        Some(Open {
            value,
            length,
            words,
        })
    }

    /// A shard of which the index is known, and some ranges are there; None if it is another index.
    /// Entries of `SKIPPED` are not read.
    pub fn indexed<'a>(&self, index: &[u8], ranges: &'a [(usize, &'a [u8])]) -> Option<Open<'a>> {
        let words =
            words(index, &[MISSING, SKIPPED]).filter(|words| words.len() == 2 * self.entries())?;
        Some(Open {
            value: Value::Ranges(ranges),
            length: usize::MAX,
            words,
        })
    }
}

/// The entries of an index, all of which are sound or one of `others`; any that is wrong is a matter
/// for the caller.
fn words(entries: &[u8], others: &[[u64; 2]]) -> Option<Vec<u64>> {
    let words = entries.as_chunks().0.iter();
    let words: Vec<u64> = words.map(|word| u64::from_le_bytes(*word)).collect();
    let sound = words.as_chunks().0.iter().all(|entry @ &[offset, nbytes]| {
        (offset <= FAR && nbytes <= FAR) || others.contains(entry)
    });
    sound.then_some(words)
}

/// A shard that is being read: one value, whatever takes its name meanwhile.
pub struct Open<'a> {
    value: Value<'a>,
    length: usize,
    words: Vec<u64>,
}

impl Open<'_> {
    /// Offset and length of an inner chunk; Some(None) if it is not stored, None if it is nowhere in
    /// the shard, or longer than `limit`.
    pub fn range(&self, entry: usize, limit: usize) -> Option<Option<(usize, usize)>> {
        let &[offset, nbytes] = self.words.as_chunks().0.get(entry)?;
        if [offset, nbytes] == MISSING {
            return Some(None);
        }
        let (offset, nbytes) = (usize::try_from(offset).ok()?, usize::try_from(nbytes).ok()?);
        (nbytes <= limit && offset + nbytes <= self.length).then_some(Some((offset, nbytes)))
    }

    /// Add so many bytes of the shard to others.
    pub fn append(&self, offset: usize, length: usize, bytes: &mut Vec<u8>) -> Option<()> {
        self.value.append(offset, length, bytes)
    }
}

/// A stored inner chunk.
struct Piece {
    offset: usize,
    nbytes: usize,
    number: usize,
}

/// What is known of a shard that several threads read.
enum Look<'a> {
    Open(Arc<Open<'a>>),
    Missing,
    Left,
}

type Slot<'a> = Mutex<Option<Look<'a>>>;

/// Read what a job takes from shards.
pub fn read<'a>(
    job: &'a Job<'a>,
    shard: &Shard,
    py: Python<'_>,
    threads: usize,
    check: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let layout = &job.chunks.layout;
    let count = job.count();
    // Few shards are read by several threads each.
    let parts = match threads == 1 || count >= 2 * threads {
        true => 1,
        false => (4 * threads).div_ceil(count.max(1)),
    };
    let slots: Vec<Slot<'a>> = match parts {
        1 => Vec::new(),
        _ => (0..count).map(|_| Mutex::new(None)).collect(),
    };
    let state = || (job.finder(), Desk::new(layout));
    let tasks = job.tasks(threads, count, parts, 1);
    pool::run(py, &tasks, check, state, |own, task| {
        let (finder, desk) = own;
        let (number, part) = (task / parts, task % parts);
        let mut factors = Vec::new();
        let mut coordinates = vec![0; layout.shape.len()];
        job.part(number, &mut coordinates, &mut factors);
        let mut look = || {
            let open = match finder.find(number, &coordinates) {
                Found::Value(value) => {
                    job.nbytes.fetch_add(shard.index_bytes, Ordering::Relaxed);
                    shard.open(value)
                }
                Found::Parts(index, ranges) => shard.indexed(index, ranges),
                Found::Missing => return Look::Missing,
                Found::Unusual => None,
            };
            open.map_or(Look::Left, |open| Look::Open(Arc::new(open)))
        };
        let found = match slots.get(number) {
            None => look(),
            Some(slot) => {
                let Ok(mut slot) = slot.lock() else { return };
                match slot.get_or_insert_with(look) {
                    Look::Open(open) => Look::Open(open.clone()),
                    Look::Missing => Look::Missing,
                    Look::Left => Look::Left,
                }
            }
        };
        let done = match found {
            Look::Open(open) => {
                let inner = Inner {
                    job,
                    shard,
                    open: &open,
                };
                inner.read(&factors, part, parts, desk).is_some()
            }
            Look::Missing => part > 0 || job.fill_missing(&factors),
            Look::Left => part > 0,
        };
        if !done {
            job.leave(number);
        }
    })
}

/// The inner chunks of one shard.
struct Inner<'a> {
    job: &'a Job<'a>,
    shard: &'a Shard,
    open: &'a Open<'a>,
}

impl Inner<'_> {
    /// Read one of several parts of what is taken; None if anything is wrong.
    fn read(
        &self,
        factors: &[Factor<'_>],
        part: usize,
        parts: usize,
        desk: &mut Desk<'_>,
    ) -> Option<()> {
        let (layout, target) = (&self.job.chunks.layout, &self.job.target);
        let cuts = Cuts::new(factors, &layout.shape)?;
        let (first, last) = (cuts.len() * part / parts, cuts.len() * (part + 1) / parts);
        let mut taken = Vec::with_capacity(factors.len());
        let mut coordinates = vec![0; layout.shape.len()];
        let mut pieces = Vec::with_capacity(last - first);
        for number in first..last {
            cuts.part(number, &mut coordinates, &mut taken);
            let entry = self.shard.entry(&coordinates);
            if self.open.words.as_chunks().0.get(entry) == Some(&SKIPPED) {
                continue;
            }
            match self.open.range(entry, layout.limit)? {
                Some((offset, nbytes)) => pieces.push(Piece {
                    offset,
                    nbytes,
                    number,
                }),
                None => target.fill(layout, &taken).then_some(())?,
            }
        }
        pieces.sort_by_key(|piece| piece.offset);
        let mut encoded = std::mem::take(&mut desk.encoded);
        let mut rest = pieces.as_slice();
        let far = self.open.value.is_far();
        while let Some(head) = rest.first() {
            self.job.goes_on()?;
            let start = head.offset;
            let mut stop = start + head.nbytes;
            let close = |piece: &&Piece| {
                let end = piece.offset + piece.nbytes;
                let fits = far && piece.offset <= stop + GAP && end - start <= MOST;
                stop = if fits { stop.max(end) } else { stop };
                fits
            };
            let count = 1 + rest.iter().skip(1).take_while(close).count();
            let (group, behind) = rest.split_at(count);
            let data = self.open.value.read(start, stop - start, &mut encoded)?;
            self.job.nbytes.fetch_add(data.len(), Ordering::Relaxed);
            for piece in group {
                cuts.part(piece.number, &mut coordinates, &mut taken);
                let from = piece.offset - start;
                let bytes = data.get(from..from + piece.nbytes)?;
                desk.place(layout, bytes, &taken, target).then_some(())?;
            }
            rest = behind;
        }
        desk.encoded = encoded;
        Some(())
    }
}
