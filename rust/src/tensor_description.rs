// SPDX-License-Identifier: Apache-2.0
//! Validated `DLTensor` metadata ([`TensorDescription`]): shape, strides, dtype, device, address.
//!
//! The types of `tensor_view.rs` add access to the elements.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use crate::abi::{self, DLTensor};
use crate::any::AnyView;
use crate::convert::Mismatch;
use crate::dtype::{DataType, Device, Element};
use crate::error::{Error, Result};

/// Maximum number of dimensions; a `DLTensor` with more dimensions is refused as corrupt.
const MAX_DIMENSIONS: i32 = 1024;
/// Maximum number of strides in an error message.
const MAX_SHOWN: usize = 8;

/// Shape, strides, dtype, device and address of a tensor, borrowed for `'a`.
///
/// The constructor checks that no extent is negative and that the size of the elements in bytes
/// fits the address space.
#[derive(Clone, Copy)]
pub struct TensorDescription<'a> {
    tensor: DLTensor,
    lifetime: PhantomData<&'a [i64]>,
}

/// Return the `DLTensor` of an argument, a Tensor or a `DLTensor*`; None if it is not a tensor.
pub(crate) fn tensor_in<'a>(argument: &AnyView<'a>) -> Option<&'a DLTensor> {
    let view = argument.resolved();
    // SAFETY: in a Tensor, a DLTensor follows the header; the payload of a DLTensor pointer is an
    // address or NULL.  Both are valid while the argument is valid.
    unsafe {
        match view.type_index() {
            abi::kTVMFFITensor => {
                let object = view.object_handle()?.cast::<abi::TVMFFIObject>();
                Some(&*object.add(1).cast::<DLTensor>())
            }
            abi::kTVMFFIDLTensorPtr => view.raw().payload.v_ptr.cast::<DLTensor>().as_ref(),
            _ => None,
        }
    }
}

/// Return the description of an argument; None if the argument is not a valid tensor.
pub(crate) fn description_of<'a>(argument: &AnyView<'a>) -> Option<TensorDescription<'a>> {
    // SAFETY: a tensor argument has `ndim` extents, and strides if the address is not NULL.
    unsafe { TensorDescription::from_raw(tensor_in(argument)?) }.ok()
}

/// Return the description of an argument for which [`TensorDescription::from_raw`] has succeeded;
/// None if the argument is not a tensor.
pub(crate) fn checked_description_of<'a>(argument: &AnyView<'a>) -> Option<TensorDescription<'a>> {
    tensor_in(argument).map(|tensor| TensorDescription { tensor: *tensor, lifetime: PhantomData })
}

/// Return an array of extents or strides; None if its address is NULL.
///
/// # Safety
/// `numbers` is NULL or the address of `ndim` numbers that live for `'a`.
unsafe fn numbers<'a>(numbers: *const i64, ndim: i32) -> Option<&'a [i64]> {
    match usize::try_from(ndim) {
        Ok(0) => Some(&[]),
        // SAFETY: the caller meets the safety requirements of this function.
        Ok(count) if !numbers.is_null() => {
            Some(unsafe { std::slice::from_raw_parts(numbers, count) })
        }
        _ => None,
    }
}

