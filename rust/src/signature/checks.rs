// SPDX-License-Identifier: Apache-2.0
//! Argument checks of a call: number of arguments, types, tensor properties and shared memory.
//!
//! Order and messages are the same as in generated wrappers of other languages. Successful checks
//! allocate nothing.

use super::types::{
    Default, Extent, Kind, Parameter, Signature, TensorKind, MAX_NAMES, MAX_VARIABLES,
};
use crate::abi;
use crate::any::{Any, AnyView};
use crate::convert::{integer_in, unsigned_in, Mismatch};
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::parameter_type::{Access, ParameterType};
use crate::tensor_description::{checked_description_of, tensor_in, TensorDescription};

/// Convert a mismatch (the error of a failed argument conversion) to an error whose message names
/// the function and the parameter.
#[cold]
pub fn located(signature: &Signature, index: usize, mismatch: Mismatch) -> Error {
    let (function, parameter) = (signature.name, signature.parameters[index].name);
    Error::new(mismatch.kind, format!("{function}() argument '{parameter}': {}", mismatch.text))
}

// ---- Number of arguments -------------------------------------------------------------------------

/// Check the number of arguments and return the default values of the omitted arguments.
///
/// # Errors
/// TypeError for too many or too few arguments.
pub fn full_arguments(signature: &Signature, given: usize) -> Result<Vec<Any>> {
    let parameters = signature.parameters();
    if given > parameters.len() {
        return Err(too_many(signature, given));
    }
    if parameters[given..].iter().any(Parameter::is_required) {
        return Err(missing(signature, given));
    }
    parameters[given..].iter().map(|parameter| default_of(&parameter.default)).collect()
}

fn default_of(default: &Default) -> Result<Any> {
    match *default {
        Default::Required | Default::None => Ok(Any::none()),
        Default::Bool(value) => Any::new(value),
        Default::Int(value) => Any::new(value),
        Default::Float(text) => Any::new(text.parse::<f64>()?),
        Default::Str(text) => Any::new(text),
    }
}

#[cold]
fn too_many(signature: &Signature, given: usize) -> Error {
    let parameters = signature.parameters();
    let (least, most) =
        (parameters.iter().filter(|parameter| parameter.is_required()).count(), parameters.len());
    let count = if least == most { format!("{most}") } else { format!("from {least} to {most}") };
    let plural = if count == "1" { "" } else { "s" };
    let verb = if given == 1 { "was" } else { "were" };
    Error::type_error(format!(
        "{}() takes {count} positional argument{plural} but {given} {verb} given",
        signature.name
    ))
}

#[cold]
fn missing(signature: &Signature, given: usize) -> Error {
    let absent = || signature.parameters()[given..].iter().filter(|p| p.is_required());
    let by_name = absent().next().is_some_and(|parameter| parameter.is_keyword_only);
    let names: Vec<String> = absent()
        .filter(|parameter| parameter.is_keyword_only == by_name)
        .map(|parameter| format!("'{}'", parameter.name))
        .collect();
    let kind = if by_name { "keyword-only" } else { "positional" };
    let listed = match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    };
    let plural = if names.len() == 1 { "" } else { "s" };
    let (function, count) = (signature.name, names.len());
    let text = format!("{function}() missing {count} required {kind} argument{plural}: {listed}");
    Error::type_error(text)
}

// ---- Types of arguments --------------------------------------------------------------------------

/// Values of the extent names and dtype variables, from the arguments checked so far.
struct Names {
    /// The number that each extent name has in this call.
    extents: [i64; MAX_NAMES],
    /// Bit i is set if extent name i has a value.
    known: u32,
    /// The dtype of each dtype variable in this call.
    dtypes: [Option<DataType>; MAX_VARIABLES],
}

