// SPDX-License-Identifier: Apache-2.0
//! Descriptions of Rust parameter types as constants, for comparison with signatures at compile
//! time.

use crate::abi::DLDataType;

/// The kind of arguments that a parameter type accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A value of any type.
    Any,
    /// An integer.
    Int {
        /// The size of the integer type in bits.
        bits: u32,
        /// True if the integer type is signed.
        is_signed: bool,
    },
    /// A float, or an integer that converts to a float.
    Float,
    /// A bool: True or False.
    Bool,
    /// A string.
    Str,
    /// A bytes value (a sequence of bytes).
    Bytes,
    /// A dtype.
    DataType,
    /// A device.
    Device,
    /// A pointer (an address).
    Pointer,
    /// A tensor.
    Tensor,
    /// A value of another type. Signatures can spell such a type in several ways.
    Other,
}

/// The access that a parameter type gives to the elements of a tensor argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The parameter is not a tensor.
    None,
    /// Read access; no other code may write the elements during the call.
    Shared,
    /// Read and write access to single elements; other code of the thread may also write the
    /// elements.
    Cells,
    /// Read and write access; no other code may access the elements during the call.
    Exclusive,
}

/// The description of a Rust parameter type.
#[derive(Debug, Clone, Copy)]
pub struct ParameterType {
    /// The kind of arguments that the type accepts.
    pub sort: Sort,
    /// The name of the type in error messages.
    pub name: &'static str,
    /// True if the type also accepts None.
    pub is_optional: bool,
    /// The access that the type gives to the elements of a tensor.
    pub access: Access,
    /// The required dtype if the type is a slice; None for other types. A slice also requires that
    /// the elements are compact, aligned and in host memory.
    pub element: Option<DLDataType>,
}

impl ParameterType {
    /// Return the description of a type that is not a tensor.
    pub const fn new(sort: Sort, name: &'static str) -> Self {
        Self { sort, name, is_optional: false, access: Access::None, element: None }
    }

    /// Return the description of a type that signatures can spell in several ways.
    pub const fn other(name: &'static str) -> Self {
        Self::new(Sort::Other, name)
    }

    /// Return the description of the type that accepts every value. The access is `Cells`, because
    /// the function may pass a tensor argument to code that writes the elements.
    pub const fn any() -> Self {
        Self { access: Access::Cells, ..Self::new(Sort::Any, "Any") }
    }

    /// Return the description of a tensor type.
    pub const fn tensor(access: Access) -> Self {
        Self { access, ..Self::new(Sort::Tensor, "Tensor") }
    }

    /// Return the description of a slice type, which accepts a tensor of this dtype.
    pub const fn slice(access: Access, element: DLDataType) -> Self {
        Self { element: Some(element), ..Self::tensor(access) }
    }

    /// Return a copy of the description that also accepts None.
    pub const fn or_none(self) -> Self {
        Self { is_optional: true, ..self }
    }
}
