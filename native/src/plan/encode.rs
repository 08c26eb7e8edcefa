//! Encoding chunks and shards for `write`, in one thread: they are gathered from the array, or read and
//! changed.

use super::files;
use super::layout::{Layout, Target, swap};
use super::publish::Publisher;
use super::selection::{Cuts, Factor, is_whole};
use super::shard::Shard;
use super::write::Job;
use crate::codecs::{Appended, Decoder, Encoder, PIECE, Room, Rows, Sink, Source, Whole};
use std::os::fd::OwnedFd;

/// Inner chunks of a changed shard are stored when they are so many bytes.
pub const TOGETHER_STORED: usize = 1 << 20;

/// The memory of one thread, used again for chunk after chunk.
pub struct Desk<'a> {
    encoder: Option<Encoder<'a>>,
    gathered: Vec<u8>,
    /// What was stored before.
    old: Vec<u8>,
}

/// What becomes of a chunk.
enum Encoded<'a> {
    Bytes(&'a [u8]),
    /// Nothing but the fill value.
    Elided,
}

/// Consecutive inner chunks of a shard, encoded.
#[derive(Default)]
pub struct Part {
    bytes: Vec<u8>,
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
    /// Store one chunk.
    pub fn publish(
        &mut self,
        job: &Job<'_>,
        factors: &[Factor<'_>],
        publisher: &mut Publisher<'_>,
        coordinates: &[usize],
    ) -> Option<()> {
        if job.files.layout.writes_rows() {
            return match self.is_elided(job, factors)? {
                true => job.elide(publisher, coordinates),
                false => {
                    publisher.publish(coordinates, |file| self.encode_rows(job, factors, file))
                }
            };
        }
        match self.encode(job, factors)? {
            Encoded::Bytes(value) => publisher.publish(coordinates, |file| file.put(value)),
            Encoded::Elided => job.elide(publisher, coordinates),
        }
    }

    /// One chunk or inner chunk, all of whose elements are in the array.
    fn encode(&mut self, job: &Job<'_>, factors: &[Factor<'_>]) -> Option<Encoded<'_>> {
        let (layout, target) = (&job.files.layout, &job.target);
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
    pub fn read(&mut self, job: &Job<'_>, file: Option<OwnedFd>) -> Option<bool> {
        let Some(file) = file else {
            return Some(false);
        };
        let length = files::length(&file).filter(|&length| length <= job.files.layout.limit)?;
        files::read(&file, 0, length, &mut self.old)?;
        Some(true)
    }

    /// Change a chunk, whose bytes are in `old` if it is stored; None too if it is nothing but fill
    /// value now.
    pub fn change_file(
        &mut self,
        job: &Job<'_>,
        stored: bool,
        factors: &[Factor<'_>],
        decoder: &mut Decoder<'_>,
        file: &mut dyn Sink,
    ) -> Option<()> {
        if self.change_memory(job, stored, factors, decoder)? {
            return None;
        }
        let encoder = self.encoder.as_mut()?;
        match job.files.layout.writes_rows() {
            true => {
                let mut file = Watched { job, sink: file };
                encoder.encode_pieces(&mut Whole::new(&self.gathered), &mut file)
            }
            false => file.put(encoder.encode(&self.gathered)?),
        }
    }

    /// Change an inner chunk in the same way, and encode it; Some(None) if it is nothing but fill
    /// value now.
    fn change(
        &mut self,
        job: &Job<'_>,
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
        job: &Job<'_>,
        stored: bool,
        factors: &[Factor<'_>],
        decoder: &mut Decoder<'_>,
    ) -> Option<bool> {
        let (layout, target) = (&job.files.layout, &job.target);
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
            let fill = job.files.fill.as_deref()?;
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
        job: &Job<'_>,
        shard: &Shard,
        old: Option<OwnedFd>,
        factors: &[Factor<'_>],
        decoder: &mut Decoder<'_>,
        file: &mut dyn Sink,
    ) -> Option<()> {
        let layout = &job.files.layout;
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
        job: &Job<'_>,
        factors: &[Factor<'_>],
        work: impl FnOnce(&mut dyn Source, &mut Encoder<'_>) -> Option<T>,
    ) -> Option<T> {
        let (layout, target) = (&job.files.layout, &job.target);
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
    fn is_elided(&mut self, job: &Job<'_>, factors: &[Factor<'_>]) -> Option<bool> {
        let piece = PIECE.next_multiple_of(job.files.layout.item);
        self.with_rows(job, factors, |rows, _| {
            rows.all(piece, &mut |memory| job.is_elided(memory))
        })
    }

    /// Encode a chunk some rows at a time.
    fn encode_rows(
        &mut self,
        job: &Job<'_>,
        factors: &[Factor<'_>],
        sink: &mut dyn Sink,
    ) -> Option<()> {
        self.with_rows(job, factors, |rows, encoder| {
            encoder.encode_pieces(rows, &mut Watched { job, sink })
        })
    }

    /// One of several parts of a shard.
    pub fn part(
        &mut self,
        job: &Job<'_>,
        factors: &[Factor<'_>],
        part: usize,
        parts: usize,
        made: &mut Part,
    ) -> Option<()> {
        let layout = &job.files.layout;
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
    fn add(&mut self, job: &Job<'_>, factors: &[Factor<'_>], made: &mut Part) -> Option<()> {
        if job.files.layout.writes_rows() {
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
struct Watched<'a> {
    job: &'a Job<'a>,
    sink: &'a mut dyn Sink,
}

impl Sink for Watched<'_> {
    fn room(&mut self, most: usize) -> Option<Room> {
        self.job.goes_on()?;
        self.sink.room(most)
    }

    unsafe fn took(&mut self, count: usize) -> Option<()> {
        // SAFETY: as the caller promises.
        unsafe { self.sink.took(count) }
    }

    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.job.goes_on()?;
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