/// Check all arguments against the signature.
///
/// # Errors
/// TypeError or ValueError for the first argument that does not fit.
pub fn check(signature: &Signature, arguments: &[AnyView<'_>]) -> Result<()> {
    let mut names = Names { extents: [0; MAX_NAMES], known: 0, dtypes: [None; MAX_VARIABLES] };
    for (index, (parameter, argument)) in signature.parameters().iter().zip(arguments).enumerate() {
        if let Err(mismatch) = check_argument(signature, parameter, argument, &mut names) {
            return Err(located(signature, index, mismatch));
        }
    }
    for (index, parameter) in signature.parameters().iter().enumerate() {
        if let Kind::Tensor(kind) = &parameter.kind {
            check_gap(signature, index, kind, arguments)
                .map_err(|mismatch| located(signature, index, mismatch))?;
        }
    }
    Ok(())
}

/// Compare the extents that match an ellipsis such as `*s` with the extents in the first tensor with
/// the same ellipsis.
fn check_gap(
    signature: &Signature,
    index: usize,
    kind: &TensorKind,
    arguments: &[AnyView<'_>],
) -> Result<(), Mismatch> {
    if kind.gap_name.is_empty() {
        return Ok(());
    }
    let Some(tensor) = checked_description_of(&arguments[index]) else { return Ok(()) };
    for (parameter, argument) in signature.parameters().iter().zip(&arguments[..index]) {
        let Kind::Tensor(other) = &parameter.kind else { continue };
        if other.gap_name != kind.gap_name {
            continue;
        }
        let Some(first) = checked_description_of(argument) else { continue };
        return compare_gaps(
            kind,
            extents_in_gap(kind, tensor.shape()),
            extents_in_gap(other, first.shape()),
        );
    }
    Ok(())
}

fn extents_in_gap<'a>(kind: &TensorKind, shape: &'a [i64]) -> &'a [i64] {
    let first = kind.gap.unwrap_or(0);
    &shape[first..shape.len() - (kind.num_extents - first)]
}

fn compare_gaps(kind: &TensorKind, got: &[i64], expected: &[i64]) -> Result<(), Mismatch> {
    let name = kind.gap_name;
    if got.len() != expected.len() {
        let (wanted, count) = (expected.len(), got.len());
        let text = format!("expected {wanted} dimensions for *{name}, got {count}");
        return Err(Mismatch::value(text));
    }
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        if got != expected {
            let axis = kind.gap.unwrap_or(0) + index;
            let text = format!("shape[{axis}] must be {name}[{index}] = {expected}, got {got}");
            return Err(Mismatch::value(text));
        }
    }
    Ok(())
}

fn check_argument(
    signature: &Signature,
    parameter: &Parameter,
    argument: &AnyView<'_>,
    names: &mut Names,
) -> Result<(), Mismatch> {
    if let Kind::Tensor(kind) = &parameter.kind {
        return match tensor_in(argument) {
            Some(tensor) => check_tensor(signature, parameter, kind, tensor, names),
            None if parameter.is_optional && argument.is_none() => Ok(()),
            None => Err(wrong_type(signature, parameter, argument)),
        };
    }
    check_value(signature, parameter, argument)?;
    if parameter.extent_name.is_some() && unsigned_in(argument).is_some() {
        let name = parameter.name;
        let text = format!("the number does not fit int64, as the extent {name} must");
        return Err(Mismatch::value(text));
    }
    match (parameter.extent_name, integer_in(argument)) {
        (Some(name), Some(got)) => check_name(signature, name, got, None, names),
        _ => Ok(()),
    }
}

#[cold]
fn wrong_type(signature: &Signature, parameter: &Parameter, argument: &AnyView<'_>) -> Mismatch {
    let is_integer = matches!(
        parameter.kind,
        Kind::Int | Kind::Integer(..) | Kind::Float | Kind::Floating(_) | Kind::Bool
    );
    let is_big = argument.resolved().type_index() == abi::kTVMFFIBigInt;
    let kind = if is_integer && is_big { "ValueError" } else { "TypeError" };
    Mismatch { kind, ..Mismatch::expected(&shown_type(signature, parameter), argument) }
}

/// Return the type of a parameter as callers see it: dtypes replace a dtype variable, and `compact`
/// replaces the star of a tensor that is passed by address.
#[cold]
fn shown_type(signature: &Signature, parameter: &Parameter) -> String {
    let text = parameter.type_text;
    let Kind::Tensor(kind) = &parameter.kind else { return text.to_owned() };
    if !kind.is_pointer && kind.variable.is_none() {
        return text.to_owned();
    }
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = match text.find('}') {
        Some(end) => end + 1,
        None => text.find(|c| !is_in_name(c)).unwrap_or(text.len()),
    };
    let (mut dtype, rest) = (text[..end].to_owned(), text[end..].trim_start());
    if let Some(index) = kind.variable {
        let set = &signature.variables[index].dtypes;
        let listed = set.texts[..set.count].join(", ");
        dtype = if set.count == 1 { listed } else { format!("{{{listed}}}") };
    }
    let rest = rest.trim_start_matches('*').trim_start();
    let (mut shape, rest) = rest.split_at(rest.find(']').map_or(0, |end| end + 1));
    if shape.is_empty() && dtype != "Tensor" {
        shape = "[...]";
    }
    let rest = rest.trim_start();
    let has_layout = rest.starts_with("compact") || rest.starts_with("strided");
    let layout = if kind.is_pointer && !has_layout { " compact" } else { "" };
    let space = if rest.is_empty() { "" } else { " " };
    format!("{dtype}{shape}{layout}{space}{rest}")
}

