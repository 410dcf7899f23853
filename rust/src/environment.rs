// SPDX-License-Identifier: Apache-2.0
//! Environment of a call: the current stream of a device, and signals of the host language.
//!
//! The environment also contains the tensor allocator, which
//! [`Tensor::empty`](crate::Tensor::empty) uses.

use std::ffi::c_void;

use crate::abi;
use crate::dtype::Device;
use crate::error::{check, Error, Result};

/// Return the calling thread's current stream of a device; NULL is the default stream.
pub fn current_stream(device: Device) -> *mut c_void {
    // SAFETY: the function accepts every device type and id.
    unsafe { abi::TVMFFIEnvGetStream(device.device_type, device.device_id) }
}

/// Run `body` with `stream` as the current stream; then restore the previous stream, even after a
/// panic.
///
/// # Safety
/// `stream` is NULL or a stream of the device that exists until `body` returns.
///
/// # Errors
/// ValueError for a negative device type or id; any error if memory is exhausted.
pub unsafe fn with_stream<R>(
    device: Device,
    stream: *mut c_void,
    body: impl FnOnce() -> R,
) -> Result<R> {
    struct Restore(Device, *mut c_void);
    impl Drop for Restore {
        fn drop(&mut self) {
            let Self(device, stream) = *self;
            // SAFETY: the previous stream is still valid.  The call cannot fail, because the thread
            // already has a stream slot for the device.
            unsafe {
                abi::TVMFFIEnvSetStream(
                    device.device_type,
                    device.device_id,
                    stream,
                    std::ptr::null_mut(),
                )
            };
        }
    }
    if device.device_type < 0 || device.device_id < 0 {
        return Err(Error::value_error(format!(
            "expected a device type and id of 0 or more, got {device}"
        )));
    }
    let mut before = std::ptr::null_mut();
    // SAFETY: the caller guarantees that the stream is valid.
    check(unsafe {
        abi::TVMFFIEnvSetStream(device.device_type, device.device_id, stream, &mut before)
    })?;
    let _restore = Restore(device, before);
    Ok(body())
}

/// Check for signals of the host language, such as Ctrl-C. Call this function regularly in long
/// loops.
///
/// # Errors
/// If the host language has raised an exception. Return the error to the caller, which owns the
/// exception.
pub fn check_signals() -> Result<()> {
    // SAFETY: every thread may call the function; it acquires the lock of the host language.
    check(unsafe { abi::TVMFFIEnvCheckSignals() })
}
