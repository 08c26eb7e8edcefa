//! Whole plans: every chunk that a selection touches is read, decoded and put into its places, or
//! gathered, encoded and stored, by several threads, in one call with the GIL released.
//!
//! Nothing is raised for what files or bytes say. A chunk that is anything but sound and usual is
//! left to the caller, who reads or writes it with the reference code and so gets the one true error.
//! What a chunk that is left has made of its own places is undefined; no other place is touched.

mod encode;
pub mod files;
mod layout;
mod moves;
mod pool;
mod publish;
mod read;
mod selection;
mod shard;
mod write;

use crate::fault::Fault;
use crate::numpy::{self, View};
use files::Keys;
use layout::{Layout, LayoutArguments, Target};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use selection::{Cuts, Factor, Points, Run};
use shard::Shard;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// So many threads share the scratch memory; each further one may have as much as one of them.
const SHARING: usize = 4;
/// What a thread does of a chunk beside decoding, in bytes that could be decoded meanwhile.
const CHUNK_COST: usize = 4096;
/// What starting a thread takes, in bytes that could be decoded meanwhile.
const THREAD_COST: usize = 1 << 16;
/// Most chunks that a thread takes at once.
const TOGETHER: usize = 32;

/// Reads and writes the chunks of one array, which are files.
#[pyclass(frozen)]
pub struct ChunkFiles {
    layout: Layout,
    shard: Option<Shard>,
    keys: Keys,
    fill: Option<Vec<u8>>,
}

type KeyArguments = (Vec<u8>, u8, Vec<u8>);

#[pymethods]
impl ChunkFiles {
    /// `chunk` is (shape, order of the axes as stored, size of an element, codecs, groups of bytes
    /// to reverse, most encoded bytes). For a shard it describes the inner chunks, and `shard` is
    /// (shape of the shard, whether the index is at the start, whether it has a checksum).
    /// `keys` is (before, between, behind). Without `fill`, missing chunks are left.
    #[new]
    #[pyo3(signature = (chunk, shard, keys, fill, /))]
    fn new(
        chunk: LayoutArguments<'_>,
        shard: Option<(Vec<usize>, bool, bool)>,
        keys: KeyArguments,
        fill: Option<Vec<u8>>,
    ) -> PyResult<ChunkFiles> {
        let layout = Layout::new(chunk)?;
        if fill.as_ref().is_some_and(|fill| fill.len() != layout.item) {
            return Err(refused("fill", "another size than an element".to_owned()));
        }
        let shard = match shard {
            Some((shape, at_start, checksum)) => {
                let found = Shard::new(shape, at_start, checksum, &layout);
                Some(found.ok_or_else(|| refused("shard", "no multiple of a chunk".to_owned()))?)
            }
            None => None,
        };
        let (before, between, behind) = keys;
        let keys = Keys {
            before,
            between,
            behind,
        };
        Ok(ChunkFiles {
            layout,
            shard,
            keys,
            fill,
        })
    }

    /// Read what a selection takes into `out`: the coordinates of chunks that were left, or None
    /// for all of them.
    ///
    /// `root` is the path before a chunk's key. `runs` are (axis, start, step, length, place), `points`
    /// are (axes, an array of indices for each, places). `scratch` is how much memory
    /// up to four threads may take beside `out`. `check` is called now and then.
    #[pyo3(signature = (root, follow_links, runs, points, out, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)] // one call for all: that is the point
    fn read(
        &self,
        py: Python<'_>,
        root: &Bound<'_, PyBytes>,
        follow_links: bool,
        runs: Vec<(usize, usize, usize, usize, usize)>,
        points: Vec<Bound<'_, PyTuple>>,
        out: &Bound<'_, PyAny>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Vec<Vec<usize>>>> {
        let layout = &self.layout;
        let points = points.iter().map(listed).collect::<PyResult<Vec<_>>>()?;
        // From here on no Python code runs until the end: the array stays as it is.
        let view = View::new(out, layout.shape.len(), layout.item, true)?;
        let factors = checked(&view, runs, &points)?;
        let Some(cuts) = Cuts::new(&factors, self.grid()) else {
            return Ok(None);
        };
        let target = Target::new(&view, layout, self.fill.as_deref());
        let each = match self.shard {
            Some(_) => layout.memory_to_read(target.contiguous),
            None => layout.memory_to_read_file(target.contiguous),
        };
        let threads = self.threads(threads, &factors, each, scratch);
        let job = read::Job {
            files: self,
            root: root.as_bytes(),
            follow_links,
            cuts,
            target,
            bytes: self.bytes(&factors),
            stopped: AtomicBool::new(false),
            left: Mutex::new(Vec::new()),
            shared: Mutex::default(),
        };
        job.run(py, threads, check)?;
        Ok(Some(job.left.into_inner().unwrap_or_default()))
    }

