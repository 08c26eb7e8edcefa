//! Containers of c-blosc 1. It trusts what they say of themselves, so every claim is checked
//! against the real length first, no less strictly than the reference code does.

const HEADER: usize = 16;
const MEMCPYED: u8 = 0x02;
const FUTURE: u8 = 0x08;
const SNAPPY: u8 = 2;
const FORMATS: u8 = 5;
/// Up to this many bytes may follow a container.
const SLACK: usize = 16;

/// What is in a container.
pub enum Content<'a> {
    /// These bytes, as they are.
    Plain(&'a [u8]),
    /// Something that c-blosc can be given.
    Blocks,
}

/// What is in a container of exactly `size` decoded bytes; None if it is not sound, or unusual.
pub fn content(data: &[u8], size: usize) -> Option<Content<'_>> {
    let header = data.first_chunk::<HEADER>()?;
    let number = |at: usize| -> Option<usize> {
        let bytes = data.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let [version, _, flags, typesize, ..] = *header;
    let (nbytes, blocksize, length) = (number(4)?, number(8)?, number(12)?);
    let slack = data.len().checked_sub(length)?;
    if version != 2 || slack > SLACK || length < HEADER || nbytes != size || nbytes == 0 {
        return None;
    }
    if flags & MEMCPYED != 0 {
        let plain = data.get(HEADER..length)?;
        return (plain.len() == size).then_some(Content::Plain(plain));
    }
    let format = flags >> 5;
    if flags & FUTURE != 0 || format >= FORMATS || format == SNAPPY || typesize == 0 {
        return None;
    }
    if blocksize == 0 || blocksize > nbytes {
        return None;
    }
    let blocks = nbytes.div_ceil(blocksize);
    let table = blocks.checked_mul(4)?;
    let first = table.checked_add(HEADER)?;
    if first.checked_add(table)? > length {
        return None;
    }
    for block in 0..blocks {
        let start = number(HEADER + 4 * block)?;
        if start < first || start > length - 4 {
            return None;
        }
    }
    Some(Content::Blocks)
}
