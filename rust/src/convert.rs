// SPDX-License-Identifier: Apache-2.0
//! Conversions between values of Rust and of the ABI.
//!
//! | trait | direction | for |
//! |---|---|---|
//! | [`FromArgument`] | from the ABI | parameters; may borrow from the argument |
//! | [`FromAny`] | from the ABI | results, elements: what borrows nothing |
//! | [`IntoAny`] | to the ABI, owned | results, elements |
//! | [`IntoArgument`] | to the ABI, borrowed where possible | arguments of calls |
//! | [`IntoResult`] | to the ABI | what functions return: any of these, or a `Result` of one |

use crate::abi;
use crate::any::{integer, plain, Any, AnyView};
use crate::dtype::{DataType, Device};
use crate::error::{byte_array, check, Error, Result};
use crate::parameter_type::{ParameterType, Sort};

/// Why a value is not what was expected; the caller says where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Kind of the error.
    pub kind: &'static str,
    /// What was expected and what came.
    pub text: String,
}

impl Mismatch {
    /// A value of a wrong type.
    pub fn expected(what: &str, got: &AnyView<'_>) -> Self {
        Self { kind: "TypeError", text: format!("expected {what}, got {}", got.type_word()) }
    }

    /// A right type with a wrong value.
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

/// What an argument may become.
pub trait FromArgument<'a>: Sized {
    /// What signatures are compared with.
    const TYPE: ParameterType;

    /// Convert an argument.
    ///
    /// # Safety
    /// While the result lives, nobody writes memory that it reads, nor touches memory that it
    /// writes.
    ///
    /// # Errors
    /// What was expected and what came.
    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch>;
}

/// What a value may become without borrowing from it.
pub trait FromAny: for<'a> FromArgument<'a> {}

impl<T: for<'a> FromArgument<'a>> FromAny for T {}

/// What becomes an owned value.
pub trait IntoAny {
    /// Convert.
    ///
    /// # Errors
    /// When memory is exhausted, or the value has no place in the ABI.
    fn into_any(self) -> Result<Any>;
}

/// An argument on its way into a call: borrowed, or made for it.
pub struct Argument<'a> {
    view: AnyView<'a>,
    /// What `view` borrows where it was made for the call.
    _owner: Any,
}

impl<'a> Argument<'a> {
    /// Lend a value.
    pub fn lent(view: AnyView<'a>) -> Self {
        Self { view, _owner: Any::none() }
    }

    /// Pass a value that was made for the call.
    pub fn made(owner: Any) -> Self {
        // SAFETY: the owner lies beside the view, and is dropped with it.
        Self { view: unsafe { AnyView::from_raw(owner.view().raw()) }, _owner: owner }
    }

    /// The value, while the argument lives.
    pub fn view(&self) -> AnyView<'_> {
        self.view
    }
}

/// What is passed to a call.
pub trait IntoArgument<'a> {
    /// Convert; what the argument borrows lives for `'a`.
    ///
    /// # Errors
    /// When memory is exhausted, or the value has no place in the ABI.
    fn into_argument(self) -> Result<Argument<'a>>;
}

/// What a function may return: a value, or a `Result` of one.
pub trait IntoResult {
    /// Convert.
    ///
    /// # Errors
    /// That of the function, or of the conversion.
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

/// Arguments of types that are owned anyway, or cheap to make.
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
        // SAFETY: as the caller says.
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
        // SAFETY: a plain value owns nothing.
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

/// The number in an int or a bool.
pub(crate) fn integer_in(argument: &AnyView<'_>) -> Option<i64> {
    // SAFETY: the member is live for both.
    matches!(argument.type_index(), abi::kTVMFFIInt | abi::kTVMFFIBool)
        .then(|| unsafe { argument.raw().payload.v_int64 })
}

/// The number in an int of any size from 0 to 2^64 - 1.
pub(crate) fn unsigned_in(argument: &AnyView<'_>) -> Option<u64> {
    let view = argument.resolved();
    if view.type_index() != abi::kTVMFFIBigInt {
        return None;
    }
    let raw = view.raw();
    // SAFETY: the value is a big integer, whose words live as long as it does.
    let words = unsafe { crate::any::bytes_of(abi::TVMFFIBigIntGetContentByteArray(&raw)) };
    let (low, high) = words.split_at_checked(8)?;
    (high.len() == 8 && high.iter().all(|byte| *byte == 0))
        .then(|| u64::from_le_bytes(low.try_into().unwrap_or_default()))
}

macro_rules! integers {
    ($($type:ident),*) => {$(
        impl IntoAny for $type {
            fn into_any(self) -> Result<Any> {
                match i64::try_from(self) {
                    // SAFETY: a plain value owns nothing.
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

/// An integer from 2^63 on, which needs an object.
fn big_integer(value: u64) -> Result<Any> {
    let mut words = [0u8; 16];
    words[..8].copy_from_slice(&value.to_le_bytes());
    let mut out = crate::any::NONE;
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
                // SAFETY: a plain value owns nothing.
                Ok(unsafe { Any::from_raw(plain(abi::kTVMFFIFloat, payload)) })
            }
        }

        impl<'a> FromArgument<'a> for $type {
            const TYPE: ParameterType = ParameterType::new(Sort::Float, stringify!($type));

            unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
                if argument.type_index() == abi::kTVMFFIFloat {
                    // SAFETY: the member is live.
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

pass_by_value! { bool, f32, f64, DataType, Device }

// ---- Text and bytes ------------------------------------------------------------------------------

impl IntoAny for &str {
    fn into_any(self) -> Result<Any> {
        let mut out = crate::any::NONE;
        // SAFETY: the text outlives the call; on success `out` is an owned value.
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
            Mismatch::value(format!("the text is no UTF-8: byte {} is wrong", error.valid_up_to()))
        })
    }
}

impl<'a> FromArgument<'a> for String {
    const TYPE: ParameterType = <&str>::TYPE;

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: text does not change.
        unsafe { <&str>::from_argument(argument) }.map(str::to_owned)
    }
}

impl<'a> IntoArgument<'a> for &'a str {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::made(self.into_any()?))
    }
}

pass_by_value! { String }

/// Bytes, which are a value of their own beside text and arrays of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes<'a>(pub &'a [u8]);

/// Bytes with memory of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByteBuf(pub Vec<u8>);

impl IntoAny for Bytes<'_> {
    fn into_any(self) -> Result<Any> {
        let mut out = crate::any::NONE;
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
        // SAFETY: bytes do not change.
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
