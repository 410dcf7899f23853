// SPDX-License-Identifier: Apache-2.0
//! Tensors with a reference of their own, which may outlive a call.

use std::fmt;

use crate::abi::{self, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use crate::any::{Any, AnyView};
use crate::convert::{pass_by_value, Argument, FromArgument, IntoAny, IntoArgument, Mismatch};
use crate::dtype::{DataType, Device, Element};
use crate::error::{check, Result};
use crate::handle::{lent_object, owned};
use crate::object::ObjectRef;
use crate::parameter_type::{Access, ParameterType};
use crate::tensor_description::{check_element_count, TensorDescription};
use crate::tensor_view::{TensorMut, TensorView};

/// A tensor, shared with whoever else has a reference.
///
/// Clones are references to the same elements, so there are no safe slices of them: elements are
/// copied ([`to_vec`](Tensor::to_vec), [`copy_from_slice`](Tensor::copy_from_slice)), or borrowed by
/// whoever knows that nobody else writes ([`view`](Tensor::view)). For the same reason it stays on
/// its thread.
///
/// ```
/// use pytvmffi::Tensor;
/// let tensor = Tensor::from_vec(vec![1i32, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert_eq!((tensor.shape(), tensor.to_vec::<i32>()?), (&[2, 3][..], vec![1, 2, 3, 4, 5, 6]));
/// # Ok::<(), pytvmffi::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    object: ObjectRef,
}

/// What a tensor made of a vector owns.
struct Owner<T> {
    tensor: DLManagedTensorVersioned,
    shape: Vec<i64>,
    strides: Vec<i64>,
    elements: Vec<T>,
}

unsafe extern "C" fn delete_owner<T>(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: called once, with the tensor of a box that was given away.
    drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Owner<T>>()) });
}

