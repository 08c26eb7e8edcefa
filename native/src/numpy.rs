//! NumPy's C API, as much of it as is needed, by its stable numbers in the table of NumPy 2.
//!
//! Arrays come in as checked views (`bytes`, `offsets`, `indices`, `Objects`, `Strings`): type, byte order,
//! dimensions, contiguity and, for outputs, writeability are all asked for here and nowhere else.
//! A view holds as long as no Python code runs, which could resize the array; so views are taken
//! after everything that may run some, and taking one runs none unless it fails.

mod result;
mod strings;
mod view;

pub use result::Unwritten;
pub use strings::{Locked, Strings};
pub use view::View;

use crate::fault::Fault;
use pyo3::exceptions::PyImportError;
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `PyArray_API`: written once, when the module is loaded, and the same for the whole process.
static TABLE: AtomicPtr<*const c_void> = AtomicPtr::new(std::ptr::null_mut());

const ABI: c_uint = 0x0200_0000;
const FEATURES_2_0: c_uint = 0x12;

// Places in the table.
const ABI_VERSION: usize = 0;
const ARRAY_TYPE: usize = 2;
const NEW: usize = 93;
const FEATURE_VERSION: usize = 211;

// NPY_TYPES and array flags.
const UINT8: c_int = 2;
const INT: c_int = 5;
const LONG: c_int = 7;
const LONG_LONG: c_int = 9;
const OBJECT: c_int = 17;
const C_CONTIGUOUS: c_int = 0x1;
const ALIGNED: c_int = 0x100;
const WRITEABLE: c_int = 0x400;

#[cfg(target_endian = "little")]
const SWAPPED: c_char = b'>' as c_char;
#[cfg(target_endian = "big")]
const SWAPPED: c_char = b'<' as c_char;

/// `int64`, under the one of its C names that is as long on every platform.
pub const INT64: c_int = LONG_LONG;

/// The public beginning of `PyArrayObject`.
#[repr(C)]
struct ArrayFields {
    head: PyObject,
    data: *mut u8,
    dimensions: c_int,
    shape: *mut isize,
    strides: *mut isize,
    base: *mut PyObject,
    descriptor: *mut Descriptor,
    flags: c_int,
}

/// The public beginning of `PyArray_Descr`.
#[repr(C)]
struct Descriptor {
    head: PyObject,
    scalar_type: *mut PyTypeObject,
    kind: c_char,
    character: c_char,
    byte_order: c_char,
    former_flags: c_char,
    number: c_int,
    flags: u64,
    item_size: isize,
}

/// Find NumPy's table and see that it is that of NumPy 2.
pub fn load(py: Python<'_>) -> PyResult<()> {
    let capsule = py
        .import("numpy._core._multiarray_umath")?
        .getattr("_ARRAY_API")?;
    // SAFETY: the GIL is held; for anything but a nameless capsule this returns NULL and raises.
    let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) };
    if table.is_null() {
        return Err(PyErr::fetch(py));
    }
    TABLE.store(table.cast(), Ordering::Release);
    // SAFETY: both places of every NumPy's table hold functions of this signature.
    let (abi, features) = unsafe {
        let abi: unsafe extern "C" fn() -> c_uint = transmute(entry(ABI_VERSION));
        let features: unsafe extern "C" fn() -> c_uint = transmute(entry(FEATURE_VERSION));
        (abi(), features())
    };
    if abi != ABI || features < FEATURES_2_0 {
        return Err(PyImportError::new_err(format!(
            "omnizarr_native needs NumPy 2 (ABI {ABI:#x}), found ABI {abi:#x}, API {features:#x}"
        )));
    }
    Ok(())
}

/// One place of the table.
///
/// # Safety
/// `load` has succeeded (the module cannot be imported otherwise) or is about to ask for the
/// versions, which every NumPy's table has.
unsafe fn entry(place: usize) -> *const c_void {
    // SAFETY: the table has these places, as the caller promises.
    unsafe { *TABLE.load(Ordering::Acquire).add(place) }
}

/// The fields of an `ndarray`. A subclass is none: its attributes may be code that frees or moves
/// what has been looked at.
fn fields<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a ArrayFields> {
    // SAFETY: the table is loaded; what is an `ndarray` begins with its fields.
    unsafe {
        let array_type = entry(ARRAY_TYPE) as *mut PyTypeObject;
        (ffi::Py_TYPE(object.as_ptr()) == array_type)
            .then(|| &*object.as_ptr().cast::<ArrayFields>())
    }
}

fn is_subclass(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the table is loaded; only the type of the object is looked at.
    unsafe {
        let array_type = entry(ARRAY_TYPE) as *mut PyTypeObject;
        ffi::PyObject_TypeCheck(object.as_ptr(), array_type) != 0
    }
}

