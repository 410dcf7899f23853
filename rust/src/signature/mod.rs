// SPDX-License-Identifier: Apache-2.0
//! Signatures: names, types, shapes and defaults of exported functions, as constants.
//!
//! The compiler reads the text ([`parse`]), compares it with the function ([`agree`]), and each call
//! is held to it ([`check`]), in the order and with the texts of all wrappers of this project.
//!
//! Of the language of signatures `export!` knows all but extents that are calculated, `*arguments`,
//! and defaults that are sequences or have escapes in them.

mod agreement;
mod checks;
mod cursor;
mod dtype_names;
mod text;

use crate::abi::DLDataType;

pub use agreement::agree;
pub use checks::{check, check_sharing, full_arguments, located};
pub use text::parse;

/// Parameters of one function.
pub const MAX_PARAMETERS: usize = 12;
/// Extents of one tensor.
pub const MAX_EXTENTS: usize = 8;
/// Element types that one parameter may have.
pub const MAX_DTYPES: usize = 8;
/// Names of extents in one signature.
pub const MAX_NAMES: usize = 16;
/// Names of element types in one signature.
pub const MAX_VARIABLES: usize = 4;

/// What a function takes.
#[derive(Debug)]
pub struct Signature {
    /// All of the text.
    pub text: &'static str,
    /// The function's name.
    pub name: &'static str,
    /// The first `num_parameters` count.
    pub parameters: [Parameter; MAX_PARAMETERS],
    /// How many parameters there are.
    pub num_parameters: usize,
    /// The names of extents, in the order of the text.
    pub names: [&'static str; MAX_NAMES],
    /// The names of element types.
    pub variables: [Variable; MAX_VARIABLES],
}

/// A name for an element type, the same wherever it stands.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The name.
    pub name: &'static str,
    /// What it may be.
    pub dtypes: DtypeSet,
}

/// Element types.
#[derive(Debug, Clone, Copy)]
pub struct DtypeSet {
    /// The first `count` are in it.
    pub dtypes: [DLDataType; MAX_DTYPES],
    /// Their names.
    pub texts: [&'static str; MAX_DTYPES],
    /// How many there are.
    pub count: usize,
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its type, as it is written.
    pub type_text: &'static str,
    /// What its arguments are.
    pub kind: Kind,
    /// Whether None may stand in its place.
    pub is_optional: bool,
    /// What the function does with a tensor.
    pub direction: Direction,
    /// Whether callers in Python have to name it.
    pub is_keyword_only: bool,
    /// What calls without it pass.
    pub default: Default,
    /// Of an integer: the place of its name among those of extents.
    pub extent_name: Option<usize>,
}

/// What arguments of a parameter are.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant)] // constants, none of which is ever moved
pub enum Kind {
    /// A tensor.
    Tensor(TensorKind),
    /// Any integer of 64 bits, or a bool.
    Int,
    /// An integer of C: its size, and whether it may be negative.
    Integer(u32, bool),
    /// Any number.
    Float,
    /// A float of C, of this size.
    Floating(u32),
    /// A bool, or an integer.
    Bool,
    /// Text.
    Str,
    /// Bytes.
    Bytes,
    /// An address.
    Pointer,
    /// A type that is left to the function: `Any`, `Array[int]`, `dtype`.
    Other,
}

/// What a tensor has to be.
#[derive(Debug, Clone, Copy)]
pub struct TensorKind {
    /// Its element types; none for any.
    pub dtypes: DtypeSet,
    /// The place of the name that stands for the element type; what it may be is said there.
    pub variable: Option<usize>,
    /// Whether the extents are said.
    pub has_shape: bool,
    /// The first `num_extents` count.
    pub extents: [Extent; MAX_EXTENTS],
    /// How many extents are said.
    pub num_extents: usize,
    /// Before which of them any number of others may stand.
    pub gap: Option<usize>,
    /// Whether it lies in row-major order without gaps.
    pub is_compact: bool,
    /// Whether it is passed as an address.
    pub is_pointer: bool,
    /// Bytes of which its address is a multiple; 1 for any.
    pub alignment: usize,
    /// Type of its device, and its number; -1 for any.
    pub device: (i32, i32),
    /// The same as text.
    pub device_text: &'static str,
}

/// One extent.
#[derive(Debug, Clone, Copy)]
pub enum Extent {
    /// Whatever it is.
    Any,
    /// This number.
    Constant(i64),
    /// What stands at this place among the names.
    Name(usize),
}

/// What a function does with a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Only reads it.
    Read,
    /// Writes it.
    Written,
    /// Nobody knows.
    Unknown,
}

/// What calls pass that leave a parameter out.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// They may not.
    Required,
    /// None.
    None,
    /// True or False.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float, as it is written.
    Float(&'static str),
    /// Text.
    Str(&'static str),
}

pub(crate) const NO_DTYPES: DtypeSet = DtypeSet {
    dtypes: [DLDataType { code: 0, bits: 0, lanes: 0 }; MAX_DTYPES],
    texts: [""; MAX_DTYPES],
    count: 0,
};

pub(crate) const NO_PARAMETER: Parameter = Parameter {
    name: "",
    type_text: "",
    kind: Kind::Other,
    is_optional: false,
    direction: Direction::Read,
    is_keyword_only: false,
    default: Default::Required,
    extent_name: None,
};

impl Signature {
    /// The parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters[..self.num_parameters]
    }

    /// What a tensor's elements may be.
    pub(crate) fn dtypes_of<'a>(&'a self, tensor: &'a TensorKind) -> &'a DtypeSet {
        tensor.variable.map_or(&tensor.dtypes, |place| &self.variables[place].dtypes)
    }
}

impl Parameter {
    /// Whether calls have to pass it.
    pub fn is_required(&self) -> bool {
        matches!(self.default, Default::Required)
    }
}
