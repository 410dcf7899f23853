// SPDX-License-Identifier: Apache-2.0
//! Test double of the `tvm_ffi` crate that generated code uses: names and layouts without behaviour.
//! Generated code is type-checked against it and its layout assertions are evaluated; it never runs.

#![allow(dead_code)]

use std::marker::PhantomData;
use std::ptr::NonNull;

pub mod derive {
    pub use tvm_ffi_derive::{Object, ObjectRef};
}

macro_rules! values {
    ($($name:ident($content:ty)),* $(,)?) => {
        $(#[repr(C)] #[derive(Clone)] pub struct $name($content);)*
    };
}

type Pointer = NonNull<u8>;

values! {
    Any([u64; 2]), String([u64; 2]), Bytes([u64; 2]), DLDevice([i32; 2]), DLDataType([u16; 2]),
    Function(Pointer), Tensor(Pointer), Shape(Pointer), Module(Pointer), BigInt(Pointer),
}

#[repr(C)]
#[derive(Clone)]
pub struct Optional<T>([u64; 2], PhantomData<T>);

#[repr(C)]
#[derive(Clone)]
pub struct Array<T>(Pointer, PhantomData<T>);

#[repr(C)]
#[derive(Clone)]
pub struct List<T>(Pointer, PhantomData<T>);

#[repr(C)]
#[derive(Clone)]
pub struct Map<K, V>(Pointer, PhantomData<(K, V)>);

#[repr(C)]
pub struct Object([u64; 3]);

impl Object {
    pub fn new() -> Self {
        Self([0; 3])
    }
}

pub struct Error;
pub type Result<T> = std::result::Result<T, Error>;
pub struct ErrorKind;
pub const VALUE_ERROR: ErrorKind = ErrorKind;

impl Error {
    pub fn new(_kind: ErrorKind, _message: &str, _traceback: &str) -> Self {
        Self
    }
}

#[repr(C)]
pub struct ObjectArc<T>(NonNull<T>);

impl<T> ObjectArc<T> {
    pub fn new(object: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(object))))
    }
}

impl<T> Clone for ObjectArc<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T> std::ops::Deref for ObjectArc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        unsafe { self.0.as_ref() }
    }
}

pub trait ObjectCore {
    fn type_index() -> i32 {
        64
    }
}

pub mod object {
    pub trait ObjectRefCore {}

    #[repr(C)]
    #[derive(Clone)]
    pub struct ObjectRef(super::Pointer);
}

pub trait ShallowCopy {
    fn shallow_copy(&self) -> Self;
}

impl ShallowCopy for Object {
    fn shallow_copy(&self) -> Self {
        Self::new()
    }
}

/// # Safety
/// Called on partially initialized objects.
pub unsafe trait UnsafeInit {
    /// # Safety
    /// Undefined fields are null.
    unsafe fn drop_defined_fields(this: *mut Self);
}

unsafe impl UnsafeInit for Object {
    unsafe fn drop_defined_fields(_this: *mut Self) {}
}

pub mod reflection {
    /// # Safety
    /// The field is a value or null.
    pub unsafe fn drop_if_defined<T>(_field: *mut T) {}
}

pub struct FieldGetter;

impl FieldGetter {
    pub fn new(_type_index: i32, _name: &str) -> Result<Self> {
        Ok(Self)
    }
    pub fn get<T, O>(&self, _object: &O) -> Result<T> {
        Err(Error)
    }
    pub fn get_any<O>(&self, _object: &O) -> Result<Any> {
        Err(Error)
    }
}

#[macro_export]
macro_rules! impl_object_upcast {
    ($($from:ty => $to:ty),* $(,)?) => {
        $(impl From<$from> for $to {
            fn from(_value: $from) -> Self {
                unimplemented!()
            }
        })*
    };
}
