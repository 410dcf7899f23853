// SPDX-License-Identifier: Apache-2.0
//! The tagged values of 16 bytes that cross every call: owned ([`Any`]) and borrowed ([`AnyView`]).

use std::ffi::{c_void, CStr};
use std::fmt;
use std::marker::PhantomData;

use crate::abi::{self, TVMFFIAny, TVMFFIAnyPadding, TVMFFIAnyPayload, TVMFFIByteArray};
use crate::convert::{FromAny, FromArgument, IntoAny};
use crate::error::{check, Error, Result};
use crate::object::ObjectRef;

/// A value of the ABI that owns what it holds.
#[repr(transparent)]
pub struct Any {
    raw: TVMFFIAny,
}

/// A value of the ABI that borrows what it points at, for `'a`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct AnyView<'a> {
    raw: TVMFFIAny,
    lifetime: PhantomData<&'a TVMFFIAny>,
}

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

/// Bytes of a foreign array, which may have a NULL address when there are none.
///
/// # Safety
/// `array` describes readable memory that nobody changes during `'a`.
pub(crate) unsafe fn bytes_of<'a>(array: TVMFFIByteArray) -> &'a [u8] {
    if array.data.is_null() || array.size == 0 {
        return &[];
    }
    // SAFETY: as the caller says; the address is not NULL.
    unsafe { std::slice::from_raw_parts(array.data.cast(), array.size) }
}

impl Any {
    /// None.
    pub const fn none() -> Self {
        Self { raw: NONE }
    }

    /// Make an owned value out of anything that is one.
    ///
    /// # Errors
    /// When memory is exhausted.
    pub fn new(value: impl IntoAny) -> Result<Self> {
        value.into_any()
    }

    /// Take over a value that came from C.
    ///
    /// # Safety
    /// `raw` is a valid owned value that the caller gives away.
    pub const unsafe fn from_raw(raw: TVMFFIAny) -> Self {
        Self { raw }
    }

    /// Give the value away; its receiver releases what it owns.
    pub fn into_raw(self) -> TVMFFIAny {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }

