// SPDX-License-Identifier: Apache-2.0
//! Compile-time parser of dtype names.

use super::cursor::{number, part, same};
use crate::abi::{self, DLDataType};

/// Dtype names that do not end with a number of bits. Columns: the name, the type code, the number
/// of bits.
const EXACT: [(&str, u8, u8); 12] = [
    ("bool", abi::kDLBool, 8),
    ("float8_e3m4", abi::kDLFloat8_e3m4, 8),
    ("float8_e4m3", abi::kDLFloat8_e4m3, 8),
    ("float8_e4m3b11fnuz", abi::kDLFloat8_e4m3b11fnuz, 8),
    ("float8_e4m3fn", abi::kDLFloat8_e4m3fn, 8),
    ("float8_e4m3fnuz", abi::kDLFloat8_e4m3fnuz, 8),
    ("float8_e5m2", abi::kDLFloat8_e5m2, 8),
    ("float8_e5m2fnuz", abi::kDLFloat8_e5m2fnuz, 8),
    ("float8_e8m0fnu", abi::kDLFloat8_e8m0fnu, 8),
    ("float6_e2m3fn", abi::kDLFloat6_e2m3fn, 6),
    ("float6_e3m2fn", abi::kDLFloat6_e3m2fn, 6),
    ("float4_e2m1fn", abi::kDLFloat4_e2m1fn, 4),
];

/// Dtype names that end with a number of bits. Columns: the prefix, the type code, the smallest and
/// the largest number of bits.
const SIZED: [(&str, u8, i64, i64); 5] = [
    ("int", abi::kDLInt, 1, 255),
    ("uint", abi::kDLUInt, 1, 255),
    ("float", abi::kDLFloat, 16, 64),
    ("bfloat", abi::kDLBfloat, 16, 16),
    ("complex", abi::kDLComplex, 64, 128),
];

/// Return the dtype of a name; None if it is not a dtype name.
pub(super) const fn dtype_of(name: &'static str) -> Option<DLDataType> {
    match with_lanes(name, 1) {
        Some(dtype) => Some(dtype), // for example complex64, where 64 is not a number of lanes
        None => {
            let (base, lanes) = split_lanes(name);
            with_lanes(base, lanes)
        }
    }
}

const fn with_lanes(base: &'static str, lanes: u16) -> Option<DLDataType> {
    let mut i = 0;
    while i < EXACT.len() {
        if same(base, EXACT[i].0) {
            return Some(DLDataType { code: EXACT[i].1, bits: EXACT[i].2, lanes });
        }
        i += 1;
    }
    let size = trailing_digits(base);
    if size == 0 || size > 3 || lanes == 0 {
        return None;
    }
    let letters = part(base, 0, base.len() - size);
    let bits = number(part(base, base.len() - size, base.len()));
    i = 0;
    while i < SIZED.len() {
        let (word, code, least, most) = SIZED[i];
        // The sizes of floats and complex numbers (index 2 and above) are powers of two.
        let fits = bits >= least && bits <= most && (i < 2 || (bits as u64).is_power_of_two());
        if same(letters, word) && fits {
            return Some(DLDataType { code, bits: bits as u8, lanes });
        }
        i += 1;
    }
    None
}

/// Split a name such as `int8x4` into the base name and the number of lanes, which is 1 if the name
/// has no suffix.
const fn split_lanes(name: &'static str) -> (&'static str, u16) {
    let size = trailing_digits(name);
    if size == 0 || size > 5 || size >= name.len() {
        return (name, 1);
    }
    let separator = name.len() - size - 1;
    if name.as_bytes()[separator] != b'x' {
        return (name, 1);
    }
    let lanes = number(part(name, separator + 1, name.len()));
    (part(name, 0, separator), if lanes > 0xffff { 0 } else { lanes as u16 })
}

const fn trailing_digits(name: &str) -> usize {
    let bytes = name.as_bytes();
    let mut size = 0;
    while size < bytes.len() && bytes[bytes.len() - size - 1].is_ascii_digit() {
        size += 1;
    }
    size
}
