// SPDX-License-Identifier: Apache-2.0
//! Conversions between Rust values and ABI values.
//!
//! | trait | direction | used for |
//! |---|---|---|
//! | [`FromArgument`] | from the ABI | parameters; may borrow from the argument |
//! | [`FromAny`] | from the ABI | results and elements; borrows nothing |
//! | [`IntoAny`] | to the ABI, owned | results and elements |
//! | [`IntoArgument`] | to the ABI, borrowed where possible | arguments of calls |
//! | [`IntoResult`] | to the ABI, owned | return types: an [`IntoAny`], or a `Result` of one |
//!
//! The module implements the traits for types of the standard library; the types of this crate
//! implement them in the modules that define them.

use crate::abi;
use crate::any::{integer, plain, Any, AnyView, NONE};
use crate::bytes::{byte_array, bytes_of};
use crate::error::{check, Error, Result};
use crate::parameter_type::{Access, ParameterType, Sort};

/// The error of a failed conversion. The caller adds the names of the function and the argument
/// when it converts the mismatch to an [`Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The kind of the error, such as `"TypeError"`.
    pub kind: &'static str,
    /// The message, which names the expected and the actual type or value.
    pub text: String,
}

impl Mismatch {
    /// Return the TypeError for a value that does not have the type named `expected`.
    pub fn expected(expected: &str, got: &AnyView<'_>) -> Self {
        Self { kind: "TypeError", text: format!("expected {expected}, got {}", got.type_word()) }
    }

    /// Return the ValueError for an invalid value of the correct type.
    pub fn value(text: impl Into<String>) -> Self {
        Self { kind: "ValueError", text: text.into() }
    }
}

impl From<Mismatch> for Error {
    #[track_caller]
    fn from(mismatch: Mismatch) -> Self {
        Self::new(mismatch.kind, mismatch.text)
    }
}

/// A type to which an argument of a call can be converted. The result of the conversion may borrow
/// from the argument.
pub trait FromArgument<'a>: Sized {
    /// The description of the accepted arguments, which `export!` compares with the signature.
    const TYPE: ParameterType;

    /// Convert an argument.
    ///
    /// # Safety
    /// While the result lives, no other code writes the memory that it reads, or accesses the
    /// memory that it writes.
    ///
    /// # Errors
    /// A [`Mismatch`] if the argument has another type, or a value that does not fit.
    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch>;
}

/// A type to which a value can be converted, without borrowing from the value.
pub trait FromAny: for<'a> FromArgument<'a> {}

impl<T: for<'a> FromArgument<'a>> FromAny for T {}

/// A type that can be converted to an owned ABI value.
pub trait IntoAny {
    /// Convert to an owned ABI value.
    ///
    /// # Errors
    /// If memory is exhausted, or the ABI cannot represent the value.
    fn into_any(self) -> Result<Any>;
}

/// An argument of a call from Rust: a borrowed value, or a temporary that is released after the
/// call.
pub struct Argument<'a> {
    view: AnyView<'a>,
    /// The access to a borrowed tensor that the caller passes on to the callee.
    passed_access: Access,
    /// The owner of the temporary from which `view` borrows; the value None if `view` borrows from
    /// the caller.
    _owner: Any,
    /// The memory whose address `view` has; None if it has another owner.
    _memory: Option<Box<dyn std::any::Any>>,
}

impl<'a> Argument<'a> {
    /// Create an argument that borrows a value.
    pub fn lent(view: AnyView<'a>) -> Self {
        Self { view, passed_access: Access::None, _owner: Any::none(), _memory: None }
    }

    /// Create an argument that passes the access to a borrowed tensor on to the callee.
    ///
    /// # Safety
    /// The caller has this access until the call returns.  `view` borrows from `memory`, or for
    /// `'a`.
    pub(crate) unsafe fn reborrowed(
        view: AnyView<'a>,
        passed_access: Access,
        memory: Option<Box<dyn std::any::Any>>,
    ) -> Self {
        Self { passed_access, _memory: memory, ..Self::lent(view) }
    }

    /// Create an argument that owns a temporary, which is released after the call.
    pub fn made(owner: Any) -> Self {
        // SAFETY: the struct contains the owner, and drops it together with the view.
        let view = unsafe { AnyView::from_raw(owner.view().raw()) };
        Self { view, passed_access: Access::None, _owner: owner, _memory: None }
    }

