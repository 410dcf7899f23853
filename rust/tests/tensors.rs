// SPDX-License-Identifier: Apache-2.0
//! Owned and borrowed tensors, valid and invalid `DLTensor`s, and streams.

use std::ffi::c_void;
use std::ptr::null_mut;

use pytvmffi::abi::{self, DLTensor};
use pytvmffi::{
    current_stream, with_stream, BFloat16, Bool8, DataType, Device, Element, Error, Function,
    Result, Tensor, TensorMut, TensorView,
};

/// Return a float32 tensor in host memory.
fn host_tensor(data: *mut c_void, shape: &mut [i64], strides: Option<&mut [i64]>) -> DLTensor {
    DLTensor {
        data,
        device: Device::CPU,
        ndim: shape.len() as i32,
        dtype: f32::DTYPE,
        shape: shape.as_mut_ptr(),
        strides: strides.map_or(null_mut(), <[i64]>::as_mut_ptr),
        byte_offset: 0,
    }
}

/// Return the message of the error of `TensorView::from_raw` for an invalid `DLTensor`.
fn refusal(tensor: &DLTensor) -> String {
    // SAFETY: shape and strides are NULL or arrays of `ndim` numbers, unless `ndim` is refused.
    unsafe { TensorView::from_raw(tensor) }.map(|_| ()).unwrap_err().text
}