/// The fields of a contiguous 1-D array of one of these types in native byte order, and its type.
fn checked<'a>(
    object: &'a Bound<'_, PyAny>,
    name: &'static str,
    types: &[c_int],
    flags: c_int,
    expected: &'static str,
) -> PyResult<(&'a ArrayFields, c_int)> {
    if let Some(array) = fields(object) {
        // SAFETY: every array has a descriptor.
        let descriptor = unsafe { &*array.descriptor };
        if array.dimensions == 1
            && array.flags & flags == flags
            && descriptor.byte_order != SWAPPED
            && types.contains(&descriptor.number)
        {
            return Ok((array, descriptor.number));
        }
    }
    Err(Fault::Argument {
        name,
        found: description(object),
        expected,
    }
    .into())
}

/// For the error: what the argument is, in a few words.
fn description(object: &Bound<'_, PyAny>) -> String {
    let type_name = object
        .get_type()
        .name()
        .map_or_else(|_| "an object".to_owned(), |name| name.to_string());
    let Some(array) = fields(object) else {
        return match is_subclass(object) {
            true => format!("{type_name}, a subclass of numpy.ndarray (see numpy.asarray)"),
            false => type_name,
        };
    };
    let dtype = object
        .getattr("dtype")
        .and_then(|dtype| dtype.str())
        .map_or_else(|_| type_name, |text| text.to_string());
    let contiguous = match array.flags & C_CONTIGUOUS {
        0 => "non-contiguous ",
        _ => "",
    };
    let writeable = match array.flags & WRITEABLE {
        0 => "read-only ",
        _ => "",
    };
    format!(
        "a {writeable}{contiguous}{}-D array of {dtype}",
        array.dimensions
    )
}

impl ArrayFields {
    /// The length of the only dimension.
    fn length(&self) -> usize {
        // SAFETY: `checked` saw one dimension; a length is never negative.
        unsafe { *self.shape as usize }
    }

    /// # Safety
    /// The elements are of the size of `T` and, unless that is a byte, aligned.
    unsafe fn elements<T>(&self) -> &[T] {
        match self.length() {
            0 => &[],
            // SAFETY: contiguous, and of the type that the caller promises.
            length => unsafe { slice::from_raw_parts(self.data.cast(), length) },
        }
    }
}

/// The bytes of a `uint8` array.
pub fn bytes<'a>(object: &'a Bound<'_, PyAny>, name: &'static str) -> PyResult<&'a [u8]> {
    let expected = "a contiguous 1-D array of uint8";
    let (array, _) = checked(object, name, &[UINT8], C_CONTIGUOUS, expected)?;
    // SAFETY: one byte each.
    Ok(unsafe { array.elements() })
}

/// Integers in memory that need not be aligned and that others may write to.
#[derive(Clone, Copy)]
pub struct Words<T> {
    start: *const T,
    length: usize,
}

// SAFETY: reads of plain memory; the array is kept alive by the caller's reference.
unsafe impl<T> Send for Words<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Words<T> {}

impl<T: Copy + Into<i64>> Words<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The one at `place`, read exactly once: a value that was checked is the value that is used.
    #[inline(always)]
    pub fn at(&self, place: usize) -> i64 {
        #[repr(C, packed)]
        struct Unaligned<T>(T);
        assert!(place < self.length);
        // SAFETY: inside the array, and of alignment 1.
        unsafe { self.start.add(place).cast::<Unaligned<T>>().read_volatile() }
            .0
            .into()
    }
}

/// The offsets of a column, in the width they came in.
pub enum Offsets {
    /// Arrow's ordinary width.
    Narrow(Words<i32>),
    /// Arrow's `large_` width, and that of every column made here.
    Wide(Words<i64>),
}

/// `expression` for offsets of either width.
macro_rules! with_offsets {
    ($offsets:expr, $words:ident => $expression:expr) => {
        match $offsets {
            $crate::numpy::Offsets::Narrow($words) => $expression,
            $crate::numpy::Offsets::Wide($words) => $expression,
        }
    };
}
pub(crate) use with_offsets;

fn is_wide(number: c_int) -> bool {
    number == LONG_LONG || (number == LONG && size_of::<std::ffi::c_long>() == 8)
}

/// The integers of an `int32` or `int64` array.
pub fn offsets(object: &Bound<'_, PyAny>) -> PyResult<Offsets> {
    let expected = "a contiguous 1-D array of int32 or int64 in native byte order";
    let (array, number) = checked(
        object,
        "offsets",
        &[INT, LONG, LONG_LONG],
        C_CONTIGUOUS,
        expected,
    )?;
    let length = array.length();
    if length == 0 {
        return Err(Fault::NoOffsets.into());
    }
    Ok(if is_wide(number) {
        Offsets::Wide(Words {
            start: array.data.cast(),
            length,
        })
    } else {
        Offsets::Narrow(Words {
            start: array.data.cast(),
            length,
        })
    })
}