    /// Return the value, borrowed from the argument.
    pub fn view(&self) -> AnyView<'_> {
        self.view
    }

    /// Return the access to a borrowed tensor that the caller passes on to the callee.
    pub(crate) fn passed_access(&self) -> Access {
        self.passed_access
    }
}

/// A type that can be passed as an argument of a call from Rust.
pub trait IntoArgument<'a> {
    /// Convert to an argument, which may borrow for `'a`.
    ///
    /// # Errors
    /// If memory is exhausted, or the ABI cannot represent the value.
    fn into_argument(self) -> Result<Argument<'a>>;
}

/// The return type of a function: a type `T` that implements [`IntoAny`], or a `Result<T>`.
pub trait IntoResult {
    /// Convert to an owned ABI value.
    ///
    /// # Errors
    /// The error of the function or of the conversion.
    fn into_result(self) -> Result<Any>;
}

impl<T: IntoAny> IntoResult for T {
    fn into_result(self) -> Result<Any> {
        self.into_any()
    }
}

impl<T: IntoAny, E: Into<Error>> IntoResult for std::result::Result<T, E> {
    fn into_result(self) -> Result<Any> {
        self.map_err(Into::into)?.into_any()
    }
}

/// Implement `IntoArgument`: convert the value to an owned ABI value that is released after the
/// call.
macro_rules! pass_by_value {
    ($($type:ty),* $(,)?) => {$(
        impl<'a> $crate::convert::IntoArgument<'a> for $type {
            fn into_argument(self) -> $crate::Result<$crate::convert::Argument<'a>> {
                let value = $crate::convert::IntoAny::into_any(self)?;
                Ok($crate::convert::Argument::made(value))
            }
        }
    )*};
}
pub(crate) use pass_by_value;

// ---- Conversions as methods of values ------------------------------------------------------------

impl Any {
    /// Convert a Rust value to an owned value.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn new(value: impl IntoAny) -> Result<Self> {
        value.into_any()
    }

    /// Convert the value to a Rust type.
    ///
    /// ```
    /// use pytvmffi::Any;
    /// assert_eq!(Any::new(3)?.get::<f64>()?, 3.0);
    /// assert_eq!(Any::new("text")?.get::<String>()?, "text");
    /// let error = Any::new("text")?.get::<i64>().unwrap_err();
    /// assert_eq!(error.to_string(), "TypeError: expected int, got str");
    /// # Ok::<(), pytvmffi::Error>(())
    /// ```
    ///
    /// # Errors
    /// TypeError or ValueError if the value does not convert to `T`.
    pub fn get<T: FromAny>(&self) -> Result<T> {
        self.view().get()
    }
}

impl<'a> AnyView<'a> {
    /// Convert the value to a Rust type that borrows nothing.
    ///
    /// # Errors
    /// TypeError or ValueError if the value does not convert to `T`.
    pub fn get<T: FromAny>(&self) -> Result<T> {
        // SAFETY: a type that converts from values of every lifetime borrows from none of them.
        unsafe { T::from_argument(self) }.map_err(Error::from)
    }

    /// Convert the value to a Rust type, which may borrow the memory that the value points to.
    ///
    /// # Safety
    /// While the result lives, no other code writes the memory that the result can read, or
    /// accesses the memory that the result can write. Note that other arguments may share the
    /// memory.
    ///
    /// # Errors
    /// TypeError or ValueError if the value does not convert to `T`.
    pub unsafe fn borrow<T: FromArgument<'a>>(&'a self) -> Result<T> {
        // SAFETY: the caller meets the safety requirements of this function.
        unsafe { T::from_argument(self) }.map_err(Error::from)
    }
}

// ---- None and options ----------------------------------------------------------------------------

impl IntoAny for () {
    fn into_any(self) -> Result<Any> {
        Ok(Any::none())
    }
}

impl<'a> FromArgument<'a> for () {
    const TYPE: ParameterType = ParameterType::other("None");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        argument.is_none().then_some(()).ok_or_else(|| Mismatch::expected("None", argument))
    }
}

impl<T: IntoAny> IntoAny for Option<T> {
    fn into_any(self) -> Result<Any> {
        self.map_or(Ok(Any::none()), IntoAny::into_any)
    }
}

impl<'a, T: FromArgument<'a>> FromArgument<'a> for Option<T> {
    const TYPE: ParameterType = T::TYPE.or_none();

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        if argument.is_none() {
            return Ok(None);
        }
        // SAFETY: the caller meets the safety requirements of this function.
        unsafe { T::from_argument(argument) }.map(Some)
    }
}

