//! Bytes, or bits, of elements put together by their place in the element.
//!
//! `separate` puts all first bytes of the elements first, then all second ones, and so on: the
//! *planes*. `interleave` puts them back. Both are a transposition, done 16 elements at a time: the
//! bytes of two registers taken in turns is one step of it (it rotates the bits of every byte's
//! address by one), and so many steps are done as the address of a byte in its element has bits, or
//! four for the way back.
//!
//! Bits are shuffled as bytes first. Each plane of bytes then is cut into eight planes of bits: the
//! 8 x 8 bits of eight neighbours are transposed, and their bytes separated.

use super::room::{Room, grow};

/// Bytes of elements that are shuffled bit by bit at once: they stay in the first cache.
const TILE: usize = 1 << 14;
/// Elements of unusual size that are shuffled at once.
const NEAR: usize = 256;
/// Elements whose bits are shuffled together.
const OCTET: usize = 8;

/// All first bytes, then all second ones; what is behind the last whole element stays there.
pub fn shuffle(width: usize, data: &[u8], room: &Room) -> Option<()> {
    let count = checked(width, data, room)?;
    // SAFETY: both sides have `width * count` bytes.
    unsafe { separate_bytes(width, data.as_ptr(), room.start, count, count) };
    rest(width * count, data, room)
}

/// Undo `shuffle`.
pub fn unshuffle(width: usize, data: &[u8], room: &Room) -> Option<()> {
    let count = checked(width, data, room)?;
    // SAFETY: both sides have `width * count` bytes.
    unsafe { interleave_bytes(width, data.as_ptr(), count, room.start, count) };
    rest(width * count, data, room)
}

/// All first bits, then all second ones. Elements that are not a multiple of eight stay as they are.
pub fn bitshuffle(width: usize, data: &[u8], tile: &mut Vec<u8>, room: &Room) -> Option<()> {
    let count = checked(width, data, room)?;
    if !count.is_multiple_of(OCTET) {
        return room.put(data);
    }
    let step = elements_per_tile(width);
    grow(tile, step * width)?;
    for first in (0..count).step_by(step) {
        let some = step.min(count - first);
        // SAFETY: elements from `first` on; the tile has `width` planes of `some` bytes. The planes
        // of bits of byte `place` begin at `place * count`, eight of `count / 8` bytes each, and
        // `some` bits of each are written from bit `first` on.
        unsafe {
            let from = data.as_ptr().add(first * width);
            separate_bytes(width, from, tile.as_mut_ptr(), some, some);
            for place in 0..width {
                let plane = tile.as_ptr().add(place * some);
                let to = room.start.add(place * count + first / OCTET);
                separate::<OCTET, true>(plane, to, count / OCTET, some / OCTET);
            }
        }
    }
    rest(width * count, data, room)
}

/// Undo `bitshuffle`.
pub fn bitunshuffle(width: usize, data: &[u8], tile: &mut Vec<u8>, room: &Room) -> Option<()> {
    let count = checked(width, data, room)?;
    if !count.is_multiple_of(OCTET) {
        return room.put(data);
    }
    let step = elements_per_tile(width);
    grow(tile, step * width)?;
    for first in (0..count).step_by(step) {
        let some = step.min(count - first);
        // SAFETY: as in `bitshuffle`, with the sides exchanged.
        unsafe {
            for place in 0..width {
                let from = data.as_ptr().add(place * count + first / OCTET);
                let plane = tile.as_mut_ptr().add(place * some);
                interleave::<OCTET, true>(from, count / OCTET, plane, some / OCTET);
            }
            let to = room.start.add(first * width);
            interleave_bytes(width, tile.as_ptr(), some, to, some);
        }
    }
    rest(width * count, data, room)
}

/// How many whole elements there are on both sides.
fn checked(width: usize, data: &[u8], room: &Room) -> Option<usize> {
    (width > 0 && data.len() == room.size).then(|| data.len() / width)
}

fn elements_per_tile(width: usize) -> usize {
    (TILE / width).max(1).next_multiple_of(16 * OCTET)
}

