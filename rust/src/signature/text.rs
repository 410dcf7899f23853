// SPDX-License-Identifier: Apache-2.0
//! Compile-time parser of signatures.

use super::cursor::{contains, number, one_of, part, refuse, same, Cursor};
use super::dtype_names::dtype_of;
use super::types::{
    Default, Direction, DtypeSet, Extent, Kind, Parameter, Signature, TensorKind, Variable,
    MAX_DTYPES, MAX_EXTENTS, MAX_NAMES, MAX_PARAMETERS, MAX_VARIABLES, NO_DTYPES, NO_PARAMETER,
};
use crate::abi;
use crate::type_names::device_name;

/// The largest alignment that a signature can declare, in bytes.
const LARGEST_ALIGNMENT: i64 = 4096;

/// Type names, other than tensor types, that may be followed by a bracket.
const GENERIC: [&str; 11] = [
    "Any", "Array", "Callable", "Dict", "List", "Map", "Optional", "Union", "dict", "list", "tuple",
];

/// Parse a signature.
///
/// ```
/// use pytvmffi::signature::{parse, Signature};
/// const ADD: Signature = parse("add(x: float32[n], y: out float32[n], scale: float = 1.0)");
/// assert_eq!((ADD.name, ADD.parameters().len(), ADD.names[0]), ("add", 3, "n"));
/// ```
///
/// # Panics
/// If the text is not a signature, or `export!` does not support a part of it. In a constant, this
/// is a compile error.
#[track_caller]
pub const fn parse(text: &'static str) -> Signature {
    let mut signature = Signature {
        text,
        name: "",
        parameters: [NO_PARAMETER; MAX_PARAMETERS],
        num_parameters: 0,
        names: [""; MAX_NAMES],
        variables: [Variable { name: "", dtypes: NO_DTYPES }; MAX_VARIABLES],
    };
    let mut cursor = Cursor::new(text);
    signature.name = cursor.take_word("the name of a function");
    cursor.expect(b'(', "'('");
    read_parameters(&mut cursor, &mut signature);
    cursor.expect(b')', "',' or ')'");
    read_clauses(&mut cursor, &mut signature);
    finish(&mut signature);
    signature
}

const fn read_parameters(cursor: &mut Cursor, signature: &mut Signature) {
    let mut is_keyword_only = false;
    while cursor.peek() != b')' {
        if cursor.accept(b'/') {
        } else if cursor.peek() == b'*' {
            cursor.skip(1);
            if cursor.peek() != b',' {
                cursor.fail("a parameter without `*` (export! does not support `*arguments`)");
            }
            is_keyword_only = true;
        } else {
            if signature.num_parameters == MAX_PARAMETERS {
                cursor.fail("no more than 12 parameters");
            }
            let mut parameter = read_parameter(cursor, signature);
            parameter.is_keyword_only = is_keyword_only;
            signature.parameters[signature.num_parameters] = parameter;
            signature.num_parameters += 1;
        }
        if !cursor.accept(b',') {
            return;
        }
    }
}

const fn read_parameter(cursor: &mut Cursor, signature: &mut Signature) -> Parameter {
    let mut parameter = NO_PARAMETER;
    parameter.name = cursor.take_word("the name of a parameter");
    cursor.expect(b':', "':'");
    parameter.direction = read_direction(cursor);
    let text = cursor.take_until(b",)=");
    if text.is_empty() {
        cursor.fail("a type");
    }
    parameter.type_text = text;
    let (base, is_optional) = without_none(text);
    parameter.is_optional = is_optional;
    parameter.kind = read_type(base, signature);
    if cursor.accept(b'=') {
        parameter.default = read_constant(cursor);
    }
    parameter
}

/// Read the direction of a parameter, a keyword before its type; `Read` if there is no keyword.
const fn read_direction(cursor: &mut Cursor) -> Direction {
    let word = cursor.word();
    let mut next = *cursor;
    next.skip(word.len());
    if !one_of(word, &["in", "out", "inout", "unknown"]) || contains(b"[,)=", next.peek()) {
        return Direction::Read;
    }
    *cursor = next;
    if same(word, "in") {
        Direction::Read
    } else if same(word, "unknown") {
        Direction::Unknown
    } else {
        Direction::Written
    }
}

/// Split `type | None` into the type and true; return other type texts unchanged, with false.
const fn without_none(text: &'static str) -> (&'static str, bool) {
    let mut cursor = Cursor::new(text);
    let base = cursor.take_until(b"|");
    if cursor.is_at_end() {
        return (base, false);
    }
    cursor.skip(1);
    let other = cursor.take_until(b"|");
    if cursor.is_at_end() && same(other, "None") {
        return (base, true);
    }
    (text, false) // any other union of types
}

