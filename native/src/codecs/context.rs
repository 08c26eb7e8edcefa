//! State of a C library that is kept from one chunk to the next.

use std::ptr::NonNull;

/// A context, freed with this.
pub struct Context<T> {
    pointer: NonNull<T>,
    free: unsafe fn(*mut T),
}

impl<T> Context<T> {
    /// What a library has just made; None if it had no memory for it.
    ///
    /// # Safety
    /// Nothing else frees it, and `free` does.
    pub unsafe fn new(pointer: *mut T, free: unsafe fn(*mut T)) -> Option<Context<T>> {
        let pointer = NonNull::new(pointer)?;
        Some(Context { pointer, free })
    }

    /// For the library's functions.
    pub fn pointer(&mut self) -> *mut T {
        self.pointer.as_ptr()
    }
}

impl<T> Drop for Context<T> {
    fn drop(&mut self) {
        // SAFETY: as `new` was promised; dropped once.
        unsafe { (self.free)(self.pointer.as_ptr()) };
    }
}
