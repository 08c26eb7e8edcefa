//! Encoding chunks and shards: they are gathered from the array, or read and changed.

use super::Chunks;
use super::layout::{Layout, Target, swap};
use super::pool::{self, Tasks};
use super::selection::{Cuts, Factor, Numbers, is_whole};
use super::shard::Shard;
use super::value::Value;
use crate::codecs::{Appended, Decoder, Encoder, PIECE, Room, Rows, Sink, Source, Whole};
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Encoding takes about so many times as long as decoding.
pub const ENCODING: usize = 8;

/// Inner chunks of a changed shard are stored when they are so many bytes.
pub const TOGETHER_STORED: usize = 1 << 20;

/// What is encoded.
pub struct Context<'a> {
    pub chunks: &'a Chunks,
    pub cuts: &'a Cuts,
    pub target: Target<'a>,
    /// Decoded bytes of a chunk or shard, about.
    pub bytes: usize,
    /// Chunks of nothing but this element are not stored.
    pub elided: Option<&'a [u8]>,
    pub stopped: AtomicBool,
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

impl<'a> Context<'a> {
    /// None if the call was interrupted.
    pub fn goes_on(&self) -> Option<()> {
        (!self.stopped.load(Ordering::Relaxed)).then_some(())
    }

    /// Whether memory holds nothing but the element that is not stored, bit for bit.
    fn is_elided(&self, memory: &[u8]) -> bool {
        self.elided.is_some_and(|element| {
            let item = element.len();
            memory.starts_with(element) && memory[item..] == memory[..memory.len() - item]
        })
    }

    /// What is taken of a chunk, and its coordinates.
    pub fn part(&self, number: usize) -> (Vec<Factor<'a>>, Vec<usize>) {
        let mut factors = Vec::new();
        let mut coordinates = vec![0; self.chunks.grid().len()];
        self.cuts.part(number, &mut coordinates, &mut factors);
        (factors, coordinates)
    }

    pub fn tasks(&self, threads: usize, values: usize, parts: usize, together: usize) -> Tasks<'_> {
        Tasks {
            threads,
            count: values * parts,
            together,
            bytes: (self.bytes / parts).saturating_mul(ENCODING),
            stopped: &self.stopped,
        }
    }

    /// Encode shards that are covered whole, each of which several threads may encode. `done` gets
    /// the place of a shard among the numbers, and its parts, or None if one of them is left.
    #[allow(clippy::too_many_arguments)] // what a call has, and two steps
    pub fn encode_shards<S>(
        &self,
        shard: &Shard,
        numbers: &Numbers,
        py: Python<'_>,
        amounts: Amounts,
        check: &Bound<'_, PyAny>,
        state: impl Fn() -> S + Sync,
        done: impl Fn(&mut S, usize, Option<&[&Part]>) + Sync,
    ) -> PyResult<()> {
        let (count, threads) = (numbers.len(), amounts.threads);
        let bytes = shard.entries().saturating_mul(self.chunks.layout.size);
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
        let state = || (state(), Desk::new(&self.chunks.layout), Part::default());
        let tasks = self.tasks(threads, count, parts, 1);
        pool::run(py, &tasks, check, state, |own, task| {
            let (own, desk, spare) = own;
            let (place, part) = (task / parts, task % parts);
            let (factors, _) = self.part(numbers.at(place));
            if parts == 1 {
                let encoded = desk.part(self, &factors, 0, 1, spare).map(|()| [&*spare]);
                done(own, place, encoded.as_ref().map(<[_; 1]>::as_slice));
                return;
            }
            let mut made = Part::default();
            let encoded = desk.part(self, &factors, part, parts, &mut made);
            let Ok(mut there) = shards[place].lock() else {
                return;
            };
            there.1.resize_with(parts, || None);
            there.0 += 1;
            there.1[part] = encoded.map(|()| made);
            if there.0 == parts {
                let all = std::mem::take(&mut there.1);
                drop(there);
                let all = all.iter().map(Option::as_ref).collect::<Option<Vec<_>>>();
                done(own, place, all.as_deref());
            }
        })
    }
}

/// The memory of one thread, used again for chunk after chunk.
pub struct Desk<'a> {
    encoder: Option<Encoder<'a>>,
    gathered: Vec<u8>,
    /// What was stored before.
    old: Vec<u8>,
}

