//! Encoding for stores that are not files: what is to be stored is given back.

use super::encode::{Amounts, Context, Desk, Part, put_shard};
use super::pool;
use super::selection::{Factor, Numbers, is_whole};
use super::shard::Shard;
use super::value::{Given, Value};
use crate::codecs::{Appended, Decoder};
use pyo3::prelude::*;
use std::sync::Mutex;

/// One call.
pub struct Job<'a> {
    pub context: Context<'a>,
    /// The chunks that are encoded.
    pub numbers: &'a [usize],
    /// What is stored of each until now; not asked for if nothing of it remains.
    pub old: &'a [Given<'a>],
}

/// A value to be stored; Some(None) if it is nothing but fill value, None if it is left.
type Made = Option<Option<Vec<u8>>>;

impl<'a> Job<'a> {
    pub fn run(
        self,
        py: Python<'_>,
        amounts: Amounts,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Made>> {
        let context = &self.context;
        let made: Vec<Mutex<Made>> = self.numbers.iter().map(|_| Mutex::new(None)).collect();
        let put = |place: usize, value: Made| {
            if let Ok(mut made) = made[place].lock() {
                *made = value;
            }
        };
        let mut others: Vec<usize> = (0..self.numbers.len()).collect();
        if let Some(shard) = &context.chunks.shard {
            let whole = |place: &usize| {
                let (factors, _) = context.part(self.numbers[*place]);
                is_whole(&factors, context.chunks.grid())
            };
            let shards: Vec<usize> = others.extract_if(.., |place| whole(place)).collect();
            let numbers = shards.iter().map(|&place| self.numbers[place]).collect();
            let done = |_: &mut (), place: usize, parts: Option<&[&Part]>| {
                put(
                    shards[place],
                    parts.and_then(|parts| assembled(shard, parts)),
                );
            };
            let numbers = Numbers::Listed(numbers);
            context.encode_shards(shard, &numbers, py, amounts, check, || (), done)?;
        }
        let layout = &context.chunks.layout;
        let threads = match context.chunks.shard {
            Some(_) => amounts.changing,
            None => amounts.threads,
        };
        let tasks = context.tasks(threads, others.len(), 1, 1);
        let state = || (Desk::new(layout), Decoder::new(&layout.steps).ok());
        pool::run(py, &tasks, check, state, |own, task| {
            let (desk, decoder) = own;
            let place = others[task];
            let (factors, _) = context.part(self.numbers[place]);
            let value = match is_whole(&factors, &layout.shape) {
                true if context.chunks.shard.is_none() => self.encoded(desk, &factors),
                _ => decoder
                    .as_mut()
                    .and_then(|decoder| self.changed(desk, decoder, place, &factors)),
            };
            put(place, value);
        })?;
        let made = made.into_iter();
        Ok(made.map(|made| made.into_inner().unwrap_or(None)).collect())
    }

    /// A chunk that is covered whole.
    fn encoded(&self, desk: &mut Desk<'_>, factors: &[Factor<'_>]) -> Made {
        let mut made = Part::default();
        desk.add(&self.context, factors, &mut made)?;
        Some((made.lengths.first()?).map(|_| made.bytes))
    }

    /// A chunk or shard of which something remains.
    fn changed(
        &self,
        desk: &mut Desk<'_>,
        decoder: &mut Decoder<'_>,
        place: usize,
        factors: &[Factor<'_>],
    ) -> Made {
        let context = &self.context;
        let old = match self.old.get(place)? {
            Given::Whole(bytes) => Some(Value::Memory(bytes)),
            Given::Nothing => None,
            Given::Parts(..) => return None,
        };
        let Some(shard) = &context.chunks.shard else {
            let stored = desk.read(context, old)?;
            let changed = desk.change(context, stored, factors, decoder)?;
            return Some(changed.map(<[u8]>::to_vec));
        };
        let mut made = Vec::new();
        let mut sink = Appended::new(&mut made);
        desk.change_shard(context, shard, old, factors, decoder, &mut sink)?;
        Some(Some(made))
    }
}

/// A shard of its parts, and the index of them.
fn assembled(shard: &Shard, parts: &[&Part]) -> Made {
    let lengths = parts.iter().flat_map(|part| &part.lengths).copied();
    let Some(index) = shard.index(lengths)? else {
        return Some(None);
    };
    let size: usize = parts.iter().map(|part| part.bytes.len()).sum();
    let mut made = Vec::new();
    made.try_reserve_exact(size.checked_add(index.len())?)
        .ok()?;
    put_shard(shard, &index, parts, &mut Appended::new(&mut made))?;
    Some(Some(made))
}
