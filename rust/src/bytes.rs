// SPDX-License-Identifier: Apache-2.0
//! Conversions between byte slices and `TVMFFIByteArray`.

use crate::abi::TVMFFIByteArray;

/// Return a byte array that borrows a slice. The byte array is valid only while the slice is valid.
pub(crate) fn byte_array(bytes: &[u8]) -> TVMFFIByteArray {
    TVMFFIByteArray { data: bytes.as_ptr().cast(), size: bytes.len() }
}

/// Return the bytes of a byte array. The address of an empty byte array may be NULL.
///
/// # Safety
/// `array` describes readable memory that does not change during `'a`.
pub(crate) unsafe fn bytes_of<'a>(array: TVMFFIByteArray) -> &'a [u8] {
    if array.data.is_null() || array.size == 0 {
        return &[];
    }
    // SAFETY: the caller meets the safety requirements of this function; the address is not NULL.
    unsafe { std::slice::from_raw_parts(array.data.cast(), array.size) }
}
