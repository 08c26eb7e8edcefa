//! A selection, and what it takes from each chunk of a regular grid.
//!
//! A selection is a product of factors that are independent of one another: equally spaced indices
//! along one axis (`Run`), or lists of indices along one axis or several that go together
//! (`Points`). Each factor is cut by itself; a chunk is one piece of each. What a factor takes
//! from a chunk is a factor again, so a shard is cut once more by the grid of its inner chunks.

/// Equally spaced indices along one axis, which go to consecutive places from `outer` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The axis.
    pub axis: usize,
    /// The first index.
    pub start: usize,
    /// From one index to the next; at least 1.
    pub step: usize,
    /// How many; at least 1.
    pub length: usize,
    /// The first place.
    pub outer: usize,
}

/// Lists of indices of one length, for axes that go together.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// The axes; places are along the first of them.
    pub axes: Vec<usize>,
    /// For each axis, the index of every point.
    pub indices: Vec<Vec<usize>>,
    /// Where each point goes.
    pub places: Vec<usize>,
}

/// One factor of a selection.
#[derive(Clone, Copy, Debug)]
pub enum Factor<'a> {
    /// Equally spaced.
    Run(Run),
    /// Listed.
    Points(&'a Points),
}

/// A factor, cut at the chunks of its axes.
enum Cut {
    /// Pieces follow from the numbers.
    Run {
        run: Run,
        chunk: usize,
        pieces: usize,
    },
    /// The coordinates of each chunk, and the points in it by their indices there.
    Points(Vec<(Vec<usize>, Points)>),
}

/// A selection cut at the chunks of a grid. Chunks are numbered, the last factor fastest.
pub struct Cuts {
    cuts: Vec<Cut>,
    total: usize,
}

impl Cut {
    fn new(factor: &Factor<'_>, chunk: &[usize]) -> Option<Cut> {
        Some(match factor {
            Factor::Run(run) => {
                let chunk = *chunk.get(run.axis).filter(|&&chunk| chunk > 0)?;
                let steps = run.length.checked_sub(1)?.checked_mul(run.step)?;
                let last = run.start.checked_add(steps)?;
                let pieces = match run.step <= chunk {
                    true => last / chunk - run.start / chunk + 1,
                    false => run.length,
                };
                Cut::Run {
                    run: *run,
                    chunk,
                    pieces,
                }
            }
            Factor::Points(points) => Cut::Points(group(points, chunk)?),
        })
    }

    fn pieces(&self) -> usize {
        match self {
            Cut::Run { pieces, .. } => *pieces,
            Cut::Points(groups) => groups.len(),
        }
    }

    /// The number of the piece in a chunk of these coordinates, if there is one.
    fn number(&self, coordinates: &[usize]) -> Option<usize> {
        match self {
            Cut::Run { run, chunk, pieces } => {
                let coordinate = *coordinates.get(run.axis)?;
                let number = match run.step <= *chunk {
                    true => coordinate.checked_sub(run.start / chunk)?,
                    false => {
                        let begin = coordinate.checked_mul(*chunk)?;
                        begin.saturating_sub(run.start).div_ceil(run.step)
                    }
                };
                let mut found = coordinates.to_vec();
                (number < *pieces).then(|| self.piece(number, &mut found))?;
                (found[run.axis] == coordinate).then_some(number)
            }
            Cut::Points(groups) => {
                let axes = &groups.first()?.1.axes;
                let wanted = axes.iter().map(|&axis| coordinates.get(axis).copied());
                let wanted: Vec<usize> = wanted.collect::<Option<_>>()?;
                groups
                    .binary_search_by(|(found, _)| found.cmp(&wanted))
                    .ok()
            }
        }
    }

    /// What is taken from the chunk of this number; its coordinates go to their places.
    fn piece(&self, number: usize, coordinates: &mut [usize]) -> Factor<'_> {
        match self {
            Cut::Run { run, chunk, .. } => {
                let skipped = match (run.step <= *chunk, number) {
                    (true, 0) => 0,
                    (true, _) => {
                        let begin = (run.start / chunk + number) * chunk;
                        (begin - run.start).div_ceil(run.step)
                    }
                    (false, _) => number,
                };
                let index = run.start + skipped * run.step;
                let (coordinate, start) = (index / chunk, index % chunk);
                coordinates[run.axis] = coordinate;
                let length = (chunk - start).div_ceil(run.step);
                Factor::Run(Run {
                    start,
                    length: length.min(run.length - skipped),
                    outer: run.outer + skipped,
                    ..*run
                })
            }
            Cut::Points(groups) => {
                let (found, points) = &groups[number];
                for (&axis, &coordinate) in points.axes.iter().zip(found) {
                    coordinates[axis] = coordinate;
                }
                Factor::Points(points)
            }
        }
    }
}