fn check_value(
    signature: &Signature,
    parameter: &Parameter,
    argument: &AnyView<'_>,
) -> Result<(), Mismatch> {
    let index = argument.type_index();
    let has_type = match parameter.kind {
        Kind::Other | Kind::Tensor(_) => true,
        Kind::Int => matches!(index, abi::kTVMFFIInt | abi::kTVMFFIBool),
        Kind::Integer(64, false) if index == abi::kTVMFFIBigInt => unsigned_in(argument).is_some(),
        Kind::Integer(..) => index == abi::kTVMFFIInt,
        Kind::Float => matches!(index, abi::kTVMFFIFloat | abi::kTVMFFIInt | abi::kTVMFFIBool),
        Kind::Floating(_) => matches!(index, abi::kTVMFFIFloat | abi::kTVMFFIInt),
        Kind::Bool => matches!(index, abi::kTVMFFIBool | abi::kTVMFFIInt),
        Kind::Str => argument.text_bytes().is_some(),
        Kind::Bytes => argument.byte_content().is_some(),
        Kind::Pointer => index == abi::kTVMFFIOpaquePtr || argument.is_none(),
    };
    if !(has_type || (parameter.is_optional && argument.is_none())) {
        return Err(wrong_type(signature, parameter, argument));
    }
    if matches!(parameter.kind, Kind::Floating(32)) && index == abi::kTVMFFIFloat {
        // SAFETY: the payload of a kTVMFFIFloat value is a double.
        let number = unsafe { argument.raw().payload.v_float64 };
        // The conversion would round the number to infinity.
        if number.is_finite() && (number as f32).is_infinite() {
            return Err(Mismatch::value("the number does not fit float32".to_string()));
        }
    }
    let Kind::Integer(bits, is_signed) = parameter.kind else { return Ok(()) };
    integer_in(argument).map_or(Ok(()), |got| check_range(bits, is_signed, got))
}

fn check_range(bits: u32, is_signed: bool, got: i64) -> Result<(), Mismatch> {
    let fits = match (is_signed, bits) {
        (true, 64) => true,
        (true, _) => (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&got),
        (false, 64) => got >= 0,
        (false, _) => (0..1i64 << bits).contains(&got),
    };
    if fits {
        return Ok(());
    }
    let sign = if is_signed { "" } else { "u" };
    Err(Mismatch::value(format!("{got} does not fit {sign}int{bits}")))
}

/// Compare an extent or an integer argument with the value of its extent name. At the first use of
/// the name, store the extent or argument as the value of the name.
fn check_name(
    signature: &Signature,
    name: usize,
    got: i64,
    axis: Option<usize>,
    names: &mut Names,
) -> Result<(), Mismatch> {
    if names.known & (1 << name) == 0 {
        names.known |= 1 << name;
        names.extents[name] = got;
    }
    let expected = names.extents[name];
    if expected == got {
        return Ok(());
    }
    let subject = axis.map_or(String::new(), |axis| format!("shape[{axis}] "));
    let name = signature.names[name];
    Err(Mismatch::value(format!("{subject}must be {name} = {expected}, got {got}")))
}

// ---- Properties of tensor arguments --------------------------------------------------------------

