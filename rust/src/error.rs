// SPDX-License-Identifier: Apache-2.0
//! Errors across the ABI: an error of a function in any language is an [`Error`] in Rust, and the
//! caller of a Rust function that returns an `Err` receives the error.

use std::borrow::Cow;
use std::ffi::c_int;
use std::fmt;
use std::panic::Location;

use crate::abi::{self, TVMFFIByteArray, TVMFFIErrorCell};
use crate::bytes::{byte_array, bytes_of};
use crate::object::ObjectRef;

/// The `Result` type of this crate; its error type is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with a kind, a message and a backtrace.
///
/// The kind, such as `"ValueError"`, selects the class of the exception in Python.
///
/// ```
/// use pytvmffi::Error;
/// let error = Error::new("ValueError", "n must be at least 0, got -1");
/// assert_eq!((error.kind(), error.message()), ("ValueError".into(), "n must be at least 0, got -1".into()));
/// assert_eq!(error.to_string(), "ValueError: n must be at least 0, got -1");
/// ```
#[derive(Clone)]
pub struct Error {
    state: State,
}

#[derive(Clone)]
enum State {
    /// An ABI error object.
    Object(ObjectRef),
    /// A pending exception of the host language; the field is the return code of the failed call.
    Pending(c_int),
}

// SAFETY: an error object is immutable here (this crate never updates backtraces), its reference
// count is atomic, and the ABI permits releasing objects on any thread.
unsafe impl Send for Error {}
// SAFETY: several threads may read an error, because this crate never modifies error objects.
unsafe impl Sync for Error {}

impl Error {
    /// Create an error; its backtrace contains the location of the caller.
    #[track_caller]
    pub fn new(kind: &str, message: impl AsRef<str>) -> Self {
        let caller = Location::caller();
        let frame = format!("  File \"{}\", line {}, in rust\n", caller.file(), caller.line());
        Self::with_backtrace(kind, message.as_ref(), &frame)
    }

    /// Create a TypeError: wrong type or wrong number of arguments.
    #[track_caller]
    pub fn type_error(message: impl AsRef<str>) -> Self {
        Self::new("TypeError", message)
    }

    /// Create a ValueError: correct type, wrong value.
    #[track_caller]
    pub fn value_error(message: impl AsRef<str>) -> Self {
        Self::new("ValueError", message)
    }

    /// Create a RuntimeError, for failures without a more specific kind.
    #[track_caller]
    pub fn runtime_error(message: impl AsRef<str>) -> Self {
        Self::new("RuntimeError", message)
    }

    fn with_backtrace(kind: &str, message: &str, backtrace: &str) -> Self {
        let [kind, message, backtrace] =
            [kind, message, backtrace].map(|text| byte_array(text.as_bytes()));
        let mut out = std::ptr::null_mut();
        // SAFETY: the strings outlive the call; after a result of 0, `out` is an owned Error.
        let created = unsafe {
            match abi::TVMFFIErrorCreate(&kind, &message, &backtrace, &mut out) {
                0 => ObjectRef::from_owned(out),
                _ => None,
            }
        };
        match created {
            Some(object) => Self { state: State::Object(object) },
            None => std::alloc::handle_alloc_error(std::alloc::Layout::new::<TVMFFIErrorCell>()),
        }
    }

    /// Take ownership of an ABI error object; None for objects of other types.
    pub fn from_object(object: ObjectRef) -> Option<Self> {
        (object.type_index() == abi::kTVMFFIError).then_some(Self { state: State::Object(object) })
    }

    /// Take the pending error of this thread, after a C function returned `code`.
    pub fn take_raised(code: c_int) -> Self {
        let mut raised = std::ptr::null_mut();
        // SAFETY: the function moves the reference out of this thread's error slot.
        let object = unsafe {
            abi::TVMFFIErrorMoveFromRaised(&mut raised);
            ObjectRef::from_owned(raised)
        };
        Self { state: object.map_or(State::Pending(code), State::Object) }
    }

    /// Store this error as the pending error of the thread. Return the code for the C caller.
    pub fn raise(self) -> c_int {
        match self.state {
            State::Object(object) => {
                // SAFETY: the object is an Error; the error slot adds its own reference.
                unsafe { abi::TVMFFIErrorSetRaised(object.as_ptr()) };
                -1
            }
            State::Pending(code) => code,
        }
    }

    /// Return the string that `select` chooses from the error object; empty for a pending
    /// exception.
    fn text(&self, select: fn(&TVMFFIErrorCell) -> TVMFFIByteArray) -> Cow<'_, str> {
        match &self.state {
            // SAFETY: the object is an Error, which owns its strings.
            State::Object(object) => unsafe {
                String::from_utf8_lossy(bytes_of(select(&*object.cell::<TVMFFIErrorCell>())))
            },
            State::Pending(_) => Cow::Borrowed(""),
        }
    }

    /// Return the kind, such as `"ValueError"`; `"EnvErrorAlreadySet"` if the exception is pending
    /// in the host language.
    pub fn kind(&self) -> Cow<'_, str> {
        match self.state {
            State::Object(_) => self.text(|cell| cell.kind),
            State::Pending(_) => Cow::Borrowed("EnvErrorAlreadySet"),
        }
    }

    /// Return the message, without the kind.
    pub fn message(&self) -> Cow<'_, str> {
        match self.state {
            State::Object(_) => self.text(|cell| cell.message),
            State::Pending(_) => Cow::Borrowed("an exception is pending in the host language"),
        }
    }

    /// Return the backtrace: one line per call frame, most recent call first; may be empty.
    pub fn backtrace(&self) -> Cow<'_, str> {
        self.text(|cell| cell.backtrace)
    }

    /// Return the cause of this error, if it has one.
    pub fn cause(&self) -> Option<Error> {
        let State::Object(object) = &self.state else { return None };
        // SAFETY: the object is an Error, which owns a reference to its cause.
        let cause =
            unsafe { ObjectRef::from_borrowed((*object.cell::<TVMFFIErrorCell>()).cause_chain) };
        cause.and_then(Error::from_object)
    }

    /// Return the error object; None if the exception is pending in the host language.
    pub fn as_object(&self) -> Option<&ObjectRef> {
        match &self.state {
            State::Object(object) => Some(object),
            State::Pending(_) => None,
        }
    }
}

/// Convert the return code of a C ABI function to a result.
///
/// # Errors
/// The pending error, if the code is not 0.
pub fn check(code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    Err(Error::take_raised(code))
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind(), self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}\n{}", self.backtrace())
    }
}

impl std::error::Error for Error {}

/// Convert errors of the standard library, for `?`, to errors with the kind of the equivalent
/// Python exception.
macro_rules! from_errors {
    ($($error:ty => $kind:expr),* $(,)?) => {$(
        impl From<$error> for Error {
            #[track_caller]
            fn from(error: $error) -> Self {
                Self::new($kind, error.to_string())
            }
        }
    )*};
}

from_errors! {
    std::num::ParseIntError => "ValueError",
    std::num::ParseFloatError => "ValueError",
    std::num::TryFromIntError => "OverflowError",
    std::str::Utf8Error => "ValueError",
    std::string::FromUtf8Error => "ValueError",
    std::ffi::NulError => "ValueError",
    std::array::TryFromSliceError => "ValueError",
    std::fmt::Error => "RuntimeError",
    std::io::Error => "OSError",
    &str => "RuntimeError",
    String => "RuntimeError",
    Box<dyn std::error::Error> => "RuntimeError",
    Box<dyn std::error::Error + Send + Sync> => "RuntimeError",
}
