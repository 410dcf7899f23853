// SPDX-License-Identifier: Apache-2.0
//! Macros and functions that the typed references `Array`, `Function`, `Module`, ... share.

use std::ffi::c_void;

use crate::any::{pointer, AnyView};
use crate::object::ObjectRef;

/// Return an ABI value that borrows an object.
pub(crate) fn borrowed_object(object: &ObjectRef) -> AnyView<'_> {
    // SAFETY: the object is alive while the reference is borrowed.
    unsafe { AnyView::from_raw(pointer(object.type_index(), object.as_ptr())) }
}

/// Take ownership of the object that a successful C function returned.
///
/// # Safety
/// `handle` is an owned reference; the call consumes it.
pub(crate) unsafe fn owned(handle: *mut c_void) -> ObjectRef {
    // SAFETY: the caller meets the safety requirements of this function.
    unsafe { ObjectRef::from_owned(handle) }.expect("a successful call returns an object")
}

/// Implement the conversions from and to ABI values for a typed reference: a struct whose single
/// field `object: ObjectRef` always refers to an object of the type index `$index`.
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

/// Implement the conversions to ABI values for a typed reference: a struct with the single field
/// `object: ObjectRef`. The ABI value contains the object to which the field refers.
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
            /// Return the reference as an `ObjectRef`, the type of references to objects of any
            /// type.
            pub fn as_object(&self) -> &$crate::ObjectRef {
                &self.object
            }
        }
    };
}
pub(crate) use {handle, passed_as_object};
