//! Whole plans: every chunk that a selection touches is read, decoded and put into its places, or
//! gathered, encoded and stored, by several threads, in one call with the GIL released.
//!
//! Nothing is raised for what files or bytes say. A chunk that is anything but sound and usual is
//! left to the caller, who reads or writes it with the reference code and so gets the one true error.
//! What a chunk that is left has made of its own places is undefined; no other place is touched.

mod encode;
#[cfg(target_os = "linux")]
pub mod files;
mod layout;
mod moves;
pub mod pool;
#[cfg(target_os = "linux")]
mod publish;
mod read;
mod selected;
mod selection;
#[cfg(target_os = "linux")]
pub mod serialized;
mod shard;
mod single;
mod value;
mod values;
#[cfg(target_os = "linux")]
mod write;

use crate::fault::Fault;
use crate::numpy::{Unwritten, View};
use encode::{Amounts, Context};
use layout::{Layout, LayoutArguments, Target};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use read::Origin;
use selected::{Selection, Taken, Wanted};
use shard::Shard;
use single::Single;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use value::{Given, Held};

/// So many threads share the scratch memory; each further one may have as much as one of them.
const SHARING: usize = 4;
/// What a thread does of a chunk beside decoding, in bytes that could be decoded meanwhile.
const CHUNK_COST: usize = 4096;
/// What starting a thread takes, in bytes that could be decoded meanwhile.
const THREAD_COST: usize = 1 << 16;
/// Most chunks that a thread takes at once.
const TOGETHER: usize = 32;

/// Reads and writes the chunks of one array.
#[pyclass(frozen)]
pub struct Chunks {
    layout: Layout,
    shard: Option<Shard>,
    keys: Keys,
    /// What elements are that are not stored.
    fill: Option<Vec<u8>>,
    /// A chunk that is missing is left to the caller, not filled.
    leaves_missing: bool,
}

/// How the coordinates of a chunk become the name of its file: what stands before the first, between
/// two, and behind the last.
pub struct Keys {
    pub before: Vec<u8>,
    pub between: u8,
    pub behind: Vec<u8>,
}

/// What became of a call that reads.
struct Done {
    /// The tasks of chunks that were left.
    left: Vec<usize>,
    /// Chunks that are missing and were filled.
    filled: usize,
    /// Bytes of files that were read.
    nbytes: usize,
}

/// For each chunk its bytes, unless it is not stored; and the places of those that were left.
type Encoded<'py> = (Vec<Option<Bound<'py, PyBytes>>>, Vec<usize>);
/// The coordinates of chunks that were left, how many were filled, how many bytes were read.
type ReadFiles = (Vec<Vec<usize>>, usize, usize);

#[pymethods]
impl Chunks {
    /// `chunk` is (shape, order of the axes as stored, size of an element, codecs, groups of bytes
    /// to reverse, most encoded bytes). For a shard it describes the inner chunks, and `shard` is
    /// (shape of the shard, whether the index is at the start, whether it has a checksum).
    /// `keys` is (before, between, behind). Without `fill`, or if told so, missing chunks are left.
    #[new]
    #[pyo3(signature = (chunk, shard, keys, fill, leaves_missing=false, /))]
    fn new(
        chunk: LayoutArguments<'_>,
        shard: Option<(Vec<usize>, bool, bool)>,
        keys: (Vec<u8>, u8, Vec<u8>),
        fill: Option<Vec<u8>>,
        leaves_missing: bool,
    ) -> PyResult<Chunks> {
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
        Ok(Chunks {
            layout,
            shard,
            keys,
            fill,
            leaves_missing,
        })
    }

    /// Read what a selection takes into `out`, from files: the coordinates of chunks that were left,
    /// how many are missing and were filled, and how many bytes were read; or None if all were left.
    ///
    /// `root` is the path before a chunk's key. `runs` are (axis, start, step, length, place), or for a
    /// box a tuple of its first indices; `points` are (axes, an array of indices for each, places).
    /// `scratch` is how much memory up to four threads may take beside `out`. `check` is called now
    /// and then.
    #[cfg(target_os = "linux")]
    #[pyo3(signature = (root, follow_links, runs, points, out, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)] // one call for all: that is the point
    fn read(
        &self,
        py: Python<'_>,
        root: &Bound<'_, PyBytes>,
        follow_links: bool,
        runs: &Bound<'_, PyAny>,
        points: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<ReadFiles>> {
        let wanted = Wanted::new(runs, points)?;
        // The array stays as it is until the end: NumPy resizes none that others refer to.
        let view = self.view(out, true)?;
        let Some(taken) = Taken::new(self, &wanted, &view.shape)? else {
            return Ok(None);
        };
        let root = root.as_bytes();
        let origin = Origin::Files { root, follow_links };
        let done = self.run(py, &taken, &view, origin, threads, scratch, check)?;
        let left = done.left.into_iter().map(|number| taken.place(number));
        Ok(Some((left.collect(), done.filled, done.nbytes)))
    }

    /// Read what a key of integers and slices of step 1 selects of an array of this shape, from the
    /// file of the one chunk, or inner chunk, that it lies in: a new array of the type `dtype`, or a
    /// scalar. None if that cannot be, or the chunk is left.
    ///
    /// The other arguments are as in `read`.
    #[cfg(target_os = "linux")]
    #[pyo3(signature = (root, follow_links, key, shape, dtype, fortran, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn read_single<'py>(
        &self,
        py: Python<'py>,
        root: &Bound<'_, PyBytes>,
        follow_links: bool,
        key: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyTuple>,
        dtype: &Bound<'py, PyAny>,
        fortran: bool,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(single) = Single::new(key, shape, &self.layout.shape) else {
            return Ok(None);
        };
        let item = self.layout.item;
        let Some(made) = Unwritten::new(dtype, &single.result(), fortran, item) else {
            return Ok(None);
        };
        let view = made.view(&single.lengths, &single.kept);
        let Some(view) = view else { return Ok(None) };
        let Some(taken) = Taken::new(self, &single.wanted, &view.shape)? else {
            return Ok(None);
        };
        let root = root.as_bytes();
        let origin = Origin::Files { root, follow_links };
        // One thread decodes one chunk, whatever memory that takes.
        let done = self.run(py, &taken, &view, origin, Some(1), usize::MAX, check)?;
        match done.left.is_empty() {
            true => made.done().map(Some),
            false => Ok(None),
        }
    }