/// Strides of a compact tensor; an extent of 0 counts as 1.
fn compact_strides(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

impl Tensor {
    /// Make a tensor of a vector, without a copy.
    ///
    /// # Errors
    /// ValueError when the shape has another number of elements.
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[i64]) -> Result<Self> {
        check_element_count(elements.len(), shape)?;
        let (shape, strides) = (shape.to_vec(), compact_strides(shape));
        let description = TensorDescription::of_elements::<T>(std::ptr::null_mut(), &shape);
        let tensor = DLManagedTensorVersioned {
            version: DLPackVersion { major: abi::DLPACK_VERSION.0, minor: abi::DLPACK_VERSION.1 },
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(delete_owner::<T>),
            flags: 0,
            dl_tensor: *description.as_raw(),
        };
        let owner = Box::into_raw(Box::new(Owner { tensor, shape, strides, elements }));
        let mut out = std::ptr::null_mut();
        // SAFETY: the box is ours until the call succeeds; from then on the deleter's.  Addresses in
        // it are those of its own vectors, which do not grow.
        unsafe {
            let tensor = std::ptr::addr_of_mut!((*owner).tensor);
            (*tensor).manager_ctx = owner.cast();
            (*tensor).dl_tensor.data = (*owner).elements.as_mut_ptr().cast();
            (*tensor).dl_tensor.shape = (*owner).shape.as_mut_ptr();
            (*tensor).dl_tensor.strides = (*owner).strides.as_mut_ptr();
            if let Err(error) = check(abi::TVMFFITensorFromDLPackVersioned(tensor, 0, 0, &mut out))
            {
                drop(Box::from_raw(owner));
                return Err(error);
            }
            Ok(Self { object: owned(out) })
        }
    }

    /// Copy a slice into a new tensor.
    ///
    /// # Errors
    /// ValueError when the shape has another number of elements.
    pub fn from_slice<T: Element>(elements: &[T], shape: &[i64]) -> Result<Self> {
        Self::from_vec(elements.to_vec(), shape)
    }

    /// Allocate a tensor the way the caller of this function wants: with the allocator of the
    /// framework whose tensors were passed, else in memory of the host.
    ///
    /// # Safety
    /// Nobody reads an element before it was written.
    ///
    /// # Errors
    /// What the allocator says; ValueError for a shape that describes no tensor.
    pub unsafe fn empty(shape: &[i64], dtype: DataType, device: Device) -> Result<Self> {
        let mut prototype = DLTensor {
            data: std::ptr::null_mut(),
            device,
            ndim: i32::try_from(shape.len())?,
            dtype,
            shape: shape.as_ptr().cast_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let mut out = std::ptr::null_mut();
        // SAFETY: prototype and shape outlive the call, which writes neither.
        unsafe {
            check(abi::TVMFFIEnvTensorAlloc(&mut prototype, &mut out))?;
            Ok(Self { object: owned(out) })
        }
    }

    /// The same in memory of the host, with 0 in all elements.
    ///
    /// # Errors
    /// What the allocator says; ValueError for a shape that describes no tensor.
    pub fn zeros<T: Element>(shape: &[i64]) -> Result<Self> {
        // SAFETY: written below.
        let tensor = unsafe { Self::empty(shape, T::DTYPE, Device::CPU) }?;
        let description = tensor.description();
        description.check_slice::<T>()?;
        if !description.is_empty() {
            // SAFETY: new memory of so many elements, for which all bits 0 are a value.
            unsafe { description.address().cast::<T>().write_bytes(0, description.len()) };
        }
        Ok(tensor)
    }

    /// Shape, element type and place.
    ///
    /// # Panics
    /// When whoever made the tensor described none.
    pub fn description(&self) -> TensorDescription<'_> {
        // SAFETY: the cell of a Tensor, whose numbers live as long as it does.
        unsafe { TensorDescription::from_raw(&*self.object.cell::<DLTensor>()) }
            .expect("a Tensor describes a tensor")
    }

    /// The extent of each dimension.
    pub fn shape(&self) -> &[i64] {
        self.description().shape()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DataType {
        self.description().dtype()
    }

    /// Where the elements lie.
    pub fn device(&self) -> Device {
        self.description().device()
    }

    /// Copy the elements out, in row-major order.
    ///
    /// # Errors
    /// ValueError unless they are of this type, compact, aligned, and in memory of the host.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        // SAFETY: the view does not outlive this line, and nobody else runs on this thread.
        Ok(unsafe { self.view() }.as_slice::<T>()?.to_vec())
    }

    /// Copy elements in, in row-major order.
    ///
    /// # Errors
    /// ValueError unless they are as many, of this type, compact, aligned, and in memory of the
    /// host.
    pub fn copy_from_slice<T: Element>(&self, elements: &[T]) -> Result<()> {
        let description = self.description();
        description.check_slice::<T>()?;
        check_element_count(elements.len(), description.shape())?;
        if !description.is_empty() {
            let to = description.address().cast::<T>();
            // SAFETY: so many elements of this type; the slice may be of the same memory.
            unsafe { std::ptr::copy(elements.as_ptr(), to, elements.len()) };
        }
        Ok(())
    }

    /// Read the elements in place.
    ///
    /// # Safety
    /// Nobody writes them while the view lives.
    pub unsafe fn view(&self) -> TensorView<'_> {
        // SAFETY: the description of a Tensor, and as the caller says.
        unsafe { TensorView::from_raw(self.description().as_raw()) }.expect("it was looked at")
    }

    /// Write the elements in place.
    ///
    /// # Safety
    /// Nobody else touches them while the view lives.
    pub unsafe fn view_mut(&mut self) -> TensorMut<'_> {
        // SAFETY: the description of a Tensor, and as the caller says.
        unsafe { TensorMut::from_raw(self.description().as_raw()) }.expect("it was looked at")
    }

    /// The tensor as an object.
    pub fn as_object(&self) -> &ObjectRef {
        &self.object
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description().fmt(formatter)
    }
}

impl IntoAny for Tensor {
    fn into_any(self) -> Result<Any> {
        Ok(self.object.into())
    }
}

impl<'a> FromArgument<'a> for Tensor {
    const TYPE: ParameterType = ParameterType::tensor(Access::Cells);

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        let object = argument.object().filter(|object| object.type_index() == abi::kTVMFFITensor);
        let tensor = object.ok_or_else(|| match argument.type_index() {
            abi::kTVMFFIDLTensorPtr => Mismatch {
                kind: "TypeError",
                text: "expected a Tensor that can be kept, got one that is only lent".to_string(),
            },
            _ => Mismatch::expected("Tensor", argument),
        })?;
        // SAFETY: the cell of a Tensor, whose numbers live as long as it does.
        unsafe { TensorDescription::from_raw(&*tensor.cell::<DLTensor>()) }?;
        Ok(Self { object: tensor })
    }
}

impl<'a> IntoArgument<'a> for &'a Tensor {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::lent(lent_object(&self.object)))
    }
}

pass_by_value! { Tensor }
