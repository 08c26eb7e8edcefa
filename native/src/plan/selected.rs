//! Selections as they are given: compared with the array, and cut at its chunks.

use super::selection::{Cuts, Factor, Points, Run, most};
use super::{Chunks, refused};
use crate::fault::Fault;
use crate::numpy::{self, View};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Axis, start, step, length, place.
type RunArguments = (usize, usize, usize, usize, usize);

/// A selection, not yet compared with anything.
pub struct Wanted {
    runs: Runs,
    points: Vec<Points>,
}

/// Equally spaced indices along axes.
enum Runs {
    /// A box: its first index along every axis. It is as long as the array.
    From(Vec<usize>),
    Listed(Vec<RunArguments>),
}

impl Wanted {
    /// A box with these first indices.
    pub fn from(starts: Vec<usize>) -> Wanted {
        Wanted {
            runs: Runs::From(starts),
            points: Vec::new(),
        }
    }

    pub fn new(runs: &Bound<'_, PyAny>, points: &Bound<'_, PyAny>) -> PyResult<Wanted> {
        let runs = match runs.cast::<PyTuple>() {
            Ok(starts) => {
                let mut found = Vec::with_capacity(starts.len());
                for start in starts.iter_borrowed() {
                    found.push(start.extract()?);
                }
                Runs::From(found)
            }
            Err(_) => Runs::Listed(runs.extract()?),
        };
        let points = match points.cast::<PyTuple>() {
            Ok(none) if none.is_empty() => Vec::new(),
            _ => {
                let points: Vec<Bound<'_, PyTuple>> = points.extract()?;
                points.iter().map(listed).collect::<PyResult<_>>()?
            }
        };
        Ok(Wanted { runs, points })
    }

    /// What is taken for an array of this shape: every place is inside it, and there is one factor
    /// for each axis.
    fn factors(&self, shape: &[usize]) -> PyResult<Vec<Factor<'_>>> {
        let length = |axis: usize| shape.get(axis).copied().unwrap_or(0);
        match &self.runs {
            Runs::From(starts) => {
                let run = |axis| Run {
                    axis,
                    start: starts[axis],
                    step: 1,
                    length: length(axis),
                    outer: 0,
                };
                let runs = (0..starts.len()).map(run);
                if self.points.is_empty() && starts.len() == shape.len() && !shape.contains(&0) {
                    return Ok(runs.map(Factor::Run).collect());
                }
                checked(shape, runs, &self.points)
            }
            Runs::Listed(runs) => {
                let run = |&(axis, start, step, length, outer): &RunArguments| Run {
                    axis,
                    start,
                    step,
                    length,
                    outer,
                };
                checked(shape, runs.iter().map(run), &self.points)
            }
        }
    }
}

/// What a selection takes from each chunk of an array.
pub struct Taken {
    pub cuts: Cuts,
    /// How many axes there are.
    axes: usize,
    /// How many chunks, or inner chunks, it touches at the most.
    chunks: usize,
}

impl Taken {
    /// From the chunks of an array, for one of this shape; None if they cannot be numbered.
    pub fn new(chunks: &Chunks, wanted: &Wanted, shape: &[usize]) -> PyResult<Option<Taken>> {
        let axes = chunks.layout.shape.len();
        if shape.len() != axes {
            return Err(refused("shape", format!("{} dimensions", shape.len())));
        }
        let factors = wanted.factors(shape)?;
        Ok(Cuts::new(&factors, chunks.grid()).map(|cuts| Taken {
            chunks: match chunks.shard {
                Some(_) => most(&factors, &chunks.layout.shape),
                None => cuts.len(),
            },
            cuts,
            axes,
        }))
    }

    /// How many chunks, or inner chunks, are touched in so many chunks or shards.
    pub fn part(&self, count: usize) -> usize {
        let all = self.cuts.len().max(1);
        let each = self.chunks.div_ceil(all);
        each.saturating_mul(count).min(self.chunks)
    }

    /// The coordinates of the chunk of this number.
    pub fn place(&self, number: usize) -> Vec<usize> {
        let mut coordinates = vec![0; self.axes];
        self.cuts.part(number, &mut coordinates, &mut Vec::new());
        coordinates
    }
}

/// What a selection takes from each chunk of an array, for several calls.
#[pyclass(frozen)]
pub struct Selection {
    taken: Taken,
    /// The grid at which it is cut.
    grid: Vec<usize>,
    /// The shape of the array that is read into or written from.
    shape: Vec<usize>,
}

impl Selection {
    pub fn new(chunks: &Chunks, wanted: &Wanted, shape: Vec<usize>) -> PyResult<Option<Selection>> {
        let taken = Taken::new(chunks, wanted, &shape)?;
        Ok(taken.map(|taken| Selection {
            taken,
            grid: chunks.grid().clone(),
            shape,
        }))
    }

    /// What it takes, if it was made for such chunks and for such an array: every place was compared
    /// with both.
    pub fn of(&self, chunks: &Chunks, view: &View) -> PyResult<&Taken> {
        let (shape, grid) = (&self.shape, &self.grid);
        match *shape == view.shape && grid == chunks.grid() {
            true => Ok(&self.taken),
            false => {
                let found = format!("for shape {shape:?} and chunks {grid:?}");
                Err(refused("selection", found))
            }
        }
    }

    /// The numbers of chunks, each of which is given once.
    pub fn numbers(&self, coordinates: &[Vec<usize>]) -> PyResult<Vec<usize>> {
        let number = |coordinates: &Vec<usize>| {
            let found = self.taken.cuts.number(coordinates);
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
    runs: impl Iterator<Item = Run>,
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
    for run in runs {
        let axis = run.axis;
        see(axis)?;
        let end = run.outer.checked_add(run.length);
        if run.step == 0 || run.length == 0 || end.is_none_or(|end| end > shape[axis]) {
            return Err(refused(
                "runs",
                format!("a place outside out on axis {axis}"),
            ));
        }
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