const fn read_constant(cursor: &mut Cursor) -> Default {
    let byte = cursor.peek();
    if byte == b'"' || byte == b'\'' {
        return Default::Str(cursor.take_string());
    }
    let text = cursor.take_until(b",)");
    if same(text, "None") {
        return Default::None;
    }
    if same(text, "True") || same(text, "False") {
        return Default::Bool(same(text, "True"));
    }
    let bytes = text.as_bytes();
    let is_negative = !bytes.is_empty() && bytes[0] == b'-';
    let digits = part(text, is_negative as usize, text.len());
    if is_decimal(digits) {
        let value = number(digits);
        return Default::Int(if is_negative { -value } else { value });
    }
    if is_float(digits) {
        return Default::Float(text);
    }
    refuse(&["signature: export! does not support the default `", text, "`"])
}

const fn is_decimal(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() && bytes[i].is_ascii_digit() {
        i += 1;
    }
    i > 0 && i == bytes.len()
}

/// Return true if Rust and Python both parse the text as a float.
const fn is_float(text: &str) -> bool {
    if same(text, "inf") || same(text, "nan") {
        return true;
    }
    let bytes = text.as_bytes();
    let mut digits = 0;
    let mut i = 0;
    while i < bytes.len() && (bytes[i].is_ascii_digit() || bytes[i] == b'.') {
        digits += bytes[i].is_ascii_digit() as usize;
        i += 1;
    }
    if digits == 0 || digits + 1 < i {
        return false;
    }
    if i < bytes.len() && (bytes[i] == b'e' || bytes[i] == b'E') {
        i += 1;
        if i < bytes.len() && (bytes[i] == b'+' || bytes[i] == b'-') {
            i += 1;
        }
        return is_decimal_from(bytes, i);
    }
    i == bytes.len()
}

const fn is_decimal_from(bytes: &[u8], from: usize) -> bool {
    let mut i = from;
    while i < bytes.len() && bytes[i].is_ascii_digit() {
        i += 1;
    }
    i > from && i == bytes.len()
}

// ---- Parameter types -----------------------------------------------------------------------------

const fn read_type(text: &'static str, signature: &mut Signature) -> Kind {
    let mut cursor = Cursor::new(text);
    let word = cursor.word();
    let following = cursor.peek_at(word.len());
    let is_plain = following != b'.' && following != b':';
    if cursor.peek() == b'{' || same(word, "Tensor") || (is_plain && following == b'*') {
        return read_tensor(&mut cursor, signature);
    }
    let mut next = cursor;
    next.skip(word.len());
    if next.peek() == b'[' && is_plain && !one_of(word, &GENERIC) {
        return read_tensor(&mut cursor, signature);
    }
    if next.is_at_end() && is_plain {
        return plain_type(word);
    }
    if same(text, "ctypes.c_void_p") {
        return Kind::Pointer;
    }
    Kind::Other
}

const fn plain_type(word: &'static str) -> Kind {
    let words = ["int", "float", "bool", "str", "bytes"];
    let kinds = [Kind::Int, Kind::Float, Kind::Bool, Kind::Str, Kind::Bytes];
    let mut i = 0;
    while i < words.len() {
        if same(word, words[i]) {
            return kinds[i];
        }
        i += 1;
    }
    let Some(dtype) = dtype_of(word) else { return Kind::Other };
    let bits = dtype.bits as u32;
    if dtype.lanes == 1 && bits >= 8 && bits <= 64 && bits.is_power_of_two() {
        match dtype.code {
            abi::kDLInt => return Kind::Integer(bits, true),
            abi::kDLUInt => return Kind::Integer(bits, false),
            abi::kDLFloat if bits >= 32 => return Kind::Floating(bits),
            _ => {}
        }
    }
    refuse(&[
        "signature: ",
        word,
        " is not a C number type; write ",
        word,
        "[...] for a tensor of any shape",
    ])
}

