// SPDX-License-Identifier: Apache-2.0
//! Owned tensors ([`Tensor`]), which can outlive a call.

use std::fmt;

use crate::abi::{self, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use crate::any::{Any, AnyView};
use crate::borrows::check_read;
use crate::convert::{pass_by_value, Argument, FromArgument, IntoAny, IntoArgument, Mismatch};
use crate::dtype::{DataType, Device, Element};
use crate::error::{check, Result};
use crate::handle::{borrowed_object, owned};
use crate::object::ObjectRef;
use crate::parameter_type::{Access, ParameterType};
use crate::tensor_description::{check_element_count, compact_strides, TensorDescription};
use crate::tensor_view::{TensorMut, TensorView};

/// A reference to a tensor object.
///
/// Clones, and references in other languages, share the elements. Safe methods therefore write only
/// the elements of a new tensor ([`with_elements`](Tensor::with_elements)), and read them as a copy
/// ([`to_vec`](Tensor::to_vec)). Borrowing them ([`view`](Tensor::view),
/// [`view_mut`](Tensor::view_mut)) is `unsafe`. For the same reason the type is not `Send`. An
/// exported function writes elements of its arguments through [`TensorMut`] and `&mut [T]`.
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

/// The owner of the elements, shape and strides of a tensor that was created from a vector.
struct Owner<T> {
    tensor: DLManagedTensorVersioned,
    shape: Vec<i64>,
    strides: Vec<i64>,
    elements: Vec<T>,
}

unsafe extern "C" fn delete_owner<T>(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: the tensor object calls its deleter once; `manager_ctx` is the address of its box.
    drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Owner<T>>()) });
}

impl Tensor {
    /// Create a tensor from a vector, without a copy.
    ///
    /// # Errors
    /// ValueError if the shape has another number of elements.
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
        // SAFETY: if the call succeeds, the deleter owns the box; else it is freed here.  The
        // vectors in the box never grow, so their addresses stay valid.
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

    /// Create a tensor with a copy of a slice.
    ///
    /// # Errors
    /// ValueError if the shape has another number of elements.
    pub fn from_slice<T: Element>(elements: &[T], shape: &[i64]) -> Result<Self> {
        Self::from_vec(elements.to_vec(), shape)
    }

    /// Allocate a tensor with the current allocator: the allocator of the framework whose tensors
    /// were passed to the exported function, else the runtime's allocator of host memory.
    ///
    /// # Safety
    /// The elements are uninitialized: no code reads an element before it is written.
    ///
    /// # Errors
    /// The error of the allocator; ValueError for an invalid shape.
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
        // SAFETY: prototype and shape outlive the call, which only reads them.
        unsafe {
            check(abi::TVMFFIEnvTensorAlloc(&mut prototype, &mut out))?;
            Ok(Self { object: owned(out) })
        }
    }

    /// Allocate a tensor in host memory, like [`empty`](Tensor::empty), and set all elements to 0.
    ///
    /// # Errors
    /// The error of the allocator; ValueError for an invalid shape.
    pub fn zeros<T: Element>(shape: &[i64]) -> Result<Self> {
        Self::with_elements(shape, |_: &mut [T]| ())
    }

    /// Allocate a tensor like [`zeros`](Tensor::zeros), and run `fill` to write its elements, which
    /// are in row-major order.
    ///
    /// ```
    /// use pytvmffi::Tensor;
    /// let squares = Tensor::with_elements(&[2, 2], |elements: &mut [f32]| {
    ///     elements.iter_mut().enumerate().for_each(|(i, square)| *square = (i * i) as f32);
    /// })?;
    /// assert_eq!(squares.to_vec::<f32>()?, [0.0, 1.0, 4.0, 9.0]);
    /// # Ok::<(), pytvmffi::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of the allocator; ValueError for an invalid shape.
    pub fn with_elements<T: Element>(shape: &[i64], fill: impl FnOnce(&mut [T])) -> Result<Self> {
        // SAFETY: all elements are written below.
        let tensor = unsafe { Self::empty(shape, T::DTYPE, Device::CPU) }?;
        let description = tensor.description();
        description.check_slice::<T>()?;
        if description.is_empty() {
            fill(&mut []);
            return Ok(tensor);
        }
        let (elements, count) = (description.address().cast::<T>(), description.len());
        // SAFETY: the new memory has `count` elements, which no other code accesses, and a value
        // with all bits 0 is valid for every Element.
        fill(unsafe {
            elements.write_bytes(0, count);
            std::slice::from_raw_parts_mut(elements, count)
        });
        Ok(tensor)
    }

    /// Return a description of the tensor: shape, strides, dtype, device and address.
    ///
    /// # Panics
    /// If the producer of the tensor filled in an invalid `DLTensor`.
    pub fn description(&self) -> TensorDescription<'_> {
        // SAFETY: in a Tensor, a DLTensor follows the header; the object owns shape and strides.
        unsafe { TensorDescription::from_raw(&*self.object.cell::<DLTensor>()) }
            .expect("a Tensor contains a valid DLTensor")
    }

    /// Return the extent of each dimension.
    pub fn shape(&self) -> &[i64] {
        self.description().shape()
    }

    /// Return the dtype.
    pub fn dtype(&self) -> DataType {
        self.description().dtype()
    }

    /// Return the device.
    pub fn device(&self) -> Device {
        self.description().device()
    }

    /// Return a copy of the elements in row-major order.
    ///
    /// # Errors
    /// ValueError unless the elements have dtype `T` and are compact, aligned and in host memory;
    /// ValueError if an exported function that has not returned borrows them for writing.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        check_read(&self.description())?;
        // SAFETY: no running function of this thread borrows the elements for writing, no other
        // code of this thread runs during the copy, and a Tensor is not `Send`.
        Ok(unsafe { self.view() }.as_slice::<T>()?.to_vec())
    }

    /// Borrow the elements for reading.
    ///
    /// # Safety
    /// No code writes the elements while the view lives.
    pub unsafe fn view(&self) -> TensorView<'_> {
        // SAFETY: the DLTensor of a Tensor is valid; the caller guarantees the access.
        unsafe { TensorView::from_raw(self.description().as_raw()) }
            .expect("the DLTensor was checked")
    }

    /// Borrow the elements for writing.
    ///
    /// # Safety
    /// No other code accesses the elements while the view lives.
    pub unsafe fn view_mut(&mut self) -> TensorMut<'_> {
        // SAFETY: the DLTensor of a Tensor is valid; the caller guarantees the access.
        unsafe { TensorMut::from_raw(self.description().as_raw()) }
            .expect("the DLTensor was checked")
    }

    /// Return the reference as an [`ObjectRef`], the type of references to objects of any type.
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
    const TYPE: ParameterType = ParameterType::tensor(Access::None);

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        let object = argument.object().filter(|object| object.type_index() == abi::kTVMFFITensor);
        let tensor = object.ok_or_else(|| match argument.type_index() {
            abi::kTVMFFIDLTensorPtr => Mismatch {
                kind: "TypeError",
                text: "expected a tensor that can be retained, got a borrowed DLTensor".to_string(),
            },
            _ => Mismatch::expected("Tensor", argument),
        })?;
        // SAFETY: in a Tensor, a DLTensor follows the header; the object owns shape and strides.
        unsafe { TensorDescription::from_raw(&*tensor.cell::<DLTensor>()) }?;
        Ok(Self { object: tensor })
    }
}

impl<'a> IntoArgument<'a> for &'a Tensor {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::lent(borrowed_object(&self.object)))
    }
}

pass_by_value! { Tensor }
