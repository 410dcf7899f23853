// SPDX-License-Identifier: Apache-2.0
//! Functions of Rust as symbols of the ABI, with their signatures for running and reading tools.
//!
//! The names here are for what [`export!`](crate::export!) writes.

use std::ffi::{c_char, c_int, CStr};

use crate::abi::TVMFFIAny;
use crate::any::{Any, AnyView};
use crate::boundary::{arguments_of, guard};
use crate::convert::Mismatch;
use crate::error::{Error, Result};
use crate::parameter_type::ParameterType;
use crate::signature::{check, check_sharing, full_arguments, located, Signature};

/// Export a function: define the symbol `__tvm_ffi_NAME`, with its signature and documentation.
///
/// ```
/// use pytvmffi::{export, Result, TensorMut, TensorView};
///
/// fn scale(x: &[f32], y: &mut [f32], factor: f64) {
///     for (y, x) in y.iter_mut().zip(x) {
///         *y = *x * factor as f32;
///     }
/// }
///
/// export! {
///     /// Multiply each element.
///     scale, "scale(x: float32*[n] on cpu, y: out float32*[n] on cpu, factor: float = 2.0)"
/// }
/// # fn main() {}
/// ```
///
/// `NAME = PATH, "..."` exports a function under another name. The text is a signature in the
/// language of `tvm_ffi.Signature`; what stands in it is checked before the function is called. The
/// compiler reads it, and refuses one that is not that of the function:
///
/// ```compile_fail
/// fn double(n: i64) -> i64 {
///     2 * n
/// }
/// pytvmffi::export!(double, "double(text: str) -> int");
/// ```
///
/// | a parameter of type | takes |
/// |---|---|
/// | integers, floats, `bool`, `&str`, `String`, [`Bytes`](crate::Bytes) | such a value |
/// | [`DataType`](crate::DataType), [`Device`](crate::Device) | such a value |
/// | [`TensorView`](crate::TensorView), `&[T]` | a tensor that is read |
/// | [`TensorMut`](crate::TensorMut), `&mut [T]` | a tensor that is written (`out`, `inout`) |
/// | [`TensorCells`](crate::TensorCells), `&[Cell<T>]` | the same, although others may be the same tensor |
/// | [`Tensor`](crate::Tensor), [`Function`](crate::Function), [`Array`](crate::Array), ... | an object, which may be kept |
/// | `Option<T>` | the same, or None |
/// | [`AnyView`](crate::AnyView), [`Any`](crate::Any) | anything |
///
/// A function returns what is [`IntoAny`](crate::IntoAny), or a `Result` of it. An `Err` is raised
/// where the function was called from; a panic is raised as RuntimeError.
#[macro_export]
macro_rules! export {
    ($(#[doc = $doc:literal])* $name:ident, $text:literal $(,)?) => {
        $crate::export! { $(#[doc = $doc])* $name = $name, $text }
    };
    ($(#[doc = $doc:literal])* $name:ident = $function:path, $text:literal $(,)?) => {
        const _: () = {
            const SIGNATURE: &$crate::signature::Signature =
                &$crate::signature::parse($text);
            const _: () = $crate::signature::agree(
                SIGNATURE,
                stringify!($name),
                $crate::arguments::types_of(&$function),
            );

            #[export_name = concat!("__tvm_ffi_", stringify!($name))]
            unsafe extern "C" fn exported(
                _handle: *mut ::std::ffi::c_void,
                args: *const $crate::abi::TVMFFIAny,
                num_args: i32,
                result: *mut $crate::abi::TVMFFIAny,
            ) -> ::std::ffi::c_int {
                // SAFETY: the arguments of a call are valid until it returns.  They were held to
                // the signature when the body runs, and checked for memory that they share.
                unsafe {
                    $crate::export::call(
                        SIGNATURE,
                        $crate::arguments::types_of(&$function),
                        (args, num_args, result),
                        |arguments, located| {
                            $crate::arguments::Callable::invoke(&$function, arguments, located)
                        },
                    )
                }
            }

            $crate::export_row!(DECLARATION, $name, "declaration", concat!($text, "\0"));

            #[export_name = concat!("__tvm_ffi__metadata_", stringify!($name))]
            unsafe extern "C" fn metadata(
                _handle: *mut ::std::ffi::c_void,
                _args: *const $crate::abi::TVMFFIAny,
                _num_args: i32,
                result: *mut $crate::abi::TVMFFIAny,
            ) -> ::std::ffi::c_int {
                $crate::export::return_metadata(&DECLARATION, result)
            }

            $crate::export_doc!($name, $($doc)*);
        };
    };
}

/// A row in the section that tools read.
#[doc(hidden)]
#[macro_export]
macro_rules! export_row {
    ($variable:ident, $name:ident, $kind:literal, $text:expr) => {
        #[used]
        #[cfg_attr(target_os = "linux", link_section = "tvm_ffi_exports")]
        static $variable: $crate::export::Row =
            $crate::export::Row::new(concat!(stringify!($name), "\0"), concat!($kind, "\0"), $text);
    };
}

/// The documentation of a function, if it has any.
#[doc(hidden)]
#[macro_export]
macro_rules! export_doc {
    ($name:ident,) => {};
    ($name:ident, $($doc:literal)+) => {
        const DOC_LINES: &str = concat!($($doc, "\n"),+);
        static DOC_TEXT: [u8; DOC_LINES.len() + 1] = $crate::export::documentation(DOC_LINES);
        $crate::export_row!(DOC, $name, "doc", $crate::export::text_of(&DOC_TEXT));

        #[export_name = concat!("__tvm_ffi__doc_", stringify!($name))]
        unsafe extern "C" fn doc(
            _handle: *mut ::std::ffi::c_void,
            _args: *const $crate::abi::TVMFFIAny,
            _num_args: i32,
            result: *mut $crate::abi::TVMFFIAny,
        ) -> ::std::ffi::c_int {
            $crate::export::return_text(&DOC, result)
        }
    };
}

// ---- Rows ----------------------------------------------------------------------------------------

/// Three addresses of NUL-terminated texts: a function's name, a kind, and what the kind says.
#[repr(C)]
pub struct Row {
    name: *const c_char,
    kind: *const c_char,
    text: *const c_char,
}

// SAFETY: the texts are constants.
unsafe impl Sync for Row {}

impl Row {
    /// Make a row of texts that end with a NUL.
    ///
    /// # Panics
    /// When one of them has a NUL elsewhere, or none: compilation ends there.
    pub const fn new(name: &'static str, kind: &'static str, text: &'static str) -> Self {
        const fn checked(text: &'static str) -> *const c_char {
            match CStr::from_bytes_until_nul(text.as_bytes()) {
                Ok(text) => text.as_ptr(),
                Err(_) => panic!("a text of a row ends with a NUL"),
            }
        }
        Self { name: checked(name), kind: checked(kind), text: checked(text) }
    }

    /// The text, read in a way that keeps the row in the library: linkers drop what nobody names.
    fn text(&'static self) -> &'static CStr {
        // SAFETY: a row of constants, which end with a NUL.
        unsafe {
            let row = std::ptr::read_volatile(&raw const self.text);
            CStr::from_ptr(row)
        }
    }
}

/// The level of the headers that the library follows.
#[used]
#[cfg_attr(target_os = "linux", link_section = "tvm_ffi_exports")]
static ABI: Row = Row::new("\0", "abi\0", "0.1.16\0");

/// The lines of documentation without the blank in front of each, and without the last break; the
/// rest of the array is NUL.
pub const fn documentation<const N: usize>(lines: &str) -> [u8; N] {
    let bytes = lines.as_bytes();
    let mut text = [0; N];
    let (mut size, mut i, mut is_first) = (0, 0, true);
    while i < bytes.len() {
        if !(is_first && bytes[i] == b' ') {
            text[size] = bytes[i];
            size += 1;
        }
        is_first = bytes[i] == b'\n';
        i += 1;
    }
    while size > 0 && text[size - 1] == b'\n' {
        size -= 1;
        text[size] = 0;
    }
    text
}

/// An array that was text before.
///
/// # Panics
/// When it is none.
pub const fn text_of(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("documentation is text"),
    }
}

// ---- Calls ---------------------------------------------------------------------------------------

/// Run an exported function: hold the arguments to its signature, and call it.
///
/// # Safety
/// `call` is that of a packed function: arguments and their number, which are valid until it
/// returns, and the slot of its result.
pub unsafe fn call(
    signature: &'static Signature,
    types: &'static [ParameterType],
    call: (*const TVMFFIAny, i32, *mut TVMFFIAny),
    body: impl for<'a> FnOnce(&'a [AnyView<'a>], &dyn Fn(usize, Mismatch) -> Error) -> Result<Any>,
) -> c_int {
    let (args, num_args, result) = call;
    let run = |arguments: &[AnyView<'_>]| {
        check(signature, arguments)?;
        check_sharing(signature, types, arguments)?;
        body(arguments, &|place, mismatch| located(signature, place, mismatch))
    };
    guard(result, format_args!("{}()", signature.name), || {
        // SAFETY: as the caller says.
        let given = unsafe { arguments_of(args, num_args) }?;
        if given.len() == signature.num_parameters {
            return run(given);
        }
        let defaults = full_arguments(signature, given.len())?;
        let mut arguments = given.to_vec();
        arguments.extend(defaults.iter().map(Any::view));
        run(&arguments)
    })
}

/// Return the text of a row.
pub fn return_text(row: &'static Row, result: *mut TVMFFIAny) -> c_int {
    guard(result, "documentation", || Any::new(row.text().to_str()?))
}

/// Return the signature in a row as JSON: `{"signature": "TEXT"}`.
pub fn return_metadata(row: &'static Row, result: *mut TVMFFIAny) -> c_int {
    ABI.text();
    guard(result, "metadata", || {
        let mut json = String::from("{\"signature\":\"");
        for character in row.text().to_str()?.chars() {
            match character {
                '"' | '\\' => json.extend(['\\', character]),
                '\0'..='\x1f' => json.push_str(&format!("\\u{:04x}", character as u32)),
                _ => json.push(character),
            }
        }
        json.push_str("\"}");
        Any::new(json)
    })
}
