//! New arrays of plain elements, which become what the caller asked for.

use super::view::{NOT_PLAIN, View};
use super::{ARRAY_TYPE, Descriptor, entry, fields};
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

// Places in the table.
const TYPE_TYPE: usize = 3;
const RETURN: usize = 76;
const NEW_OF_TYPE: usize = 94;

const IN_FORTRAN_ORDER: c_int = 0x2;

/// A new array that is not yet shared. Its elements may be anything.
pub struct Unwritten<'py>(Bound<'py, PyAny>);

impl<'py> Unwritten<'py> {
    /// Of this type and shape; None if the elements are not plain and of so many bytes, if there is
    /// no memory, or if NumPy makes another type of it.
    pub fn new(
        dtype: &Bound<'py, PyAny>,
        shape: &[isize],
        fortran: bool,
        item: usize,
    ) -> Option<Unwritten<'py>> {
        type New = unsafe extern "C" fn(
            *mut PyTypeObject,
            *mut PyObject,
            c_int,
            *const isize,
            *const isize,
            *mut c_void,
            c_int,
            *mut PyObject,
        ) -> *mut PyObject;
        let py = dtype.py();
        let dimensions = c_int::try_from(shape.len()).ok()?;
        let null = std::ptr::null_mut();
        // SAFETY: the table is loaded; what is a `dtype` begins with the fields of one.
        let plain = unsafe {
            let types = entry(TYPE_TYPE) as *mut PyTypeObject;
            ffi::PyObject_TypeCheck(dtype.as_ptr(), types) != 0 && {
                let found = &*dtype.as_ptr().cast::<Descriptor>();
                found.flags & NOT_PLAIN == 0 && usize::try_from(found.item_size) == Ok(item)
            }
        };
        if !plain {
            return None;
        }
        // SAFETY: as the C API has it: it takes a reference to the type, which is given to it, and as
        // many lengths as dimensions. NULL comes with an error, which is taken back.
        let array = unsafe {
            let new: New = transmute(entry(NEW_OF_TYPE));
            let flags = if fortran { IN_FORTRAN_ORDER } else { 0 };
            let object = new(
                entry(ARRAY_TYPE) as *mut PyTypeObject,
                dtype.clone().into_ptr(),
                dimensions,
                shape.as_ptr(),
                std::ptr::null(),
                null,
                flags,
                null.cast(),
            );
            Bound::from_owned_ptr_or_err(py, object).ok()?
        };
        let same = fields(&array)?.descriptor.cast() == dtype.as_ptr();
        same.then_some(Unwritten(array))
    }

    /// The array as one of this shape, in which each axis that is not `kept` has one place.
    pub fn view(&self, shape: &[usize], kept: &[bool]) -> Option<View> {
        let found = fields(&self.0)?;
        let mut axes = 0..usize::try_from(found.dimensions).ok()?;
        let mut strides = Vec::with_capacity(shape.len());
        for &there in kept {
            strides.push(match there {
                // SAFETY: there is a stride for every dimension.
                true => unsafe { *found.strides.add(axes.next()?) },
                false => 0,
            });
        }
        Some(View {
            start: found.data,
            shape: shape.to_vec(),
            strides,
        })
    }

    /// The array, all of which has been written; a scalar if it has no dimensions.
    pub fn done(self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.0.py();
        // SAFETY: as the C API has it: it takes the reference, and gives another one or an error.
        unsafe {
            let give: unsafe extern "C" fn(*mut PyObject) -> *mut PyObject =
                transmute(entry(RETURN));
            Bound::from_owned_ptr_or_err(py, give(self.0.into_ptr()))
        }
    }
}
