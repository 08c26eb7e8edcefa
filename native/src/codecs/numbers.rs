//! Filters of numbers in the machine's byte order.

use super::room::Room;

/// Functions for the unsigned integers of one width; others of that width have the same bits.
macro_rules! integers {
    ($name:ident, $number:ty) => {
        mod $name {
            use super::Room;

            const WIDTH: usize = size_of::<$number>();

            /// Put what `change` makes of each number there.
            pub fn each(
                data: &[u8],
                room: &Room,
                mut change: impl FnMut($number) -> $number,
            ) -> Option<()> {
                let (numbers, rest) = data.as_chunks::<WIDTH>();
                if data.len() != room.size || !rest.is_empty() {
                    return None;
                }
                for (place, bytes) in numbers.iter().enumerate() {
                    let changed = change(<$number>::from_ne_bytes(*bytes)).to_ne_bytes();
                    // SAFETY: the room has as many numbers; bytes need no alignment.
                    unsafe { *room.start.cast::<[u8; WIDTH]>().add(place) = changed };
                }
                Some(())
            }

            /// The sums of differences.
            pub fn sums(data: &[u8], room: &Room) -> Option<()> {
                let mut sum: $number = 0;
                each(data, room, |number| {
                    sum = sum.wrapping_add(number);
                    sum
                })
            }

            /// The differences of neighbours; the first number as it is.
            pub fn differences(data: &[u8], room: &Room) -> Option<()> {
                let mut before: $number = 0;
                each(data, room, |number| {
                    number.wrapping_sub(std::mem::replace(&mut before, number))
                })
            }

            /// Floats without the last `drop` of `mantissa` bits: to nearest, ties to even. NaNs stay.
            #[allow(dead_code)] // there are no floats of one byte
            pub fn round(drop: u32, mantissa: u32, data: &[u8], room: &Room) -> Option<()> {
                let magnitude = <$number>::MAX >> 1;
                let infinite = magnitude >> mantissa << mantissa;
                if drop == 0 {
                    return room.put(data);
                }
                let kept = <$number>::MAX << drop;
                each(data, room, |number| {
                    if number & magnitude > infinite {
                        return number;
                    }
                    let even = number >> drop & 1;
                    let half = !kept >> 1;
                    number.wrapping_add(half + even) & kept
                })
            }
        }
    };
}

integers!(bytes, u8);
integers!(halves, u16);
integers!(words, u32);
integers!(longs, u64);

/// Integers from differences. They wrap.
pub fn sums(width: usize, data: &[u8], room: &Room) -> Option<()> {
    match width {
        1 => bytes::sums(data, room),
        2 => halves::sums(data, room),
        4 => words::sums(data, room),
        8 => longs::sums(data, room),
        _ => None,
    }
}

/// Undo `sums`.
pub fn differences(width: usize, data: &[u8], room: &Room) -> Option<()> {
    match width {
        1 => bytes::differences(data, room),
        2 => halves::differences(data, room),
        4 => words::differences(data, room),
        8 => longs::differences(data, room),
        _ => None,
    }
}

/// How floats are rounded.
#[derive(Clone, Copy)]
pub struct Rounding {
    /// Bytes of a float; 0 for numbers that are not rounded here.
    pub width: usize,
    /// Bits of the mantissa that are left out.
    pub drop: u32,
    /// Bits of the mantissa.
    pub mantissa: u32,
}

impl Rounding {
    /// Whether the bits are those of a float.
    pub fn is_sound(&self) -> bool {
        let bits = 8 * self.width as u32;
        self.width == 0
            || (matches!(self.width, 2 | 4 | 8)
                && self.drop <= self.mantissa
                && self.mantissa < bits - 1)
    }
}

/// Round floats; None if that is left to the caller.
pub fn round(rounding: Rounding, data: &[u8], room: &Room) -> Option<()> {
    let Rounding { drop, mantissa, .. } = rounding;
    match rounding.width {
        2 => halves::round(drop, mantissa, data, room),
        4 => words::round(drop, mantissa, data, room),
        8 => longs::round(drop, mantissa, data, room),
        _ => None,
    }
}
