// SPDX-License-Identifier: Apache-2.0
//! What a tensor says about itself: shape, element type, place. Elements are left to those who
//! know who else may touch them.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use crate::abi::{self, DLTensor};
use crate::any::AnyView;
use crate::convert::Mismatch;
use crate::dtype::{DataType, Device, Element};
use crate::error::{Error, Result};

/// More dimensions than this are none: the description is damaged.
const MAX_DIMENSIONS: i32 = 1024;
/// How many strides a message shows.
const MAX_SHOWN: usize = 8;

/// Shape, element type and place of a tensor, borrowed for `'a`.
///
/// Was looked at when it was made: it has no negative extents, and no more elements than memory
/// has room for.
#[derive(Clone, Copy)]
pub struct TensorDescription<'a> {
    tensor: DLTensor,
    lifetime: PhantomData<&'a [i64]>,
}

/// The description in an argument, in each of its forms; None when it is no tensor.
pub(crate) fn tensor_in<'a>(argument: &AnyView<'a>) -> Option<&'a DLTensor> {
    let view = argument.resolved();
    // SAFETY: a Tensor has its description behind the header; the other index is that of an
    // address, which may be NULL.  Both live as long as the argument.
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

/// Extents or strides of a description; None where they are missing.
///
/// # Safety
/// `numbers` is NULL, or the address of `ndim` numbers that live for `'a`.
unsafe fn numbers<'a>(numbers: *const i64, ndim: i32) -> Option<&'a [i64]> {
    match usize::try_from(ndim) {
        Ok(0) => Some(&[]),
        // SAFETY: as the caller says.
        Ok(count) if !numbers.is_null() => {
            Some(unsafe { std::slice::from_raw_parts(numbers, count) })
        }
        _ => None,
    }
}

/// Strides as messages show them.
fn strides_text(strides: &[i64]) -> String {
    let shown: Vec<String> = strides.iter().take(MAX_SHOWN).map(i64::to_string).collect();
    match strides.len() {
        1 => format!("({},)", shown[0]),
        count if count > MAX_SHOWN => format!("({}, ...)", shown.join(", ")),
        _ => format!("({})", shown.join(", ")),
    }
}

/// Refuse a shape that has another number of elements.
pub(crate) fn check_element_count(count: usize, shape: &[i64]) -> Result<()> {
    let wanted = shape
        .iter()
        .try_fold(1usize, |product, extent| product.checked_mul(usize::try_from(*extent).ok()?));
    if wanted == Some(count) && shape.len() <= MAX_DIMENSIONS as usize {
        return Ok(());
    }
    Err(Error::value_error(format!("a tensor of shape {shape:?} does not have {count} elements")))
}

impl<'a> TensorDescription<'a> {
    /// Look at a tensor that C describes.
    ///
    /// # Safety
    /// Shape and strides are NULL or have `ndim` numbers each, which live for `'a`.
    ///
    /// # Errors
    /// When the description is that of no tensor.
    pub unsafe fn from_raw(tensor: &DLTensor) -> Result<Self, Mismatch> {
        let ndim = tensor.ndim;
        if !(0..=MAX_DIMENSIONS).contains(&ndim) {
            return Err(Mismatch::value(format!("a tensor has no {ndim} dimensions")));
        }
        // SAFETY: as the caller says.
        let Some(shape) = (unsafe { numbers(tensor.shape, ndim) }) else {
            return Err(Mismatch::value("it has dimensions, but its shape is NULL"));
        };
        let mut bits = Some(tensor.dtype.element_bits().max(8));
        for (axis, extent) in shape.iter().enumerate() {
            let Ok(extent) = u64::try_from(*extent) else {
                return Err(Mismatch::value(format!("shape[{axis}] must be >= 0, got {extent}")));
            };
            bits = bits.and_then(|bits| bits.checked_mul(extent.max(1)));
        }
        if bits.is_none_or(|bits| bits / 8 > isize::MAX as u64) {
            return Err(Mismatch::value(format!("no memory has a tensor of shape {shape:?}")));
        }
        Ok(Self { tensor: *tensor, lifetime: PhantomData })
    }

