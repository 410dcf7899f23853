// SPDX-License-Identifier: Apache-2.0
//! Functions of any language: called, made of closures, found and registered by name.

use std::ffi::{c_int, c_void};
use std::fmt;

use crate::abi::{self, TVMFFIAny};
use crate::any::{Any, AnyView};
use crate::arguments::{ArgumentList, Callable};
use crate::boundary::{arguments_of, guard, guard_drop};
use crate::convert::FromAny;
use crate::error::{byte_array, check, Error, Result};
use crate::handle::{handle, owned};
use crate::object::ObjectRef;

/// A function that may be called from any language, shared with whoever else has a reference.
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

// SAFETY: functions of the ABI are called from any thread; those made here are Send and Sync.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

handle! { Function, kTVMFFIFunction, "Callable" }

impl Function {
    /// Make a function of a closure that gets its arguments as they are.
    ///
    /// ```
    /// use pytvmffi::{Any, Function};
    /// let count = Function::from_packed(|args| Any::new(args.len() as i64))?;
    /// assert_eq!(count.call::<i64>(("a", 2.5, ()))?, 3);
    /// # Ok::<(), pytvmffi::Error>(())
    /// ```
    ///
    /// # Errors
    /// When memory is exhausted.
    pub fn from_packed<F>(function: F) -> Result<Self>
    where
        F: Fn(&[AnyView<'_>]) -> Result<Any> + Send + Sync + 'static,
    {
        let closure = Box::into_raw(Box::new(function));
        let mut out = std::ptr::null_mut();
        // SAFETY: on success the function owns the box, which its deleter frees; else we do.
        unsafe {
            let made = abi::TVMFFIFunctionCreate(
                closure.cast(),
                Some(call_closure::<F>),
                Some(delete_closure::<F>),
                &mut out,
            );
            if let Err(error) = check(made) {
                drop(Box::from_raw(closure));
                return Err(error);
            }
            Ok(Self { object: owned(out) })
        }
    }

    /// Make a function of a closure over types of Rust that borrow nothing from their arguments:
    /// a function that does is exported with [`export!`](crate::export!).
    ///
    /// # Errors
    /// When memory is exhausted.
    pub fn from_fn<A, F>(function: F) -> Result<Self>
    where
        F: for<'a> Callable<'a, A> + Send + Sync + 'static,
    {
        Self::from_packed(move |args| {
            let wanted = <F as Callable<'_, A>>::TYPES.len();
            if args.len() != wanted {
                let plural = if wanted == 1 { "" } else { "s" };
                return Err(Error::type_error(format!(
                    "expected {wanted} argument{plural}, got {}",
                    args.len()
                )));
            }
            let located = |place: usize, mismatch: crate::convert::Mismatch| {
                Error::new(mismatch.kind, format!("argument {}: {}", place + 1, mismatch.text))
            };
            // SAFETY: what converts from arguments of any lifetime borrows none of them.
            unsafe { function.invoke(args, &located) }
        })
    }

    /// Look up a global function.
    ///
    /// # Errors
    /// ValueError when there is none of this name.
    pub fn global(name: &str) -> Result<Self> {
        Self::find_global(name)?
            .ok_or_else(|| Error::value_error(format!("there is no global function '{name}'")))
    }

    /// Look up a global function; None when there is none of this name.
    ///
    /// # Errors
    /// When memory is exhausted.
    pub fn find_global(name: &str) -> Result<Option<Self>> {
        let mut out = std::ptr::null_mut();
        // SAFETY: the name outlives the call; on success `out` is NULL or ours.
        unsafe {
            check(abi::TVMFFIFunctionGetGlobal(&byte_array(name.as_bytes()), &mut out))?;
            Ok(ObjectRef::from_owned(out).map(|object| Self { object }))
        }
    }

    /// Make the function a global one.
    ///
    /// # Errors
    /// RuntimeError when the name is taken and must not be replaced.
    pub fn register(&self, name: &str, replace: bool) -> Result<()> {
        // SAFETY: the name outlives the call; the table takes a reference of its own.
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
    /// What the function raises; TypeError when the result is no `R`.
    pub fn call<'a, R: FromAny>(&self, arguments: impl ArgumentList<'a>) -> Result<R> {
        arguments.with_values(|values| self.call_packed(values))?.get()
    }

    /// Call the function with values.
    ///
    /// # Errors
    /// What the function raises.
    pub fn call_packed(&self, arguments: &[AnyView<'_>]) -> Result<Any> {
        let mut result = crate::any::NONE;
        let count = i32::try_from(arguments.len())?;
        // SAFETY: a view is a value; the callee reads them until it returns, and on success has
        // written an owned value.
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
    guard(result, "a function of Rust", || {
        // SAFETY: the closure lives as long as the function that is being called; arguments are
        // valid until it returns.
        unsafe { (*closure.cast::<F>())(arguments_of(args, num_args)?) }
    })
}

unsafe extern "C" fn delete_closure<F>(closure: *mut c_void) {
    // SAFETY: called once, with the box that was given away.
    guard_drop(unsafe { Box::from_raw(closure.cast::<F>()) });
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<function at {:?}>", self.object.as_ptr())
    }
}
