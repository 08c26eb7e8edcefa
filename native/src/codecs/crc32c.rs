//! CRC-32C (Castagnoli), by the processor's own instruction where it has one.

/// The polynomial, its bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// What eight bytes at once do to the sum, byte by byte.
const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ (if value & 1 == 1 { POLYNOMIAL } else { 0 });
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut further = 1;
    while further < 8 {
        let mut byte = 0;
        while byte < 256 {
            let value = tables[further - 1][byte];
            tables[further][byte] = (value >> 8) ^ tables[0][(value & 0xff) as usize];
            byte += 1;
        }
        further += 1;
    }
    tables
}

/// A checksum before or behind what it is of.
pub struct Checksum {
    /// Where it is.
    pub at_start: bool,
    /// The fewest bytes with it.
    pub least: usize,
    /// The most bytes with it.
    pub most: usize,
}

impl Checksum {
    /// What it is of; None if it is another's, or if there are too few or too many bytes.
    pub fn strip<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        if data.len() < self.least || data.len() > self.most {
            return None;
        }
        let (stored, payload) = self.split(data)?;
        (checksum(payload) == u32::from_le_bytes(*stored)).then_some(payload)
    }

    /// What it should be of.
    pub fn content<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        self.split(data).map(|(_, payload)| payload)
    }

    fn split<'a>(&self, data: &'a [u8]) -> Option<(&'a [u8; 4], &'a [u8])> {
        match self.at_start {
            true => data.split_first_chunk::<4>(),
            false => data
                .split_last_chunk::<4>()
                .map(|(rest, last)| (last, rest)),
        }
    }
}

/// The checksum of these bytes.
pub fn checksum(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the instruction is there.
        return unsafe { by_instruction(bytes) };
    }
    by_tables(bytes)
}

/// Bytes of each of the three parts that are summed at once: an instruction waits for the one before
/// it, but not for those of other parts.
#[cfg(target_arch = "x86_64")]
const PART: usize = 256;

/// What `PART` zero bytes do to a sum, byte by byte: the sums of parts are put together with it.
#[cfg(target_arch = "x86_64")]
static BEHIND_ZEROS: [[u32; 256]; 4] = behind_zeros();

#[cfg(target_arch = "x86_64")]
const fn behind_zeros() -> [[u32; 256]; 4] {
    // What is done to each bit of a sum, first by one byte, then by twice as many each time.
    let mut bits = [0; 32];
    let mut bit = 0;
    while bit < 32 {
        let sum = 1 << bit;
        bits[bit] = (sum >> 8) ^ TABLES[0][(sum & 0xff) as usize];
        bit += 1;
    }
    let mut bytes = 1;
    while bytes < PART {
        let once = bits;
        let mut bit = 0;
        while bit < 32 {
            bits[bit] = all_bits(&once, once[bit]);
            bit += 1;
        }
        bytes *= 2;
    }
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut place = 0;
        while place < 4 {
            tables[place][byte] = all_bits(&bits, (byte as u32) << (8 * place));
            place += 1;
        }
        byte += 1;
    }
    tables
}

#[cfg(target_arch = "x86_64")]
const fn all_bits(bits: &[u32; 32], sum: u32) -> u32 {
    let mut result = 0;
    let mut bit = 0;
    while bit < 32 {
        if sum >> bit & 1 == 1 {
            result ^= bits[bit];
        }
        bit += 1;
    }
    result
}

#[cfg(target_arch = "x86_64")]
fn behind_part(sum: u64) -> u64 {
    let [a, b, c, d] = (sum as u32).to_le_bytes().map(usize::from);
    let [one, two, three, four] = &BEHIND_ZEROS;
    u64::from(one[a] ^ two[b] ^ three[c] ^ four[d])
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn by_instruction(bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let mut sum = u64::from(u32::MAX);
    let (threes, rest) = bytes.as_chunks::<{ 3 * PART }>();
    for three in threes {
        let (words, _) = three.as_chunks::<8>();
        let mut sums = [sum, 0, 0];
        for number in 0..PART / 8 {
            for (place, sum) in sums.iter_mut().enumerate() {
                let word = words[place * PART / 8 + number];
                *sum = _mm_crc32_u64(*sum, u64::from_le_bytes(word));
            }
        }
        sum = behind_part(behind_part(sums[0]) ^ sums[1]) ^ sums[2];
    }
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        sum = _mm_crc32_u64(sum, u64::from_le_bytes(*word));
    }
    let mut sum = sum as u32;
    for &byte in rest {
        sum = _mm_crc32_u8(sum, byte);
    }
    !sum
}

const fn by_tables(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let mixed = (u64::from_le_bytes(*word) ^ sum as u64).to_le_bytes();
        sum = 0;
        let mut place = 0;
        while place < 8 {
            sum ^= TABLES[7 - place][mixed[place] as usize];
            place += 1;
        }
        rest = behind;
    }
    while let Some((&byte, behind)) = rest.split_first() {
        sum = (sum >> 8) ^ TABLES[0][(sum as u8 ^ byte) as usize];
        rest = behind;
    }
    !sum
}

// The tables serve where there is no instruction, so the compiler tests them: RFC 3720, B.4.
const _: () = assert!(by_tables(&[0; 32]) == 0x8a91_36aa);
const _: () = assert!(by_tables(&[0xff; 32]) == 0x62a8_ab43);
const _: () = assert!(by_tables(b"123456789") == 0xe306_9283);
