//! Where the memory of a chunk that is encoded comes from, and where its bytes go, some of them at a
//! time.

use super::room::Room;

/// What is taken at once where a codec does not say.
pub const PIECE: usize = 1 << 18;

/// Gives the memory of a chunk from its beginning to its end.
pub trait Source {
    /// How many bytes there are in all.
    fn size(&self) -> usize;

    /// Begin again.
    fn rewind(&mut self);

    /// The next so many bytes; None if there are fewer, or no memory for them.
    fn next(&mut self, count: usize) -> Option<&[u8]>;

    /// All of it, if it is there already.
    fn whole(&self) -> Option<&[u8]> {
        None
    }

    /// All of it piece by piece, from the beginning, for as long as `each` says so; whether it
    /// did to the end.
    fn all(&mut self, piece: usize, each: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        self.rewind();
        let size = self.size();
        for first in (0..size).step_by(piece) {
            if !each(self.next(piece.min(size - first))?) {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// Memory that is there.
pub struct Whole<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Whole<'a> {
    pub fn new(data: &'a [u8]) -> Whole<'a> {
        Whole { data, at: 0 }
    }
}

impl Source for Whole<'_> {
    fn size(&self) -> usize {
        self.data.len()
    }

    fn rewind(&mut self) {
        self.at = 0;
    }

    fn whole(&self) -> Option<&[u8]> {
        Some(self.data)
    }

    fn next(&mut self, count: usize) -> Option<&[u8]> {
        let piece = self.data.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(piece)
    }
}

/// Rows that are gathered when they are needed.
pub struct Rows<'a, G> {
    rows: usize,
    /// Bytes of one.
    row: usize,
    gather: G,
    /// Rows that were gathered; those before `at` have been taken.
    memory: &'a mut Vec<u8>,
    at: usize,
    /// The first row that was not gathered.
    next: usize,
}

impl<'a, G: FnMut(usize, usize, *mut u8)> Rows<'a, G> {
    /// # Safety
    /// `gather(first, count, to)` writes `count` rows of `row` bytes, for all of `rows` rows.
    pub unsafe fn new(rows: usize, row: usize, memory: &'a mut Vec<u8>, gather: G) -> Rows<'a, G> {
        memory.clear();
        Rows {
            rows,
            row,
            gather,
            memory,
            at: 0,
            next: 0,
        }
    }

    /// Have so many bytes, if there is the memory for them.
    fn fill(&mut self, count: usize) -> Option<()> {
        let missing = count.saturating_sub(self.memory.len() - self.at);
        if missing == 0 {
            return Some(());
        }
        self.memory.drain(..self.at);
        self.at = 0;
        let wanted = missing.max(PIECE).div_ceil(self.row);
        let rows = wanted.min(self.rows - self.next);
        self.memory.try_reserve(rows * self.row).ok()?;
        let held = self.memory.len();
        // SAFETY: reserved, and then written, as the caller of `new` promises.
        unsafe {
            let to = self.memory.as_mut_ptr().add(held);
            (self.gather)(self.next, rows, to);
            self.memory.set_len(held + rows * self.row);
        }
        self.next += rows;
        Some(())
    }
}

impl<G: FnMut(usize, usize, *mut u8)> Source for Rows<'_, G> {
    fn size(&self) -> usize {
        self.rows * self.row
    }

    fn rewind(&mut self) {
        // What was gathered last is gathered again, unless it was the beginning.
        self.at = 0;
        if self.next * self.row != self.memory.len() {
            self.memory.clear();
            self.next = 0;
        }
    }

    fn next(&mut self, count: usize) -> Option<&[u8]> {
        self.fill(count)?;
        let piece = self.memory.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(piece)
    }
}

/// Gives encoded bytes from the first to the last.
pub trait Input {
    /// The next ones, or none at the end; None if they cannot be read.
    fn next(&mut self) -> Option<&[u8]>;

    /// Those that were given last.
    fn last(&self) -> &[u8];
}

/// Bytes that are there.
pub struct Given<'a> {
    pub next: &'a [u8],
    pub last: &'a [u8],
}

impl Input for Given<'_> {
    fn next(&mut self) -> Option<&[u8]> {
        self.last = std::mem::take(&mut self.next);
        Some(self.last)
    }

    fn last(&self) -> &[u8] {
        self.last
    }
}

/// Takes the bytes of a chunk, from the first to the last.
pub trait Sink {
    /// Room for bytes that follow; None if there is no memory for so many.
    fn room(&mut self, most: usize) -> Option<Room>;

    /// So many bytes of the room have been written.
    ///
    /// # Safety
    /// They have, of the room that was given last.
    unsafe fn took(&mut self, count: usize) -> Option<()>;

    /// Other bytes in the place of the first ones.
    fn rewrite(&mut self, bytes: &[u8]) -> Option<()>;

    /// Forget all bytes.
    fn restart(&mut self) -> Option<()>;

    /// Bytes that follow.
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.room(bytes.len())?.put(bytes)?;
        // SAFETY: just written.
        unsafe { self.took(bytes.len()) }
    }
}

/// The end of a vector.
pub struct Appended<'a> {
    memory: &'a mut Vec<u8>,
    begin: usize,
}

impl<'a> Appended<'a> {
    pub fn new(memory: &'a mut Vec<u8>) -> Appended<'a> {
        let begin = memory.len();
        Appended { memory, begin }
    }
}

impl Sink for Appended<'_> {
    fn room(&mut self, most: usize) -> Option<Room> {
        self.memory.try_reserve(most).ok()?;
        let spare = self.memory.spare_capacity_mut();
        // SAFETY: reserved.
        Some(unsafe { Room::new(spare.as_mut_ptr().cast(), most) })
    }

    unsafe fn took(&mut self, count: usize) -> Option<()> {
        // SAFETY: reserved by `room`, and written, as the caller promises.
        unsafe { self.memory.set_len(self.memory.len() + count) };
        Some(())
    }

    fn rewrite(&mut self, bytes: &[u8]) -> Option<()> {
        let place = self.memory.get_mut(self.begin..)?.get_mut(..bytes.len())?;
        place.copy_from_slice(bytes);
        Some(())
    }

    fn restart(&mut self) -> Option<()> {
        self.memory.truncate(self.begin);
        Some(())
    }
}
