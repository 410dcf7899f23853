// SPDX-License-Identifier: Apache-2.0
//! Tagged 16-byte values, `TVMFFIAny`: owned ([`Any`]) and borrowed ([`AnyView`]).
//!
//! The conversions to and from Rust types, such as `Any::get`, are in `convert.rs`.

use std::ffi::{c_void, CStr};
use std::fmt;
use std::marker::PhantomData;

use crate::abi::{self, TVMFFIAny, TVMFFIAnyPadding, TVMFFIAnyPayload, TVMFFIByteArray};
use crate::bytes::bytes_of;
use crate::error::{check, Error, Result};
use crate::object::ObjectRef;
use crate::type_names::type_name;

/// An owned ABI value: dropping it releases the object that it contains.
#[repr(transparent)]
pub struct Any {
    raw: TVMFFIAny,
}

/// A borrowed ABI value, valid for `'a`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct AnyView<'a> {
    raw: TVMFFIAny,
    lifetime: PhantomData<&'a TVMFFIAny>,
}

/// Return a value with a payload that is not an object.
pub(crate) const fn plain(type_index: i32, payload: TVMFFIAnyPayload) -> TVMFFIAny {
    TVMFFIAny { type_index, padding: TVMFFIAnyPadding { zero_padding: 0 }, payload }
}

pub(crate) const fn integer(type_index: i32, value: i64) -> TVMFFIAny {
    plain(type_index, TVMFFIAnyPayload { v_int64: value })
}

pub(crate) fn pointer(type_index: i32, value: *mut c_void) -> TVMFFIAny {
    plain(type_index, TVMFFIAnyPayload { v_ptr: value })
}

pub(crate) const NONE: TVMFFIAny = integer(abi::kTVMFFINone, 0);

impl Any {
    /// Return the value None.
    pub const fn none() -> Self {
        Self { raw: NONE }
    }

    /// Take ownership of a value received from C.
    ///
    /// # Safety
    /// `raw` is a valid owned value; the call consumes it.
    pub const unsafe fn from_raw(raw: TVMFFIAny) -> Self {
        Self { raw }
    }

    /// Return the value as a C struct. The caller must release the object that the struct contains.
    pub fn into_raw(self) -> TVMFFIAny {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }

    /// Return a view that borrows the value.
    pub fn view(&self) -> AnyView<'_> {
        AnyView { raw: self.raw, lifetime: PhantomData }
    }

    /// Return a new reference to the object in the value; None if the value contains no object.
    pub fn object(&self) -> Option<ObjectRef> {
        self.view().object()
    }
}

impl Default for Any {
    fn default() -> Self {
        Self::none()
    }
}

impl Clone for Any {
    fn clone(&self) -> Self {
        self.view().retained()
    }
}

impl Drop for Any {
    fn drop(&mut self) {
        if self.raw.type_index >= abi::kTVMFFIStaticObjectBegin {
            // SAFETY: the value owns one reference to its object.
            unsafe { abi::TVMFFIObjectDecRef(self.raw.payload.v_ptr) };
        }
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(formatter)
    }
}

impl From<ObjectRef> for Any {
    fn from(object: ObjectRef) -> Self {
        let type_index = object.type_index();
        Self { raw: pointer(type_index, object.into_raw()) }
    }
}

impl<'a> AnyView<'a> {
    /// Return the value None.
    pub const fn none() -> Self {
        Self { raw: NONE, lifetime: PhantomData }
    }

    /// Borrow a value received from C.
    ///
    /// # Safety
    /// `raw` is a valid value, and the memory that it points to is valid for `'a`.
    pub const unsafe fn from_raw(raw: TVMFFIAny) -> Self {
        Self { raw, lifetime: PhantomData }
    }

    /// Return the value as a C struct, without a new reference.
    pub const fn raw(&self) -> TVMFFIAny {
        self.raw
    }

    /// Return the type index. For a value without an object, the type index selects the payload
    /// member; for an object, it identifies the type of the object.
    pub const fn type_index(&self) -> i32 {
        self.raw.type_index
    }

    /// Return true if the value is None.
    pub fn is_none(&self) -> bool {
        self.resolved().type_index() == abi::kTVMFFINone
    }

    /// Return the value. If the value is a moved object (`kTVMFFIObjectRValueRef`, the address of a
    /// slot that contains the object), return the object in the slot.
    pub(crate) fn resolved(self) -> Self {
        if self.raw.type_index != abi::kTVMFFIObjectRValueRef {
            return self;
        }
        // SAFETY: a value of type index kTVMFFIObjectRValueRef points to a slot that contains NULL
        // or an object.
        let handle = unsafe { *self.raw.payload.v_ptr.cast::<*mut abi::TVMFFIObject>() };
        if handle.is_null() {
            return Self::none();
        }
        // SAFETY: the object in the slot is alive.
        let type_index = unsafe { (*handle).type_index };
        Self { raw: pointer(type_index, handle.cast()), lifetime: PhantomData }
    }

