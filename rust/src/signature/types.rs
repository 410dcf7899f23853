// SPDX-License-Identifier: Apache-2.0
//! Structs of a parsed signature. Arrays have fixed capacities, since a constant cannot own a
//! `Vec`.

use crate::abi::DLDataType;

/// Maximum number of parameters of a function.
pub const MAX_PARAMETERS: usize = 12;
/// Maximum number of extents in a tensor type.
pub const MAX_EXTENTS: usize = 16;
/// Maximum number of dtypes in a set such as `{float16, float32}`.
pub const MAX_DTYPES: usize = 8;
/// Maximum number of extent names in a signature.
pub const MAX_NAMES: usize = 16;
/// Maximum number of dtype variables in a signature.
pub const MAX_VARIABLES: usize = 4;

/// The declared parameters of a function.
#[derive(Debug)]
pub struct Signature {
    /// The complete text of the signature.
    pub text: &'static str,
    /// The name of the function.
    pub name: &'static str,
    /// The parameters; only the first `num_parameters` are used.
    pub parameters: [Parameter; MAX_PARAMETERS],
    /// The number of used elements of `parameters`.
    pub num_parameters: usize,
    /// The names of extents in order of appearance; unused entries are empty.
    pub names: [&'static str; MAX_NAMES],
    /// The dtype variables; unused entries have an empty name.
    pub variables: [Variable; MAX_VARIABLES],
}

/// A dtype variable: all tensors of a call that use it have the same dtype.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The name of the dtype variable.
    pub name: &'static str,
    /// The dtypes that a tensor with the dtype variable may have.
    pub dtypes: DtypeSet,
}

/// A set of dtypes that a tensor may have.
#[derive(Debug, Clone, Copy)]
pub struct DtypeSet {
    /// The dtypes; only the first `count` are used.
    pub dtypes: [DLDataType; MAX_DTYPES],
    /// The names of the dtypes, as written in the signature.
    pub texts: [&'static str; MAX_DTYPES],
    /// The number of used elements of `dtypes`.
    pub count: usize,
}

/// A declared parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name of the parameter.
    pub name: &'static str,
    /// The type of the parameter, as written in the signature.
    pub type_text: &'static str,
    /// The type of the parameter, parsed from `type_text`.
    pub kind: Kind,
    /// True if the parameter accepts None.
    pub is_optional: bool,
    /// The function's access to the elements of a tensor argument.
    pub direction: Direction,
    /// True if Python callers must pass the argument by name.
    pub is_keyword_only: bool,
    /// The value of the argument if a caller omits it.
    pub default: Default,
    /// If the parameter is an integer with the name of an extent, the index of the name in
    /// [`Signature::names`]; else None.
    pub extent_name: Option<usize>,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant)] // a constant, which is never moved
pub enum Kind {
    /// A tensor.
    Tensor(TensorKind),
    /// A 64-bit integer; accepts a bool as well.
    Int,
    /// A C integer type: its size in bits, and true if it is signed.
    Integer(u32, bool),
    /// A float; accepts an integer or a bool as well.
    Float,
    /// A C float type: its size in bits.
    Floating(u32),
    /// A bool; accepts an integer as well.
    Bool,
    /// A string.
    Str,
    /// A bytes value (a sequence of bytes).
    Bytes,
    /// A pointer (an address).
    Pointer,
    /// A type that the conversion to the Rust parameter type checks, such as `Any`, `Array[int]` or
    /// `dtype`.
    Other,
}

/// The checks of a tensor parameter.
#[derive(Debug, Clone, Copy)]
pub struct TensorKind {
    /// The dtypes that the tensor may have; an empty set allows all dtypes.
    pub dtypes: DtypeSet,
    /// The index of the tensor's dtype variable in [`Signature::variables`]; None if the tensor has
    /// no dtype variable. The dtypes of the variable replace `dtypes`.
    pub variable: Option<usize>,
    /// True if the signature declares a shape. The number of dimensions is checked only in this
    /// case.
    pub has_shape: bool,
    /// The extents; only the first `num_extents` are used.
    pub extents: [Extent; MAX_EXTENTS],
    /// The number of extents that the signature lists.
    pub num_extents: usize,
    /// The index of the extent before which the shape contains `...` or `*s` (any number of
    /// dimensions); None if the shape contains neither.
    pub gap: Option<usize>,
    /// The first dimension of those that must be row-major without gaps: 0 for a compact tensor. A
    /// negative number counts from the last dimension. None if none must be.
    pub compact_from: Option<i32>,
    /// The name of the gap, as in `*s`; empty if the gap has no name.
    pub gap_name: &'static str,
    /// True if the kernel receives the address of the elements.
    pub is_pointer: bool,
    /// The required alignment of the address in bytes; 1 if every alignment is allowed.
    pub alignment: usize,
    /// The required device type and device id; -1 if every value is allowed.
    pub device: (i32, i32),
    /// The type and the id of the required device, as written in the signature; empty if every value
    /// is allowed.
    pub device_text: (&'static str, &'static str),
}

/// An extent in the type of a tensor.
#[derive(Debug, Clone, Copy)]
pub enum Extent {
    /// The extent `_`, which allows every number.
    Any,
    /// A constant extent.
    Constant(i64),
    /// A named extent: the index of its name in [`Signature::names`].
    Name(usize),
}

/// The function's access to the elements of a tensor argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The function reads the elements.
    Read,
    /// The function writes the elements.
    Written,
    /// The signature does not declare the access.
    Unknown,
}

/// The value of an argument that a caller omits.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// No default value: callers must pass the argument.
    Required,
    /// The value None.
    None,
    /// A bool as the default value.
    Bool(bool),
    /// An integer as the default value.
    Int(i64),
    /// A float as the default value, as written in the signature.
    Float(&'static str),
    /// A string.
    Str(&'static str),
}

pub(super) const NO_DTYPES: DtypeSet = DtypeSet {
    dtypes: [DLDataType { code: 0, bits: 0, lanes: 0 }; MAX_DTYPES],
    texts: [""; MAX_DTYPES],
    count: 0,
};

pub(super) const NO_PARAMETER: Parameter = Parameter {
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
    /// Return the parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters[..self.num_parameters]
    }

    /// Return the allowed dtypes of a tensor; an empty set allows all.
    pub(super) fn dtypes_of<'a>(&'a self, tensor: &'a TensorKind) -> &'a DtypeSet {
        tensor.variable.map_or(&tensor.dtypes, |index| &self.variables[index].dtypes)
    }
}

impl Parameter {
    /// Return true if the parameter is a tensor that the function writes.
    pub fn is_written_tensor(&self) -> bool {
        matches!((&self.kind, self.direction), (Kind::Tensor(_), Direction::Written))
    }

    /// Return true if calls must pass the argument.
    pub fn is_required(&self) -> bool {
        matches!(self.default, Default::Required)
    }
}
