// SPDX-License-Identifier: Apache-2.0
//! A counted reference to an object of any type: what the typed handles are made of.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::abi::{self, TVMFFIObject};

/// One strong reference to an object of the ABI.
///
/// Cloning counts up, dropping counts down; the last reference destroys the object, with the code
/// of whoever made it. A handle by itself goes to no other thread: some objects may, and their
/// types ([`Function`](crate::Function), [`Error`](crate::Error), ...) say so.
#[repr(transparent)]
#[derive(Debug)]
pub struct ObjectRef {
    handle: NonNull<TVMFFIObject>,
}

impl ObjectRef {
    /// Take over a strong reference.
    ///
    /// # Safety
    /// `handle` is NULL, or an object of which the caller owns one reference and gives it away.
    pub unsafe fn from_owned(handle: *mut c_void) -> Option<Self> {
        NonNull::new(handle.cast()).map(|handle| Self { handle })
    }

    /// Add a reference to an object that somebody else holds.
    ///
    /// # Safety
    /// `handle` is NULL, or an object that lives during the call.
    pub unsafe fn from_borrowed(handle: *mut c_void) -> Option<Self> {
        let handle = NonNull::new(handle.cast::<TVMFFIObject>())?;
        // SAFETY: it is alive, as the caller says.
        unsafe { abi::TVMFFIObjectIncRef(handle.as_ptr().cast()) };
        Some(Self { handle })
    }

    /// The address of the object's header; it is alive as long as this reference.
    pub fn as_ptr(&self) -> *mut c_void {
        self.handle.as_ptr().cast()
    }

    /// Give the reference away, as a handle that its receiver releases.
    pub fn into_raw(self) -> *mut c_void {
        let handle = self.as_ptr();
        std::mem::forget(self);
        handle
    }

    /// The type index of the object.
    pub fn type_index(&self) -> i32 {
        // SAFETY: the header is alive, and this member never changes.
        unsafe { (*self.handle.as_ptr()).type_index }
    }

    /// What follows the header: the cell of the object's type.
    pub(crate) fn cell<T>(&self) -> *mut T {
        // SAFETY: every object has a header of 24 bytes, so the address behind it is in bounds.
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
        // SAFETY: this reference is ours, and given up here.  Deleters do not unwind: those of C++
        // may not throw, and ours catch.
        unsafe { abi::TVMFFIObjectDecRef(self.as_ptr()) };
    }
}
