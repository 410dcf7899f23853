// SPDX-License-Identifier: Apache-2.0
//! The environment of a call: the current stream of a device, and signals of the host language.
//! Tensors are allocated through it by [`Tensor::empty`](crate::Tensor::empty).

use std::ffi::c_void;

use crate::abi;
use crate::dtype::Device;
use crate::error::{check, Error, Result};

/// The calling thread's current stream of a device; NULL is the default stream.
pub fn current_stream(device: Device) -> *mut c_void {
    // SAFETY: any numbers are allowed.
    unsafe { abi::TVMFFIEnvGetStream(device.device_type, device.device_id) }
}

/// Run `body` with another current stream, and put back the one before, also when it panics.
///
/// # Safety
/// `stream` is one of the device, or NULL, and exists until `body` returns.
///
/// # Errors
/// ValueError for a device that has no number; when memory is exhausted.
pub unsafe fn with_stream<R>(
    device: Device,
    stream: *mut c_void,
    body: impl FnOnce() -> R,
) -> Result<R> {
    struct Restore(Device, *mut c_void);
    impl Drop for Restore {
        fn drop(&mut self) {
            let Self(device, stream) = *self;
            // SAFETY: the stream that was current before; the device's slot exists.
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
        return Err(Error::value_error(format!("there is no device {device}")));
    }
    let mut before = std::ptr::null_mut();
    // SAFETY: the stream is valid, as the caller says.
    check(unsafe {
        abi::TVMFFIEnvSetStream(device.device_type, device.device_id, stream, &mut before)
    })?;
    let _restore = Restore(device, before);
    Ok(body())
}

/// Ask whether the host language wants to stop, for Ctrl-C; long loops do so now and then.
///
/// # Errors
/// When it does: return it to the caller, who has the exception.
pub fn check_signals() -> Result<()> {
    // SAFETY: the host's lock may be taken by any thread.
    check(unsafe { abi::TVMFFIEnvCheckSignals() })
}
