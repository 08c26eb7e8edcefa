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
mod selection;
#[cfg(target_os = "linux")]
pub mod serialized;
mod shard;
mod value;
mod values;
#[cfg(target_os = "linux")]
mod write;

use crate::fault::Fault;
use crate::numpy::{self, View};
use encode::{Amounts, Context};
use layout::{Layout, LayoutArguments, Target};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use read::Origin;
use selection::{Cuts, Factor, Points, Run};
use shard::Shard;
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

/// What a selection takes from each chunk of an array, for several calls.
#[pyclass(frozen)]
pub struct Selection {
    cuts: Cuts,
    /// The grid at which it is cut.
    grid: Vec<usize>,
    /// The shape of the array that is read into or written from.
    shape: Vec<usize>,
    /// How many chunks, or inner chunks, it touches at the most.
    chunks: usize,
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
type RunArguments = Vec<(usize, usize, usize, usize, usize)>;

/// Equally spaced indices along axes.
enum Runs {
    /// A box: its first index along every axis. It is as long as the array.
    From(Vec<usize>),
    Listed(RunArguments),
}

impl Runs {
    fn new(given: &Bound<'_, PyAny>) -> PyResult<Runs> {
        Ok(match given.cast::<PyTuple>() {
            Ok(starts) => Runs::From(starts.extract()?),
            Err(_) => Runs::Listed(given.extract()?),
        })
    }

    fn listed(self, shape: &[usize]) -> RunArguments {
        match self {
            Runs::From(starts) => {
                let length = |axis| shape.get(axis).copied().unwrap_or(0);
                let run = |(axis, start)| (axis, start, 1, length(axis), 0);
                starts.into_iter().enumerate().map(run).collect()
            }
            Runs::Listed(runs) => runs,
        }
    }
}

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
        points: Vec<Bound<'_, PyTuple>>,
        out: &Bound<'_, PyAny>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<ReadFiles>> {
        let runs = Runs::new(runs)?;
        let points = points.iter().map(listed).collect::<PyResult<Vec<_>>>()?;
        // The array stays as it is until the end: NumPy resizes none that others refer to.
        let view = self.view(out, true)?;
        let Some(selection) = self.selection(&view.shape, runs, &points)? else {
            return Ok(None);
        };
        let root = root.as_bytes();
        let origin = Origin::Files { root, follow_links };
        let done = self.run(py, &selection, &view, origin, threads, scratch, check)?;
        let mut coordinates = vec![0; self.grid().len()];
        let name = |number| {
            selection
                .cuts
                .part(number, &mut coordinates, &mut Vec::new());
            coordinates.clone()
        };
        let left = done.left.into_iter().map(name).collect();
        Ok(Some((left, done.filled, done.nbytes)))
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
        points: Vec<Bound<'_, PyTuple>>,
        array: &Bound<'_, PyAny>,
        elided: Option<Vec<u8>>,
        absent: bool,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Option<(Vec<Vec<usize>>, usize)>> {
        let runs = Runs::new(runs)?;
        let points = points.iter().map(listed).collect::<PyResult<Vec<_>>>()?;
        // The array stays as it is until the end: NumPy resizes none that others refer to.
        let view = self.view(array, false)?;
        let Some(selection) = self.selection(&view.shape, runs, &points)? else {
            return Ok(None);
        };
        let count = selection.cuts.len();
        let context = self.context(&selection, &view, elided.as_deref())?;
        let amounts = self.amounts(&selection, count, &context, threads, scratch);
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
        points: Vec<Bound<'_, PyTuple>>,
    ) -> PyResult<Option<Selection>> {
        let runs = Runs::new(runs)?;
        let points = points.iter().map(listed).collect::<PyResult<Vec<_>>>()?;
        self.selection(&shape, runs, &points)
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
        let origin = Origin::Given(&numbers, &given);
        let done = self.run(py, selection, &view, origin, threads, scratch, check)?;
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
        let context = self.context(selection, &view, elided.as_deref())?;
        let amounts = self.amounts(selection, numbers.len(), &context, threads, scratch);
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

    fn selection(
        &self,
        shape: &[usize],
        runs: Runs,
        points: &[Points],
    ) -> PyResult<Option<Selection>> {
        if shape.len() != self.layout.shape.len() {
            return Err(refused("shape", format!("{} dimensions", shape.len())));
        }
        let factors = checked(shape, runs.listed(shape), points)?;
        Ok(Cuts::new(&factors, self.grid()).map(|cuts| Selection {
            cuts,
            grid: self.grid().clone(),
            shape: shape.to_vec(),
            chunks: selection::most(&factors, &self.layout.shape),
        }))
    }

    /// Read.
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        py: Python<'_>,
        selection: &Selection,
        view: &View,
        origin: Origin<'_>,
        threads: Option<usize>,
        scratch: usize,
        check: &Bound<'_, PyAny>,
    ) -> PyResult<Done> {
        let layout = &self.layout;
        selection.fits(self, view)?;
        let target = Target::new(view, layout, self.fill.as_deref());
        let count = match &origin {
            #[cfg(target_os = "linux")]
            Origin::Files { .. } => selection.cuts.len(),
            Origin::Given(numbers, _) => numbers.len(),
        };
        let each = match self.shard {
            Some(_) => layout.memory_to_read(target.contiguous),
            None => layout.memory_to_read_file(target.contiguous),
        };
        let chunks = selection.part(count);
        let threads = self.threads(threads, chunks, each, scratch);
        let job = read::Job {
            chunks: self,
            origin,
            cuts: &selection.cuts,
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
        selection: &'a Selection,
        view: &'a View,
        elided: Option<&'a [u8]>,
    ) -> PyResult<Context<'a>> {
        if elided.is_some_and(|element| element.len() != self.layout.item) {
            return Err(refused("elided", "another size than an element".to_owned()));
        }
        selection.fits(self, view)?;
        Ok(Context {
            chunks: self,
            cuts: &selection.cuts,
            target: Target::new(view, &self.layout, None),
            bytes: selection.part(1).saturating_mul(self.layout.size),
            elided,
            stopped: AtomicBool::new(false),
        })
    }