const fn read_tensor(cursor: &mut Cursor, signature: &mut Signature) -> Kind {
    let mut tensor = TensorKind {
        dtypes: NO_DTYPES,
        variable: None,
        has_shape: false,
        extents: [Extent::Any; MAX_EXTENTS],
        num_extents: 0,
        gap: None,
        gap_name: "",
        compact_from: None,
        is_pointer: false,
        alignment: 1,
        device: (-1, -1),
        device_text: ("", ""),
    };
    if cursor.accept(b'{') {
        tensor.dtypes = read_dtypes(cursor, b'}');
    } else {
        let word = cursor.take_word("a dtype");
        if let Some(dtype) = dtype_of(word) {
            tensor.dtypes.dtypes[0] = dtype;
            tensor.dtypes.texts[0] = word;
            tensor.dtypes.count = 1;
        } else if !same(word, "Tensor") {
            tensor.variable = Some(variable_index(signature, word));
        }
    }
    tensor.is_pointer = cursor.accept(b'*');
    if cursor.accept(b'[') {
        read_extents(cursor, signature, &mut tensor);
    }
    tensor.compact_from = read_layout(cursor, &tensor);
    if same(cursor.word(), "align") {
        cursor.skip("align".len());
        tensor.alignment = read_alignment(cursor);
    }
    if same(cursor.word(), "on") {
        cursor.skip(2);
        read_device(cursor, &mut tensor);
    }
    if !cursor.is_at_end() {
        cursor.fail("'compact', 'strided', 'align', 'on' or the end of the type");
    }
    Kind::Tensor(tensor)
}

/// Read the layout and return the first dimension that must be row-major without gaps.
const fn read_layout(cursor: &mut Cursor, tensor: &TensorKind) -> Option<i32> {
    let layout = cursor.word();
    let is_compact = same(layout, "compact");
    if !is_compact && !same(layout, "strided") {
        return if tensor.is_pointer { Some(0) } else { None };
    }
    cursor.skip(layout.len());
    if !is_compact {
        return None;
    }
    if !same(cursor.word(), "from") {
        return Some(0);
    }
    cursor.skip("from".len());
    let is_negative = cursor.accept(b'-');
    let digits = cursor.take_digits("the number of a dimension");
    let dimension = number(digits);
    let ndim = tensor.num_extents as i64;
    let has_ndim = tensor.has_shape && tensor.gap.is_none();
    let is_missing = has_ndim && dimension >= ndim + is_negative as i64;
    if dimension == 0 || dimension > i32::MAX as i64 || is_missing {
        let sign = if is_negative { "-" } else { "" };
        let text = "`; expected another dimension of the tensor than 0";
        refuse(&["signature: got `compact from ", sign, digits, text]);
    }
    Some(if is_negative { -dimension as i32 } else { dimension as i32 })
}

const fn read_dtypes(cursor: &mut Cursor, end: u8) -> DtypeSet {
    let mut set = NO_DTYPES;
    loop {
        let word = cursor.take_word("a dtype");
        let Some(dtype) = dtype_of(word) else {
            refuse(&["signature: `", word, "` is not a dtype"])
        };
        if set.count == MAX_DTYPES {
            cursor.fail("no more than 8 dtypes");
        }
        set.dtypes[set.count] = dtype;
        set.texts[set.count] = word;
        set.count += 1;
        if !cursor.accept(b',') {
            break;
        }
    }
    cursor.expect(end, "',' or the end of the dtypes");
    set
}

const fn read_extents(cursor: &mut Cursor, signature: &mut Signature, tensor: &mut TensorKind) {
    tensor.has_shape = true;
    while cursor.peek() != b']' {
        let is_named = cursor.peek() == b'*';
        if is_named || is_ellipsis(cursor) {
            cursor.skip(if is_named { 1 } else { 3 });
            if tensor.gap.is_some() {
                cursor.fail("at most one '...' or '*name'");
            }
            tensor.gap = Some(tensor.num_extents);
            if is_named {
                tensor.gap_name = cursor.take_word("the name of an ellipsis");
            }
        } else {
            if tensor.num_extents == MAX_EXTENTS {
                cursor.fail("no more than 16 extents");
            }
            tensor.extents[tensor.num_extents] = read_extent(cursor, signature);
            tensor.num_extents += 1;
        }
        if !cursor.accept(b',') {
            break;
        }
    }
    cursor
        .expect(b']', "',' or ']' after a number or a name (export! does not support expressions)");
    if tensor.gap.is_some() && tensor.num_extents == 0 {
        tensor.has_shape = false;
    }
}

const fn is_ellipsis(cursor: &Cursor) -> bool {
    cursor.peek() == b'.' && cursor.peek_at(1) == b'.' && cursor.peek_at(2) == b'.'
}

const fn read_extent(cursor: &mut Cursor, signature: &mut Signature) -> Extent {
    if cursor.peek().is_ascii_digit() {
        return Extent::Constant(number(cursor.take_digits("an extent")));
    }
    let name = cursor.take_word("an extent");
    if same(name, "_") {
        return Extent::Any;
    }
    let mut index = 0;
    while !signature.names[index].is_empty() && !same(signature.names[index], name) {
        index += 1;
        if index == MAX_NAMES {
            cursor.fail("no more than 16 extent names");
        }
    }
    signature.names[index] = name;
    Extent::Name(index)
}

