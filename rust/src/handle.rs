// SPDX-License-Identifier: Apache-2.0
//! What the handles of built-in object types have in common.

use std::ffi::c_void;

use crate::any::{pointer, AnyView};
use crate::object::ObjectRef;

/// An object as a value that borrows it.
pub(crate) fn lent_object(object: &ObjectRef) -> AnyView<'_> {
    // SAFETY: the reference keeps the object alive as long as it is borrowed.
    unsafe { AnyView::from_raw(pointer(object.type_index(), object.as_ptr())) }
}

/// What a call that succeeded has made.
///
/// # Safety
/// `handle` is an object of which the caller owns one reference and gives it away.
pub(crate) unsafe fn owned(handle: *mut c_void) -> ObjectRef {
    // SAFETY: as the caller says.
    unsafe { ObjectRef::from_owned(handle) }.expect("a call that succeeds has a result")
}

/// Conversions of a struct whose only member is `object: ObjectRef`, of one type index.
macro_rules! handle {
    ($type:ident, $index:ident, $word:literal) => {
        $crate::handle::passed_as_object! { $type }

        impl<'a> $crate::convert::FromArgument<'a> for $type {
            const TYPE: $crate::parameter_type::ParameterType =
                $crate::parameter_type::ParameterType::other($word);

            unsafe fn from_argument(
                argument: &'a $crate::AnyView<'a>,
            ) -> std::result::Result<Self, $crate::convert::Mismatch> {
                argument
                    .object()
                    .filter(|object| object.type_index() == $crate::abi::$index)
                    .map(|object| Self { object })
                    .ok_or_else(|| $crate::convert::Mismatch::expected($word, argument))
            }
        }
    };
}

/// The half of it that leads to the ABI.
macro_rules! passed_as_object {
    ($type:ident) => {
        impl $crate::convert::IntoAny for $type {
            fn into_any(self) -> $crate::Result<$crate::Any> {
                Ok(self.object.into())
            }
        }

        impl<'a> $crate::convert::IntoArgument<'a> for &'a $type {
            fn into_argument(self) -> $crate::Result<$crate::convert::Argument<'a>> {
                Ok($crate::convert::Argument::lent($crate::handle::lent_object(&self.object)))
            }
        }

        $crate::convert::pass_by_value! { $type }

        impl $type {
            /// The same as an object.
            pub fn as_object(&self) -> &$crate::ObjectRef {
                &self.object
            }
        }
    };
}
pub(crate) use {handle, passed_as_object};
