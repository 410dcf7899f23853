// SPDX-License-Identifier: Apache-2.0
//! Macros and functions shared by the typed references: `Array`, `Function`, `Module` and so on.

use std::ffi::c_void;

use crate::any::{pointer, AnyView};
use crate::object::ObjectRef;

/// Return a value that borrows an object.
pub(crate) fn borrowed_object(object: &ObjectRef) -> AnyView<'_> {
    // SAFETY: the object is alive while the reference is borrowed.
    unsafe { AnyView::from_raw(pointer(object.type_index(), object.as_ptr())) }
}

/// Take ownership of the object that a successful call returned.
///
/// # Safety
/// `handle` is an owned reference; the call consumes it.
pub(crate) unsafe fn owned(handle: *mut c_void) -> ObjectRef {
    // SAFETY: guaranteed by the caller.
    unsafe { ObjectRef::from_owned(handle) }.expect("a successful call returns an object")
}

/// Implement the conversions of a struct with the single field `object: ObjectRef`, for one type
/// index.
macro_rules! handle {
    ($type:ident, $index:ident, $name:literal) => {
        $crate::handle::passed_as_object! { $type }

        impl<'a> $crate::convert::FromArgument<'a> for $type {
            const TYPE: $crate::parameter_type::ParameterType =
                $crate::parameter_type::ParameterType::other($name);

            unsafe fn from_argument(
                argument: &'a $crate::AnyView<'a>,
            ) -> std::result::Result<Self, $crate::convert::Mismatch> {
                argument
                    .object()
                    .filter(|object| object.type_index() == $crate::abi::$index)
                    .map(|object| Self { object })
                    .ok_or_else(|| $crate::convert::Mismatch::expected($name, argument))
            }
        }
    };
}

/// Implement the conversions to the ABI of a struct with the single field `object: ObjectRef`.
macro_rules! passed_as_object {
    ($type:ident) => {
        impl $crate::convert::IntoAny for $type {
            fn into_any(self) -> $crate::Result<$crate::Any> {
                Ok(self.object.into())
            }
        }

        impl<'a> $crate::convert::IntoArgument<'a> for &'a $type {
            fn into_argument(self) -> $crate::Result<$crate::convert::Argument<'a>> {
                Ok($crate::convert::Argument::lent($crate::handle::borrowed_object(&self.object)))
            }
        }

        $crate::convert::pass_by_value! { $type }

        impl $type {
            /// Return the reference without its static type.
            pub fn as_object(&self) -> &$crate::ObjectRef {
                &self.object
            }
        }
    };
}
pub(crate) use {handle, passed_as_object};
