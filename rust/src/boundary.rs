// SPDX-License-Identifier: Apache-2.0
//! Where Rust meets its callers in C: errors and panics become pending errors here, and nowhere
//! else.

use std::any::Any as Payload;
use std::ffi::c_int;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::abi::TVMFFIAny;
use crate::any::{Any, AnyView};
use crate::error::{Error, Result};

/// Run `body` and turn what comes of it into what C expects: a result, or a pending error.
///
/// A panic is a RuntimeError with its text; `what` names who panicked.
pub(crate) fn guard(
    result: *mut TVMFFIAny,
    what: impl fmt::Display,
    body: impl FnOnce() -> Result<Any>,
) -> c_int {
    // What the closure leaves half changed is seen by nobody: it is over for this call, and types
    // that share state across calls poison it.
    let outcome = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(outcome) => outcome,
        Err(payload) => Err(panic_error(what, payload)),
    };
    match outcome {
        Ok(value) if result.is_null() => {
            drop(value);
            0
        }
        Ok(value) => {
            // SAFETY: the slot of a call, which holds nothing that is owned.
            unsafe { result.write(value.into_raw()) };
            0
        }
        Err(error) => error.raise(),
    }
}

fn panic_error(what: impl fmt::Display, payload: Box<dyn Payload + Send>) -> Error {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => format!("{what} panicked: {text}"),
        (_, Some(text)) => format!("{what} panicked: {text}"),
        _ => format!("{what} panicked"),
    };
    guard_drop(payload); // which may panic in turn
    Error::runtime_error(text)
}

/// Drop a value where nothing may unwind: a panic costs the rest of what it owns.
pub(crate) fn guard_drop<T: ?Sized>(value: Box<T>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(payload); // a payload that panics when it is dropped would do so again
    }
}

/// The arguments of a call as a slice.
///
/// # Safety
/// `args` is NULL, or the address of `num_args` valid values that live for `'a`.
pub(crate) unsafe fn arguments_of<'a>(
    args: *const TVMFFIAny,
    num_args: i32,
) -> Result<&'a [AnyView<'a>]> {
    match usize::try_from(num_args) {
        Ok(0) => Ok(&[]),
        // SAFETY: as the caller says; a view has the layout of a value.
        Ok(count) if !args.is_null() => {
            Ok(unsafe { std::slice::from_raw_parts(args.cast::<AnyView<'a>>(), count) })
        }
        _ => Err(Error::type_error(format!("a call has no {num_args} arguments"))),
    }
}
