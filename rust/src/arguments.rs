// SPDX-License-Identifier: Apache-2.0
//! Tuples as arguments: of the calls that Rust makes ([`ArgumentList`]), and of the functions of
//! Rust that are called ([`Callable`]).

use crate::any::{Any, AnyView};
use crate::convert::{Argument, FromArgument, IntoArgument, IntoResult, Mismatch};
use crate::error::{Error, Result};
use crate::parameter_type::ParameterType;

/// The arguments of a call: a tuple of what is [`IntoArgument`], or a slice of values.
pub trait ArgumentList<'a> {
    /// Run `call` with the values.
    ///
    /// # Errors
    /// When a conversion fails, or what `call` gives.
    fn with_values<R>(self, call: impl FnOnce(&[AnyView<'_>]) -> Result<R>) -> Result<R>;
}

impl<'a> ArgumentList<'a> for &'a [AnyView<'a>] {
    fn with_values<R>(self, call: impl FnOnce(&[AnyView<'_>]) -> Result<R>) -> Result<R> {
        call(self)
    }
}

impl<'a> ArgumentList<'a> for &'a [Any] {
    fn with_values<R>(self, call: impl FnOnce(&[AnyView<'_>]) -> Result<R>) -> Result<R> {
        call(&self.iter().map(Any::view).collect::<Vec<_>>())
    }
}

/// A function whose parameters are the tuple `A`, for arguments that live for `'a`.
pub trait Callable<'a, A> {
    /// What each parameter takes.
    const TYPES: &'static [ParameterType];

    /// Convert the arguments and call.
    ///
    /// # Safety
    /// While the function runs, nobody writes memory that an argument lets it read, nor touches
    /// memory that one lets it write.
    ///
    /// # Errors
    /// What `located` makes of an argument that does not fit; what the function fails with.
    ///
    /// # Panics
    /// When there are fewer arguments than parameters.
    unsafe fn invoke(
        &self,
        arguments: &'a [AnyView<'a>],
        located: &dyn Fn(usize, Mismatch) -> Error,
    ) -> Result<Any>;
}

/// What the parameters of a function take, as a constant.
pub const fn types_of<'a, A, F: Callable<'a, A>>(_function: &F) -> &'static [ParameterType] {
    F::TYPES
}

macro_rules! tuples {
    ($(($($type:ident $name:ident $place:tt),*))*) => {$(
        impl<'a, $($type: IntoArgument<'a>),*> ArgumentList<'a> for ($($type,)*) {
            fn with_values<R_>(
                self,
                call: impl FnOnce(&[AnyView<'_>]) -> Result<R_>,
            ) -> Result<R_> {
                $(let $name: Argument<'a> = self.$place.into_argument()?;)*
                call(&[$($name.view()),*])
            }
        }

        impl<'a, R_, F_, $($type),*> Callable<'a, ($($type,)*)> for F_
        where
            F_: Fn($($type),*) -> R_,
            R_: IntoResult,
            $($type: FromArgument<'a>),*
        {
            const TYPES: &'static [ParameterType] = &[$($type::TYPE),*];

            #[allow(unused_variables)]
            unsafe fn invoke(
                &self,
                arguments: &'a [AnyView<'a>],
                located: &dyn Fn(usize, Mismatch) -> Error,
            ) -> Result<Any> {
                $(
                    // SAFETY: as the caller says.
                    let $name = unsafe { $type::from_argument(&arguments[$place]) }
                        .map_err(|mismatch| located($place, mismatch))?;
                )*
                self($($name),*).into_result()
            }
        }
    )*};
}

tuples! {
    ()
    (A a 0)
    (A a 0, B b 1)
    (A a 0, B b 1, C c 2)
    (A a 0, B b 1, C c 2, D d 3)
    (A a 0, B b 1, C c 2, D d 3, E e 4)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9, K k 10)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9, K k 10, L l 11)
}
