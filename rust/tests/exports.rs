// SPDX-License-Identifier: Apache-2.0
//! Exported functions called through their C symbols, with valid and invalid arguments.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use pytvmffi::abi::{self, DLTensor, TVMFFIAny};
use pytvmffi::{export, Any, AnyView, Device, Element, Error, Result, TensorMut, TensorView};

fn length(x: TensorView<'_>) -> i64 {
    x.len() as i64
}
export!(length, "length(x: Tensor) -> int");

fn fill(y: &mut [f32], value: f32) {
    y.fill(value);
}
export!(fill, "fill(y: out float32*[n] on cpu, value: float = 1.0)");

fn update(x: TensorView<'_>, mut y: TensorMut<'_>) -> Result<()> {
    y.as_mut_slice::<f32>()?.copy_from_slice(x.as_slice::<f32>()?);
    Ok(())
}
export!(update, "update(x: Tensor, y: out Tensor)");

extern "C" {
    fn __tvm_ffi_update(_: *mut c_void, _: *const TVMFFIAny, _: i32, _: *mut TVMFFIAny) -> c_int;
    fn __tvm_ffi_length(_: *mut c_void, _: *const TVMFFIAny, _: i32, _: *mut TVMFFIAny) -> c_int;
    fn __tvm_ffi_fill(_: *mut c_void, _: *const TVMFFIAny, _: i32, _: *mut TVMFFIAny) -> c_int;
}

type Exported = unsafe extern "C" fn(*mut c_void, *const TVMFFIAny, i32, *mut TVMFFIAny) -> c_int;

/// Call an exported function and return its result; `num_args` may differ from the length of
/// the array `args`.
fn call(function: Exported, args: *const TVMFFIAny, num_args: i32) -> Result<Any> {
    let mut result = AnyView::none().raw();
    // SAFETY: the function reads only arguments that exist.
    match unsafe { function(null_mut(), args, num_args, &mut result) } {
        // SAFETY: on success the result is an owned value.
        0 => Ok(unsafe { Any::from_raw(result) }),
        code => Err(Error::take_raised(code)),
    }
}

fn borrowed_value(tensor: &mut DLTensor) -> TVMFFIAny {
    let mut raw = AnyView::none().raw();
    raw.type_index = abi::kTVMFFIDLTensorPtr;
    raw.payload.v_ptr = std::ptr::from_mut(tensor).cast();
    raw
}

fn host_tensor(data: &mut [f32], shape: &mut [i64]) -> DLTensor {
    DLTensor {
        data: data.as_mut_ptr().cast(),
        device: Device::CPU,
        ndim: shape.len() as i32,
        dtype: f32::DTYPE,
        shape: shape.as_mut_ptr(),
        strides: null_mut(),
        byte_offset: 0,
    }
}

#[test]
fn an_exported_function_is_called_through_its_symbol() -> Result<()> {
    let (mut data, mut shape) = ([0.0f32; 3], [3]);
    let mut tensor = host_tensor(&mut data, &mut shape);
    let args = [borrowed_value(&mut tensor)];
    assert_eq!(call(__tvm_ffi_length, args.as_ptr(), 1)?.get::<i64>()?, 3);
    assert!(call(__tvm_ffi_fill, args.as_ptr(), 1)?.view().is_none());
    assert_eq!(data, [1.0; 3]);
    Ok(())
}

#[test]
fn invalid_numbers_of_arguments_are_refused() {
    let text = |num_args, args| call(__tvm_ffi_length, args, num_args).unwrap_err().to_string();
    assert_eq!(text(-1, null()), "TypeError: expected 0 or more arguments, got -1");
    assert_eq!(text(1, null()), "TypeError: expected an array of 1 arguments, got NULL");
    let missing = "TypeError: length() missing 1 required positional argument: 'x'";
    assert_eq!(text(0, null()), missing);
}