    /// Store what a selection takes, from `array`: the coordinates of the chunks that were left, or
    /// None for all of them.
    ///
    /// Chunks of nothing but the element `elided` are not stored: they are left, unless they are
    /// absent and `absent` says that this will do. The other arguments are as in `read`.
    #[pyo3(signature = (root, runs, points, array, elided, absent, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        py: Python<'_>,
        root: &Bound<'_, PyBytes>,
        runs: Vec<(usize, usize, usize, usize, usize)>,
        points: Vec<Bound<'_, PyTuple>>,
        array: &Bound<'_, PyAny>,
        elided: Option<Vec<u8>>,
        absent: bool,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Vec<Vec<usize>>>> {
        let layout = &self.layout;
        if elided
            .as_ref()
            .is_some_and(|element| element.len() != layout.item)
        {
            return Err(refused("elided", "another size than an element".to_owned()));
        }
        let points = points.iter().map(listed).collect::<PyResult<Vec<_>>>()?;
        // From here on no Python code runs until the end: the array stays as it is.
        let view = View::new(array, layout.shape.len(), layout.item, false)?;
        let factors = checked(&view, runs, &points)?;
        let Some(cuts) = Cuts::new(&factors, self.grid()) else {
            return Ok(None);
        };
        let target = Target::new(&view, layout, None);
        let each = layout.memory_to_write(target.contiguous);
        // Of a shard: what is stored next, the old index and the new one.
        let shard = self.shard.as_ref().map_or(0, |shard| {
            encode::TOGETHER_STORED.saturating_add(shard.index_bytes().saturating_mul(4))
        });
        let changing = layout.memory_to_change().saturating_add(shard);
        let amounts = write::Amounts {
            threads: self.threads(threads, &factors, each, scratch),
            changing: self.threads(threads, &factors, changing, scratch),
            scratch,
        };
        let job = write::Job {
            files: self,
            root: root.as_bytes(),
            cuts,
            target,
            bytes: self.bytes(&factors),
            stopped: AtomicBool::new(false),
            elided: elided.as_deref(),
            absent,
            left: Mutex::new(Vec::new()),
        };
        job.run(py, amounts, check).map(Some)
    }
}

impl ChunkFiles {
    /// The shape of what is a file.
    fn grid(&self) -> &Vec<usize> {
        self.shard.as_ref().map_or(&self.layout.shape, Shard::shape)
    }

    /// Decoded bytes of all chunks, or inner chunks, that factors touch, at the most.
    fn bytes(&self, factors: &[Factor<'_>]) -> usize {
        selection::most(factors, &self.layout.shape).saturating_mul(self.layout.size)
    }

    /// How many threads work: as many as pay, and as the scratch memory allows.
    fn threads(
        &self,
        most: Option<usize>,
        factors: &[Factor<'_>],
        each: usize,
        scratch: usize,
    ) -> usize {
        // An element takes its whole chunk, or inner chunk.
        let chunks = selection::most(factors, &self.layout.shape);
        let cost = chunks.saturating_mul(self.layout.size.saturating_add(CHUNK_COST));
        // Each one more takes its time to start, and less and less off the work.
        let paying = match 1 + (cost / THREAD_COST).isqrt() {
            1 => 1,
            paying => paying.min(most.unwrap_or_else(pool::cores)),
        };
        match each <= scratch / SHARING {
            true => paying,
            false => paying.min(scratch / each).max(1),
        }
    }
}

/// The factors, of which every place is inside the array, and which are one for each axis.
fn checked<'a>(
    view: &View,
    runs: Vec<(usize, usize, usize, usize, usize)>,
    points: &'a [Points],
) -> PyResult<Vec<Factor<'a>>> {
    let mut factors: Vec<(usize, Factor<'a>)> = Vec::new();
    let mut seen = vec![false; view.shape.len()];
    let mut see = |axis: usize| match seen.get_mut(axis) {
        Some(seen) if !*seen => {
            *seen = true;
            Ok(())
        }
        _ => Err(refused("runs", format!("axis {axis}, twice or none"))),
    };
    for (axis, start, step, length, outer) in runs {
        see(axis)?;
        let end = outer.checked_add(length);
        if step == 0 || length == 0 || end.is_none_or(|end| end > view.shape[axis]) {
            return Err(refused(
                "runs",
                format!("a place outside out on axis {axis}"),
            ));
        }
        let run = Run {
            axis,
            start,
            step,
            length,
            outer,
        };
        factors.push((axis, Factor::Run(run)));
    }
    for listed in points {
        for &axis in &listed.axes {
            see(axis)?;
        }
        let first = *listed.axes.first().ok_or(Fault::Changed)?;
        let others = listed.axes.iter().skip(1).all(|&axis| view.shape[axis] > 0);
        if !others
            || listed
                .places
                .iter()
                .any(|&place| place >= view.shape[first])
        {
            return Err(refused("points", "a place outside out".to_owned()));
        }
        factors.push((first, Factor::Points(listed)));
    }
    if !seen.iter().all(|&seen| seen) {
        return Err(refused("runs", "not one for every axis".to_owned()));
    }
    factors.sort_by_key(|(axis, _)| *axis);
    Ok(factors.into_iter().map(|(_, factor)| factor).collect())
}

fn listed(points: &Bound<'_, PyTuple>) -> PyResult<Points> {
    type Arguments<'py> = (Vec<usize>, Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>);
    let (axes, indices, places): Arguments<'_> = points.extract()?;
    let numbers = |array: &Bound<'_, PyAny>| -> PyResult<Vec<usize>> {
        let words = numpy::indices(array, "points")?;
        let read = |place| usize::try_from(words.at(place));
        let numbers = (0..words.len()).map(read).collect::<Result<_, _>>();
        numbers.map_err(|_| refused("points", "a negative index".to_owned()))
    };
    let indices = indices.iter().map(numbers).collect::<PyResult<Vec<_>>>()?;
    let places = numbers(&places)?;
    if indices.len() != axes.len() || indices.iter().any(|list| list.len() != places.len()) {
        return Err(refused("points", "lists of several lengths".to_owned()));
    }
    Ok(Points {
        axes,
        indices,
        places,
    })
}

fn refused(name: &'static str, found: String) -> PyErr {
    Fault::Argument {
        name,
        found,
        expected: "what README.md says",
    }
    .into()
}