#[test]
fn a_vector_becomes_a_tensor_without_a_copy() -> Result<()> {
    let elements = vec![1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0];
    let address = elements.as_ptr();
    let tensor = Tensor::from_vec(elements, &[3, 2])?;
    assert_eq!(tensor.description().as_ptr(), address.cast());
    assert_eq!(tensor.description().strides(), Some(&[2i64, 1][..]));
    assert_eq!(tensor.clone().to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    Ok(())
}

/// Functions that were compiled with other headers read the strides of each argument.
#[test]
fn arguments_have_strides() -> Result<()> {
    let strides = Function::from_packed(|args| {
        // SAFETY: no code writes the elements during the call.
        let view: TensorView<'_> = unsafe { args[0].borrow() }?;
        pytvmffi::Any::new(view.strides().unwrap_or_default().to_vec())
    })?;
    let elements = [0f32; 24];
    for (shape, expected) in [([24, 1, 1], [1, 1, 1]), ([2, 3, 4], [12, 4, 1])] {
        let view = TensorView::from_slice(&elements, &shape)?;
        // SAFETY: the function only reads.
        let argument = unsafe { view.read_only() };
        assert_eq!(strides.call::<Vec<i64>>((argument,))?, expected);
    }
    Ok(())
}

#[test]
fn shapes_with_another_number_of_elements_are_refused() {
    let text = |result: Result<Tensor>| result.unwrap_err().message().into_owned();
    let wrong = Tensor::from_vec(vec![1u8; 5], &[2, 3]);
    assert_eq!(
        text(wrong),
        "expected as many elements as a tensor of shape [2, 3] has, got 5 elements"
    );
    assert!(Tensor::from_vec(vec![1u8; 5], &[-5, -1]).is_err());
    assert!(Tensor::from_vec(Vec::<u8>::new(), &[i64::MAX, i64::MAX, 0]).is_err());
    assert!(Tensor::zeros::<f32>(&[-1]).is_err());
}

#[test]
fn tensors_can_be_empty_or_have_no_dimensions() -> Result<()> {
    let empty = Tensor::from_vec(Vec::<i32>::new(), &[0, 4])?;
    assert_eq!(empty.to_vec::<i32>()?, []);
    let scalar = Tensor::from_vec(vec![7i16], &[])?;
    assert_eq!((scalar.shape().len(), scalar.to_vec::<i16>()?), (0, vec![7]));
    assert_eq!(Tensor::zeros::<u64>(&[2, 2])?.to_vec::<u64>()?, [0; 4]);
    Ok(())
}

#[test]
fn a_closure_fills_a_new_tensor() -> Result<()> {
    let tensor = Tensor::with_elements(&[2, 2], |elements: &mut [i16]| {
        assert_eq!(elements, [0; 4]);
        elements.copy_from_slice(&[1, 2, 3, 4]);
    })?;
    assert_eq!((tensor.shape(), tensor.to_vec::<i16>()?), (&[2, 2][..], vec![1, 2, 3, 4]));
    let mut size = None;
    Tensor::with_elements(&[0, 3], |elements: &mut [f32]| size = Some(elements.len()))?;
    assert_eq!(size, Some(0));
    Ok(())
}

#[test]
fn elements_are_read_only_as_their_dtype() -> Result<()> {
    let tensor = Tensor::from_vec(vec![BFloat16(0x3f80)], &[1])?;
    assert_eq!(tensor.to_vec::<BFloat16>()?[0].to_f32(), 1.0);
    let error = tensor.to_vec::<f32>().unwrap_err();
    assert_eq!(error.message(), "expected dtype float32, got bfloat16");
    let flags = Tensor::from_vec(vec![Bool8(1), Bool8(0)], &[2])?;
    assert_eq!(flags.dtype().to_string(), "bool");
    Ok(())
}

#[test]
fn byte_offsets_are_part_of_the_address() -> Result<()> {
    let mut elements = [1.0f32, 2.0, 3.0, 4.0];
    let mut shape = [2i64];
    let mut tensor = host_tensor(elements.as_mut_ptr().cast(), &mut shape, None);
    tensor.byte_offset = 8;
    // SAFETY: the tensor is the second half of the array, which no code writes.
    let view = unsafe { TensorView::from_raw(&tensor) }.map_err(Error::from)?;
    assert_eq!(view.as_slice::<f32>()?, [3.0, 4.0]);
    assert_eq!(view.get::<f32>(&[1])?, 4.0);
    tensor.byte_offset = 2;
    // SAFETY: no code reads the elements.
    let view = unsafe { TensorView::from_raw(&tensor) }.map_err(Error::from)?;
    let text = "expected an address aligned to 4 bytes, got remainder 2";
    assert_eq!(view.as_slice::<f32>().unwrap_err().message(), text);
    Ok(())
}

#[test]
fn strided_tensors_are_read_by_index() -> Result<()> {
    let mut elements = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (mut shape, mut strides) = ([3i64, 2], [1i64, 3]);
    let tensor = host_tensor(elements.as_mut_ptr().cast(), &mut shape, Some(&mut strides));
    // SAFETY: the tensor is a transposed view of the array, which no other code uses.
    let mut view = unsafe { TensorMut::from_raw(&tensor) }.map_err(Error::from)?;
    assert_eq!(view.as_view().get::<f32>(&[2, 1])?, 6.0);
    view.set(&[0, 1], 9.0f32)?;
    let text = "expected a compact tensor, got strides (1, 3)";
    assert_eq!(view.as_mut_slice::<f32>().unwrap_err().message(), text);
    assert_eq!(view.as_view().get::<f32>(&[3, 0]).unwrap_err().kind(), "IndexError");
    assert_eq!(view.as_view().get::<f32>(&[0]).unwrap_err().kind(), "IndexError");
    assert_eq!(view.as_view().get::<f32>(&[-1, 0]).unwrap_err().kind(), "IndexError");
    let last = view.shape().iter().map(|extent| extent - 1).collect::<Vec<_>>();
    assert_eq!(view.as_view().get::<f32>(&last)?, 6.0);
    assert_eq!(elements[3], 9.0);
    Ok(())
}

#[test]
fn invalid_tensors_are_refused() {
    let mut shape = [-1i64, 2];
    assert_eq!(
        refusal(&host_tensor(null_mut(), &mut shape, None)),
        "shape[0] must be >= 0, got -1"
    );
    let mut shape = [1i64 << 40, 1 << 40];
    let text =
        "expected a size that fits the address space, got shape [1099511627776, 1099511627776]";
    assert_eq!(refusal(&host_tensor(null_mut(), &mut shape, None)), text);
    for ndim in [-1, i32::MIN, i32::MAX] {
        let tensor = DLTensor { ndim, ..host_tensor(null_mut(), &mut [], None) };
        assert_eq!(refusal(&tensor), format!("expected 0 to 1024 dimensions, got {ndim}"));
    }
    let mut shape = [2i64];
    let tensor = DLTensor { shape: null_mut(), ..host_tensor(null_mut(), &mut shape, None) };
    assert_eq!(refusal(&tensor), "expected a shape of 1 extents, got NULL");
}

#[test]
fn only_tensors_without_elements_have_a_null_address() -> Result<()> {
    let mut shape = [0i64];
    // SAFETY: the tensor has no elements.
    let empty = unsafe { TensorView::from_raw(&host_tensor(null_mut(), &mut shape, None)) };
    assert_eq!(empty.map_err(Error::from)?.as_slice::<f32>()?, []);
    let mut shape = [1i64];
    // SAFETY: no code reads the elements.
    let null = unsafe { TensorView::from_raw(&host_tensor(null_mut(), &mut shape, None)) };
    let null = null.map_err(Error::from)?;
    let text = "expected the address of the first element, got NULL";
    assert_eq!(null.as_slice::<f32>().unwrap_err().message(), text);
    assert_eq!(null.get::<f32>(&[0]).unwrap_err().message(), text);
    Ok(())
}

#[test]
fn device_memory_is_not_a_slice() -> Result<()> {
    let mut shape = [1i64];
    let mut tensor = host_tensor(8 as *mut c_void, &mut shape, None);
    tensor.device = Device::cuda(0);
    // SAFETY: no code reads the elements.
    let view = unsafe { TensorView::from_raw(&tensor) }.map_err(Error::from)?;
    let text = "expected device cpu, got cuda:0";
    assert_eq!(view.as_slice::<f32>().unwrap_err().message(), text);
    Ok(())
}

#[test]
fn tensors_are_arguments_and_results() -> Result<()> {
    let same = Function::from_fn(|tensor: Tensor| tensor)?;
    let tensor = Tensor::from_vec(vec![1u8, 2], &[2])?;
    let back: Tensor = same.call((&tensor,))?;
    assert_eq!(back.as_object().as_ptr(), tensor.as_object().as_ptr());
    let mut elements = [1.0f32, 2.0];
    let mut borrowed = TensorMut::from_slice(&mut elements, &[2])?;
    let text = "argument 1: expected a tensor that can be retained, got a borrowed DLTensor";
    assert_eq!(same.call::<Tensor>((&mut borrowed,)).unwrap_err().message(), text);
    let read = Function::from_packed(|args| {
        // SAFETY: the tensor is the only argument, and no code writes it.
        let view: TensorView<'_> = unsafe { args[0].borrow() }?;
        pytvmffi::Any::new(view.as_slice::<f32>()?.iter().sum::<f32>())
    })?;
    assert_eq!(read.call::<f32>((&mut borrowed,))?, 3.0);
    let view = TensorView::from_slice(&[1.5f32, 2.0], &[2])?;
    // SAFETY: the function only reads its argument.
    assert_eq!(read.call::<f32>((unsafe { view.read_only() },))?, 3.5);
    Ok(())
}

#[test]
fn a_borrowed_tensor_cannot_be_retained() -> Result<()> {
    let retain = Function::from_packed(|args| args[0].to_owned())?;
    let mut elements = [0u8; 2];
    let mut borrowed = TensorMut::from_slice(&mut elements, &[2])?;
    let error = retain.call::<pytvmffi::Any>((&mut borrowed,)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TypeError: expected a tensor that can be retained, got a borrowed DLTensor"
    );
    Ok(())
}

#[test]
fn the_previous_stream_is_restored() -> Result<()> {
    let (device, stream) = (Device::cuda(3), 0x1234 as *mut c_void);
    // SAFETY: no code uses the number as a stream.
    let seen = unsafe { with_stream(device, stream, || current_stream(device)) }?;
    assert_eq!((seen, current_stream(device)), (stream, null_mut()));
    let panicked = std::panic::catch_unwind(|| {
        // SAFETY: no code uses the number as a stream.
        unsafe { with_stream(device, stream, || -> () { panic!("inside") }) }
    });
    assert!(panicked.is_err());
    assert_eq!(current_stream(device), null_mut());
    // SAFETY: the device is invalid, so the stream is not set.
    let refused = unsafe { with_stream(Device::new(-1, 0), stream, || ()) };
    assert_eq!(
        refused.unwrap_err().message(),
        "expected a device type and id of 0 or more, got -1:0"
    );
    Ok(())
}

#[test]
fn signatures_and_runtime_have_the_same_dtype_names() -> Result<()> {
    use pytvmffi::signature::{parse, Kind, Signature};
    const NAMES: Signature = parse(
        "f(x: {float32, float64, float16, bfloat16, int8, uint4, bool, int8x4}[...], \
         y: {float8_e4m3fn, float8_e5m2, float6_e2m3fn, float4_e2m1fn, uint64, float8_e8m0fnu}[2])",
    );
    let mut seen = 0;
    for parameter in NAMES.parameters() {
        let Kind::Tensor(tensor) = parameter.kind else { panic!("a tensor") };
        for (dtype, text) in tensor.dtypes.dtypes.iter().zip(tensor.dtypes.texts) {
            if !text.is_empty() {
                assert_eq!(*dtype, text.parse::<DataType>()?, "{text}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 14);
    assert_eq!(abi::kDLBool, Bool8::DTYPE.code);
    Ok(())
}
