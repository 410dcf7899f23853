// SPDX-License-Identifier: Apache-2.0
//! Tensors that somebody else lends: [`TensorView`] to read, [`TensorMut`] to write,
//! [`TensorCells`] to write although others may.

use std::cell::Cell;
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
use crate::tensor_description::{check_element_count, tensor_in, TensorDescription};

/// A tensor whose elements are read, borrowed for `'a`.
///
/// As a parameter of an exported function it promises that nobody writes the elements while it
/// lives: arguments of one call that share memory are refused where one of them is written, and
/// callers leave alone what they lend for the call.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    description: TensorDescription<'a>,
    elements: PhantomData<&'a [u8]>,
}

/// A tensor whose elements are written, borrowed for `'a`, and by nobody else.
pub struct TensorMut<'a> {
    description: TensorDescription<'a>,
    elements: PhantomData<&'a mut [u8]>,
}

/// A tensor whose elements are read and written one by one: others may do so as well, so that
/// input and output of a function may be one tensor.
#[derive(Clone, Copy)]
pub struct TensorCells<'a> {
    description: TensorDescription<'a>,
    elements: PhantomData<&'a [Cell<u8>]>,
}

/// What the three have in common.
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
                // SAFETY: what is in an argument lives as long; the caller says the rest.
                unsafe { Self::from_raw(tensor) }
            }
        }
    )*};
}

described! { TensorView Shared, TensorMut Exclusive, TensorCells Cells }

/// Lend a description to a call.
fn lend<'a>(description: &'a TensorDescription<'_>) -> Argument<'a> {
    let tensor = std::ptr::from_ref(description.as_raw()).cast_mut().cast();
    // SAFETY: the description lives for 'a.
    Argument::lent(unsafe { AnyView::from_raw(pointer(abi::kTVMFFIDLTensorPtr, tensor)) })
}

// ---- Read ----------------------------------------------------------------------------------------

impl<'a> TensorView<'a> {
    /// Read a tensor that C describes.
    ///
    /// # Safety
    /// Shape and strides are NULL or have `ndim` numbers each; they and the elements live for
    /// `'a`, and nobody writes the elements meanwhile.
    ///
    /// # Errors
    /// When the description is that of no tensor.
    pub unsafe fn from_raw(tensor: &DLTensor) -> Result<Self, Mismatch> {
        // SAFETY: as the caller says.
        let description = unsafe { TensorDescription::from_raw(tensor) }?;
        Ok(Self { description, elements: PhantomData })
    }

    /// Describe a slice of Rust as a tensor.  The shape is borrowed, too: it is what C reads.
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
    /// ValueError when the shape has another number of elements.
    pub fn from_slice<T: Element>(elements: &'a [T], shape: &'a [i64]) -> Result<Self> {
        check_element_count(elements.len(), shape)?;
        let data = elements.as_ptr().cast_mut().cast();
        let description = TensorDescription::of_elements::<T>(data, shape);
        Ok(Self { description, elements: PhantomData })
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// ValueError unless they are of this type, compact, aligned, and in memory of the host.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        Ok(self.slice()?)
    }

    fn slice<T: Element>(&self) -> Result<&'a [T], Mismatch> {
        self.check_slice::<T>()?;
        if self.is_empty() {
            return Ok(&[]); // which may have no address
        }
        // SAFETY: host memory of this type, compact and aligned, that lives for 'a and that nobody
        // writes, as who made the view has said; its size was held to what memory has.
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), self.len()) })
    }

    /// One element of a tensor with any strides.
    ///
    /// # Errors
    /// IndexError for an index outside; ValueError unless elements are of this type and in memory
    /// of the host.
    pub fn get<T: Element>(&self, index: &[usize]) -> Result<T> {
        let place = self.place::<T>(index)?;
        // SAFETY: the place of an element of the tensor.
        Ok(unsafe { place.read_unaligned() })
    }

    /// Pass the tensor to a function that only reads it.
    ///
    /// # Safety
    /// The function does not write the elements: calls do not tell it that it must not.
    pub unsafe fn read_only(&self) -> Argument<'_> {
        lend(&self.description)
    }
}

impl<'a, T: Element> FromArgument<'a> for &'a [T] {
    const TYPE: ParameterType = ParameterType::slice(Access::Shared, T::DTYPE);

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: as the caller says.
        unsafe { TensorView::from_argument(argument) }?.slice()
    }
}

// ---- Written by one ------------------------------------------------------------------------------

impl<'a> TensorMut<'a> {
    /// Write a tensor that C describes.
    ///
    /// # Safety
    /// As [`TensorView::from_raw`]; and nobody else touches the elements for `'a`.
    ///
    /// # Errors
    /// When the description is that of no tensor.
    pub unsafe fn from_raw(tensor: &DLTensor) -> Result<Self, Mismatch> {
        // SAFETY: as the caller says.
        let description = unsafe { TensorDescription::from_raw(tensor) }?;
        Ok(Self { description, elements: PhantomData })
    }