    /// Store what a selection takes, from `array`, in files: the coordinates of the chunks that were
    /// left, and how many bytes were written; or None if all were left.
    ///
    /// Chunks of nothing but the element `elided` are not stored: they are left, unless they are
    /// absent and `absent` says that this means that they are not stored. The other arguments are as
    /// in `read`.
    #[cfg(target_os = "linux")]
    #[pyo3(signature = (root, runs, points, array, elided, absent, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        py: Python<'_>,
        root: &Bound<'_, PyBytes>,
        runs: &Bound<'_, PyAny>,
        points: &Bound<'_, PyAny>,
        array: &Bound<'_, PyAny>,
        elided: Option<Vec<u8>>,
        absent: bool,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<(Vec<Vec<usize>>, usize)>> {
        let wanted = Wanted::new(runs, points)?;
        // The array stays as it is until the end: NumPy resizes none that others refer to.
        let view = self.view(array, false)?;
        let Some(taken) = Taken::new(self, &wanted, &view.shape)? else {
            return Ok(None);
        };
        let count = taken.cuts.len();
        let context = self.context(&taken, &view, elided.as_deref())?;
        let amounts = self.amounts(&taken, count, &context, threads, scratch);
        let job = write::Job {
            context,
            root: root.as_bytes(),
            absent,
            left: Mutex::new(Vec::new()),
            nbytes: AtomicUsize::new(0),
        };
        job.run(py, amounts, check).map(Some)
    }

    /// A selection for `place` and `encode`, of an array of this shape; None if its chunks cannot be
    /// numbered. The arguments are as in `read`.
    #[pyo3(signature = (shape, runs, points, /))]
    fn select(
        &self,
        shape: Vec<usize>,
        runs: &Bound<'_, PyAny>,
        points: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Selection>> {
        Selection::new(self, &Wanted::new(runs, points)?, shape)
    }

    /// Decode chunks and put what a selection takes of them into `out`: the places of those that were
    /// left in the lists.
    ///
    /// For each of the `coordinates`, `values` has the bytes of the chunk; or None if it is missing;
    /// or for a shard (index, ranges): the decoded index, and pairs of offset and bytes.
    #[pyo3(signature = (selection, out, coordinates, values, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn place(
        &self,
        py: Python<'_>,
        selection: &Selection,
        out: &Bound<'_, PyAny>,
        coordinates: Vec<Vec<usize>>,
        values: Vec<Bound<'_, PyAny>>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<usize>> {
        let held = value::held(&values, coordinates.len())?;
        let given: Vec<Given<'_>> = held.iter().map(Held::bytes).collect();
        let numbers = selection.numbers(&coordinates)?;
        // The array stays as it is until the end: NumPy resizes none that others refer to.
        let view = self.view(out, true)?;
        let taken = selection.of(self, &view)?;
        let origin = Origin::Given(&numbers, &given);
        let done = self.run(py, taken, &view, origin, threads, scratch, check)?;
        Ok(done.left)
    }

