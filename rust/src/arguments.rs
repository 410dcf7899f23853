// SPDX-License-Identifier: Apache-2.0
//! Argument tuples of calls from Rust ([`ArgumentList`]), and parameter tuples of Rust functions
//! and closures ([`Callable`]).

use crate::any::{Any, AnyView};
use crate::convert::{Argument, FromArgument, IntoArgument, IntoResult, Mismatch};
use crate::error::{Error, Result};
use crate::parameter_type::ParameterType;

/// The arguments of a call: a tuple of [`IntoArgument`] values, or a slice of values.
pub trait ArgumentList<'a> {
    /// Convert the arguments, run `call` with the converted arguments and return its result.
    ///
    /// # Errors
    /// The error of a conversion or of `call`.
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

/// A Rust function or closure whose parameter types are the tuple `A`; its arguments live for `'a`.
pub trait Callable<'a, A> {
    /// The descriptions of the parameter types, in the order of the parameters.
    const TYPES: &'static [ParameterType];

    /// Convert the arguments and call the function.
    ///
    /// If the conversion of an argument fails, `located` converts the index of the argument and the
    /// [`Mismatch`] to an error.
    ///
    /// # Safety
    /// While the function runs, no other code writes memory that an argument lets it read, or
    /// accesses memory that an argument lets it write.
    ///
    /// # Errors
    /// The result of `located` for an argument that does not fit; the error of the function.
    ///
    /// # Panics
    /// If there are fewer arguments than parameters.
    unsafe fn invoke(
        &self,
        arguments: &'a [AnyView<'a>],
        located: &dyn Fn(usize, Mismatch) -> Error,
    ) -> Result<Any>;
}

/// Return the parameter types of a function, as a constant.
pub const fn types_of<'a, A, F: Callable<'a, A>>(_function: &F) -> &'static [ParameterType] {
    F::TYPES
}

macro_rules! tuples {
    ($(($($type:ident $name:ident $index:tt),*))*) => {$(
        impl<'a, $($type: IntoArgument<'a>),*> ArgumentList<'a> for ($($type,)*) {
            fn with_values<R_>(
                self,
                call: impl FnOnce(&[AnyView<'_>]) -> Result<R_>,
            ) -> Result<R_> {
                $(let $name: Argument<'a> = self.$index.into_argument()?;)*
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
                    // SAFETY: the caller meets the safety requirements of this function.
                    let $name = unsafe { $type::from_argument(&arguments[$index]) }
                        .map_err(|mismatch| located($index, mismatch))?;
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
