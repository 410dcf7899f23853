// SPDX-License-Identifier: Apache-2.0
//! Borrowed tensors: [`TensorView`] with read access, and [`TensorMut`] with exclusive access.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::abi::{self, DLTensor};
use crate::any::{pointer, AnyView};
use crate::convert::{Argument, FromArgument, IntoArgument, Mismatch};
use crate::dtype::Element;
use crate::error::Result;
use crate::parameter_type::{Access, ParameterType};
use crate::tensor_description::{
    check_element_count, compact_strides, tensor_in, TensorDescription,
};

/// A tensor borrowed for `'a` with read access.
///
/// No code writes the elements while the view lives. For a parameter of an exported function, three
/// rules ensure this. A call fails if the argument shares memory with an argument that the function
/// writes. Until the function returns, calls from Rust do not pass a [`Tensor`](crate::Tensor) that
/// shares the memory. Callers must not access the memory of arguments during the call.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    description: TensorDescription<'a>,
    elements: PhantomData<&'a [u8]>,
}

/// A tensor borrowed for `'a` with exclusive read and write access.
pub struct TensorMut<'a> {
    description: TensorDescription<'a>,
    elements: PhantomData<&'a mut [u8]>,
}

/// Implement the traits that `TensorView` and `TensorMut` have in common.
macro_rules! described {
    ($($type:ident $access:ident),*) => {$(
        impl<'a> Deref for $type<'a> {
            type Target = TensorDescription<'a>;

            fn deref(&self) -> &TensorDescription<'a> {
                &self.description
            }
        }

        impl fmt::Debug for $type<'_> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.description.fmt(formatter)
            }
        }

        impl<'a> FromArgument<'a> for $type<'a> {
            const TYPE: ParameterType = ParameterType::tensor(Access::$access);

            unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
                let tensor =
                    tensor_in(argument).ok_or_else(|| Mismatch::expected("Tensor", argument))?;
                // SAFETY: the tensor lives as long as the argument; the caller guarantees the
                // access.
                unsafe { Self::from_raw(tensor) }
            }
        }
    )*};
}

described! { TensorView Shared, TensorMut Exclusive }

/// Return an argument that borrows the `DLTensor` of a description, or a copy with strides if the
/// strides are NULL: functions that were compiled with other headers read the strides.
///
/// # Safety
/// The caller has this access to the elements until the call returns.
unsafe fn borrowed_argument<'a>(
    description: &'a TensorDescription<'_>,
    access: Access,
) -> Argument<'a> {
    let with_strides = match description.strides() {
        None if description.ndim() > 0 => Some(Box::new(TensorWithStrides::of(description))),
        _ => None,
    };
    let tensor = with_strides.as_ref().map_or(description.as_raw(), |copy| &copy.tensor);
    let tensor = std::ptr::from_ref(tensor).cast_mut().cast();
    // SAFETY: the DLTensor lives for 'a, or as long as the argument, which owns the copy; the
    // caller meets the safety requirements of this function.
    unsafe {
        let view = AnyView::from_raw(pointer(abi::kTVMFFIDLTensorPtr, tensor));
        Argument::reborrowed(view, access, with_strides.map(|copy| copy as _))
    }
}

/// A `DLTensor` whose strides are in the same value.
struct TensorWithStrides {
    tensor: DLTensor,
    _strides: Vec<i64>, // the address of its elements is in `tensor`
}

impl TensorWithStrides {
    fn of(description: &TensorDescription<'_>) -> Self {
        let mut strides = compact_strides(description.shape());
        let tensor = DLTensor { strides: strides.as_mut_ptr(), ..*description.as_raw() };
        Self { tensor, _strides: strides }
    }
}

// ---- Read access ---------------------------------------------------------------------------------

impl<'a> TensorView<'a> {
    /// Borrow a `DLTensor` received from C.
    ///
    /// # Safety
    /// Shape and strides are NULL or arrays of `ndim` numbers. They and the elements live for `'a`,
    /// and no code writes the elements during `'a`.
    ///
    /// # Errors
    /// A [`Mismatch`] if rank, shape or size are invalid.
    pub unsafe fn from_raw(tensor: &DLTensor) -> Result<Self, Mismatch> {
        // SAFETY: the caller meets the safety requirements of this function.
        let description = unsafe { TensorDescription::from_raw(tensor) }?;
        Ok(Self { description, elements: PhantomData })
    }

    /// Create a tensor from a slice; it borrows the elements and the shape.
    ///
    /// ```
    /// use pytvmffi::TensorView;
    /// let tensor = TensorView::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!((tensor.ndim(), tensor.dtype().to_string().as_str()), (2, "float32"));
    /// assert_eq!(tensor.as_slice::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(tensor.get::<f32>(&[1, 0])?, 3.0);
    /// # Ok::<(), pytvmffi::Error>(())
    /// ```
    ///
    /// # Errors
    /// ValueError if the shape has another number of elements.
    pub fn from_slice<T: Element>(elements: &'a [T], shape: &'a [i64]) -> Result<Self> {
        check_element_count(elements.len(), shape)?;
        let data = elements.as_ptr().cast_mut().cast();
        let description = TensorDescription::of_elements::<T>(data, shape);
        Ok(Self { description, elements: PhantomData })
    }