    /// How much of what there may be to encode so many chunks or shards.
    fn amounts(
        &self,
        selection: &Selection,
        count: usize,
        context: &Context<'_>,
        threads: Option<usize>,
        scratch: usize,
    ) -> Amounts {
        let (layout, chunks) = (&self.layout, selection.part(count));
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

impl Selection {
    /// How many chunks, or inner chunks, are touched in so many chunks or shards.
    fn part(&self, count: usize) -> usize {
        let all = self.cuts.len().max(1);
        let each = self.chunks.div_ceil(all);
        each.saturating_mul(count).min(self.chunks)
    }

    /// It was made for such chunks and for such an array: every place was compared with both.
    fn fits(&self, chunks: &Chunks, view: &View) -> PyResult<()> {
        let (shape, grid) = (&self.shape, &self.grid);
        match *shape == view.shape && grid == chunks.grid() {
            true => Ok(()),
            false => {
                let found = format!("for shape {shape:?} and chunks {grid:?}");
                Err(refused("selection", found))
            }
        }
    }

    /// The numbers of chunks, each of which is given once.
    fn numbers(&self, coordinates: &[Vec<usize>]) -> PyResult<Vec<usize>> {
        let number = |coordinates: &Vec<usize>| {
            let found = self.cuts.number(coordinates);
            found.ok_or_else(|| refused("coordinates", format!("{coordinates:?}, not selected")))
        };
        let numbers: Vec<usize> = coordinates.iter().map(number).collect::<PyResult<_>>()?;
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        match sorted.is_sorted_by(|one, next| one < next) {
            true => Ok(numbers),
            false => Err(refused("coordinates", "a chunk twice".to_owned())),
        }
    }
}

/// The factors, of which every place is inside the array, and which are one for each axis.
fn checked<'a>(
    shape: &[usize],
    runs: RunArguments,
    points: &'a [Points],
) -> PyResult<Vec<Factor<'a>>> {
    let mut factors: Vec<(usize, Factor<'a>)> = Vec::new();
    let mut seen = vec![false; shape.len()];
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
        if step == 0 || length == 0 || end.is_none_or(|end| end > shape[axis]) {
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
        let others = listed.axes.iter().skip(1).all(|&axis| shape[axis] > 0);
        if !others || listed.places.iter().any(|&place| place >= shape[first]) {
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