    /// Return an owned value: a new reference to the object, or a copy of a C string or byte array.
    ///
    /// # Errors
    /// TypeError for a borrowed `DLTensor`, because a `DLTensor` has no owner; any error if memory
    /// is exhausted.
    pub fn to_owned(&self) -> Result<Any> {
        let view = self.resolved();
        if view.type_index() == abi::kTVMFFIDLTensorPtr {
            return Err(Error::type_error(
                "expected a tensor that can be retained, got a borrowed DLTensor",
            ));
        }
        let mut out = NONE;
        // SAFETY: the view is valid; on success `out` is an owned value.
        unsafe {
            check(abi::TVMFFIAnyViewToOwnedAny(&view.raw, &mut out))?;
            Ok(Any::from_raw(out))
        }
    }

    /// Return a new reference to the object in the value; None if the value contains no object.
    pub fn object(&self) -> Option<ObjectRef> {
        let handle = self.object_handle()?;
        // SAFETY: the object is alive while the value is borrowed.
        unsafe { ObjectRef::from_borrowed(handle) }
    }

    /// Return a copy of an owned value, with a new reference to its object.
    pub(crate) fn retained(&self) -> Any {
        // `self` keeps its reference, and the copy owns the new reference.
        std::mem::forget(self.object());
        Any { raw: self.raw }
    }

    /// Return the address of the object in the value; None if the value contains no object.
    pub(crate) fn object_handle(&self) -> Option<*mut c_void> {
        let view = self.resolved();
        let is_object = view.raw.type_index >= abi::kTVMFFIStaticObjectBegin;
        // SAFETY: the payload of every value with the type index of an object is an address.
        let handle = unsafe { view.raw.payload.v_ptr };
        (is_object && !handle.is_null()).then_some(handle)
    }

    /// Return the content of a string; None for other types. Strings of foreign code may be invalid
    /// UTF-8.
    pub(crate) fn text_bytes(&self) -> Option<&[u8]> {
        match self.resolved().type_index() {
            abi::kTVMFFISmallStr => Some(self.small_content()),
            abi::kTVMFFIStr => self.object_content(),
            abi::kTVMFFIRawStr => {
                // SAFETY: the payload of a kTVMFFIRawStr value is NULL or a NUL-terminated string.
                unsafe {
                    let text = self.raw.payload.v_c_str;
                    (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
                }
            }
            _ => None,
        }
    }

    /// Return the content of a bytes value; None for other types.
    pub(crate) fn byte_content(&self) -> Option<&[u8]> {
        match self.resolved().type_index() {
            abi::kTVMFFISmallBytes => Some(self.small_content()),
            abi::kTVMFFIBytes => self.object_content(),
            abi::kTVMFFIByteArrayPtr => {
                // SAFETY: the payload of a kTVMFFIByteArrayPtr value is NULL or the address of a
                // byte array.
                unsafe {
                    let array = self.raw.payload.v_ptr.cast::<TVMFFIByteArray>();
                    (!array.is_null()).then(|| bytes_of(*array))
                }
            }
            _ => None,
        }
    }

    /// Return the bytes of the string or bytes object in the value; None if the value contains no
    /// object.
    fn object_content(&self) -> Option<&[u8]> {
        let handle = self.object_handle()?.cast::<abi::TVMFFIObject>();
        // SAFETY: in string and bytes objects, a TVMFFIByteArray follows the header.
        unsafe { Some(bytes_of(*handle.add(1).cast::<TVMFFIByteArray>())) }
    }

    /// Return the bytes of a small string or small bytes value (at most 7 bytes, stored in the
    /// payload).
    fn small_content(&self) -> &[u8] {
        // SAFETY: all bytes of the payload are initialized; the length is limited to 7.
        unsafe {
            let size = (self.raw.padding.small_str_len as usize).min(7);
            std::slice::from_raw_parts(self.raw.payload.v_bytes.as_ptr().cast(), size)
        }
    }

    /// Return the Python name of the value's type, for error messages.
    pub fn type_word(&self) -> String {
        let view = self.resolved();
        let index = view.type_index();
        // SAFETY: the payload of a kTVMFFIDLTensorPtr value is an address.
        if index == abi::kTVMFFIDLTensorPtr && unsafe { view.raw.payload.v_ptr.is_null() } {
            return "NULL".to_string();
        }
        if let Some(name) = type_name(index) {
            return name.to_string();
        }
        match view.object() {
            Some(object) if object.type_index() == index => type_key(index),
            _ => "value of an unknown type".to_string(),
        }
    }
}

/// Return the type key of an object's type index.
fn type_key(index: i32) -> String {
    // SAFETY: the type of an object is registered, and registered types are never removed.
    let key = unsafe { bytes_of((*abi::TVMFFIGetTypeInfo(index)).type_key) };
    String::from_utf8_lossy(key).into_owned()
}

impl fmt::Debug for AnyView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the type index selects the payload member.
        unsafe {
            let payload = self.raw.payload;
            match self.raw.type_index {
                abi::kTVMFFINone => formatter.write_str("None"),
                abi::kTVMFFIInt => payload.v_int64.fmt(formatter),
                abi::kTVMFFIBool => (payload.v_int64 != 0).fmt(formatter),
                abi::kTVMFFIFloat => payload.v_float64.fmt(formatter),
                abi::kTVMFFISmallStr | abi::kTVMFFIStr | abi::kTVMFFIRawStr => {
                    let text = self.text_bytes().map(std::str::from_utf8);
                    text.and_then(std::result::Result::ok).unwrap_or_default().fmt(formatter)
                }
                _ => write!(formatter, "<{}>", self.type_word()),
            }
        }
    }
}