/// Copy what is behind the whole elements.
fn rest(used: usize, data: &[u8], room: &Room) -> Option<()> {
    let behind = data.get(used..)?;
    room.part(used, behind.len())?.put(behind)
}

/// # Safety
/// `from` has `count` elements of `width` bytes, and `width` planes of `count` bytes begin at `to`,
/// each `stride` behind the last.
unsafe fn separate_bytes(width: usize, from: *const u8, to: *mut u8, stride: usize, count: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        match width {
            1 => std::ptr::copy(from, to, count),
            2 => separate::<2, false>(from, to, stride, count),
            4 => separate::<4, false>(from, to, stride, count),
            8 => separate::<8, false>(from, to, stride, count),
            16 => separate::<16, false>(from, to, stride, count),
            _ => {
                for first in (0..count).step_by(NEAR) {
                    for place in 0..width {
                        let mut one = from.add(first * width + place);
                        for element in first..count.min(first + NEAR) {
                            *to.add(place * stride + element) = *one;
                            one = one.wrapping_add(width);
                        }
                    }
                }
            }
        }
    }
}

/// # Safety
/// As for `separate_bytes`, with the sides exchanged.
unsafe fn interleave_bytes(
    width: usize,
    from: *const u8,
    stride: usize,
    to: *mut u8,
    count: usize,
) {
    // SAFETY: as the caller promises.
    unsafe {
        match width {
            1 => std::ptr::copy(from, to, count),
            2 => interleave::<2, false>(from, stride, to, count),
            4 => interleave::<4, false>(from, stride, to, count),
            8 => interleave::<8, false>(from, stride, to, count),
            16 => interleave::<16, false>(from, stride, to, count),
            _ => {
                for first in (0..count).step_by(NEAR) {
                    for place in 0..width {
                        let mut one = to.add(first * width + place);
                        for element in first..count.min(first + NEAR) {
                            *one = *from.add(place * stride + element);
                            one = one.wrapping_add(width);
                        }
                    }
                }
            }
        }
    }
}

/// The bytes of elements to planes; with `BITS`, of 8 bytes whose bits are transposed before.
///
/// # Safety
/// As for `separate_bytes`.
unsafe fn separate<const WIDTH: usize, const BITS: bool>(
    from: *const u8,
    to: *mut u8,
    stride: usize,
    count: usize,
) {
    // SAFETY: as the caller promises; what is left are fewer elements at the end.
    unsafe {
        for element in vectors::separate::<WIDTH, BITS>(from, to, stride, count)..count {
            let mut bytes = *from.add(element * WIDTH).cast::<[u8; WIDTH]>();
            if BITS {
                transpose(&mut bytes);
            }
            for (place, byte) in bytes.into_iter().enumerate() {
                *to.add(place * stride + element) = byte;
            }
        }
    }
}

/// Undo `separate`.
///
/// # Safety
/// As for `separate`, with the sides exchanged.
unsafe fn interleave<const WIDTH: usize, const BITS: bool>(
    from: *const u8,
    stride: usize,
    to: *mut u8,
    count: usize,
) {
    // SAFETY: as the caller promises; what is left are fewer elements at the end.
    unsafe {
        for element in vectors::interleave::<WIDTH, BITS>(from, stride, to, count)..count {
            let mut bytes: [u8; WIDTH] =
                std::array::from_fn(|place| *from.add(place * stride + element));
            if BITS {
                transpose(&mut bytes);
            }
            *to.add(element * WIDTH).cast::<[u8; WIDTH]>() = bytes;
        }
    }
}