    /// Lend the value.
    pub fn view(&self) -> AnyView<'_> {
        AnyView { raw: self.raw, lifetime: PhantomData }
    }

    /// Convert to a type of Rust.
    ///
    /// ```
    /// use pytvmffi::Any;
    /// assert_eq!(Any::new(3)?.get::<f64>()?, 3.0);
    /// assert_eq!(Any::new("text")?.get::<String>()?, "text");
    /// let error = Any::new("text")?.get::<i64>().unwrap_err();
    /// assert_eq!(error.to_string(), "TypeError: expected int, got str");
    /// # Ok::<(), pytvmffi::Error>(())
    /// ```
    ///
    /// # Errors
    /// TypeError or ValueError when the value is no such thing.
    pub fn get<T: FromAny>(&self) -> Result<T> {
        self.view().get()
    }

    /// The object in the value, with a reference of its own; None when it holds a plain value.
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
            // SAFETY: an owned value of such an index has one reference, given up here.
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
    /// None.
    pub const fn none() -> Self {
        Self { raw: NONE, lifetime: PhantomData }
    }

    /// Look at a value that came from C.
    ///
    /// # Safety
    /// `raw` is a valid value, and what it points at stays so for `'a`.
    pub const unsafe fn from_raw(raw: TVMFFIAny) -> Self {
        Self { raw, lifetime: PhantomData }
    }

    /// The value as C sees it.
    pub const fn raw(&self) -> TVMFFIAny {
        self.raw
    }

    /// Which member of the payload is live, and the type of an object.
    pub const fn type_index(&self) -> i32 {
        self.raw.type_index
    }

    /// Whether the value is None.
    pub fn is_none(&self) -> bool {
        self.resolved().type_index() == abi::kTVMFFINone
    }

    /// The value, with an object that is being moved in its place.
    pub(crate) fn resolved(self) -> Self {
        if self.raw.type_index != abi::kTVMFFIObjectRValueRef {
            return self;
        }
        // SAFETY: a value of this index points at a slot, which holds NULL or an object.
        let handle = unsafe { *self.raw.payload.v_ptr.cast::<*mut abi::TVMFFIObject>() };
        if handle.is_null() {
            return Self::none();
        }
        // SAFETY: the object in the slot is alive.
        let type_index = unsafe { (*handle).type_index };
        Self { raw: pointer(type_index, handle.cast()), lifetime: PhantomData }
    }

    /// Keep the value: what it points at is retained or copied.
    ///
    /// # Errors
    /// TypeError for a tensor that is only lent, which nobody can keep; when memory is exhausted.
    pub fn to_owned(&self) -> Result<Any> {
        let view = self.resolved();
        if view.type_index() == abi::kTVMFFIDLTensorPtr {
            return Err(Error::type_error("a tensor that is only lent cannot be kept"));
        }
        let mut out = NONE;
        // SAFETY: the view is valid; on success `out` is an owned value.
        unsafe {
            check(abi::TVMFFIAnyViewToOwnedAny(&view.raw, &mut out))?;
            Ok(Any::from_raw(out))
        }
    }

    /// Convert to a type of Rust that borrows nothing.
    ///
    /// # Errors
    /// TypeError or ValueError when the value is no such thing.
    pub fn get<T: FromAny>(&self) -> Result<T> {
        // SAFETY: a type that converts from values of any lifetime borrows none of them.
        unsafe { T::from_argument(self) }.map_err(Error::from)
    }

    /// Convert to a type of Rust, which may borrow from what the value points at.
    ///
    /// # Safety
    /// While the result lives, nobody writes memory that it reads, nor touches memory that it
    /// writes: other arguments may share it.
    ///
    /// # Errors
    /// TypeError or ValueError when the value is no such thing.
    pub unsafe fn borrow<T: FromArgument<'a>>(&'a self) -> Result<T> {
        // SAFETY: as the caller says.
        unsafe { T::from_argument(self) }.map_err(Error::from)
    }

    /// The object in the value, with a reference of its own.
    pub fn object(&self) -> Option<ObjectRef> {
        let handle = self.object_handle()?;
        // SAFETY: the value keeps it alive.
        unsafe { ObjectRef::from_borrowed(handle) }
    }

    /// A copy of a value that somebody owns.
    pub(crate) fn retained(&self) -> Any {
        std::mem::forget(self.object()); // its reference is the copy's
        Any { raw: self.raw }
    }

    /// The address of the object in the value.
    pub(crate) fn object_handle(&self) -> Option<*mut c_void> {
        let view = self.resolved();
        let is_object = view.raw.type_index >= abi::kTVMFFIStaticObjectBegin;
        // SAFETY: every payload of such an index is an address.
        let handle = unsafe { view.raw.payload.v_ptr };
        (is_object && !handle.is_null()).then_some(handle)
    }

    /// The content of a text, which foreign code may have made of bytes that are no UTF-8.
    pub(crate) fn text_bytes(&self) -> Option<&[u8]> {
        match self.resolved().type_index() {
            abi::kTVMFFISmallStr => Some(self.small_content()),
            abi::kTVMFFIStr => self.object_content(),
            abi::kTVMFFIRawStr => {
                // SAFETY: a value of this index is NULL or a NUL-terminated text.
                unsafe {
                    let text = self.raw.payload.v_c_str;
                    (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
                }
            }
            _ => None,
        }
    }

    /// The content of bytes.
    pub(crate) fn byte_content(&self) -> Option<&[u8]> {
        match self.resolved().type_index() {
            abi::kTVMFFISmallBytes => Some(self.small_content()),
            abi::kTVMFFIBytes => self.object_content(),
            abi::kTVMFFIByteArrayPtr => {
                // SAFETY: a value of this index is NULL or the address of a byte array.
                unsafe {
                    let array = self.raw.payload.v_ptr.cast::<TVMFFIByteArray>();
                    (!array.is_null()).then(|| bytes_of(*array))
                }
            }
            _ => None,
        }
    }

    /// The content of an object that is text or bytes.
    fn object_content(&self) -> Option<&[u8]> {
        let handle = self.object_handle()?.cast::<abi::TVMFFIObject>();
        // SAFETY: the objects of both types begin with a byte array, behind the header.
        unsafe { Some(bytes_of(*handle.add(1).cast::<TVMFFIByteArray>())) }
    }

    /// The content of small text or bytes, which lies in the value itself.
    fn small_content(&self) -> &[u8] {
        // SAFETY: all bytes of the payload are initialized; the length is held to 7.
        unsafe {
            let size = (self.raw.padding.small_str_len as usize).min(7);
            std::slice::from_raw_parts(self.raw.payload.v_bytes.as_ptr().cast(), size)
        }
    }

    /// What messages call the type of the value, in words of Python.
    pub fn type_word(&self) -> String {
        let view = self.resolved();
        let index = view.type_index();
        // SAFETY: every payload of this index is an address.
        if index == abi::kTVMFFIDLTensorPtr && unsafe { view.raw.payload.v_ptr.is_null() } {
            return "NULL".to_string();
        }
        if let Some(word) = crate::words::of_index(index) {
            return word.to_string();
        }
        match view.object() {
            Some(object) if object.type_index() == index => type_key(index),
            _ => "value of an unknown type".to_string(),
        }
    }
}

/// The key of a type that an object has.
fn type_key(index: i32) -> String {
    // SAFETY: the type of an object is registered, and what is registered stays.
    let key = unsafe { bytes_of((*abi::TVMFFIGetTypeInfo(index)).type_key) };
    String::from_utf8_lossy(key).into_owned()
}

impl fmt::Debug for AnyView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: each member is live where its index is.
        unsafe {
            let payload = self.raw.payload;
            match self.raw.type_index {
                abi::kTVMFFINone => formatter.write_str("None"),
                abi::kTVMFFIInt => payload.v_int64.fmt(formatter),
                abi::kTVMFFIBool => (payload.v_int64 != 0).fmt(formatter),
                abi::kTVMFFIFloat => payload.v_float64.fmt(formatter),
                abi::kTVMFFISmallStr | abi::kTVMFFIStr | abi::kTVMFFIRawStr => {
                    self.get::<String>().unwrap_or_default().fmt(formatter)
                }
                _ => write!(formatter, "<{}>", self.type_word()),
            }
        }
    }
}
