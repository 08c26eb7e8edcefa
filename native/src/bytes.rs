//! Bytes that come in through the buffer protocol, bytes that go out item by item, and when the GIL
//! is let go.

use crate::fault::Fault;
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

/// Below this many bytes, handing the GIL over costs more than the work.
const MANY: usize = 1 << 16;

/// Do pure work on so many bytes, with the GIL released if they are many.
pub fn without_gil<T: Send>(py: Python<'_>, size: usize, work: impl Send + FnOnce() -> T) -> T {
    if size < MANY { work() } else { py.detach(work) }
}

/// The memory of any object with a contiguous buffer, for as long as this lives.
pub struct Buffer<'py> {
    view: Box<MaybeUninit<ffi::Py_buffer>>,
    // Released with the GIL held.
    attached: PhantomData<Python<'py>>,
}

impl<'py> Buffer<'py> {
    /// Ask the object for its bytes.
    pub fn new(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Buffer<'py>> {
        let mut view = Box::new(MaybeUninit::zeroed());
        // Dimensions without strides are contiguous; the format is asked for because NumPy would
        // export the insides of a StringDType without.
        let flags = ffi::PyBUF_ND | ffi::PyBUF_FORMAT;
        // SAFETY: the GIL is held, and the view will not be moved.
        let status = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) };
        if status != 0 {
            let error = PyErr::fetch(object.py());
            if error.is_instance_of::<PyMemoryError>(object.py()) {
                return Err(error);
            }
            let found = object.get_type().name()?.to_string();
            let expected = "an object with a contiguous buffer";
            let refusal = PyErr::from(Fault::Argument {
                name,
                found,
                expected,
            });
            refusal.set_cause(object.py(), Some(error));
            return Err(refusal);
        }
        let buffer = Buffer {
            view,
            attached: PhantomData,
        };
        if buffer.holds_objects() {
            return Err(Fault::Argument {
                name,
                found: "a buffer of objects".to_owned(),
                expected: "plain bytes",
            }
            .into());
        }
        Ok(buffer)
    }

    fn holds_objects(&self) -> bool {
        // SAFETY: filled in by `new`; a format is a C string or NULL.
        unsafe {
            let format = self.view.assume_init_ref().format;
            !format.is_null() && CStr::from_ptr(format).to_bytes().contains(&b'O')
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: filled in by `new`, which fails otherwise.
        let view = unsafe { self.view.assume_init_ref() };
        match usize::try_from(view.len) {
            Ok(length) if length > 0 && !view.buf.is_null() => {
                // SAFETY: the exporter promises so many bytes until the view is released.
                unsafe { slice::from_raw_parts(view.buf.cast(), length) }
            }
            _ => &[],
        }
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: filled in by `new`, released once; the GIL is held, as `'py` says.
        unsafe { ffi::PyBuffer_Release(self.view.as_mut_ptr()) }
    }
}

/// New bytes of this length, filled by pure work that writes every one of them or fails.
pub fn new_bytes<'py>(
    py: Python<'py>,
    length: usize,
    fill: impl Send + FnOnce(&mut [u8]) -> Result<(), Fault>,
) -> PyResult<Bound<'py, PyBytes>> {
    filled_bytes(py, length, |target| {
        Ok(without_gil(py, length, || fill(target))?)
    })
}

/// The same with the GIL held, unless `fill` lets it go.
pub fn filled_bytes<'py>(
    py: Python<'py>,
    length: usize,
    fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyBytes>> {
    let size = ffi::Py_ssize_t::try_from(length).map_err(|_| Fault::Memory)?;
    // SAFETY: NULL asks for uninitialised bytes; NULL as a result becomes an Err.
    let object: Bound<'py, PyAny> = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), size))?
    };
    if length > 0 {
        // SAFETY: the object is new and not yet shared, and it has this many bytes.
        let target = unsafe {
            let start = ffi::PyBytes_AsString(object.as_ptr());
            slice::from_raw_parts_mut(start.cast::<u8>(), length)
        };
        fill(target)?;
    }
    Ok(object.cast_into::<PyBytes>()?)
}

/// One item, and the memory that it is the beginning of.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    bytes: &'a [u8],
    memory: &'a [u8],
}

impl<'a> Item<'a> {
    /// These bytes.
    pub fn whole(bytes: &'a [u8]) -> Item<'a> {
        let memory = bytes;
        Item { bytes, memory }
    }

    /// The item of this length at the beginning of `memory` and what is behind it, if it is there.
    #[inline(always)]
    pub fn split(memory: &'a [u8], length: usize) -> Option<(Item<'a>, &'a [u8])> {
        let (bytes, behind) = memory.split_at_checked(length)?;
        Some((Item { bytes, memory }, behind))
    }

    /// Its own bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Memory that is written from front to back, whole.
pub struct Writer<'a> {
    rest: &'a mut [u8],
}

impl<'a> Writer<'a> {
    /// All of `target` is to be written.
    pub fn new(target: &'a mut [u8]) -> Writer<'a> {
        Writer { rest: target }
    }

    /// Write an item.
    ///
    /// Short ones are copied together with what follows them, where there is room, since a copy
    /// of fixed size has no branches to guess; what is written next covers the surplus.
    #[inline(always)]
    pub fn put(&mut self, item: Item<'_>) -> Result<(), Fault> {
        const WIDE: usize = 32;
        let rest = std::mem::take(&mut self.rest);
        let length = item.bytes.len();
        if length <= WIDE
            && let Some(source) = item.memory.first_chunk::<WIDE>()
            && let Some(target) = rest.first_chunk_mut::<WIDE>()
        {
            *target = *source;
            self.rest = rest.get_mut(length..).ok_or(Fault::Changed)?;
        } else {
            let (target, behind) = rest.split_at_mut_checked(length).ok_or(Fault::Changed)?;
            target.copy_from_slice(item.bytes);
            self.rest = behind;
        }
        Ok(())
    }

    /// Write a number of 32 bits, little-endian.
    #[inline(always)]
    pub fn put_length(&mut self, length: usize) -> Result<(), Fault> {
        let length = u32::try_from(length).map_err(|_| Fault::Changed)?;
        let rest = std::mem::take(&mut self.rest);
        let (target, behind) = rest.split_first_chunk_mut::<4>().ok_or(Fault::Changed)?;
        *target = length.to_le_bytes();
        self.rest = behind;
        Ok(())
    }

    /// Nothing is left unwritten.
    pub fn finish(self) -> Result<(), Fault> {
        match self.rest {
            [] => Ok(()),
            _ => Err(Fault::Changed),
        }
    }
}

/// Items one behind the other, and where each ends.
pub fn lay_out<'a>(
    items: impl Iterator<Item = Result<Item<'a>, Fault>>,
    offsets: &mut [i64],
    data: &mut [u8],
) -> Result<(), Fault> {
    let mut writer = Writer::new(data);
    let (first, ends) = offsets.split_first_mut().ok_or(Fault::NoOffsets)?;
    let mut stop = 0;
    *first = 0;
    let mut written = 0;
    for (item, end) in items.zip(ends.iter_mut()) {
        let item = item?;
        writer.put(item)?;
        stop += item.bytes().len() as i64;
        *end = stop;
        written += 1;
    }
    if written != ends.len() {
        return Err(Fault::Changed);
    }
    writer.finish()
}
