// SPDX-License-Identifier: Apache-2.0
//! Kernels that each break one rule of the ABI or of their signature.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use pytvmffi::abi::{TVMFFIAny, TVMFFIObjectDecRef};
use pytvmffi::{export, Error, ObjectRef, Result, Tensor, TensorView};

fn negate_input(x: TensorView<'_>, y: &mut [f32]) -> Result<()> {
    let x = x.as_slice::<f32>()?;
    for (i, y) in y.iter_mut().enumerate() {
        // SAFETY: the element exists.  The write is the fault.
        unsafe { *x.as_ptr().cast_mut().add(i) = -x[i] };
        *y = x[i];
    }
    Ok(())
}
export!(negate_input, "negate_input(x: float32*[n] on cpu, y: out float32*[n] on cpu)");

fn skip_last(y: &mut [f32]) {
    let count = y.len() - 1;
    y[..count].fill(1.0);
}
export!(skip_last, "skip_last(y: out float32*[n] on cpu)");

fn divide_by_zero(y: &mut [f32]) {
    y.fill(f32::INFINITY);
}
export!(divide_by_zero, "divide_by_zero(y: out float32*[n] on cpu)");

fn release_tensor(x: Tensor) {
    // SAFETY: the handle is valid.  The reference belongs to the caller: this is the fault.
    drop(unsafe { ObjectRef::from_owned(x.as_object().as_ptr()) });
}
export!(release_tensor, "release_tensor(x: Tensor)");

fn leak_tensor(x: Tensor) {
    std::mem::forget(x);
}
export!(leak_tensor, "leak_tensor(x: Tensor)");

fn fail_without_text() -> Result<()> {
    Err(Error::value_error(""))
}
export!(fail_without_text, "fail_without_text()");

fn fail_with_unknown_kind() -> Result<()> {
    Err(Error::new("QuotaError", "too many"))
}
export!(fail_with_unknown_kind, "fail_with_unknown_kind()");

static REMEMBERED: AtomicPtr<f32> = AtomicPtr::new(std::ptr::null_mut());

fn make_tensor() -> Result<Tensor> {
    Tensor::zeros::<f32>(&[4])
}
export!(make_tensor, "make_tensor() -> float32[4]");

fn remember(x: TensorView<'_>) -> Result<()> {
    REMEMBERED.store(x.as_slice::<f32>()?.as_ptr().cast_mut(), Ordering::Relaxed);
    Ok(())
}
export!(remember, "remember(x: float32*[n] on cpu)");

fn write_remembered() {
    // SAFETY: none.  The tensor may have been released: this is the fault.
    unsafe { *REMEMBERED.load(Ordering::Relaxed) = 1.0 };
}
export!(write_remembered, "write_remembered()");

/// A function with the calling convention of the ABI.
macro_rules! raw {
    ($name:ident, |$args:ident, $result:ident| $body:expr) => {
        #[no_mangle]
        #[allow(non_snake_case, clippy::missing_safety_doc)]
        pub unsafe extern "C" fn $name(
            _: *mut c_void,
            $args: *const TVMFFIAny,
            _: i32,
            $result: *mut TVMFFIAny,
        ) -> c_int {
            // SAFETY: the caller passes one argument and a result slot.
            unsafe { $body }
        }
    };
}

/// The words of a TVMFFIAny: type index, padding, payload.
type Words = (i32, u32, u64);

raw!(__tvm_ffi_bool_two, |args, result| {
    let _ = args;
    *result.cast::<Words>() = (2, 0, 2);
    0
});

raw!(__tvm_ffi_padding_unwritten, |args, result| {
    let _ = args;
    (*result.cast::<Words>()).0 = 1;
    (*result.cast::<Words>()).2 = 1;
    0
});

raw!(__tvm_ffi_fail_silently, |args, result| {
    let _ = (args, result);
    -1
});

raw!(__tvm_ffi_return_argument, |args, result| {
    *result.cast::<Words>() = *args.cast::<Words>();
    0
});

raw!(__tvm_ffi_release_and_succeed, |args, result| {
    let _ = result;
    TVMFFIObjectDecRef((*args.cast::<Words>()).2 as *mut c_void);
    0
});