    /// Return the elements in row-major order.
    ///
    /// # Errors
    /// ValueError unless the elements have dtype `T` and are compact, aligned and in host memory.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        Ok(self.slice()?)
    }

    fn slice<T: Element>(&self) -> Result<&'a [T], Mismatch> {
        self.check_slice::<T>()?;
        if self.is_empty() {
            return Ok(&[]); // an empty tensor may have a NULL address
        }
        // SAFETY: `check_slice` and `from_raw` have checked dtype, device, layout, address and
        // size; the creator of the view guarantees that the elements live and are not written for
        // 'a.
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), self.len()) })
    }

    /// Return one element; the tensor can have any strides. Indices and extents have one type:
    /// `for i in 0..view.shape()[0] { view.get::<f32>(&[i])?; }`.
    ///
    /// # Errors
    /// IndexError if the index is out of range; ValueError unless the elements have dtype `T` and
    /// are in host memory.
    pub fn get<T: Element>(&self, index: &[i64]) -> Result<T> {
        let address = self.element_address::<T>(index)?;
        // SAFETY: `address` is the address of an element of the tensor.
        Ok(unsafe { address.read_unaligned() })
    }

    /// Return an argument for a function that only reads the tensor.
    ///
    /// # Safety
    /// The called function does not write the elements. The ABI cannot inform the function that
    /// they are read-only.
    pub unsafe fn read_only(&self) -> Argument<'_> {
        // SAFETY: the caller guarantees that the callee only reads.
        unsafe { borrowed_argument(&self.description, Access::Shared) }
    }
}

impl<'a, T: Element> FromArgument<'a> for &'a [T] {
    const TYPE: ParameterType = ParameterType::slice(Access::Shared, T::DTYPE);

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the caller meets the safety requirements of this function.
        unsafe { TensorView::from_argument(argument) }?.slice()
    }
}

// ---- Exclusive access ----------------------------------------------------------------------------

impl<'a> TensorMut<'a> {
    /// Borrow a `DLTensor` received from C.
    ///
    /// # Safety
    /// See [`TensorView::from_raw`]; in addition, no other code accesses the elements during `'a`.
    ///
    /// # Errors
    /// A [`Mismatch`] if rank, shape or size are invalid.
    pub unsafe fn from_raw(tensor: &DLTensor) -> Result<Self, Mismatch> {
        // SAFETY: the caller meets the safety requirements of this function.
        let description = unsafe { TensorDescription::from_raw(tensor) }?;
        Ok(Self { description, elements: PhantomData })
    }

    /// Create a tensor from a slice; it borrows the elements and the shape.
    ///
    /// # Errors
    /// ValueError if the shape has another number of elements.
    pub fn from_slice<T: Element>(elements: &'a mut [T], shape: &'a [i64]) -> Result<Self> {
        check_element_count(elements.len(), shape)?;
        let data = elements.as_mut_ptr().cast();
        let description = TensorDescription::of_elements::<T>(data, shape);
        Ok(Self { description, elements: PhantomData })
    }

    /// Return the elements in row-major order.
    ///
    /// # Errors
    /// See [`TensorView::as_slice`].
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.check_slice::<T>()?;
        // SAFETY: `check_slice` has succeeded, and the mutable borrow of `self` is exclusive.
        Ok(unsafe { self.slice_mut() })
    }

    /// Return the elements in row-major order, for the lifetime of the borrowed tensor.
    ///
    /// # Errors
    /// See [`TensorView::as_slice`].
    pub fn into_mut_slice<T: Element>(mut self) -> Result<&'a mut [T]> {
        self.check_slice::<T>()?;
        // SAFETY: `check_slice` has succeeded, and the call consumes `self`, which had exclusive
        // access for 'a.
        Ok(unsafe { self.slice_mut() })
    }

    /// Return the elements as a mutable slice, without checks.
    ///
    /// # Safety
    /// `check_slice` has succeeded, no other code accesses the elements during `'b`, and `'b` ends
    /// no later than `'a`.
    unsafe fn slice_mut<'b, T: Element>(&mut self) -> &'b mut [T] {
        if self.is_empty() {
            return &mut [];
        }
        // SAFETY: the elements are valid for the reasons given in TensorView::slice, and the caller
        // guarantees exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.address().cast(), self.len()) }
    }

    /// Return a view with read access.
    pub fn as_view(&self) -> TensorView<'_> {
        TensorView { description: self.description, elements: PhantomData }
    }

    /// Return the address of the first element (`data` plus `byte_offset`).
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.address()
    }

    /// Write one element; the tensor can have any strides.
    ///
    /// # Errors
    /// See [`TensorView::get`].
    pub fn set<T: Element>(&mut self, index: &[i64], value: T) -> Result<()> {
        let address = self.element_address::<T>(index)?;
        // SAFETY: `address` is the address of an element of the tensor, to which `self` has
        // exclusive access.
        unsafe { address.write_unaligned(value) };
        Ok(())
    }
}

impl<'a, T: Element> FromArgument<'a> for &'a mut [T] {
    const TYPE: ParameterType = ParameterType::slice(Access::Exclusive, T::DTYPE);

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: the caller meets the safety requirements of this function.
        let mut tensor = unsafe { TensorMut::from_argument(argument) }?;
        tensor.check_slice::<T>()?;
        // SAFETY: `check_slice` has succeeded; `tensor` had exclusive access for 'a and is not used
        // again.
        Ok(unsafe { tensor.slice_mut() })
    }
}

impl<'a, 'b: 'a> IntoArgument<'a> for &'a mut TensorMut<'b> {
    fn into_argument(self) -> Result<Argument<'a>> {
        // SAFETY: the mutable borrow is exclusive until the call returns.
        Ok(unsafe { borrowed_argument(&self.description, Access::Exclusive) })
    }
}