/// Exchange bit n of byte m and bit m of byte n, of eight bytes.
fn transpose(bytes: &mut [u8]) {
    if let Ok(eight) = <[u8; 8]>::try_from(&*bytes) {
        let mut word = u64::from_le_bytes(eight);
        for (shift, mask) in SWAPS {
            let changed = (word ^ (word >> shift)) & mask;
            word ^= changed ^ (changed << shift);
        }
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

/// Halves of the 8 x 8 bits, of their quarters, and so on that change places: how far they are
/// apart, and the lower ones.
const SWAPS: [(i32, u64); 3] = [
    (7, 0x00aa_00aa_00aa_00aa),
    (14, 0x0000_cccc_0000_cccc),
    (28, 0x0000_0000_f0f0_f0f0),
];

#[cfg(target_arch = "x86_64")]
mod vectors {
    //! 16 elements at a time. SSE2 is part of the architecture.

    use super::SWAPS;
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_set1_epi64x, _mm_sll_epi64,
        _mm_srl_epi64, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8, _mm_xor_si128,
    };

    const LANES: usize = 16;

    /// How many elements were done.
    ///
    /// # Safety
    /// As for `super::separate`.
    #[target_feature(enable = "sse2")]
    pub unsafe fn separate<const WIDTH: usize, const BITS: bool>(
        from: *const u8,
        to: *mut u8,
        stride: usize,
        count: usize,
    ) -> usize {
        let whole = count / LANES * LANES;
        for element in (0..whole).step_by(LANES) {
            // SAFETY: 16 elements, and 16 bytes of each plane.
            let mut all: [__m128i; WIDTH] = std::array::from_fn(|number| unsafe {
                _mm_loadu_si128(from.add(element * WIDTH + number * LANES).cast())
            });
            if BITS {
                all = all.map(|words| transpose(words));
            }
            for _ in 0..LANES.ilog2() {
                all = turns(all);
            }
            for (place, plane) in all.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { _mm_storeu_si128(to.add(place * stride + element).cast(), plane) };
            }
        }
        whole
    }

    /// How many elements were done.
    ///
    /// # Safety
    /// As for `super::interleave`.
    #[target_feature(enable = "sse2")]
    pub unsafe fn interleave<const WIDTH: usize, const BITS: bool>(
        from: *const u8,
        stride: usize,
        to: *mut u8,
        count: usize,
    ) -> usize {
        let whole = count / LANES * LANES;
        for element in (0..whole).step_by(LANES) {
            // SAFETY: 16 bytes of each plane, and 16 elements.
            let mut all: [__m128i; WIDTH] = std::array::from_fn(|place| unsafe {
                _mm_loadu_si128(from.add(place * stride + element).cast())
            });
            for _ in 0..WIDTH.ilog2() {
                all = turns(all);
            }
            if BITS {
                all = all.map(|words| transpose(words));
            }
            for (number, part) in all.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe {
                    _mm_storeu_si128(to.add(element * WIDTH + number * LANES).cast(), part);
                };
            }
        }
        whole
    }

    /// The bytes of the first half and of the second half in turns.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn turns<const WIDTH: usize>(all: [__m128i; WIDTH]) -> [__m128i; WIDTH] {
        let mut mixed = all;
        for number in 0..WIDTH / 2 {
            let (one, other) = (all[number], all[number + WIDTH / 2]);
            mixed[2 * number] = _mm_unpacklo_epi8(one, other);
            mixed[2 * number + 1] = _mm_unpackhi_epi8(one, other);
        }
        mixed
    }

    /// As `super::transpose`, twice.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn transpose(mut words: __m128i) -> __m128i {
        for (shift, mask) in SWAPS {
            let (shift, mask) = (_mm_cvtsi32_si128(shift), _mm_set1_epi64x(mask as i64));
            let moved = _mm_xor_si128(words, _mm_srl_epi64(words, shift));
            let changed = _mm_and_si128(moved, mask);
            words = _mm_xor_si128(words, _mm_xor_si128(changed, _mm_sll_epi64(changed, shift)));
        }
        words
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    //! Left to the compiler.

    /// # Safety
    /// None is needed: nothing is done.
    pub unsafe fn separate<const WIDTH: usize, const BITS: bool>(
        _: *const u8,
        _: *mut u8,
        _: usize,
        _: usize,
    ) -> usize {
        0
    }

    /// # Safety
    /// None is needed: nothing is done.
    pub unsafe fn interleave<const WIDTH: usize, const BITS: bool>(
        _: *const u8,
        _: usize,
        _: *mut u8,
        _: usize,
    ) -> usize {
        0
    }
}