impl<'a, T: IntoArgument<'a>> IntoArgument<'a> for Option<T> {
    fn into_argument(self) -> Result<Argument<'a>> {
        self.map_or(Ok(Argument::lent(AnyView::none())), IntoArgument::into_argument)
    }
}

pass_by_value! { () }

// ---- Numbers -------------------------------------------------------------------------------------

impl IntoAny for bool {
    fn into_any(self) -> Result<Any> {
        // SAFETY: the value contains no object.
        Ok(unsafe { Any::from_raw(integer(abi::kTVMFFIBool, i64::from(self))) })
    }
}

impl<'a> FromArgument<'a> for bool {
    const TYPE: ParameterType = ParameterType::new(Sort::Bool, "bool");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        integer_in(argument)
            .map(|value| value != 0)
            .ok_or_else(|| Mismatch::expected("bool", argument))
    }
}

/// Return the number in an int or a bool; None for other types.
pub(crate) fn integer_in(argument: &AnyView<'_>) -> Option<i64> {
    // SAFETY: both type indices select the payload member `v_int64`.
    matches!(argument.type_index(), abi::kTVMFFIInt | abi::kTVMFFIBool)
        .then(|| unsafe { argument.raw().payload.v_int64 })
}

/// Return the number in a big integer from 2^63 to 2^64 - 1; None for other values.
pub(crate) fn unsigned_in(argument: &AnyView<'_>) -> Option<u64> {
    let view = argument.resolved();
    if view.type_index() != abi::kTVMFFIBigInt {
        return None;
    }
    let raw = view.raw();
    // SAFETY: the value is a big integer object, and the object owns its words.
    let words = unsafe { bytes_of(abi::TVMFFIBigIntGetContentByteArray(&raw)) };
    let (low, high) = words.split_at_checked(8)?;
    (high.len() == 8 && high.iter().all(|byte| *byte == 0))
        .then(|| u64::from_le_bytes(low.try_into().unwrap_or_default()))
}

macro_rules! integers {
    ($($type:ident),*) => {$(
        impl IntoAny for $type {
            fn into_any(self) -> Result<Any> {
                match i64::try_from(self) {
                    // SAFETY: the value contains no object.
                    Ok(value) => Ok(unsafe { Any::from_raw(integer(abi::kTVMFFIInt, value)) }),
                    Err(_) => big_integer(self as u64),
                }
            }
        }

        impl<'a> FromArgument<'a> for $type {
            const TYPE: ParameterType = ParameterType::new(
                Sort::Int { bits: $type::BITS, is_signed: $type::MIN != 0 },
                stringify!($type),
            );

            unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
                if let Some(value) = integer_in(argument) {
                    return $type::try_from(value).map_err(|_| does_not_fit(value, Self::TYPE.name));
                }
                unsigned_in(argument)
                    .and_then(|value| $type::try_from(value).ok())
                    .ok_or_else(|| Mismatch::expected("int", argument))
            }
        }

        pass_by_value! { $type }
    )*};
}

fn does_not_fit(value: i64, name: &str) -> Mismatch {
    let (letter, bits) = name.split_at(1);
    let sign = if letter == "u" { "u" } else { "" };
    let bits = if bits == "size" { "64" } else { bits };
    Mismatch::value(format!("{value} does not fit {sign}int{bits}"))
}

/// Convert an integer of 2^63 or more to a big integer object.
fn big_integer(value: u64) -> Result<Any> {
    let mut words = [0u8; 16];
    words[..8].copy_from_slice(&value.to_le_bytes());
    let mut out = NONE;
    // SAFETY: the words outlive the call; on success `out` is an owned value.
    unsafe {
        check(abi::TVMFFIBigIntFromByteArray(&byte_array(&words), &mut out))?;
        Ok(Any::from_raw(out))
    }
}

integers! { i8, i16, i32, i64, isize, u8, u16, u32, u64, usize }

