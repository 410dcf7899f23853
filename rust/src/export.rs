// SPDX-License-Identifier: Apache-2.0
//! Exported functions: the macro [`export!`](crate::export!), and the items that its expansion
//! uses.
//!
//! The expansion defines ABI symbols for the function, its metadata and its documentation, and rows
//! of the section `tvm_ffi_exports`, which tools read without running the library.

use std::ffi::{c_char, c_int, CStr};

use crate::abi::TVMFFIAny;
use crate::any::{Any, AnyView};
use crate::borrows::borrow_arguments;
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
/// `NAME = PATH, "..."` exports a function under another name. The text is a signature as in
/// `tvm_ffi.Signature`. Each call checks the arguments against it before the function runs. A
/// signature that contradicts the Rust function is a compile error:
///
/// ```compile_fail
/// fn double(n: i64) -> i64 {
///     2 * n
/// }
/// pytvmffi::export!(double, "double(text: str) -> int");
/// ```
///
/// | parameter type | accepts |
/// |---|---|
/// | integers, floats, `bool`, `&str`, `String`, [`Bytes`](crate::Bytes) | a value of this type |
/// | [`DataType`](crate::DataType), [`Device`](crate::Device) | a value of this type |
/// | [`TensorView`](crate::TensorView), `&[T]` | a tensor that the function reads |
/// | [`TensorMut`](crate::TensorMut), `&mut [T]` | a tensor that the function writes (`out`, `inout`) |
/// | [`Tensor`](crate::Tensor), [`Function`](crate::Function), [`Array`](crate::Array), ... | an object; the function receives a new reference |
/// | `Option<T>` | an argument for `T`, or None |
/// | [`AnyView`](crate::AnyView), [`Any`](crate::Any) | every value |
///
/// A function returns an [`IntoAny`](crate::IntoAny), or a `Result` of one. The caller receives an
/// `Err` as an error, and a panic as a RuntimeError.
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
                // SAFETY: the arguments are valid until the call returns.  Before the body runs,
                // the arguments are checked: they fit the signature, and no written tensor shares
                // memory with another one.  Their memory is recorded as borrowed until the body
                // returns.
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

/// Define a row (three addresses of strings) of the section `tvm_ffi_exports`.
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

/// If a function has documentation, define the symbol that returns the documentation, and the row
/// of the section `tvm_ffi_exports` that contains it.
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

// ---- Rows of the section tvm_ffi_exports -------------------------------------------------------

/// A row of the section `tvm_ffi_exports`: three addresses of NUL-terminated strings.
#[repr(C)]
pub struct Row {
    /// The name of the function; empty if the row describes the library.
    name: *const c_char,
    /// The kind of `text`: `declaration` (a signature), `doc` (documentation) or `abi` (the ABI
    /// level).
    kind: *const c_char,
    text: *const c_char,
}

// SAFETY: the fields are addresses of constant strings.
unsafe impl Sync for Row {}

impl Row {
    /// Create a row from NUL-terminated strings.
    ///
    /// # Panics
    /// If a string contains no NUL. In a constant, this is a compile error.
    pub const fn new(name: &'static str, kind: &'static str, text: &'static str) -> Self {
        const fn checked(text: &'static str) -> *const c_char {
            match CStr::from_bytes_until_nul(text.as_bytes()) {
                Ok(text) => text.as_ptr(),
                Err(_) => panic!("expected a string that ends with a NUL"),
            }
        }
        Self { name: checked(name), kind: checked(kind), text: checked(text) }
    }

    /// Return the text of the row. The volatile read keeps the row in the library, because linkers
    /// drop unreferenced data.
    fn text(&'static self) -> &'static CStr {
        // SAFETY: the fields are addresses of constants that end with a NUL.
        unsafe {
            let row = std::ptr::read_volatile(&raw const self.text);
            CStr::from_ptr(row)
        }
    }
}

/// The row of the section `tvm_ffi_exports` that declares the ABI level of the library.
#[used]
#[cfg_attr(target_os = "linux", link_section = "tvm_ffi_exports")]
static ABI: Row = Row::new("\0", "abi\0", "0.1.16\0");

/// Return the lines of a doc comment as an array of bytes, without the space at the start of each
/// line and without newlines at the end. The rest of the array is filled with NUL bytes.
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

/// Convert an array of UTF-8 bytes back to a string.
///
/// # Panics
/// If the bytes are not valid UTF-8.
pub const fn text_of(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("expected documentation in valid UTF-8"),
    }
}

// ---- Calls of exported functions -----------------------------------------------------------------

/// Run an exported function: check the arguments against its signature, then run `body`.
///
/// # Safety
/// `call` contains the arguments of a packed call: an array that is valid until the function
/// returns, its length, and the result slot.
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
        let name_of = |index: usize| signature.parameters[index].name;
        let _scope = borrow_arguments(signature.name, types, arguments, name_of)
            .map_err(|(index, mismatch)| located(signature, index, mismatch))?;
        body(arguments, &|index, mismatch| located(signature, index, mismatch))
    };
    guard(result, format_args!("{}()", signature.name), || {
        // SAFETY: the caller meets the safety requirements of this function.
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

/// Store the text of a row as the result of a packed call; return the code for the C caller.
pub fn return_text(row: &'static Row, result: *mut TVMFFIAny) -> c_int {
    guard(result, "documentation", || Any::new(row.text().to_str()?))
}

/// Store the signature in a row as the result of a packed call, in JSON: `{"signature": "TEXT", "checked": true}`.
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
        json.push_str("\",\"checked\":true}");
        Any::new(json)
    })
}
