//! Arrays of StringDType: their elements are reached through the allocator, which is locked meanwhile.

use super::{ALIGNED, C_CONTIGUOUS, Descriptor, WRITEABLE, checked, description, entry};
use crate::fault::Fault;
use pyo3::prelude::*;
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::slice;

// Places in the table, and the number of the type.
const STRING_LOAD: usize = 313;
const STRING_PACK: usize = 314;
const STRING_ACQUIRE: usize = 316;
const STRING_RELEASE: usize = 318;
const VSTRING: c_int = 2056;

const TARGET: &str = "a contiguous, writeable 1-D array of StringDType without an na_object";

/// `npy_packed_static_string`, whose content only NumPy knows.
#[repr(C)]
pub struct Packed([usize; 2]);

/// `npy_static_string`.
#[repr(C)]
struct Unpacked {
    size: usize,
    start: *const u8,
}

/// The elements of a StringDType array.
pub struct Strings<'a> {
    start: *mut Packed,
    length: usize,
    descriptor: &'a Descriptor,
}

impl<'a> Strings<'a> {
    /// An array to be read; its dtype may have an `na_object`.
    pub fn source(object: &'a Bound<'_, PyAny>) -> PyResult<Strings<'a>> {
        let expected = "a contiguous 1-D array of StringDType";
        Strings::new(object, "array", C_CONTIGUOUS | ALIGNED, expected)
    }

    /// Refuse an array that cannot be written or whose dtype has an `na_object`.
    ///
    /// It is asked for as an attribute, which may run the collector and so any code: this comes
    /// before every view.
    pub fn check_target(object: &Bound<'_, PyAny>) -> PyResult<()> {
        Strings::target(object)?;
        if object.getattr("dtype")?.hasattr("na_object")? {
            return Err(Fault::Argument {
                name: "out",
                found: description(object),
                expected: TARGET,
            }
            .into());
        }
        Ok(())
    }

    /// An array to be written, after `check_target`.
    pub fn target(object: &'a Bound<'_, PyAny>) -> PyResult<Strings<'a>> {
        Strings::new(object, "out", C_CONTIGUOUS | ALIGNED | WRITEABLE, TARGET)
    }

    fn new(
        object: &'a Bound<'_, PyAny>,
        name: &'static str,
        flags: c_int,
        expected: &'static str,
    ) -> PyResult<Strings<'a>> {
        let (array, _) = checked(object, name, &[VSTRING], flags, expected)?;
        Ok(Strings {
            start: array.data.cast(),
            length: array.length(),
            // SAFETY: the array is alive, and its descriptor with it.
            descriptor: unsafe { &*array.descriptor },
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Lock the allocator until the result is dropped. Nothing in between may call Python, and
    /// the GIL is held, so that no other thread can fork.
    pub fn lock(&self, _: Python<'_>) -> Locked<'_> {
        // SAFETY: the table is NumPy 2's, the descriptor a StringDType's.
        unsafe {
            let acquire: unsafe extern "C" fn(*const Descriptor) -> *mut c_void =
                transmute(entry(STRING_ACQUIRE));
            Locked {
                strings: self,
                allocator: acquire(self.descriptor),
                load: transmute::<*const c_void, Load>(entry(STRING_LOAD)),
                pack: transmute::<*const c_void, Pack>(entry(STRING_PACK)),
            }
        }
    }
}

type Load = unsafe extern "C" fn(*mut c_void, *const Packed, *mut Unpacked) -> c_int;
type Pack = unsafe extern "C" fn(*mut c_void, *mut Packed, *const c_char, usize) -> c_int;

/// The elements of a StringDType array while its allocator is locked.
pub struct Locked<'a> {
    strings: &'a Strings<'a>,
    allocator: *mut c_void,
    load: Load,
    pack: Pack,
}

impl Locked<'_> {
    /// The bytes of one element; None if it is missing.
    #[inline]
    pub fn get(&self, place: usize) -> Result<Option<&[u8]>, Fault> {
        assert!(place < self.strings.length);
        let mut unpacked = Unpacked {
            size: 0,
            start: std::ptr::null(),
        };
        // SAFETY: inside the array, whose allocator is locked; the bytes stay where they are until
        // something is packed, which needs `&mut self`.
        unsafe {
            let packed = self.strings.start.add(place);
            match (self.load)(self.allocator, packed, &mut unpacked) {
                0 if unpacked.size == 0 => Ok(Some(&[])),
                0 => Ok(Some(slice::from_raw_parts(unpacked.start, unpacked.size))),
                1 => Ok(None),
                _ => Err(Fault::Memory),
            }
        }
    }

    /// Store a copy of `text`, which is UTF-8.
    #[inline]
    pub fn set(&mut self, place: usize, text: &[u8]) -> Result<(), Fault> {
        assert!(place < self.strings.length);
        // SAFETY: inside the array, whose allocator is locked and which is writeable.
        let status = unsafe {
            let packed = self.strings.start.add(place);
            (self.pack)(self.allocator, packed, text.as_ptr().cast(), text.len())
        };
        match status {
            0 => Ok(()),
            _ => Err(Fault::Memory),
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: acquired in `lock`, released once, here.
        unsafe {
            let release: unsafe extern "C" fn(*mut c_void) = transmute(entry(STRING_RELEASE));
            release(self.allocator);
        }
    }
}