/// Return the strides of a compact tensor in elements. For this computation an extent of 0 counts
/// as 1.
pub(crate) fn compact_strides(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

/// Format strides for error messages, as a Python tuple.
fn strides_text(strides: &[i64]) -> String {
    let shown: Vec<String> = strides.iter().take(MAX_SHOWN).map(i64::to_string).collect();
    match strides.len() {
        1 => format!("({},)", shown[0]),
        count if count > MAX_SHOWN => format!("({}, ...)", shown.join(", ")),
        _ => format!("({})", shown.join(", ")),
    }
}

/// Return Ok if a tensor of this shape has `count` elements, otherwise a ValueError.
pub(crate) fn check_element_count(count: usize, shape: &[i64]) -> Result<()> {
    let expected = shape
        .iter()
        .try_fold(1usize, |product, extent| product.checked_mul(usize::try_from(*extent).ok()?));
    if expected == Some(count) && shape.len() <= MAX_DIMENSIONS as usize {
        return Ok(());
    }
    Err(Error::value_error(format!(
        "expected as many elements as a tensor of shape {shape:?} has, got {count} elements"
    )))
}

impl<'a> TensorDescription<'a> {
    /// Check a `DLTensor` and borrow its shape and strides.
    ///
    /// # Safety
    /// Shape and strides are NULL or arrays of `ndim` numbers that live for `'a`.
    ///
    /// # Errors
    /// A [`Mismatch`] if rank, shape or size are invalid.
    pub unsafe fn from_raw(tensor: &DLTensor) -> Result<Self, Mismatch> {
        let ndim = tensor.ndim;
        if !(0..=MAX_DIMENSIONS).contains(&ndim) {
            return Err(Mismatch::value(format!(
                "expected 0 to {MAX_DIMENSIONS} dimensions, got {ndim}"
            )));
        }
        // SAFETY: the caller meets the safety requirements of this function.
        let Some(shape) = (unsafe { numbers(tensor.shape, ndim) }) else {
            return Err(Mismatch::value(format!("expected a shape of {ndim} extents, got NULL")));
        };
        let mut bits = Some(tensor.dtype.element_bits().max(8));
        for (axis, extent) in shape.iter().enumerate() {
            let Ok(extent) = u64::try_from(*extent) else {
                return Err(Mismatch::value(format!("shape[{axis}] must be >= 0, got {extent}")));
            };
            bits = bits.and_then(|bits| bits.checked_mul(extent.max(1)));
        }
        if bits.is_none_or(|bits| bits / 8 > isize::MAX as u64) {
            return Err(Mismatch::value(format!(
                "expected a size that fits the address space, got shape {shape:?}"
            )));
        }
        Ok(Self { tensor: *tensor, lifetime: PhantomData })
    }

    /// Return the description of a compact tensor in host memory, whose first element is at `data`.
    pub(crate) fn of_elements<T: Element>(data: *mut c_void, shape: &'a [i64]) -> Self {
        let tensor = DLTensor {
            data,
            device: Device::CPU,
            ndim: shape.len() as i32,
            dtype: T::DTYPE,
            shape: shape.as_ptr().cast_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        Self { tensor, lifetime: PhantomData }
    }

    /// Return the number of dimensions.
    pub fn ndim(&self) -> usize {
        self.tensor.ndim as usize
    }

    /// Return the extent of each dimension.
    pub fn shape(&self) -> &'a [i64] {
        // SAFETY: the array has `ndim` numbers, which live for 'a.
        unsafe { numbers(self.tensor.shape, self.tensor.ndim) }.unwrap_or_default()
    }

    /// Return the strides in elements; None if the `DLTensor` has NULL strides, which mean that the
    /// tensor is compact.
    pub fn strides(&self) -> Option<&'a [i64]> {
        if self.tensor.strides.is_null() {
            return None;
        }
        // SAFETY: the array has `ndim` numbers, which live for 'a.
        unsafe { numbers(self.tensor.strides, self.tensor.ndim) }
    }

    /// Return the number of elements.
    pub fn len(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.shape().iter().product::<i64>() as usize // cannot overflow, see from_raw
    }

    /// Return true if the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Return the dtype.
    pub fn dtype(&self) -> DataType {
        self.tensor.dtype
    }

    /// Return the device.
    pub fn device(&self) -> Device {
        self.tensor.device
    }

    /// Return true if the tensor is compact; strides of dimensions with extent 1 are ignored.
    pub fn is_compact(&self) -> bool {
        self.tensor.strides.is_null() || self.count_and_layout().1
    }

    /// Return true if the dimensions from `first` on are row-major without gaps.
    fn is_compact_from(&self, first: usize) -> bool {
        let Some(strides) = self.strides() else { return true };
        let mut step = 1i64;
        for (extent, stride) in self.shape().iter().zip(strides).skip(first).rev() {
            if *extent != 1 && *stride != step {
                return self.is_empty();
            }
            step = step.wrapping_mul(*extent);
        }
        true
    }

    /// Return the address of the first element (`data` plus `byte_offset`), for kernels in C or on
    /// a GPU.
    ///
    /// The address can be NULL if the tensor has no elements.
    pub fn as_ptr(&self) -> *const c_void {
        self.address().cast_const()
    }

    /// Return the address of the first element (`data` plus `byte_offset`).
    pub(crate) fn address(&self) -> *mut c_void {
        self.tensor.data.cast::<u8>().wrapping_add(self.tensor.byte_offset as usize).cast()
    }

    /// Return the `DLTensor`.
    pub fn as_raw(&self) -> &DLTensor {
        &self.tensor
    }

    /// Return Ok if the elements can be used as a slice of `T`, otherwise an error.
    pub(crate) fn check_slice<T: Element>(&self) -> Result<(), Mismatch> {
        self.check_elements::<T>()?;
        self.check_layout(0)?;
        self.check_address(std::mem::align_of::<T>())
    }

    /// Return Ok if the dtype is `T::DTYPE` and the host can access the elements, otherwise an
    /// error.
    fn check_elements<T: Element>(&self) -> Result<(), Mismatch> {
        if !self.dtype().equals(T::DTYPE) {
            let (expected, got) = (T::DTYPE, self.dtype());
            return Err(Mismatch::value(format!("expected dtype {expected}, got {got}")));
        }
        if !self.device().is_host() {
            let device = self.device();
            return Err(Mismatch::value(format!("expected device cpu, got {device}")));
        }
        Ok(())
    }

    /// Return Ok if the dimensions from `first` on are row-major without gaps, otherwise an error. A
    /// negative `first` counts from the last dimension.
    pub(crate) fn check_layout(&self, first: i32) -> Result<(), Mismatch> {
        let start = if first < 0 { self.tensor.ndim.saturating_add(first) } else { first };
        if self.is_compact_from(usize::try_from(start).unwrap_or(0)) {
            return Ok(());
        }
        let strides = strides_text(self.strides().unwrap_or_default());
        let wanted = match first {
            0 => "compact tensor".to_string(),
            _ => format!("tensor that is compact from dimension {first}"),
        };
        Err(Mismatch::value(format!("expected a {wanted}, got strides {strides}")))
    }

    /// Return Ok if no stride is 0 in a dimension with several elements, otherwise an error.
    pub(crate) fn check_repeats(&self) -> Result<(), Mismatch> {
        let Some(strides) = self.strides() else { return Ok(()) };
        let mut dimensions = self.shape().iter().zip(strides);
        if dimensions.all(|(extent, stride)| *stride != 0 || *extent <= 1) || self.is_empty() {
            return Ok(());
        }
        let strides = strides_text(strides);
        Err(Mismatch::value(format!(
            "expected an array without repeated elements, because the function writes into it, \
             got strides {strides}"
        )))
    }

    /// Return Ok if the address is aligned and not NULL or the tensor has no elements, otherwise an
    /// error.
    pub(crate) fn check_address(&self, alignment: usize) -> Result<(), Mismatch> {
        if self.is_empty() {
            return Ok(());
        }
        if self.tensor.data.is_null() {
            return Err(Mismatch::value("expected the address of the first element, got NULL"));
        }
        self.check_alignment(alignment)
    }

    /// Return Ok if the address is aligned or NULL or the tensor has no elements, otherwise an
    /// error.
    pub(crate) fn check_alignment(&self, alignment: usize) -> Result<(), Mismatch> {
        let remainder = self.as_ptr() as usize % alignment;
        if remainder == 0 || self.tensor.data.is_null() || self.is_empty() {
            return Ok(());
        }
        Err(Mismatch::value(format!(
            "expected an address aligned to {alignment} bytes, got remainder {remainder}"
        )))
    }

    /// Return the address of the element at an index; the address may be unaligned.
    pub(crate) fn element_address<T: Element>(&self, index: &[i64]) -> Result<*mut T> {
        let shape = self.shape();
        let is_inside = index.len() == shape.len()
            && index.iter().zip(shape).all(|(index, extent)| (0..*extent).contains(index));
        if !is_inside {
            let text = format!("expected an index of a tensor of shape {shape:?}, got {index:?}");
            return Err(Error::new("IndexError", text));
        }
        self.check_elements::<T>()?;
        self.check_address(1)?;
        let (mut offset, mut step) = (0isize, 1isize);
        for axis in (0..shape.len()).rev() {
            let stride = self.strides().map_or(step, |strides| strides[axis] as isize);
            offset = offset.wrapping_add((index[axis] as isize).wrapping_mul(stride));
            step = step.wrapping_mul(shape[axis] as isize);
        }
        Ok(self.address().cast::<T>().wrapping_offset(offset))
    }

    /// Return the number of elements, which `from_raw` has checked to fit, and true if the tensor is
    /// compact.
    fn count_and_layout(&self) -> (u64, bool) {
        let (mut count, mut is_compact) = (1i64, true);
        let Some(strides) = self.strides() else {
            return (self.shape().iter().product::<i64>() as u64, true);
        };
        for (extent, stride) in self.shape().iter().zip(strides).rev() {
            is_compact &= *extent == 1 || *stride == count;
            count = count.wrapping_mul(*extent);
        }
        (count as u64, is_compact || count == 0)
    }

    /// Return the size in bytes of this number of elements.
    fn size_of(&self, count: u64) -> usize {
        let bits = u64::from(self.dtype().bits) * u64::from(self.dtype().lanes);
        bits.saturating_mul(count).div_ceil(8) as usize
    }

    /// Return true if two tensors certainly share memory: both have the same first element, or both
    /// are compact and their elements overlap. Other tensors with gaps may be interleaved.
    pub(crate) fn shares_memory(&self, other: &Self) -> bool {
        let addresses = (self.address() as usize, other.address() as usize);
        let lower = if addresses.0 < addresses.1 { self } else { other };
        let distance = addresses.0.abs_diff(addresses.1);
        if distance != 0 && distance >= lower.size_of(lower.count_and_layout().0) {
            return false;
        }
        let have_elements = |tensor: &Self| !tensor.tensor.data.is_null() && !tensor.is_empty();
        // The data pointers of other devices may be handles, so only equal ones are comparable.
        let are_comparable = self.tensor.data == other.tensor.data || self.has_direct_address();
        are_comparable
            && self.device() == other.device()
            && have_elements(self)
            && have_elements(other)
            && (distance == 0 || (self.is_compact() && other.is_compact()))
    }

    /// Return true if data pointers of the device are addresses, not handles.
    fn has_direct_address(&self) -> bool {
        // CPU, CUDA and ROCm, with their host memory.
        matches!(self.device().device_type, 1 | 2 | 3 | 10 | 11 | 13)
    }

    /// Return true if a slice of one tensor may contain elements of the other tensor, although
    /// [`shares_memory`](Self::shares_memory) is false: one tensor has gaps, or the tensors are on
    /// different devices with host memory. Only compact tensors have slices.
    pub(crate) fn may_alias_slice(&self, other: &Self) -> bool {
        let is_compact = (self.is_compact(), other.is_compact());
        let is_exact = is_compact == (true, true) && self.device() == other.device();
        if is_exact || is_compact == (false, false) {
            return false;
        }
        match (self.address_range(), other.address_range()) {
            (Some((begin, end)), Some((low, high))) => low < end && begin < high,
            _ => false,
        }
    }

    /// Return the first and the past-the-end address of the elements; None if the tensor has no
    /// elements or is not in host memory.
    pub(crate) fn address_range(&self) -> Option<(usize, usize)> {
        let (count, is_compact) = self.count_and_layout();
        if count == 0 || !self.device().is_host() {
            return None;
        }
        if !is_compact {
            return Some(self.strided_range());
        }
        let address = self.as_ptr() as usize;
        Some((address, address.saturating_add(self.size_of(count))))
    }

    fn strided_range(&self) -> (usize, usize) {
        let (mut low, mut high) = (0i64, 1i64);
        for (extent, stride) in self.shape().iter().zip(self.strides().unwrap_or_default()) {
            let reach = stride.saturating_mul(extent - 1);
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
        }
        let bits = i128::from(self.dtype().element_bits());
        let offset = |elements: i64, rounding: i128| {
            let bytes = (i128::from(elements) * bits + rounding).div_euclid(8);
            (self.as_ptr() as usize).saturating_add_signed(bytes as isize)
        };
        (offset(low, 0), offset(high, 7))
    }
}

impl fmt::Debug for TensorDescription<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}{:?} on {}>", self.dtype(), self.shape(), self.device())
    }
}
