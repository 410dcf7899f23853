// SPDX-License-Identifier: Apache-2.0
//! Data types, devices, and the types of Rust that lie in tensors.

use std::fmt;
use std::str::FromStr;

use crate::abi::{self, DLDataType, DLDevice};
use crate::any::{plain, Any, AnyView};
use crate::convert::{FromArgument, IntoAny, Mismatch};
use crate::error::{byte_array, check, Error, Result};
use crate::parameter_type::{ParameterType, Sort};

/// The type of the elements of a tensor: code, bits, lanes.
///
/// ```
/// use pytvmffi::DataType;
/// let half: DataType = "float16x4".parse()?;
/// assert_eq!((half.bits, half.lanes, half.to_string().as_str()), (16, 4, "float16x4"));
/// # Ok::<(), pytvmffi::Error>(())
/// ```
pub type DataType = DLDataType;

/// Where a tensor lies: a type of device, and which one.
pub type Device = DLDevice;

impl DLDataType {
    /// A type with one lane.
    pub const fn new(code: u8, bits: u8) -> Self {
        Self { code, bits, lanes: 1 }
    }

    /// Whether two are the same; `==` for constants.
    pub const fn equals(self, other: Self) -> bool {
        self.code == other.code && self.bits == other.bits && self.lanes == other.lanes
    }

    /// Bits of one element; scalable vectors count as one lane.
    pub(crate) fn element_bits(self) -> u64 {
        u64::from(self.bits) * u64::from(if self.lanes as i16 > 0 { self.lanes } else { 1 })
    }

    /// Bytes to which C aligns an element, as far as C has such elements; else 1.
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
            // The runtime has no names for these.
            write!(formatter, "complex{}", self.bits)?;
            return if self.lanes > 1 { write!(formatter, "x{}", self.lanes) } else { Ok(()) };
        }
        let mut out = crate::any::NONE;
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
        let mut payload = abi::TVMFFIAnyPayload { v_uint64: 0 }; // the upper half stays 0
        payload.v_dtype = self;
        // SAFETY: a plain value owns nothing.
        Ok(unsafe { Any::from_raw(plain(abi::kTVMFFIDataType, payload)) })
    }
}

impl<'a> FromArgument<'a> for DataType {
    const TYPE: ParameterType = ParameterType::new(Sort::DataType, "dtype");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the member is live where the index is.
        (argument.type_index() == abi::kTVMFFIDataType)
            .then(|| unsafe { argument.raw().payload.v_dtype })
            .ok_or_else(|| Mismatch::expected("dtype", argument))
    }
}

// ---- Devices -------------------------------------------------------------------------------------

impl DLDevice {
    /// The memory of the host.
    pub const CPU: Self = Self::new(abi::kDLCPU, 0);

    /// A device by its type, one of `abi::kDL...`, and its number.
    pub const fn new(device_type: i32, device_id: i32) -> Self {
        Self { device_type, device_id }
    }

    /// A GPU of CUDA.
    pub const fn cuda(device_id: i32) -> Self {
        Self::new(abi::kDLCUDA, device_id)
    }

    /// Whether the host may read and write memory there at any time.
    pub const fn is_host(self) -> bool {
        matches!(self.device_type, abi::kDLCPU | abi::kDLCUDAHost | abi::kDLROCMHost)
    }
}

impl fmt::Display for DLDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::words::of_device(self.device_type) {
            Some(name) => write!(formatter, "{name}:{}", self.device_id),
            None => write!(formatter, "{}:{}", self.device_type, self.device_id),
        }
    }
}

impl IntoAny for Device {
    fn into_any(self) -> Result<Any> {
        let payload = abi::TVMFFIAnyPayload { v_device: self };
        // SAFETY: a plain value owns nothing.
        Ok(unsafe { Any::from_raw(plain(abi::kTVMFFIDevice, payload)) })
    }
}

impl<'a> FromArgument<'a> for Device {
    const TYPE: ParameterType = ParameterType::new(Sort::Device, "Device");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the member is live where the index is.
        (argument.type_index() == abi::kTVMFFIDevice)
            .then(|| unsafe { argument.raw().payload.v_device })
            .ok_or_else(|| Mismatch::expected("Device", argument))
    }
}

// ---- Elements ------------------------------------------------------------------------------------

/// A type of Rust that lies in tensors.
///
/// # Safety
/// Every pattern of bits is a value, there is no padding, and size and alignment are those of C
/// for [`DTYPE`](Element::DTYPE).
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type of such tensors.
    const DTYPE: DataType;
}

/// A truth value of a tensor: any byte, of which 0 is false.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bool8(pub u8);

/// The bits of a `float16`.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Float16(pub u16);

/// The bits of a `bfloat16`.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BFloat16(pub u16);

impl BFloat16 {
    /// The value, which every `f32` has room for.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

macro_rules! elements {
    ($($type:ty = $code:ident $bits:literal),* $(,)?) => {$(
        // SAFETY: a number without padding, of this size, or a transparent struct of one.
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
