// SPDX-License-Identifier: Apache-2.0
//! Strong references to objects of any type; the base of the typed references.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::abi::{self, TVMFFIObject};

/// A strong reference to an ABI object.
///
/// Cloning increments the reference count, dropping decrements it; the last strong reference runs
/// the object's deleter. The type is not `Send`, since some objects are bound to a thread. Typed
/// references to objects that are not bound, such as [`Function`](crate::Function) and
/// [`Error`](crate::Error), are `Send`.
#[repr(transparent)]
#[derive(Debug)]
pub struct ObjectRef {
    handle: NonNull<TVMFFIObject>,
}

impl ObjectRef {
    /// Take ownership of a strong reference; None if the handle is NULL.
    ///
    /// # Safety
    /// `handle` is NULL or an owned reference; the call consumes it.
    pub unsafe fn from_owned(handle: *mut c_void) -> Option<Self> {
        NonNull::new(handle.cast()).map(|handle| Self { handle })
    }

    /// Return a new reference to a borrowed object; None if the handle is NULL.
    ///
    /// # Safety
    /// `handle` is NULL or an object that is alive during the call.
    pub unsafe fn from_borrowed(handle: *mut c_void) -> Option<Self> {
        let handle = NonNull::new(handle.cast::<TVMFFIObject>())?;
        // SAFETY: the caller guarantees that the object is alive.
        unsafe { abi::TVMFFIObjectIncRef(handle.as_ptr().cast()) };
        Some(Self { handle })
    }

    /// Return the address of the object's header; it is valid while this reference lives.
    pub fn as_ptr(&self) -> *mut c_void {
        self.handle.as_ptr().cast()
    }

    /// Return the reference as a handle; the caller must release it.
    pub fn into_raw(self) -> *mut c_void {
        let handle = self.as_ptr();
        std::mem::forget(self);
        handle
    }

    /// Return the type index of the object.
    pub fn type_index(&self) -> i32 {
        // SAFETY: the header is alive, and the type index never changes.
        unsafe { (*self.handle.as_ptr()).type_index }
    }

    /// Return the address of the C struct with the fields of the object, which follows the object's
    /// header.
    pub(crate) fn cell<T>(&self) -> *mut T {
        // SAFETY: every object has a 24-byte header, so the address after it is in bounds.
        unsafe { self.handle.as_ptr().add(1).cast() }
    }
}

impl Clone for ObjectRef {
    fn clone(&self) -> Self {
        // SAFETY: this reference keeps the object alive.
        unsafe { abi::TVMFFIObjectIncRef(self.as_ptr()) };
        Self { handle: self.handle }
    }
}

impl Drop for ObjectRef {
    fn drop(&mut self) {
        // SAFETY: `self` owns one reference.  Deleters do not unwind: C++ deleters must not throw,
        // and the deleters of this crate catch panics.
        unsafe { abi::TVMFFIObjectDecRef(self.as_ptr()) };
    }
}
