//! Elements that move between two blocks of memory, each with strides of its own.

use super::selection::Factor;

/// Elements along one factor of a selection, and the bytes from one to the next on both sides.
enum Loop {
    /// Equally spaced.
    Even {
        count: usize,
        inner: isize,
        outer: isize,
    },
    /// For each element, the distance from the beginning.
    Listed(Vec<(isize, isize)>),
}

/// How elements of a chunk (`inner`) lie in an array (`outer`), or the other way round.
pub struct Moves {
    loops: Vec<Loop>,
    /// Bytes that are contiguous on both sides.
    run: usize,
    inner: isize,
    outer: isize,
}

impl Moves {
    /// What factors take from a chunk. Both have a stride for each axis.
    pub fn new(
        factors: &[Factor<'_>],
        inner_strides: &[isize],
        outer_strides: &[isize],
        item: usize,
    ) -> Moves {
        let mut moves = Moves {
            loops: Vec::with_capacity(factors.len()),
            run: item,
            inner: 0,
            outer: 0,
        };
        for factor in factors {
            match factor {
                Factor::Run(run) => {
                    let (inner, outer) = (inner_strides[run.axis], outer_strides[run.axis]);
                    moves.inner += run.start as isize * inner;
                    moves.outer += run.outer as isize * outer;
                    if run.length > 1 {
                        moves.loops.push(Loop::Even {
                            count: run.length,
                            inner: run.step as isize * inner,
                            outer,
                        });
                    }
                }
                Factor::Points(points) => {
                    let outer = points.axes.first().map_or(0, |&axis| outer_strides[axis]);
                    let places = points.places.iter().enumerate().map(|(point, &place)| {
                        let pairs = points.axes.iter().zip(&points.indices);
                        let inner: isize = pairs
                            .map(|(&axis, indices)| indices[point] as isize * inner_strides[axis])
                            .sum();
                        (inner, place as isize * outer)
                    });
                    moves.loops.push(Loop::Listed(places.collect()));
                }
            }
        }
        while let Some(&Loop::Even {
            count,
            inner,
            outer,
        }) = moves.loops.last()
        {
            if inner != moves.run as isize || outer != moves.run as isize {
                break;
            }
            moves.run *= count;
            moves.loops.pop();
        }
        moves
    }

    /// The same the other way round: what was the chunk is the array.
    pub fn reversed(mut self) -> Moves {
        for elements in &mut self.loops {
            match elements {
                Loop::Even { inner, outer, .. } => std::mem::swap(inner, outer),
                Loop::Listed(places) => {
                    for (inner, outer) in places {
                        std::mem::swap(inner, outer);
                    }
                }
            }
        }
        std::mem::swap(&mut self.inner, &mut self.outer);
        self
    }

    /// Copy from the chunk into the array.
    ///
    /// # Safety
    /// The elements that the factors take are inside both; the two do not overlap.
    pub unsafe fn scatter(&self, chunk: *const u8, array: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            let (from, to) = (chunk.offset(self.inner), array.offset(self.outer));
            let copy = Copy { run: self.run };
            copy.all(&self.loops, from, to);
        }
    }

    /// Put one element, over and over, into the places of the array.
    ///
    /// # Safety
    /// The places are inside the array.
    pub unsafe fn fill(&self, element: &[u8], array: *mut u8) {
        let same = element
            .first()
            .filter(|first| element.iter().all(|byte| byte == *first));
        // SAFETY: as the caller promises.
        unsafe {
            let to = array.offset(self.outer);
            match same {
                Some(&byte) => {
                    let wipe = Wipe {
                        run: self.run,
                        byte,
                    };
                    wipe.all(&self.loops, to);
                }
                None => {
                    let stamp = Stamp {
                        run: self.run,
                        element,
                    };
                    stamp.all(&self.loops, to);
                }
            }
        }
    }
}

/// Something done at every place of an array.
trait Everywhere {
    /// # Safety
    /// `run` bytes at `to` are inside the array.
    unsafe fn one(&self, to: *mut u8);

    /// # Safety
    /// All places that the loops reach from `to` are inside the array.
    unsafe fn all(&self, loops: &[Loop], to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            match loops.split_first() {
                None => self.one(to),
                Some((Loop::Even { count, outer, .. }, behind)) => {
                    for index in 0..*count as isize {
                        self.all(behind, to.offset(index * outer));
                    }
                }
                Some((Loop::Listed(places), behind)) => {
                    for (_, outer) in places {
                        self.all(behind, to.offset(*outer));
                    }
                }
            }
        }
    }
}

struct Wipe {
    run: usize,
    byte: u8,
}

impl Everywhere for Wipe {
    unsafe fn one(&self, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::write_bytes(to, self.byte, self.run) }
    }
}

struct Stamp<'a> {
    run: usize,
    element: &'a [u8],
}

impl Everywhere for Stamp<'_> {
    unsafe fn one(&self, to: *mut u8) {
        for place in (0..self.run).step_by(self.element.len()) {
            // SAFETY: as the caller promises; `run` is a multiple of the element's size.
            unsafe {
                let to = to.add(place);
                std::ptr::copy_nonoverlapping(self.element.as_ptr(), to, self.element.len());
            }
        }
    }
}

struct Copy {
    run: usize,
}

impl Copy {
    /// # Safety
    /// All elements that the loops reach are inside both sides.
    unsafe fn all(&self, loops: &[Loop], from: *const u8, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            match loops {
                [] => std::ptr::copy_nonoverlapping(from, to, self.run),
                [last] => match self.run {
                    1 => each::<1>(last, from, to),
                    2 => each::<2>(last, from, to),
                    4 => each::<4>(last, from, to),
                    8 => each::<8>(last, from, to),
                    16 => each::<16>(last, from, to),
                    run => over(last, |inner, outer| {
                        std::ptr::copy_nonoverlapping(from.offset(inner), to.offset(outer), run)
                    }),
                },
                [first, behind @ ..] => over(first, |inner, outer| {
                    self.all(behind, from.offset(inner), to.offset(outer))
                }),
            }
        }
    }
}

/// Call for every element of a loop.
#[inline(always)]
fn over(elements: &Loop, mut each: impl FnMut(isize, isize)) {
    match elements {
        Loop::Even {
            count,
            inner,
            outer,
        } => {
            for index in 0..*count as isize {
                each(index * inner, index * outer);
            }
        }
        Loop::Listed(places) => places.iter().for_each(|&(inner, outer)| each(inner, outer)),
    }
}

/// Copy elements of a size that the compiler knows.
///
/// # Safety
/// As for `Copy::all`.
#[inline(always)]
unsafe fn each<const SIZE: usize>(elements: &Loop, from: *const u8, to: *mut u8) {
    over(elements, |inner, outer| {
        // SAFETY: as the caller promises; bytes need no alignment.
        unsafe {
            *to.offset(outer).cast::<[u8; SIZE]>() = *from.offset(inner).cast::<[u8; SIZE]>();
        }
    });
}