fn check_tensor(
    signature: &Signature,
    parameter: &Parameter,
    kind: &TensorKind,
    tensor: &abi::DLTensor,
    names: &mut Names,
) -> Result<(), Mismatch> {
    check_ndim(kind, tensor.ndim)?;
    check_dtype(signature, kind, tensor.dtype, names)?;
    let (device_type, device_id) = kind.device;
    let is_on_device = (device_type < 0 || device_type == tensor.device.device_type)
        && (device_id < 0 || device_id == tensor.device.device_id);
    if !is_on_device {
        let ((name, id), got) = (kind.device_text, tensor.device);
        let separator = if id.is_empty() { "" } else { ":" };
        let text = format!("expected device {name}{separator}{id}, got {got}");
        return Err(Mismatch::value(text));
    }
    // SAFETY: a tensor argument has `ndim` extents, and strides if the address is not NULL.
    let description = unsafe { TensorDescription::from_raw(tensor) }?;
    if let Some(first) = kind.compact_from {
        description.check_layout(first)?;
    }
    if parameter.is_written_tensor() {
        description.check_repeats()?;
    }
    check_extents(signature, kind, description.shape(), names)?;
    description.check_alignment(kind.alignment)?;
    if kind.is_pointer {
        description.check_address(tensor.dtype.alignment())?;
    }
    Ok(())
}

fn check_ndim(kind: &TensorKind, got: i32) -> Result<(), Mismatch> {
    let (wanted, has_gap) = (kind.num_extents as i32, kind.gap.is_some());
    if !kind.has_shape || got == wanted || (has_gap && got > wanted) {
        return Ok(());
    }
    let least = if has_gap { "at least " } else { "" };
    let plural = if wanted == 1 { "" } else { "s" };
    Err(Mismatch::value(format!("expected {least}{wanted} dimension{plural}, got {got}")))
}

fn check_dtype(
    signature: &Signature,
    kind: &TensorKind,
    got: DataType,
    names: &mut Names,
) -> Result<(), Mismatch> {
    let set = signature.dtypes_of(kind);
    if set.count != 0 && !set.dtypes[..set.count].contains(&got) {
        let expected = set.texts[..set.count].join(" or ");
        return Err(Mismatch::value(format!("expected dtype {expected}, got {got}")));
    }
    let Some(variable) = kind.variable else { return Ok(()) };
    let expected = *names.dtypes[variable].get_or_insert(got);
    if expected == got {
        return Ok(());
    }
    let name = signature.variables[variable].name;
    Err(Mismatch::value(format!("expected dtype {name} = {expected}, got {got}")))
}

fn check_extents(
    signature: &Signature,
    kind: &TensorKind,
    shape: &[i64],
    names: &mut Names,
) -> Result<(), Mismatch> {
    for (index, extent) in kind.extents[..kind.num_extents].iter().enumerate() {
        let follows_gap = kind.gap.is_some_and(|gap| index >= gap);
        let axis = if follows_gap { shape.len() - (kind.num_extents - index) } else { index };
        match *extent {
            Extent::Any => {}
            Extent::Name(name) => check_name(signature, name, shape[axis], Some(axis), names)?,
            Extent::Constant(wanted) if wanted == shape[axis] => {}
            Extent::Constant(wanted) => {
                let text = format!("shape[{axis}] must be {wanted}, got {}", shape[axis]);
                return Err(Mismatch::value(text));
            }
        }
    }
    Ok(())
}

// ---- Shared memory of tensor arguments -----------------------------------------------------------

/// Return an error if a tensor that the function writes shares memory with another tensor argument.
///
/// # Errors
/// ValueError for the first written tensor that shares memory with another tensor argument.
pub fn check_sharing(
    signature: &Signature,
    types: &[ParameterType],
    arguments: &[AnyView<'_>],
) -> Result<()> {
    for (index, parameter) in signature.parameters().iter().enumerate() {
        if !parameter.is_written_tensor() {
            continue;
        }
        let Some(tensor) = checked_description_of(&arguments[index]) else { continue };
        for (other_index, other) in signature.parameters().iter().enumerate() {
            // For two written tensors, the later one is compared with the earlier one.
            let is_later = other_index > index && other.is_written_tensor();
            if other_index == index || is_later || !matches!(other.kind, Kind::Tensor(_)) {
                continue;
            }
            let Some(other_tensor) = checked_description_of(&arguments[other_index]) else {
                continue;
            };
            let are_borrowed =
                types[index].access != Access::None && types[other_index].access != Access::None;
            if tensor.shares_memory(&other_tensor)
                || (are_borrowed && tensor.may_alias_slice(&other_tensor))
            {
                return Err(shared(signature, index, other.name));
            }
        }
    }
    Ok(())
}

#[cold]
fn shared(signature: &Signature, index: usize, other: &str) -> Error {
    let text = format!(
        "the array shares memory with argument '{other}', and the function writes into it; \
         pass arrays that do not overlap"
    );
    located(signature, index, Mismatch::value(text))
}