    /// Encode chunks with what a selection takes from `array`: for each of the `coordinates` its
    /// bytes, or None if it is nothing but the element `elided`; and the places of those that were
    /// left in the lists.
    ///
    /// `old` has the bytes that each has until now, or None; they are not looked at if nothing of
    /// them remains. The other arguments are as in `write`.
    #[pyo3(signature = (selection, array, coordinates, old, elided, threads, scratch, check, /))]
    #[allow(clippy::too_many_arguments)]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        selection: &Selection,
        array: &Bound<'_, PyAny>,
        coordinates: Vec<Vec<usize>>,
        old: Vec<Bound<'_, PyAny>>,
        elided: Option<Vec<u8>>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Encoded<'py>> {
        let held = value::held(&old, coordinates.len())?;
        let given: Vec<Given<'_>> = held.iter().map(Held::bytes).collect();
        let numbers = selection.numbers(&coordinates)?;
        // The array stays as it is until the end: NumPy resizes none that others refer to.
        let view = self.view(array, false)?;
        let taken = selection.of(self, &view)?;
        let context = self.context(taken, &view, elided.as_deref())?;
        let amounts = self.amounts(taken, numbers.len(), &context, threads, scratch);
        let job = values::Job {
            context,
            numbers: &numbers,
            old: &given,
        };
        let made = job.run(py, amounts, check)?;
        let left = made.iter().enumerate().filter(|(_, made)| made.is_none());
        let left = left.map(|(place, _)| place).collect();
        let bytes = |made: Option<Vec<u8>>| made.map(|made| PyBytes::new(py, &made));
        let values = made.into_iter().map(|made| made.and_then(bytes)).collect();
        Ok((values, left))
    }
}

impl Chunks {
    /// The shape of what is stored by itself.
    fn grid(&self) -> &Vec<usize> {
        self.shard.as_ref().map_or(&self.layout.shape, Shard::shape)
    }

    fn view(&self, array: &Bound<'_, PyAny>, written: bool) -> PyResult<View> {
        View::new(array, self.layout.shape.len(), self.layout.item, written)
    }

    /// Read.
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        py: Python<'_>,
        taken: &Taken,
        view: &View,
        origin: Origin<'_>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Done> {
        let layout = &self.layout;
        let target = Target::new(view, layout, self.fill.as_deref());
        let count = match &origin {
            #[cfg(target_os = "linux")]
            Origin::Files { .. } => taken.cuts.len(),
            Origin::Given(numbers, _) => numbers.len(),
        };
        let each = match self.shard {
            Some(_) => layout.memory_to_read(target.contiguous),
            None => layout.memory_to_read_file(target.contiguous),
        };
        let chunks = taken.part(count);
        let threads = self.threads(threads, chunks, each, scratch);
        let job = read::Job {
            chunks: self,
            origin,
            cuts: &taken.cuts,
            target,
            bytes: chunks.saturating_mul(layout.size),
            stopped: AtomicBool::new(false),
            left: Mutex::new(Vec::new()),
            filled: AtomicUsize::new(0),
            nbytes: AtomicUsize::new(0),
            shared: Mutex::default(),
        };
        job.run(py, threads, check)?;
        // Several threads may have left parts of one shard.
        let mut left = job.left.into_inner().unwrap_or_default();
        left.sort_unstable();
        left.dedup();
        Ok(Done {
            left,
            filled: job.filled.into_inner(),
            nbytes: job.nbytes.into_inner(),
        })
    }

    fn context<'a>(
        &'a self,
        taken: &'a Taken,
        view: &'a View,
        elided: Option<&'a [u8]>,
    ) -> PyResult<Context<'a>> {
        if elided.is_some_and(|element| element.len() != self.layout.item) {
            return Err(refused("elided", "another size than an element".to_owned()));
        }
        Ok(Context {
            chunks: self,
            cuts: &taken.cuts,
            target: Target::new(view, &self.layout, None),
            bytes: taken.part(1).saturating_mul(self.layout.size),
            elided,
            stopped: AtomicBool::new(false),
        })
    }

    /// How much of what there may be to encode so many chunks or shards.
    fn amounts(
        &self,
        taken: &Taken,
        count: usize,
        context: &Context<'_>,
        threads: Option<usize>,
        scratch: usize,
    ) -> Amounts {
        let (layout, chunks) = (&self.layout, taken.part(count));
        let each = layout.memory_to_write(context.target.contiguous);
        // Of a shard: what is stored next, the old index and the new one.
        let shard = self.shard.as_ref().map_or(0, |shard| {
            encode::TOGETHER_STORED.saturating_add(shard.index_bytes().saturating_mul(4))
        });
        let changing = layout.memory_to_change().saturating_add(shard);
        Amounts {
            threads: self.threads(threads, chunks, each, scratch),
            changing: self.threads(threads, chunks, changing, scratch),
            scratch,
        }
    }

    /// How many threads work: as many as pay, and as the scratch memory allows.
    fn threads(&self, most: Option<usize>, chunks: usize, each: usize, scratch: usize) -> usize {
        // An element takes its whole chunk, or inner chunk.
        let paying = paying(chunks, self.layout.size, most);
        match each <= scratch / SHARING {
            true => paying,
            false => paying.min(scratch / each).max(1),
        }
    }
}

/// How many threads pay for so many chunks of this size.
fn paying(chunks: usize, size: usize, most: Option<usize>) -> usize {
    let cost = chunks.saturating_mul(size.saturating_add(CHUNK_COST));
    // Each one more takes its time to start, and less and less off the work.
    match 1 + (cost / THREAD_COST).isqrt() {
        1 => 1,
        paying => paying.min(most.unwrap_or_else(pool::cores)),
    }
}

fn refused(name: &'static str, found: String) -> PyErr {
    Fault::Argument {
        name,
        found,
        expected: "what README.md says",
    }
    .into()
}