const fn read_alignment(cursor: &mut Cursor) -> usize {
    let digits = cursor.take_digits("a number of bytes");
    let size = number(digits);
    if size < 2 || size > LARGEST_ALIGNMENT || size & (size - 1) != 0 {
        let limits = "signature: an alignment must be a power of two from 2 to 4096, got ";
        refuse(&[limits, digits]);
    }
    size as usize
}

const fn read_device(cursor: &mut Cursor, tensor: &mut TensorKind) {
    let word = cursor.take_word("a device");
    let mut device_type = 1;
    loop {
        if let Some(name) = device_name(device_type) {
            if same(name, word) {
                break;
            }
        }
        device_type += 1;
        if device_type == 64 {
            refuse(&["signature: unknown device `", word, "`"]);
        }
    }
    tensor.device = (device_type, -1);
    tensor.device_text = (word, "");
    if cursor.accept(b':') {
        let digits = cursor.take_digits("a device id");
        let id = number(digits);
        if id > i32::MAX as i64 {
            refuse(&["signature: a device id must be at most 2147483647, got ", digits]);
        }
        tensor.device.1 = id as i32;
        tensor.device_text.1 = digits;
    }
}

/// Return the index of a dtype variable in the signature. Add the variable at its first use; a
/// `where` clause sets its dtypes later.
const fn variable_index(signature: &mut Signature, name: &'static str) -> usize {
    let mut index = 0;
    while !signature.variables[index].name.is_empty()
        && !same(signature.variables[index].name, name)
    {
        index += 1;
        if index == MAX_VARIABLES {
            refuse(&["signature: export! supports at most 4 dtype variables"]);
        }
    }
    signature.variables[index].name = name;
    index
}

// ---- Clauses after the parameters ----------------------------------------------------------------

/// Read the `where` clauses. Skip the clauses for results, errors and documentation, because only
/// tools use them.
const fn read_clauses(cursor: &mut Cursor, signature: &mut Signature) {
    while !cursor.is_at_end() {
        let word = cursor.word();
        if same(word, "where") {
            cursor.skip(word.len());
            read_variables(cursor, signature);
        } else if cursor.peek() == b'"' || cursor.peek() == b'\'' {
            cursor.skip_string();
        } else {
            cursor.skip(if word.is_empty() { 1 } else { word.len() });
        }
    }
}

const fn read_variables(cursor: &mut Cursor, signature: &mut Signature) {
    loop {
        let name = cursor.take_word("a dtype variable");
        if !same(cursor.word(), "in") {
            cursor.fail("'in'");
        }
        cursor.skip(2);
        cursor.expect(b'(', "'('");
        let dtypes = read_dtypes(cursor, b')');
        let mut index = 0;
        while index < MAX_VARIABLES {
            if same(signature.variables[index].name, name) {
                signature.variables[index].dtypes = dtypes;
            }
            index += 1;
        }
        if !cursor.accept(b',') {
            return;
        }
    }
}

/// Return true if a name is the name of an extent or of an integer parameter.
const fn is_extent(signature: &Signature, name: &str) -> bool {
    let mut index = 0;
    while index < MAX_NAMES && !name.is_empty() {
        if same(signature.names[index], name) {
            return true;
        }
        index += 1;
    }
    index = 0;
    while index < signature.num_parameters {
        let parameter = signature.parameters[index];
        let is_integer = matches!(parameter.kind, Kind::Int | Kind::Integer(..));
        if is_integer && !parameter.is_optional && same(parameter.name, name) {
            return true;
        }
        index += 1;
    }
    false
}

/// Complete a parsed signature: check dtype variables, and link integer parameters to the extent
/// names.
const fn finish(signature: &mut Signature) {
    let mut index = 0;
    while index < MAX_VARIABLES {
        let variable = signature.variables[index];
        if !variable.name.is_empty() && variable.dtypes.count == 0 {
            let name = variable.name;
            refuse(&[
                "signature: `",
                name,
                "` is not a dtype; declare it with `where ",
                name,
                " in (...)`",
            ]);
        }
        index += 1;
    }
    index = 0;
    while index < signature.num_parameters {
        let parameter = signature.parameters[index];
        if let Kind::Tensor(tensor) = parameter.kind {
            if is_extent(signature, tensor.gap_name) {
                let name = tensor.gap_name;
                refuse(&["signature: `", name, "` is both an extent and an ellipsis"]);
            }
        }
        if matches!(parameter.kind, Kind::Int | Kind::Integer(..)) {
            let mut name = 0;
            while name < MAX_NAMES {
                if same(signature.names[name], parameter.name) {
                    signature.parameters[index].extent_name = Some(name);
                }
                name += 1;
            }
        }
        index += 1;
    }
}
