// SPDX-License-Identifier: Apache-2.0
//! Errors that cross calls: what a function of any language raises is an [`Error`] here, and an
//! `Err` of a Rust function is raised where it was called from.

use std::borrow::Cow;
use std::ffi::c_int;
use std::fmt;
use std::panic::Location;

use crate::abi::{self, TVMFFIByteArray, TVMFFIErrorCell};
use crate::any::bytes_of;
use crate::object::ObjectRef;

/// The result of what may fail with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with a kind, a message and a backtrace.
///
/// The kind is what becomes the class of the exception in Python: `"ValueError"`.
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
    /// An Error of the ABI.
    Object(ObjectRef),
    /// The host language has an exception pending; the code says so to the caller.
    Pending(c_int),
}

// SAFETY: an Error does not change after it was made (nothing here updates backtraces), the count
// is atomic, and what it holds is released on any thread, as the ABI has it.
unsafe impl Send for Error {}
// SAFETY: as above.
unsafe impl Sync for Error {}

/// A byte array that borrows text.
pub(crate) fn byte_array(bytes: &[u8]) -> TVMFFIByteArray {
    TVMFFIByteArray { data: bytes.as_ptr().cast(), size: bytes.len() }
}

impl Error {
    /// Make an error; its backtrace begins where this is called.
    #[track_caller]
    pub fn new(kind: &str, message: impl AsRef<str>) -> Self {
        let place = Location::caller();
        let frame = format!("  File \"{}\", line {}, in rust\n", place.file(), place.line());
        Self::with_backtrace(kind, message.as_ref(), &frame)
    }

    /// A wrong type, or a wrong number of arguments.
    #[track_caller]
    pub fn type_error(message: impl AsRef<str>) -> Self {
        Self::new("TypeError", message)
    }

    /// A right type with a wrong value.
    #[track_caller]
    pub fn value_error(message: impl AsRef<str>) -> Self {
        Self::new("ValueError", message)
    }

    /// Whatever has no kind of its own.
    #[track_caller]
    pub fn runtime_error(message: impl AsRef<str>) -> Self {
        Self::new("RuntimeError", message)
    }

    fn with_backtrace(kind: &str, message: &str, backtrace: &str) -> Self {
        let [kind, message, backtrace] =
            [kind, message, backtrace].map(|text| byte_array(text.as_bytes()));
        let mut out = std::ptr::null_mut();
        // SAFETY: the texts outlive the call; a result of 0 means an owned Error in `out`.
        let made = unsafe {
            match abi::TVMFFIErrorCreate(&kind, &message, &backtrace, &mut out) {
                0 => ObjectRef::from_owned(out),
                _ => None,
            }
        };
        match made {
            Some(object) => Self { state: State::Object(object) },
            None => std::alloc::handle_alloc_error(std::alloc::Layout::new::<TVMFFIErrorCell>()),
        }
    }

    /// Take over an Error of the ABI; None for objects of other types.
    pub fn from_object(object: ObjectRef) -> Option<Self> {
        (object.type_index() == abi::kTVMFFIError).then_some(Self { state: State::Object(object) })
    }

    /// What a call that returned `code` has raised on this thread.
    pub fn take_raised(code: c_int) -> Self {
        let mut raised = std::ptr::null_mut();
        // SAFETY: the slot of this thread gives its reference away.
        let object = unsafe {
            abi::TVMFFIErrorMoveFromRaised(&mut raised);
            ObjectRef::from_owned(raised)
        };
        Self { state: object.map_or(State::Pending(code), State::Object) }
    }

    /// Raise the error on this thread: the code to return to a caller in C.
    pub fn raise(self) -> c_int {
        match self.state {
            State::Object(object) => {
                // SAFETY: an Error, of which the slot takes a reference of its own.
                unsafe { abi::TVMFFIErrorSetRaised(object.as_ptr()) };
                -1
            }
            State::Pending(code) => code,
        }
    }

    fn text(&self, choose: fn(&TVMFFIErrorCell) -> TVMFFIByteArray) -> Cow<'_, str> {
        match &self.state {
            // SAFETY: the cell of an Error, whose texts live as long as it does.
            State::Object(object) => unsafe {
                String::from_utf8_lossy(bytes_of(choose(&*object.cell::<TVMFFIErrorCell>())))
            },
            State::Pending(_) => Cow::Borrowed(""),
        }
    }

    /// `"ValueError"` and the like; `"EnvErrorAlreadySet"` when the host language has the exception.
    pub fn kind(&self) -> Cow<'_, str> {
        match self.state {
            State::Object(_) => self.text(|cell| cell.kind),
            State::Pending(_) => Cow::Borrowed("EnvErrorAlreadySet"),
        }
    }

    /// What happened, without the kind.
    pub fn message(&self) -> Cow<'_, str> {
        match self.state {
            State::Object(_) => self.text(|cell| cell.message),
            State::Pending(_) => Cow::Borrowed("the host language has an exception pending"),
        }
    }

    /// One line for each frame, the most recent call first; may be empty.
    pub fn backtrace(&self) -> Cow<'_, str> {
        self.text(|cell| cell.backtrace)
    }

    /// The error that led to this one.
    pub fn cause(&self) -> Option<Error> {
        let State::Object(object) = &self.state else { return None };
        // SAFETY: the cell of an Error owns its cause while it lives.
        let cause =
            unsafe { ObjectRef::from_borrowed((*object.cell::<TVMFFIErrorCell>()).cause_chain) };
        cause.and_then(Error::from_object)
    }

    /// The Error as an object; None when the host language has the exception.
    pub fn as_object(&self) -> Option<&ObjectRef> {
        match &self.state {
            State::Object(object) => Some(object),
            State::Pending(_) => None,
        }
    }
}

/// Turn what a function of the C ABI returned into a result.
///
/// # Errors
/// What it has raised, when the code is not 0.
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

/// Errors of the standard library that `?` turns into ours, with the kind that Python has for them.
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
