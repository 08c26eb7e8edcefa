//! The native core of omnizarr: variable-length items between chunk bytes and NumPy, whole selections of
//! chunks read or written in one call, and files opened and read in one.
//!
//! A *column* is `(offsets, data)`: element i is `data[offsets[i]:offsets[i + 1]]`. A *frame* is the
//! format of numcodecs' vlen codecs: a 32-bit little-endian count, then for each item its length in
//! bytes (32 bits, little-endian) and its bytes.
//!
//! What every function keeps to:
//!
//! * Nothing is trusted. Every offset and length is checked where it is used, not only where it was
//!   validated, so that memory that changes in between can spoil the result but not the process.
//!   (As with NumPy itself, memory that another thread writes while it is read gives undefined text.)
//! * What can be wrong with the bytes is checked before anything is written to `out`.
//! * The GIL is released around system calls, and while many plain bytes are scanned, copied or
//!   decoded. It is held wherever a lock of a StringDType's allocator is, so a fork never copies a locked one.
//! * No state, and no threads but those of a call that runs.
//!
//! The module knows NumPy's C API, in `codecs` a few codecs of Zarr and in `plan` how files are read. It
//! knows no metadata, no data type and no store.

mod bytes;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // what only files need
mod codecs;
mod column;
mod fault;
#[cfg_attr(not(target_os = "linux"), path = "files_elsewhere.rs")]
mod files;
mod frame;
mod numpy;
mod objects;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, unused_variables))]
mod plan;
mod text;

use pyo3::prelude::*;

/// The version of the functions' names, arguments and errors; `omnizarr.runtime.native_core` asks for it.
const API: u32 = 10;

#[pymodule]
fn omnizarr_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    numpy::load(module.py())?;
    module.add("API", API)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(frame::frame_split, module)?)?;
    module.add_function(wrap_pyfunction!(frame::frame_join, module)?)?;
    module.add_function(wrap_pyfunction!(text::frame_text, module)?)?;
    module.add_function(wrap_pyfunction!(text::text_fill, module)?)?;
    module.add_function(wrap_pyfunction!(text::text_column, module)?)?;
    module.add_function(wrap_pyfunction!(objects::objects_column, module)?)?;
    module.add_function(wrap_pyfunction!(objects::column_objects, module)?)?;
    module.add_function(wrap_pyfunction!(column::check_text, module)?)?;
    module.add_function(wrap_pyfunction!(column::column_take, module)?)?;
    module.add_function(wrap_pyfunction!(files::file_open, module)?)?;
    module.add_function(wrap_pyfunction!(files::file_read, module)?)?;
    module.add_class::<plan::Chunks>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<plan::serialized::Serialized>()?;
    Ok(())
}
