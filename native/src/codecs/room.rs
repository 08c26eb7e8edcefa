//! Memory that bytes are put into.

/// Memory of exactly the size of what is put there. It is written, never read: it may hold anything.
pub struct Room {
    pub(super) start: *mut u8,
    pub(super) size: usize,
}

impl Room {
    /// # Safety
    /// So many bytes may be written there, by this alone, for as long as it lives.
    pub unsafe fn new(start: *mut u8, size: usize) -> Room {
        Room { start, size }
    }

    /// The memory of a slice, for as long as that is not used otherwise.
    pub(super) fn over(bytes: &mut [u8]) -> Room {
        Room {
            start: bytes.as_mut_ptr(),
            size: bytes.len(),
        }
    }

    /// A part of it; None if it does not lie inside.
    pub(super) fn part(&self, offset: usize, size: usize) -> Option<Room> {
        if offset.checked_add(size)? > self.size {
            return None;
        }
        // SAFETY: inside the room.
        let start = unsafe { self.start.add(offset) };
        Some(Room { start, size })
    }

    /// Fill it with these bytes; None if they are not as many.
    pub(super) fn put(&self, bytes: &[u8]) -> Option<()> {
        if bytes.len() != self.size {
            return None;
        }
        // SAFETY: the room is this large. The two may be the same memory, if the caller is odd.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.start, self.size) };
        Some(())
    }
}

/// Give a vector at least this length, if there is the memory.
pub fn grow(memory: &mut Vec<u8>, size: usize) -> Option<()> {
    if memory.len() < size {
        memory.try_reserve_exact(size - memory.len()).ok()?;
        memory.resize(size, 0);
    }
    Some(())
}

/// Replace a vector's content by what `fill` puts into a room of `most` bytes, and tells the length
/// of; with memory for `more` bytes behind it.
///
/// # Safety
/// `fill` writes as many bytes as it says, from the start of the room.
pub unsafe fn refill(
    memory: &mut Vec<u8>,
    most: usize,
    more: usize,
    fill: impl FnOnce(&Room) -> Option<usize>,
) -> Option<()> {
    memory.clear();
    memory.try_reserve(most.checked_add(more)?).ok()?;
    // SAFETY: reserved.
    let room = unsafe { Room::new(memory.as_mut_ptr(), most) };
    let length = fill(&room)?;
    if length > most {
        return None;
    }
    // SAFETY: written, as the caller promises.
    unsafe { memory.set_len(length) };
    Some(())
}