/// The points by the chunk that they are in, in the order of the chunks. Inside a chunk they keep
/// their order, so that of two points at one place the last one given stays the last.
fn group(points: &Points, chunk: &[usize]) -> Option<Vec<(Vec<usize>, Points)>> {
    let lengths = points
        .axes
        .iter()
        .map(|&axis| chunk.get(axis).copied().filter(|&length| length > 0))
        .collect::<Option<Vec<usize>>>()?;
    // One number for the chunk of each point, and the point's own behind it.
    let mut order: Vec<(usize, usize)> = (0..points.places.len()).map(|point| (0, point)).collect();
    for (indices, length) in points.indices.iter().zip(&lengths) {
        let chunks = indices.iter().max()? / length + 1;
        order
            .iter()
            .map(|(key, _)| *key)
            .max()?
            .checked_mul(chunks)?
            .checked_add(chunks)?;
        for ((key, _), index) in order.iter_mut().zip(indices) {
            *key = *key * chunks + index / length;
        }
    }
    order.sort_unstable();
    let mut groups: Vec<(Vec<usize>, Points)> = Vec::new();
    for together in order.chunk_by(|one, other| one.0 == other.0) {
        let first = together.first()?.1;
        let coordinates = points.indices.iter().zip(&lengths);
        let local = |(indices, length): (&Vec<usize>, &usize)| {
            together
                .iter()
                .map(|(_, point)| indices[*point] % length)
                .collect()
        };
        let here = Points {
            axes: points.axes.clone(),
            indices: points.indices.iter().zip(&lengths).map(local).collect(),
            places: together
                .iter()
                .map(|(_, point)| points.places[*point])
                .collect(),
        };
        let coordinates = coordinates.map(|(indices, length)| indices[first] / length);
        groups.push((coordinates.collect(), here));
    }
    Some(groups)
}

impl Cuts {
    /// Cut the factors of a selection; None if the chunks cannot be numbered.
    pub fn new(factors: &[Factor<'_>], chunk: &[usize]) -> Option<Cuts> {
        let cuts = factors
            .iter()
            .map(|factor| Cut::new(factor, chunk))
            .collect::<Option<Vec<Cut>>>()?;
        let total = cuts
            .iter()
            .try_fold(1usize, |total, cut| total.checked_mul(cut.pieces()))?;
        Some(Cuts { cuts, total })
    }

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        self.total
    }

    /// The chunks that are taken whole, once and in order, and all others.
    pub fn split(&self, chunk: &[usize]) -> (Numbers, Vec<usize>) {
        let mut coordinates = vec![0; chunk.len()];
        let mut is_whole =
            |cut: &Cut, piece| is_whole(&[cut.piece(piece, &mut coordinates)], chunk);
        let by_piece: Vec<Vec<bool>> = self
            .cuts
            .iter()
            .map(|cut| {
                (0..cut.pieces())
                    .map(|piece| is_whole(cut, piece))
                    .collect()
            })
            .collect();
        if by_piece.iter().flatten().all(|&whole| whole) {
            return (Numbers::All(self.total), Vec::new());
        }
        let (whole, others) = (0..self.total).partition(|&number| {
            let mut behind = self.total;
            by_piece.iter().all(|pieces| {
                behind /= pieces.len();
                pieces[number / behind % pieces.len()]
            })
        });
        (Numbers::Listed(whole), others)
    }

    /// How many of them follow each other along the last factor.
    pub fn last_axis(&self) -> usize {
        self.cuts.last().map_or(1, Cut::pieces)
    }

    /// The number of the chunk at these coordinates; None if nothing is taken from it.
    pub fn number(&self, coordinates: &[usize]) -> Option<usize> {
        let mut numbers = self.cuts.iter().map(|cut| cut.number(coordinates));
        let mut pieces = self.cuts.iter().map(Cut::pieces);
        numbers.try_fold(0, |all, number| Some(all * pieces.next()? + number?))
    }

    /// What is taken from one chunk, and the coordinates of the chunk.
    pub fn part<'a>(
        &'a self,
        number: usize,
        coordinates: &mut [usize],
        factors: &mut Vec<Factor<'a>>,
    ) {
        factors.clear();
        let mut behind = self.total;
        for cut in &self.cuts {
            behind /= cut.pieces();
            factors.push(cut.piece(number / behind % cut.pieces(), coordinates));
        }
    }
}

/// Some of the chunks.
pub enum Numbers {
    /// So many, from the first on.
    All(usize),
    Listed(Vec<usize>),
}

impl Numbers {
    pub fn len(&self) -> usize {
        match self {
            Numbers::All(count) => *count,
            Numbers::Listed(numbers) => numbers.len(),
        }
    }

    pub fn at(&self, place: usize) -> usize {
        match self {
            Numbers::All(_) => place,
            Numbers::Listed(numbers) => numbers[place],
        }
    }
}

/// How many chunks factors touch at the most.
pub fn most(factors: &[Factor<'_>], chunk: &[usize]) -> usize {
    let pieces = factors.iter().map(|factor| match factor {
        Factor::Run(_) => Cut::new(factor, chunk).map_or(usize::MAX, |cut| cut.pieces()),
        Factor::Points(points) => points.places.len(),
    });
    pieces.fold(1, usize::saturating_mul)
}

/// Whether factors take a chunk whole, once and in order.
pub fn is_whole(factors: &[Factor<'_>], chunk: &[usize]) -> bool {
    factors.iter().all(|factor| match factor {
        Factor::Run(run) => run.start == 0 && run.step == 1 && run.length == chunk[run.axis],
        Factor::Points(_) => false,
    })
}