/// The integers of an `int64` array.
pub fn indices(object: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Words<i64>> {
    let expected = "a contiguous 1-D array of int64 in native byte order";
    let wide: &[c_int] = match is_wide(LONG) {
        true => &[LONG, LONG_LONG],
        false => &[LONG_LONG],
    };
    let (array, _) = checked(object, name, wide, C_CONTIGUOUS, expected)?;
    Ok(Words {
        start: array.data.cast(),
        length: array.length(),
    })
}

/// The pointers of an array of objects; NULL stands for None.
pub struct Objects {
    start: *mut *mut PyObject,
    length: usize,
}

impl Objects {
    /// An array to be read.
    pub fn source(object: &Bound<'_, PyAny>) -> PyResult<Objects> {
        let expected = "a contiguous 1-D array of objects";
        Objects::new(object, "array", C_CONTIGUOUS | ALIGNED, expected)
    }

    /// An array to be written.
    pub fn target(object: &Bound<'_, PyAny>) -> PyResult<Objects> {
        let expected = "a contiguous, writeable 1-D array of objects";
        Objects::new(object, "out", C_CONTIGUOUS | ALIGNED | WRITEABLE, expected)
    }

    fn new(
        object: &Bound<'_, PyAny>,
        name: &'static str,
        flags: c_int,
        expected: &'static str,
    ) -> PyResult<Objects> {
        let (array, _) = checked(object, name, &[OBJECT], flags, expected)?;
        Ok(Objects {
            start: array.data.cast(),
            length: array.length(),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The object at `place`, with a reference of its own.
    pub fn get<'py>(&self, py: Python<'py>, place: usize) -> Bound<'py, PyAny> {
        assert!(place < self.length);
        // SAFETY: inside the array; what it holds is alive while the GIL is held.
        unsafe {
            let object = *self.start.add(place);
            Bound::from_borrowed_ptr_or_opt(py, object)
        }
        .unwrap_or_else(|| py.None().into_bound(py))
    }

    /// Put the array's reference into `object` and that of `object` into the array. Runs no code.
    pub fn swap(&self, py: Python<'_>, place: usize, object: &mut Option<Py<PyAny>>) {
        assert!(place < self.length);
        let new = object
            .take()
            .map_or(std::ptr::null_mut(), |object| object.into_ptr());
        // SAFETY: inside the array; each of the two references is moved, none is made or lost.
        unsafe {
            let old = std::ptr::replace(self.start.add(place), new);
            *object = Bound::from_owned_ptr_or_opt(py, old).map(Bound::unbind);
        }
    }
}

/// A new array that is not yet shared, and its uninitialised elements.
pub struct Fresh<'py, T> {
    array: Bound<'py, PyAny>,
    start: *mut T,
    length: usize,
}

/// New `int64` offsets.
pub fn fresh_offsets(py: Python<'_>, length: usize) -> PyResult<Fresh<'_, i64>> {
    fresh(py, length, INT64)
}

/// New `uint8` data.
pub fn fresh_bytes(py: Python<'_>, length: usize) -> PyResult<Fresh<'_, u8>> {
    fresh(py, length, UINT8)
}

fn fresh<T>(py: Python<'_>, length: usize, number: c_int) -> PyResult<Fresh<'_, T>> {
    type New = unsafe extern "C" fn(
        *mut PyTypeObject,
        c_int,
        *const isize,
        c_int,
        *const isize,
        *mut c_void,
        c_int,
        c_int,
        *mut PyObject,
    ) -> *mut PyObject;
    let shape = isize::try_from(length).map_err(|_| Fault::Memory)?;
    let null = std::ptr::null_mut();
    // SAFETY: as the C API has it; NULL (with an error set) becomes an Err.
    let array = unsafe {
        let new: New = transmute(entry(NEW));
        let array_type = entry(ARRAY_TYPE) as *mut PyTypeObject;
        let object = new(
            array_type,
            1,
            &shape,
            number,
            std::ptr::null(),
            null,
            0,
            0,
            null.cast(),
        );
        Bound::from_owned_ptr_or_err(py, object)?
    };
    let start = fields(&array).ok_or(Fault::Changed)?.data.cast();
    Ok(Fresh {
        array,
        start,
        length,
    })
}

impl<'py, T: Copy> Fresh<'py, T> {
    /// The elements, to be written to.
    pub fn elements(&mut self) -> &mut [T] {
        match self.length {
            0 => &mut [],
            // SAFETY: NumPy's own memory, aligned, this long, and not yet shared. Integers of
            // any bits are valid; callers write each before the array is handed out.
            length => unsafe { slice::from_raw_parts_mut(self.start, length) },
        }
    }

    /// The array, all of whose elements have been written.
    pub fn array(self) -> Bound<'py, PyAny> {
        self.array
    }
}