macro_rules! floats {
    ($($type:ident),*) => {$(
        impl IntoAny for $type {
            fn into_any(self) -> Result<Any> {
                let payload = abi::TVMFFIAnyPayload { v_float64: f64::from(self) };
                // SAFETY: the value contains no object.
                Ok(unsafe { Any::from_raw(plain(abi::kTVMFFIFloat, payload)) })
            }
        }

        impl<'a> FromArgument<'a> for $type {
            const TYPE: ParameterType = ParameterType::new(Sort::Float, stringify!($type));

            unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
                if argument.type_index() == abi::kTVMFFIFloat {
                    // SAFETY: the type index selects the payload member `v_float64`.
                    return Ok(unsafe { argument.raw().payload.v_float64 } as $type);
                }
                integer_in(argument)
                    .map(|value| value as $type)
                    .ok_or_else(|| Mismatch::expected("float", argument))
            }
        }
    )*};
}

floats! { f32, f64 }

pass_by_value! { bool, f32, f64 }

// ---- Text and bytes ------------------------------------------------------------------------------

impl IntoAny for &str {
    fn into_any(self) -> Result<Any> {
        let mut out = NONE;
        // SAFETY: the string outlives the call; on success `out` is an owned value.
        unsafe {
            check(abi::TVMFFIStringFromByteArray(&byte_array(self.as_bytes()), &mut out))?;
            Ok(Any::from_raw(out))
        }
    }
}

impl IntoAny for String {
    fn into_any(self) -> Result<Any> {
        self.as_str().into_any()
    }
}

impl<'a> FromArgument<'a> for &'a str {
    const TYPE: ParameterType = ParameterType::new(Sort::Str, "str");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        let bytes = argument.text_bytes().ok_or_else(|| Mismatch::expected("str", argument))?;
        std::str::from_utf8(bytes).map_err(|error| {
            Mismatch::value(format!(
                "expected valid UTF-8, got an invalid byte at offset {}",
                error.valid_up_to()
            ))
        })
    }
}

impl<'a> FromArgument<'a> for String {
    const TYPE: ParameterType = <&str>::TYPE;

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the bytes of a string never change.
        unsafe { <&str>::from_argument(argument) }.map(str::to_owned)
    }
}

impl<'a> IntoArgument<'a> for &'a str {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::made(self.into_any()?))
    }
}

pass_by_value! { String }

/// Borrowed bytes that convert to a value of the ABI's bytes type. This type differs from the types
/// of strings and arrays of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes<'a>(pub &'a [u8]);

/// Owned bytes that convert to a value of the ABI's bytes type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByteBuf(pub Vec<u8>);

impl IntoAny for Bytes<'_> {
    fn into_any(self) -> Result<Any> {
        let mut out = NONE;
        // SAFETY: the bytes outlive the call; on success `out` is an owned value.
        unsafe {
            check(abi::TVMFFIBytesFromByteArray(&byte_array(self.0), &mut out))?;
            Ok(Any::from_raw(out))
        }
    }
}

impl IntoAny for ByteBuf {
    fn into_any(self) -> Result<Any> {
        Bytes(&self.0).into_any()
    }
}

impl<'a> FromArgument<'a> for Bytes<'a> {
    const TYPE: ParameterType = ParameterType::new(Sort::Bytes, "bytes");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        argument.byte_content().map(Bytes).ok_or_else(|| Mismatch::expected("bytes", argument))
    }
}

impl<'a> FromArgument<'a> for ByteBuf {
    const TYPE: ParameterType = Bytes::TYPE;

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the content of a bytes value never changes.
        unsafe { Bytes::from_argument(argument) }.map(|bytes| ByteBuf(bytes.0.to_vec()))
    }
}

impl<'a> IntoArgument<'a> for Bytes<'a> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::made(self.into_any()?))
    }
}

pass_by_value! { ByteBuf }

// ---- Values of any type --------------------------------------------------------------------------

impl IntoAny for Any {
    fn into_any(self) -> Result<Any> {
        Ok(self)
    }
}

impl<'a> FromArgument<'a> for Any {
    const TYPE: ParameterType = ParameterType::any();

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        argument
            .to_owned()
            .map_err(|error| Mismatch { kind: "TypeError", text: error.message().into_owned() })
    }
}

impl<'a> FromArgument<'a> for AnyView<'a> {
    const TYPE: ParameterType = Any::TYPE;

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        Ok(*argument)
    }
}

impl<'a> IntoArgument<'a> for Argument<'a> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(self)
    }
}

impl<'a> IntoArgument<'a> for AnyView<'a> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::lent(self))
    }
}

impl<'a> IntoArgument<'a> for &'a Any {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::lent(self.view()))
    }
}

pass_by_value! { Any }
