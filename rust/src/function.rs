// SPDX-License-Identifier: Apache-2.0
//! Function objects of any language: calls, creation from closures, and global functions.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::panic::Location;

use crate::abi::{self, TVMFFIAny};
use crate::any::{Any, AnyView, NONE};
use crate::arguments::{ArgumentList, Callable};
use crate::borrows::pass_arguments;
use crate::boundary::{arguments_of, guard, guard_drop};
use crate::bytes::byte_array;
use crate::convert::{FromAny, Mismatch};
use crate::error::{check, Error, Result};
use crate::handle::{handle, owned};
use crate::object::ObjectRef;

/// A reference to a function object, which can be called from any language.
///
/// ```
/// use pytvmffi::Function;
/// let add = Function::from_fn(|a: i64, b: i64| a + b)?;
/// assert_eq!(add.call::<i64>((1, 2))?, 3);
/// add.register("doc.add", false)?;
/// assert_eq!(Function::global("doc.add")?.call::<i64>((3, 4))?, 7);
/// let error = add.call::<i64>((1, "two")).unwrap_err();
/// assert_eq!(error.to_string(), "TypeError: argument 2: expected int, got str");
/// # Ok::<(), pytvmffi::Error>(())
/// ```
#[derive(Clone)]
pub struct Function {
    object: ObjectRef,
}

// SAFETY: the ABI permits calls from any thread; closures of this crate are Send and Sync.
unsafe impl Send for Function {}
// SAFETY: the ABI permits calls from several threads at the same time.
unsafe impl Sync for Function {}

handle! { Function, kTVMFFIFunction, "Callable" }

impl Function {
    /// Create a function from a closure that receives its arguments without conversion.
    ///
    /// ```
    /// use pytvmffi::{Any, Function};
    /// let count = Function::from_packed(|args| Any::new(args.len() as i64))?;
    /// assert_eq!(count.call::<i64>(("a", 2.5, ()))?, 3);
    /// # Ok::<(), pytvmffi::Error>(())
    /// ```
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn from_packed<F>(function: F) -> Result<Self>
    where
        F: Fn(&[AnyView<'_>]) -> Result<Any> + Send + Sync + 'static,
    {
        let closure = Box::into_raw(Box::new(function));
        let mut out = std::ptr::null_mut();
        // SAFETY: on success the function object owns the box, and its deleter frees it; on failure
        // the box is freed here.
        unsafe {
            let code = abi::TVMFFIFunctionCreate(
                closure.cast(),
                Some(call_closure::<F>),
                Some(delete_closure::<F>),
                &mut out,
            );
            if let Err(error) = check(code) {
                drop(Box::from_raw(closure));
                return Err(error);
            }
            Ok(Self { object: owned(out) })
        }
    }

    /// Create a function from a closure whose parameter types borrow nothing from the arguments.
    ///
    /// Use [`export!`](crate::export!) for functions with borrowing parameters.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn from_fn<A, F>(function: F) -> Result<Self>
    where
        F: for<'a> Callable<'a, A> + Send + Sync + 'static,
    {
        Self::from_packed(move |args| {
            let expected = <F as Callable<'_, A>>::TYPES.len();
            if args.len() != expected {
                let plural = if expected == 1 { "" } else { "s" };
                return Err(Error::type_error(format!(
                    "expected {expected} argument{plural}, got {}",
                    args.len()
                )));
            }
            let located = |index: usize, mismatch: Mismatch| {
                Error::new(mismatch.kind, format!("argument {}: {}", index + 1, mismatch.text))
            };
            // SAFETY: types that convert from arguments of every lifetime borrow from none of them.
            unsafe { function.invoke(args, &located) }
        })
    }

    /// Look up a global function.
    ///
    /// # Errors
    /// ValueError if no global function has this name.
    pub fn global(name: &str) -> Result<Self> {
        Self::find_global(name)?
            .ok_or_else(|| Error::value_error(format!("no global function is named '{name}'")))
    }

    /// Look up a global function; return None if no global function has this name.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn find_global(name: &str) -> Result<Option<Self>> {
        let mut out = std::ptr::null_mut();
        // SAFETY: the name outlives the call; on success `out` is NULL or an owned reference.
        unsafe {
            check(abi::TVMFFIFunctionGetGlobal(&byte_array(name.as_bytes()), &mut out))?;
            Ok(ObjectRef::from_owned(out).map(|object| Self { object }))
        }
    }

    /// Register the function as a global function.
    ///
    /// # Errors
    /// RuntimeError if the name is registered and `replace` is false.
    pub fn register(&self, name: &str, replace: bool) -> Result<()> {
        // SAFETY: the name outlives the call; the function table adds its own reference.
        check(unsafe {
            abi::TVMFFIFunctionSetGlobal(
                &byte_array(name.as_bytes()),
                self.object.as_ptr(),
                c_int::from(replace),
            )
        })
    }

    /// Call the function, with a tuple of up to twelve arguments or a slice of values.
    ///
    /// # Errors
    /// The error that the function raises; TypeError, with file and line of this call, if the
    /// result does not convert to `R`; ValueError for a tensor whose memory a running exported
    /// function borrows.
    #[track_caller]
    pub fn call<'a, R: FromAny>(&self, arguments: impl ArgumentList<'a>) -> Result<R> {
        let result = arguments.with_values(|values, passed| {
            let _scope = pass_arguments(values, passed)?;
            self.call_unchecked(values)
        })?;
        let call = Location::caller();
        // SAFETY: a type that converts from values of every lifetime borrows from none of them.
        unsafe { R::from_argument(&result.view()) }.map_err(|mismatch| {
            let text = format!("result of the function called at {call}: {}", mismatch.text);
            Error::new(mismatch.kind, text)
        })
    }

    /// Call the function with ABI values; return its result without conversion.
    ///
    /// # Errors
    /// The error that the function raises; ValueError for a tensor whose memory a running exported
    /// function borrows.
    pub fn call_packed(&self, arguments: &[AnyView<'_>]) -> Result<Any> {
        let _scope = pass_arguments(arguments, &[])?;
        self.call_unchecked(arguments)
    }

    /// Call the function, which must not access the elements of tensors, with ABI values.
    pub(crate) fn call_unchecked(&self, arguments: &[AnyView<'_>]) -> Result<Any> {
        let mut result = NONE;
        let count = i32::try_from(arguments.len())?;
        // SAFETY: AnyView is a transparent TVMFFIAny; the callee only reads the arguments, and on
        // success stores an owned value.
        unsafe {
            let values = arguments.as_ptr().cast_mut().cast::<TVMFFIAny>();
            check(abi::TVMFFIFunctionCall(self.object.as_ptr(), values, count, &mut result))?;
            Ok(Any::from_raw(result))
        }
    }
}

unsafe extern "C" fn call_closure<F>(
    closure: *mut c_void,
    args: *const TVMFFIAny,
    num_args: i32,
    result: *mut TVMFFIAny,
) -> c_int
where
    F: Fn(&[AnyView<'_>]) -> Result<Any>,
{
    guard(result, "a Rust closure", || {
        // SAFETY: the caller holds a reference to the function object, which owns the closure; the
        // arguments are valid until the call returns.
        unsafe { (*closure.cast::<F>())(arguments_of(args, num_args)?) }
    })
}

unsafe extern "C" fn delete_closure<F>(closure: *mut c_void) {
    // SAFETY: the function object calls its deleter once, with the box that it owns.
    guard_drop(unsafe { Box::from_raw(closure.cast::<F>()) });
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<function at {:?}>", self.object.as_ptr())
    }
}
