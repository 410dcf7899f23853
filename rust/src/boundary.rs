// SPDX-License-Identifier: Apache-2.0
//! Entry from C callers: converts Rust errors and panics to pending errors of the C ABI.

use std::any::Any as Payload;
use std::ffi::c_int;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::abi::TVMFFIAny;
use crate::any::{Any, AnyView};
use crate::error::{Error, Result};

/// Run `body` and return the code for the C caller. Store the result of `body` in `result`, or its
/// error as the pending error of the thread.
///
/// A panic becomes a RuntimeError with the message of the panic and the name `function`.
pub(crate) fn guard(
    result: *mut TVMFFIAny,
    function: impl fmt::Display,
    body: impl FnOnce() -> Result<Any>,
) -> c_int {
    // AssertUnwindSafe is correct: after a panic, no code uses the data of this call, and types
    // that share data between calls, such as Mutex, become poisoned.
    let outcome = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(outcome) => outcome,
        Err(payload) => Err(panic_error(function, payload)),
    };
    match outcome {
        Ok(value) if result.is_null() => {
            drop(value);
            0
        }
        Ok(value) => {
            // SAFETY: `result` is the result slot of a call, whose previous value needs no release.
            unsafe { result.write(value.into_raw()) };
            0
        }
        Err(error) => error.raise(),
    }
}

fn panic_error(function: impl fmt::Display, payload: Box<dyn Payload + Send>) -> Error {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => format!("{function} panicked: {text}"),
        (_, Some(text)) => format!("{function} panicked: {text}"),
        _ => format!("{function} panicked"),
    };
    guard_drop(payload); // the destructor of a panic payload may panic, too
    Error::runtime_error(text)
}

/// Drop a value without unwinding. If the destructor of the value panics, the rest of the value
/// leaks.
pub(crate) fn guard_drop<T: ?Sized>(value: Box<T>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(payload); // leak the panic payload, because its destructor may panic again
    }
}

/// Return the arguments of a call as a slice.
///
/// # Safety
/// `args` is NULL, or the address of `num_args` valid values that live for `'a`.
pub(crate) unsafe fn arguments_of<'a>(
    args: *const TVMFFIAny,
    num_args: i32,
) -> Result<&'a [AnyView<'a>]> {
    match usize::try_from(num_args) {
        Ok(0) => Ok(&[]),
        // SAFETY: the caller meets the safety requirements of this function; AnyView is a
        // transparent TVMFFIAny.
        Ok(count) if !args.is_null() => {
            Ok(unsafe { std::slice::from_raw_parts(args.cast::<AnyView<'a>>(), count) })
        }
        Ok(count) => {
            Err(Error::type_error(format!("expected an array of {count} arguments, got NULL")))
        }
        Err(_) => Err(Error::type_error(format!("expected 0 or more arguments, got {num_args}"))),
    }
}
