// SPDX-License-Identifier: Apache-2.0
//! Compile-time comparison of a signature with the parameter types of a Rust function.

use super::cursor::{refuse, same};
use super::types::{Direction, Kind, Parameter, Signature, TensorKind};
use crate::abi;
use crate::parameter_type::{Access, ParameterType, Sort};

/// Compare a signature with the name and the parameter types of a Rust function.
///
/// # Panics
/// If the signature and the function differ. In a constant, the panic is a compile error.
#[track_caller]
pub const fn agree(signature: &Signature, name: &str, types: &[ParameterType]) {
    if !same(signature.name, name) {
        refuse(&[
            "export!: expected the signature of `",
            name,
            "`, got the signature of `",
            signature.name,
            "`",
        ]);
    }
    if signature.num_parameters != types.len() {
        refuse(&["export!: `", name, "` and its signature have different numbers of parameters"]);
    }
    let mut index = 0;
    while index < types.len() {
        let parameter = &signature.parameters[index];
        let type_ = &types[index];
        if parameter.is_optional && !type_.is_optional && !matches!(type_.sort, Sort::Any) {
            refuse(&[
                "export!: parameter '",
                parameter.name,
                "' may be None, so its Rust type must be an Option",
            ]);
        }
        if !fits(parameter, type_) {
            let (name, text) = (parameter.name, parameter.type_text);
            refuse(&[
                "export!: parameter '",
                name,
                "' is `",
                text,
                "`, which does not convert to ",
                type_.name,
            ]);
        }
        if let Kind::Tensor(tensor) = &parameter.kind {
            agree_on_tensor(parameter, tensor, type_);
        }
        index += 1;
    }
}

/// Return true if every argument that the signature allows converts to the parameter type.
const fn fits(parameter: &Parameter, type_: &ParameterType) -> bool {
    match (parameter.kind, type_.sort) {
        (_, Sort::Any)
        | (Kind::Tensor(_), Sort::Tensor)
        | (Kind::Int, Sort::Int { .. })
        | (Kind::Float | Kind::Floating(_), Sort::Float)
        | (Kind::Bool, Sort::Bool)
        | (Kind::Str, Sort::Str)
        | (Kind::Bytes, Sort::Bytes)
        | (Kind::Pointer, Sort::Pointer) => true,
        (Kind::Integer(wanted, wanted_sign), Sort::Int { bits, is_signed }) => {
            // Every number of the declared type must fit the Rust type.
            if wanted_sign == is_signed {
                bits >= wanted
            } else {
                is_signed && bits > wanted
            }
        }
        (Kind::Other, Sort::DataType) => same(parameter.type_text, "dtype"),
        (Kind::Other, Sort::Device) => same(parameter.type_text, "Device"),
        (Kind::Other, Sort::Other) => true,
        _ => false,
    }
}

const fn agree_on_tensor(parameter: &Parameter, tensor: &TensorKind, type_: &ParameterType) {
    let name = parameter.name;
    let is_written = matches!(parameter.direction, Direction::Written);
    if is_written && matches!(type_.access, Access::Shared) {
        let remedy = "' is written: take a TensorMut or a mutable slice";
        refuse(&["export!: parameter '", name, remedy]);
    }
    if !is_written && matches!(type_.access, Access::Exclusive) {
        refuse(&[
            "export!: parameter '",
            name,
            "' is written, so its type must begin with `out` or `inout`",
        ]);
    }
    let Some(element) = type_.element else { return };
    let is_element = tensor.variable.is_none()
        && tensor.dtypes.count == 1
        && tensor.dtypes.dtypes[0].equals(element);
    let is_host = matches!(tensor.device.0, abi::kDLCPU | abi::kDLCUDAHost | abi::kDLROCMHost);
    let is_compact = matches!(tensor.compact_from, Some(0));
    if !is_element || !tensor.is_pointer || !is_compact || !is_host {
        let remedy =
            "' is a slice, so its type must be like `float32*[n] on cpu`, with the slice's dtype";
        refuse(&["export!: parameter '", name, remedy]);
    }
}