#[test]
fn invalid_tensors_are_refused_before_the_function_runs() {
    let (mut data, mut shape) = ([0.0f32; 3], [3]);
    for (ndim, message) in
        [(i32::MAX, "expected 1 dimension, got 2147483647"), (-1, "expected 1 dimension, got -1")]
    {
        let mut tensor = DLTensor { ndim, ..host_tensor(&mut data, &mut shape) };
        let args = [borrowed_value(&mut tensor)];
        let error = call(__tvm_ffi_fill, args.as_ptr(), 1).unwrap_err();
        assert_eq!(error.message(), format!("fill() argument 'y': {message}"));
        let error = call(__tvm_ffi_length, args.as_ptr(), 1).unwrap_err();
        assert_eq!(
            error.message(),
            format!("length() argument 'x': expected 0 to 1024 dimensions, got {ndim}")
        );
    }
    let mut tensor = DLTensor { shape: null_mut(), ..host_tensor(&mut data, &mut shape) };
    let args = [borrowed_value(&mut tensor)];
    let error = call(__tvm_ffi_fill, args.as_ptr(), 1).unwrap_err();
    assert_eq!(error.message(), "fill() argument 'y': expected a shape of 1 extents, got NULL");
}

/// Slices of the same memory alias, also if the tensors name different devices with host memory.
#[test]
fn tensors_of_two_host_devices_share_no_memory_that_is_written() -> Result<()> {
    let (mut data, mut shape) = ([1.0f32, 2.0, 3.0, 4.0], [2]);
    let mut tensors = [0, 1, 2]
        .map(|offset| DLTensor { byte_offset: 4 * offset, ..host_tensor(&mut data, &mut shape) });
    tensors[1].device = Device::new(abi::kDLCUDAHost, 0);
    tensors[2].device = Device::new(abi::kDLCUDAHost, 0);
    let [x, y, z] = tensors.each_mut().map(borrowed_value);
    let error = call(__tvm_ffi_update, [x, y].as_ptr(), 2).unwrap_err();
    let text = "update() argument 'y': the array shares memory with argument 'x', and the \
                function writes into it; pass arrays that do not overlap";
    assert_eq!(error.to_string(), format!("ValueError: {text}"));
    call(__tvm_ffi_update, [x, z].as_ptr(), 2)?;
    assert_eq!(data, [1.0, 2.0, 1.0, 2.0]);
    Ok(())
}

#[test]
fn tensors_with_negative_extents_are_refused_before_the_function_runs() {
    let (mut data, mut shape) = ([0.0f32; 3], [-2]);
    let mut tensor = host_tensor(&mut data, &mut shape);
    let args = [borrowed_value(&mut tensor)];
    for (function, name) in [
        (__tvm_ffi_fill as Exported, "fill() argument 'y'"),
        (__tvm_ffi_length, "length() argument 'x'"),
    ] {
        let error = call(function, args.as_ptr(), 1).unwrap_err();
        let text = format!("ValueError: {name}: shape[0] must be >= 0, got -2");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_caller_may_pass_null_for_the_result() {
    let (mut data, mut shape) = ([0.0f32; 3], [3]);
    let mut tensor = host_tensor(&mut data, &mut shape);
    let args = [borrowed_value(&mut tensor)];
    // SAFETY: the arguments are valid; the function accepts a NULL result.
    let code = unsafe { __tvm_ffi_length(null_mut(), args.as_ptr(), 1, null_mut()) };
    assert_eq!(code, 0);
}

#[test]
fn the_metadata_symbol_returns_the_signature() -> Result<()> {
    extern "C" {
        fn __tvm_ffi__metadata_fill(
            _: *mut c_void,
            _: *const TVMFFIAny,
            _: i32,
            _: *mut TVMFFIAny,
        ) -> c_int;
    }
    let json: String = call(__tvm_ffi__metadata_fill, null(), 0)?.get()?;
    let text = "fill(y: out float32*[n] on cpu, value: float = 1.0)";
    assert_eq!(json, format!("{{\"signature\":\"{text}\",\"checked\":true}}"));
    Ok(())
}
