// SPDX-License-Identifier: Apache-2.0
//! Signatures of exported functions as constants: names, types, shapes and defaults.
//!
//! The compiler parses the text ([`parse`]) and compares it with the Rust function ([`agree`]);
//! each call checks its arguments ([`check`]), in the order and with the messages of the generated
//! wrappers in other languages.
//!
//! `export!` supports the signature language without extent expressions, `*arguments`, sequences as
//! defaults, and escapes in string defaults.

mod agreement;
mod checks;
mod cursor;
mod dtype_names;
mod text;
mod types;

pub use agreement::agree;
pub use checks::{check, check_sharing, full_arguments, located};
pub use text::parse;
pub use types::{
    Default, Direction, DtypeSet, Extent, Kind, Parameter, Signature, TensorKind, Variable,
    MAX_DTYPES, MAX_EXTENTS, MAX_NAMES, MAX_PARAMETERS, MAX_VARIABLES,
};