    /// Describe a slice of Rust as a tensor.
    ///
    /// # Errors
    /// ValueError when the shape has another number of elements.
    pub fn from_slice<T: Element>(elements: &'a mut [T], shape: &'a [i64]) -> Result<Self> {
        check_element_count(elements.len(), shape)?;
        let data = elements.as_mut_ptr().cast();
        let description = TensorDescription::of_elements::<T>(data, shape);
        Ok(Self { description, elements: PhantomData })
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// As [`TensorView::as_slice`].
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.check_slice::<T>()?;
        // SAFETY: checked; the borrow of `self` keeps others away.
        Ok(unsafe { self.slice_mut() })
    }

    /// The same for the whole lifetime of the loan.
    ///
    /// # Errors
    /// As [`TensorView::as_slice`].
    pub fn into_mut_slice<T: Element>(mut self) -> Result<&'a mut [T]> {
        self.check_slice::<T>()?;
        // SAFETY: checked; `self` is gone, so nobody else has the elements for 'a.
        Ok(unsafe { self.slice_mut() })
    }

    /// The elements.
    ///
    /// # Safety
    /// `check_slice` has passed, and nobody else uses the elements for `'b`, which is no longer
    /// than `'a`.
    unsafe fn slice_mut<'b, T: Element>(&mut self) -> &'b mut [T] {
        if self.is_empty() {
            return &mut [];
        }
        // SAFETY: as in TensorView::slice, and as the caller says.
        unsafe { std::slice::from_raw_parts_mut(self.address().cast(), self.len()) }
    }

    /// The tensor, to read.
    pub fn as_view(&self) -> TensorView<'_> {
        TensorView { description: self.description, elements: PhantomData }
    }

    /// The address of the first element on its device, `byte_offset` included.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.address()
    }

    /// Write one element of a tensor with any strides.
    ///
    /// # Errors
    /// As [`TensorView::get`].
    pub fn set<T: Element>(&mut self, index: &[usize], value: T) -> Result<()> {
        let place = self.place::<T>(index)?;
        // SAFETY: the place of an element of the tensor, which nobody else touches.
        unsafe { place.write_unaligned(value) };
        Ok(())
    }
}

impl<'a, T: Element> FromArgument<'a> for &'a mut [T] {
    const TYPE: ParameterType = ParameterType::slice(Access::Exclusive, T::DTYPE);

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: as the caller says.
        let mut tensor = unsafe { TensorMut::from_argument(argument) }?;
        tensor.check_slice::<T>()?;
        // SAFETY: checked; `tensor` is gone, so nobody else has the elements for 'a.
        Ok(unsafe { tensor.slice_mut() })
    }
}

impl<'a, 'b: 'a> IntoArgument<'a> for &'a mut TensorMut<'b> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(lend(&self.description))
    }
}

// ---- Written by whoever wants --------------------------------------------------------------------

impl<'a> TensorCells<'a> {
    /// Use a tensor that C describes.
    ///
    /// # Safety
    /// As [`TensorView::from_raw`], but others on this thread may write the elements.
    ///
    /// # Errors
    /// When the description is that of no tensor.
    pub unsafe fn from_raw(tensor: &DLTensor) -> Result<Self, Mismatch> {
        // SAFETY: as the caller says.
        let description = unsafe { TensorDescription::from_raw(tensor) }?;
        Ok(Self { description, elements: PhantomData })
    }

    /// The elements in row-major order, each of which is read and written by itself.
    ///
    /// # Errors
    /// As [`TensorView::as_slice`].
    pub fn cells<T: Element>(&self) -> Result<&'a [Cell<T>]> {
        Ok(self.slice()?)
    }

    fn slice<T: Element>(&self) -> Result<&'a [Cell<T>], Mismatch> {
        self.check_slice::<T>()?;
        if self.is_empty() {
            return Ok(&[]);
        }
        // SAFETY: as in TensorView::slice.  A cell has the layout of what is in it, and cells may
        // be shared on one thread, to which they are bound.
        Ok(unsafe { std::slice::from_raw_parts(self.address().cast::<Cell<T>>(), self.len()) })
    }
}

impl<'a, T: Element> FromArgument<'a> for &'a [Cell<T>] {
    const TYPE: ParameterType = ParameterType::slice(Access::Cells, T::DTYPE);

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        // SAFETY: as the caller says.
        unsafe { TensorCells::from_argument(argument) }?.slice()
    }
}

impl<'a> IntoArgument<'a> for &'a TensorCells<'_> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(lend(&self.description))
    }
}