    /// Describe elements of Rust, as many as the shape has.
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

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.tensor.ndim as usize
    }

    /// The extent of each dimension.
    pub fn shape(&self) -> &'a [i64] {
        // SAFETY: there are `ndim` numbers, which live for 'a.
        unsafe { numbers(self.tensor.shape, self.tensor.ndim) }.unwrap_or_default()
    }

    /// Strides in elements; None for a compact tensor that has none written down.
    pub fn strides(&self) -> Option<&'a [i64]> {
        if self.tensor.strides.is_null() {
            return None;
        }
        // SAFETY: there are `ndim` numbers, which live for 'a.
        unsafe { numbers(self.tensor.strides, self.tensor.ndim) }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.shape().iter().product::<i64>() as usize // was held to what memory has
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DataType {
        self.tensor.dtype
    }

    /// Where the elements lie.
    pub fn device(&self) -> Device {
        self.tensor.device
    }

    /// Whether elements lie in row-major order without gaps; an extent of 1 has no stride.
    pub fn is_compact(&self) -> bool {
        let Some(strides) = self.strides() else { return true };
        let mut step = 1i64;
        for (extent, stride) in self.shape().iter().zip(strides).rev() {
            if *extent != 1 && *stride != step {
                return self.is_empty();
            }
            step = step.wrapping_mul(*extent);
        }
        true
    }

    /// The address of the first element on its device, `byte_offset` included: for kernels in C or
    /// on a GPU.  May be NULL when there are no elements.
    pub fn as_ptr(&self) -> *const c_void {
        self.address().cast_const()
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.tensor.data.cast::<u8>().wrapping_add(self.tensor.byte_offset as usize).cast()
    }

    /// The description, as C sees it.
    pub fn as_raw(&self) -> &DLTensor {
        &self.tensor
    }

    /// What stands against using the elements as a slice.
    pub(crate) fn check_slice<T: Element>(&self) -> Result<(), Mismatch> {
        self.check_elements::<T>()?;
        self.check_layout()?;
        self.check_address(std::mem::align_of::<T>())
    }

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

    pub(crate) fn check_layout(&self) -> Result<(), Mismatch> {
        if self.is_compact() {
            return Ok(());
        }
        let strides = strides_text(self.strides().unwrap_or_default());
        Err(Mismatch::value(format!("expected a compact tensor, got strides {strides}")))
    }

    pub(crate) fn check_address(&self, alignment: usize) -> Result<(), Mismatch> {
        if self.is_empty() {
            return Ok(());
        }
        if self.tensor.data.is_null() {
            return Err(Mismatch::value("expected the address of the first element, got NULL"));
        }
        self.check_alignment(alignment)
    }

    pub(crate) fn check_alignment(&self, alignment: usize) -> Result<(), Mismatch> {
        let rest = self.as_ptr() as usize % alignment;
        if rest == 0 || self.tensor.data.is_null() || self.is_empty() {
            return Ok(());
        }
        Err(Mismatch::value(format!(
            "expected an address aligned to {alignment} bytes, got remainder {rest}"
        )))
    }

    /// The address of one element, which may be unaligned.
    pub(crate) fn place<T: Element>(&self, index: &[usize]) -> Result<*mut T> {
        let shape = self.shape();
        let is_inside = index.len() == shape.len()
            && index.iter().zip(shape).all(|(index, extent)| (*index as u64) < *extent as u64);
        if !is_inside {
            let text = format!("index {index:?} is outside of a tensor of shape {shape:?}");
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

    /// The addresses between which the elements lie, where the host may use them; else none.
    pub(crate) fn extent_in_memory(&self) -> Option<(usize, usize)> {
        if self.is_empty() || !self.device().is_host() {
            return None;
        }
        let shape = self.shape();
        let (mut low, mut high, mut step) = (0i64, 0i64, 1i64);
        for axis in (0..shape.len()).rev() {
            let stride = self.strides().map_or(step, |strides| strides[axis]);
            let reach = stride.saturating_mul(shape[axis] - 1);
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
            step = step.saturating_mul(shape[axis]);
        }
        let bits = i128::from(self.dtype().element_bits());
        let place = |elements: i64, rounding: i128| {
            let bytes = (i128::from(elements) * bits + rounding).div_euclid(8);
            (self.as_ptr() as usize).saturating_add_signed(bytes as isize)
        };
        Some((place(low, 0), place(high.saturating_add(1), 7)))
    }
}

impl fmt::Debug for TensorDescription<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}{:?} on {}>", self.dtype(), self.shape(), self.device())
    }
}
