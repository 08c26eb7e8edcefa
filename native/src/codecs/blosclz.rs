//! BloscLZ, the compressor that blosc brings along: decoding.
//!
//! A stream is a row of literals and matches. A byte below 32 begins that many literals and one
//! more. Any other begins a match: its upper three bits are the length less 2, where 7 is followed by
//! bytes to add, up to one that is not 255; its lower five bits and the next byte are the distance
//! less 1, where the greatest is followed by 16 bits to add, big-endian. The first byte always begins
//! literals.

/// The distance, less 1, that 16 bits are added to.
const FAR: usize = 8191;
/// The most literals in a row.
const RUN: usize = 32;
/// Bytes of a match that are copied at once.
const STEP: usize = 16;

/// Fill `out` exactly; None if these bytes are no stream of that size, or an unusual one.
pub fn decode(mut data: &[u8], out: &mut [u8]) -> Option<()> {
    let mut done = 0;
    let mut control = next(&mut data)? & 31;
    loop {
        if control < 32 {
            let count = control + 1;
            let (literals, behind) = data.split_at_checked(count)?;
            let room = out.get_mut(done..)?;
            match (room.first_chunk_mut::<RUN>(), data.first_chunk::<RUN>()) {
                // A whole run is copied faster. What is too much is overwritten later.
                (Some(room), Some(run)) => *room = *run,
                _ => room.get_mut(..count)?.copy_from_slice(literals),
            }
            data = behind;
            done += count;
        } else {
            let mut length = (control >> 5) + 2;
            if length == 9 {
                loop {
                    let more = next(&mut data)?;
                    length += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let mut distance = ((control & 31) << 8) + next(&mut data)?;
            if distance == FAR {
                distance += (next(&mut data)? << 8) + next(&mut data)?;
            }
            distance += 1;
            // A match is never the last.
            if data.is_empty() || distance > done || length > out.len() - done {
                return None;
            }
            repeat(out, done, distance, length);
            done += length;
        }
        match next(&mut data) {
            Some(byte) => control = byte,
            None => return (done == out.len()).then_some(()),
        }
    }
}

fn next(data: &mut &[u8]) -> Option<usize> {
    let (&byte, behind) = data.split_first()?;
    *data = behind;
    Some(usize::from(byte))
}

/// Copy from `distance` before `start`; what is copied may be what has just been written. Bytes behind
/// the copy may change.
fn repeat(out: &mut [u8], start: usize, distance: usize, length: usize) {
    let (mut at, end) = (start, start + length);
    if distance >= STEP && out.len() - end >= STEP {
        while at < end {
            out.copy_within(at - distance..at - distance + STEP, at);
            at += STEP;
        }
        return;
    }
    while at < end {
        // All that is there repeats itself, so each time twice as much can be copied.
        let some = (at - start + distance).min(end - at);
        out.copy_within(start - distance..start - distance + some, at);
        at += some;
    }
}
