// SPDX-License-Identifier: Apache-2.0
//! What a type of Rust takes, as a constant: signatures are compared with it by the compiler.

use crate::abi::DLDataType;

/// What kind of argument a type takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Any value.
    Any,
    /// An integer.
    Int {
        /// Its size.
        bits: u32,
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// A float, or an integer that becomes one.
    Float,
    /// True or False.
    Bool,
    /// Text.
    Str,
    /// Bytes.
    Bytes,
    /// A data type.
    DataType,
    /// A device.
    Device,
    /// An address.
    Pointer,
    /// A tensor.
    Tensor,
    /// Another object, which signatures spell in more than one way.
    Other,
}

/// What a function may do with the memory of a tensor argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is no tensor.
    None,
    /// Read it, relying on that nobody writes it meanwhile.
    Shared,
    /// Read and write it, element by element, whoever else does so.
    Cells,
    /// Read and write it, relying on that nobody else touches it.
    Exclusive,
}

/// What a type of Rust takes.
#[derive(Debug, Clone, Copy)]
pub struct ParameterType {
    /// What kind of argument it takes.
    pub sort: Sort,
    /// What messages call it.
    pub name: &'static str,
    /// Whether it takes None as well.
    pub is_optional: bool,
    /// What happens to a tensor's memory.
    pub access: Access,
    /// The element type that it relies on, in compact aligned memory of the host; for slices.
    pub element: Option<DLDataType>,
}

impl ParameterType {
    /// A type that is no tensor.
    pub const fn new(sort: Sort, name: &'static str) -> Self {
        Self { sort, name, is_optional: false, access: Access::None, element: None }
    }

    /// A type that signatures spell in more than one way.
    pub const fn other(name: &'static str) -> Self {
        Self::new(Sort::Other, name)
    }

    /// Anything; a tensor among it may be passed on to whoever writes it.
    pub const fn any() -> Self {
        Self { access: Access::Cells, ..Self::new(Sort::Any, "Any") }
    }

    /// A tensor.
    pub const fn tensor(access: Access) -> Self {
        Self { access, ..Self::new(Sort::Tensor, "Tensor") }
    }

    /// The elements of a tensor.
    pub const fn slice(access: Access, element: DLDataType) -> Self {
        Self { element: Some(element), ..Self::tensor(access) }
    }

    /// The same, or None.
    pub const fn or_none(self) -> Self {
        Self { is_optional: true, ..self }
    }
}
