// SPDX-License-Identifier: Apache-2.0
//! Dtypes ([`DataType`]), devices ([`Device`]), and the Rust types of tensor elements
//! ([`Element`]).

use std::fmt;
use std::str::FromStr;

use crate::abi::{self, DLDataType, DLDevice};
use crate::any::{plain, Any, AnyView, NONE};
use crate::bytes::byte_array;
use crate::convert::{pass_by_value, FromArgument, IntoAny, Mismatch};
use crate::error::{check, Error, Result};
use crate::parameter_type::{ParameterType, Sort};
use crate::type_names::device_name;

/// The element type of a tensor: code, bits, lanes.
///
/// ```
/// use pytvmffi::DataType;
/// let half: DataType = "float16x4".parse()?;
/// assert_eq!((half.bits, half.lanes, half.to_string().as_str()), (16, 4, "float16x4"));
/// # Ok::<(), pytvmffi::Error>(())
/// ```
pub type DataType = DLDataType;

/// The device of a tensor: device type and device id.
pub type Device = DLDevice;

impl DLDataType {
    /// Return a dtype with one lane.
    pub const fn new(code: u8, bits: u8) -> Self {
        Self { code, bits, lanes: 1 }
    }

    /// Return true if the dtypes are equal. Unlike `==`, the function can be called in constants.
    pub const fn equals(self, other: Self) -> bool {
        self.code == other.code && self.bits == other.bits && self.lanes == other.lanes
    }

    /// Return the number of bits of one element; a scalable vector counts as one lane.
    pub(crate) fn element_bits(self) -> u64 {
        u64::from(self.bits) * u64::from(if self.lanes as i16 > 0 { self.lanes } else { 1 })
    }

    /// Return the alignment in bytes of the C type for the dtype; 1 if C has no such type.
    pub(crate) fn alignment(self) -> usize {
        let bits =
            usize::from(if self.code == abi::kDLComplex { self.bits / 2 } else { self.bits });
        if bits % 8 == 0 && (bits / 8).is_power_of_two() {
            bits / 8
        } else {
            1
        }
    }
}

impl fmt::Display for DLDataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code == abi::kDLComplex {
            // The runtime has no names for complex dtypes.
            write!(formatter, "complex{}", self.bits)?;
            return if self.lanes > 1 { write!(formatter, "x{}", self.lanes) } else { Ok(()) };
        }
        let mut out = NONE;
        // SAFETY: both addresses are valid; on success `out` is an owned value.
        let name = unsafe {
            check(abi::TVMFFIDataTypeToString(self, &mut out)).map(|()| Any::from_raw(out))
        };
        let name = name.and_then(|name| name.get::<String>());
        formatter.write_str(name.as_deref().unwrap_or("an unnamed dtype"))
    }
}

impl FromStr for DLDataType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut out = DataType::new(0, 0);
        // SAFETY: both addresses are valid for the call.
        check(unsafe { abi::TVMFFIDataTypeFromString(&byte_array(text.as_bytes()), &mut out) })?;
        Ok(out)
    }
}

impl IntoAny for DataType {
    fn into_any(self) -> Result<Any> {
        // The unused bytes of the payload must be 0.
        let mut payload = abi::TVMFFIAnyPayload { v_uint64: 0 };
        payload.v_dtype = self;
        // SAFETY: the value contains no object.
        Ok(unsafe { Any::from_raw(plain(abi::kTVMFFIDataType, payload)) })
    }
}

impl<'a> FromArgument<'a> for DataType {
    const TYPE: ParameterType = ParameterType::new(Sort::DataType, "dtype");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the type index selects the payload member that is read.
        (argument.type_index() == abi::kTVMFFIDataType)
            .then(|| unsafe { argument.raw().payload.v_dtype })
            .ok_or_else(|| Mismatch::expected("dtype", argument))
    }
}

// ---- Devices -------------------------------------------------------------------------------------

impl DLDevice {
    /// Host memory.
    pub const CPU: Self = Self::new(abi::kDLCPU, 0);

    /// Return a device; `device_type` is one of `abi::kDL...`.
    pub const fn new(device_type: i32, device_id: i32) -> Self {
        Self { device_type, device_id }
    }

    /// Return a CUDA device.
    pub const fn cuda(device_id: i32) -> Self {
        Self::new(abi::kDLCUDA, device_id)
    }

    /// Return true if the host can read and write memory of the device at any time.
    pub const fn is_host(self) -> bool {
        matches!(self.device_type, abi::kDLCPU | abi::kDLCUDAHost | abi::kDLROCMHost)
    }
}

impl fmt::Display for DLDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match device_name(self.device_type) {
            Some(name) => write!(formatter, "{name}:{}", self.device_id),
            None => write!(formatter, "{}:{}", self.device_type, self.device_id),
        }
    }
}

impl IntoAny for Device {
    fn into_any(self) -> Result<Any> {
        let payload = abi::TVMFFIAnyPayload { v_device: self };
        // SAFETY: the value contains no object.
        Ok(unsafe { Any::from_raw(plain(abi::kTVMFFIDevice, payload)) })
    }
}

impl<'a> FromArgument<'a> for Device {
    const TYPE: ParameterType = ParameterType::new(Sort::Device, "Device");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the type index selects the payload member that is read.
        (argument.type_index() == abi::kTVMFFIDevice)
            .then(|| unsafe { argument.raw().payload.v_device })
            .ok_or_else(|| Mismatch::expected("Device", argument))
    }
}

pass_by_value! { DataType, Device }

// ---- Elements ------------------------------------------------------------------------------------

/// A Rust type of tensor elements.
///
/// # Safety
/// Every bit pattern is a valid value, the type has no padding, and it has the size and alignment
/// of the C type for [`DTYPE`](Element::DTYPE).
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The dtype of tensors with these elements.
    const DTYPE: DataType;
}

/// A `bool` element: a byte; 0 is false, every other value is true.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bool8(pub u8);

/// A `float16` element, stored as its 16 bits.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Float16(pub u16);

/// A `bfloat16` element, stored as its 16 bits.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BFloat16(pub u16);

impl BFloat16 {
    /// Convert to `f32`, without rounding.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

macro_rules! elements {
    ($($type:ty = $code:ident $bits:literal),* $(,)?) => {$(
        // SAFETY: the type is a number of this size without padding, or a transparent struct of a
        // number.
        unsafe impl Element for $type {
            const DTYPE: DataType = DataType::new(abi::$code, $bits);
        }
    )*};
}

elements! {
    i8 = kDLInt 8, i16 = kDLInt 16, i32 = kDLInt 32, i64 = kDLInt 64,
    u8 = kDLUInt 8, u16 = kDLUInt 16, u32 = kDLUInt 32, u64 = kDLUInt 64,
    f32 = kDLFloat 32, f64 = kDLFloat 64,
    Bool8 = kDLBool 8, Float16 = kDLFloat 16, BFloat16 = kDLBfloat 16,
}