/// What becomes of a chunk.
pub enum Encoded<'a> {
    Bytes(&'a [u8]),
    /// Nothing but the fill value.
    Elided,
}

/// Consecutive inner chunks of a shard, encoded.
#[derive(Default)]
pub struct Part {
    pub bytes: Vec<u8>,
    /// The length of each, unless it is not stored.
    pub lengths: Vec<Option<usize>>,
}

impl<'a> Desk<'a> {
    pub fn new(layout: &'a Layout) -> Desk<'a> {
        Desk {
            encoder: Encoder::new(&layout.steps).ok(),
            gathered: Vec::new(),
            old: Vec::new(),
        }
    }
}

impl Desk<'_> {
    /// One chunk or inner chunk, all of whose elements are in the array.
    pub fn encode(&mut self, job: &Context<'_>, factors: &[Factor<'_>]) -> Option<Encoded<'_>> {
        let (layout, target) = (&job.chunks.layout, &job.target);
        let encoder = self.encoder.as_mut()?;
        let straight = target.straight(layout, factors);
        if let Some(place) = straight.filter(|_| layout.swap == 1) {
            // SAFETY: a whole chunk in the array, which is contiguous there.
            let memory = unsafe { std::slice::from_raw_parts(place, layout.size) };
            return match job.is_elided(memory) {
                true => Some(Encoded::Elided),
                false => encoder.encode(memory).map(Encoded::Bytes),
            };
        }
        self.gathered.clear();
        self.gathered.try_reserve_exact(layout.size).ok()?;
        let to = self.gathered.as_mut_ptr();
        gather(layout, target, factors, 0, layout.rows().0, to);
        // SAFETY: reserved, and all of it written.
        unsafe { self.gathered.set_len(layout.size) };
        if job.is_elided(&self.gathered) {
            return Some(Encoded::Elided);
        }
        swap(layout, &mut self.gathered);
        encoder.encode(&self.gathered).map(Encoded::Bytes)
    }

    /// Have the bytes of a chunk in `old`; Some(false) if there are none.
    pub fn read(&mut self, job: &Context<'_>, value: Option<Value<'_>>) -> Option<bool> {
        self.old.clear();
        let Some(value) = value else {
            return Some(false);
        };
        let length = value
            .length()
            .filter(|&length| length <= job.chunks.layout.limit)?;
        value.append(0, length, &mut self.old)?;
        Some(true)
    }

    /// Change a chunk, whose bytes are in `old` if it is stored; None too if it is nothing but fill
    /// value now.
    pub fn change_file(
        &mut self,
        job: &Context<'_>,
        stored: bool,
        factors: &[Factor<'_>],
        decoder: &mut Decoder<'_>,
        file: &mut dyn Sink,
    ) -> Option<()> {
        if self.change_memory(job, stored, factors, decoder)? {
            return None;
        }
        let encoder = self.encoder.as_mut()?;
        match job.chunks.layout.writes_rows() {
            true => {
                let mut file = Watched::new(&job.stopped, file);
                encoder.encode_pieces(&mut Whole::new(&self.gathered), &mut file)
            }
            false => file.put(encoder.encode(&self.gathered)?),
        }
    }

    /// Change an inner chunk in the same way, and encode it; Some(None) if it is nothing but fill
    /// value now.
    pub fn change(
        &mut self,
        job: &Context<'_>,
        stored: bool,
        factors: &[Factor<'_>],
        decoder: &mut Decoder<'_>,
    ) -> Option<Option<&[u8]>> {
        match self.change_memory(job, stored, factors, decoder)? {
            true => Some(None),
            false => self.encoder.as_mut()?.encode(&self.gathered).map(Some),
        }
    }

    /// Have the changed chunk in `gathered`, as it is encoded; Some(true) if it is nothing but fill
    /// value.
    fn change_memory(
        &mut self,
        job: &Context<'_>,
        stored: bool,
        factors: &[Factor<'_>],
        decoder: &mut Decoder<'_>,
    ) -> Option<bool> {
        let (layout, target) = (&job.chunks.layout, &job.target);
        self.gathered.clear();
        self.gathered.try_reserve_exact(layout.size).ok()?;
        if stored {
            // SAFETY: reserved, and written if it says so.
            unsafe {
                let room = Room::new(self.gathered.as_mut_ptr(), layout.size);
                decoder.decode(&self.old, &room).then_some(())?;
                self.gathered.set_len(layout.size);
            }
            swap(layout, &mut self.gathered);
        } else {
            let fill = job.chunks.fill.as_deref()?;
            while self.gathered.len() < layout.size {
                self.gathered.extend_from_slice(fill);
            }
        }
        let moves = target.moves(layout, factors).reversed();
        // SAFETY: a whole decoded chunk; `checked` has compared the factors with the array.
        unsafe { moves.scatter(target.view.start(), self.gathered.as_mut_ptr()) };
        let elided = job.is_elided(&self.gathered);
        swap(layout, &mut self.gathered);
        Some(elided)
    }

    /// Change inner chunks of a shard. All others keep their bytes.
    pub fn change_shard(
        &mut self,
        job: &Context<'_>,
        shard: &Shard,
        old: Option<Value<'_>>,
        factors: &[Factor<'_>],
        decoder: &mut Decoder<'_>,
        file: &mut dyn Sink,
    ) -> Option<()> {
        let layout = &job.chunks.layout;
        let old = match old {
            Some(old) => Some(shard.open(old)?),
            None => None,
        };
        let cuts = Cuts::new(factors, &layout.shape)?;
        let mut coordinates = vec![0; layout.shape.len()];
        let mut taken = Vec::with_capacity(factors.len());
        let mut numbers = vec![None; shard.entries()];
        for number in 0..cuts.len() {
            cuts.part(number, &mut coordinates, &mut taken);
            *numbers.get_mut(shard.entry(&coordinates))? = Some(number);
        }
        if shard.at_start() {
            file.put(&vec![0; shard.index_bytes()])?; // it is known at the end
        }
        let mut made = Part::default();
        for (entry, number) in numbers.into_iter().enumerate() {
            job.goes_on()?;
            if made.bytes.len() >= TOGETHER_STORED {
                file.put(&made.bytes)?;
                made.bytes.clear();
            }
            let stored = match &old {
                Some(old) => old.range(entry, layout.limit)?,
                None => None,
            };
            let Some(number) = number else {
                if let (Some((offset, length)), Some(old)) = (stored, &old) {
                    old.append(offset, length, &mut made.bytes)?;
                }
                made.lengths.push(stored.map(|(_, length)| length));
                continue;
            };
            cuts.part(number, &mut coordinates, &mut taken);
            if is_whole(&taken, &layout.shape) {
                self.add(job, &taken, &mut made)?;
                continue;
            }
            if let (Some((offset, length)), Some(old)) = (stored, &old) {
                self.old.clear();
                old.append(offset, length, &mut self.old)?;
            }
            let changed = self.change(job, stored.is_some(), &taken, decoder)?;
            made.lengths.push(changed.map(<[u8]>::len));
            if let Some(value) = changed {
                made.bytes.try_reserve(value.len()).ok()?;
                made.bytes.extend_from_slice(value);
            }
        }
        file.put(&made.bytes)?;
        let index = shard.index(made.lengths.iter().copied())??;
        match shard.at_start() {
            true => file.rewrite(&index),
            false => file.put(&index),
        }
    }

    /// The memory of a chunk, some rows at a time.
    fn with_rows<T>(
        &mut self,
        job: &Context<'_>,
        factors: &[Factor<'_>],
        work: impl FnOnce(&mut dyn Source, &mut Encoder<'_>) -> Option<T>,
    ) -> Option<T> {
        let (layout, target) = (&job.chunks.layout, &job.target);
        let encoder = self.encoder.as_mut()?;
        if let Some(place) = target.straight(layout, factors) {
            // SAFETY: a whole chunk in the array, which is contiguous there.
            let memory = unsafe { std::slice::from_raw_parts(place, layout.size) };
            return work(&mut Whole::new(memory), encoder);
        }
        let (rows, row) = layout.rows();
        let gather = |first, count, to| gather(layout, target, factors, first, count, to);
        // SAFETY: `gather` writes the rows.
        let mut rows = unsafe { Rows::new(rows, row, &mut self.gathered, gather) };
        work(&mut rows, encoder)
    }

    /// Whether a chunk that is encoded by rows is not stored.
    pub fn is_elided(&mut self, job: &Context<'_>, factors: &[Factor<'_>]) -> Option<bool> {
        let piece = PIECE.next_multiple_of(job.chunks.layout.item);
        self.with_rows(job, factors, |rows, _| {
            rows.all(piece, &mut |memory| job.is_elided(memory))
        })
    }

    /// Encode a chunk some rows at a time.
    pub fn encode_rows(
        &mut self,
        job: &Context<'_>,
        factors: &[Factor<'_>],
        sink: &mut dyn Sink,
    ) -> Option<()> {
        self.with_rows(job, factors, |rows, encoder| {
            encoder.encode_pieces(rows, &mut Watched::new(&job.stopped, sink))
        })
    }

    /// One of several parts of a shard.
    pub fn part(
        &mut self,
        job: &Context<'_>,
        factors: &[Factor<'_>],
        part: usize,
        parts: usize,
        made: &mut Part,
    ) -> Option<()> {
        let layout = &job.chunks.layout;
        let cuts = Cuts::new(factors, &layout.shape)?;
        let (first, last) = (cuts.len() * part / parts, cuts.len() * (part + 1) / parts);
        let mut coordinates = vec![0; layout.shape.len()];
        let mut taken = Vec::with_capacity(factors.len());
        made.bytes.clear();
        made.lengths.clear();
        made.lengths.try_reserve(last - first).ok()?;
        for number in first..last {
            job.goes_on()?;
            cuts.part(number, &mut coordinates, &mut taken);
            self.add(job, &taken, made)?;
        }
        Some(())
    }

    /// Encode an inner chunk, and add it to a part of a shard.
    pub fn add(
        &mut self,
        job: &Context<'_>,
        factors: &[Factor<'_>],
        made: &mut Part,
    ) -> Option<()> {
        if job.chunks.layout.writes_rows() {
            let begin = made.bytes.len();
            let elided = self.is_elided(job, factors)?;
            if !elided {
                self.encode_rows(job, factors, &mut Appended::new(&mut made.bytes))?;
            }
            made.lengths
                .push((!elided).then(|| made.bytes.len() - begin));
            return Some(());
        }
        made.lengths.push(match self.encode(job, factors)? {
            Encoded::Bytes(value) => {
                made.bytes.try_reserve(value.len()).ok()?;
                made.bytes.extend_from_slice(value);
                Some(value.len())
            }
            Encoded::Elided => None,
        });
        Some(())
    }
}

/// Takes bytes until the call is interrupted.
pub struct Watched<'a> {
    stopped: &'a AtomicBool,
    sink: &'a mut dyn Sink,
}

impl<'a> Watched<'a> {
    pub fn new(stopped: &'a AtomicBool, sink: &'a mut dyn Sink) -> Watched<'a> {
        Watched { stopped, sink }
    }

    fn goes_on(&self) -> Option<()> {
        (!self.stopped.load(Ordering::Relaxed)).then_some(())
    }
}

impl Sink for Watched<'_> {
    fn room(&mut self, most: usize) -> Option<Room> {
        self.goes_on()?;
        self.sink.room(most)
    }

    unsafe fn took(&mut self, count: usize) -> Option<()> {
        // SAFETY: as the caller promises.
        unsafe { self.sink.took(count) }
    }

    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.goes_on()?;
        self.sink.put(bytes)
    }

    fn rewrite(&mut self, bytes: &[u8]) -> Option<()> {
        self.sink.rewrite(bytes)
    }

    fn restart(&mut self) -> Option<()> {
        self.sink.restart()
    }
}

/// Write a shard: its parts, and the index of them.
pub fn put_shard(shard: &Shard, index: &[u8], parts: &[&Part], file: &mut dyn Sink) -> Option<()> {
    if shard.at_start() {
        file.put(index)?;
    }
    parts.iter().try_for_each(|part| file.put(&part.bytes))?;
    if !shard.at_start() {
        file.put(index)?;
    }
    Some(())
}

/// Copy rows of a chunk out of the array; there is room for them.
fn gather(
    layout: &Layout,
    target: &Target<'_>,
    factors: &[Factor<'_>],
    first: usize,
    count: usize,
    to: *mut u8,
) {
    let mut factors = factors.to_vec();
    for factor in &mut factors {
        if let Factor::Run(run) = factor
            && run.axis == layout.first
        {
            (run.length, run.outer) = (count, run.outer + first);
        }
    }
    let moves = target.moves(layout, &factors).reversed();
    // SAFETY: `checked` has compared the factors with the array; they take every element of the rows.
    unsafe { moves.scatter(target.view.start(), to) };
}
