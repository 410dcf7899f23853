// SPDX-License-Identifier: Apache-2.0
//! What messages call the native types: the words of Python, as all wrappers use them.

use crate::abi;

/// The word for a type index that has a fixed one.
pub(crate) const fn of_index(index: i32) -> Option<&'static str> {
    Some(match index {
        abi::kTVMFFINone => "None",
        abi::kTVMFFIInt => "int",
        abi::kTVMFFIBool => "bool",
        abi::kTVMFFIFloat => "float",
        abi::kTVMFFIOpaquePtr => "ctypes.c_void_p",
        abi::kTVMFFIDataType => "dtype",
        abi::kTVMFFIDevice => "Device",
        abi::kTVMFFIDLTensorPtr | abi::kTVMFFITensor => "Tensor",
        abi::kTVMFFIRawStr | abi::kTVMFFISmallStr | abi::kTVMFFIStr => "str",
        abi::kTVMFFIByteArrayPtr | abi::kTVMFFISmallBytes | abi::kTVMFFIBytes => "bytes",
        abi::kTVMFFIObjectRValueRef | abi::kTVMFFIObject => "Object",
        abi::kTVMFFIUnchanged => "ffi.Unchanged",
        abi::kTVMFFIError => "ffi.Error",
        abi::kTVMFFIFunction => "Callable",
        abi::kTVMFFIShape => "ffi.Shape",
        abi::kTVMFFIArray => "Array",
        abi::kTVMFFIMap => "Map",
        abi::kTVMFFIModule => "ffi.Module",
        abi::kTVMFFIOpaquePyObject => "Python object",
        abi::kTVMFFIList => "List",
        abi::kTVMFFIDict => "Dict",
        abi::kTVMFFIVisitInterrupt => "ffi.VisitInterrupt",
        abi::kTVMFFIBigInt => "int of more than 64 bits",
        _ => return None,
    })
}

/// The name of a device type; None for numbers that have none.
pub(crate) const fn of_device(device_type: i32) -> Option<&'static str> {
    Some(match device_type {
        abi::kDLCPU => "cpu",
        abi::kDLCUDA => "cuda",
        abi::kDLCUDAHost => "cuda_host",
        abi::kDLOpenCL => "opencl",
        abi::kDLVulkan => "vulkan",
        abi::kDLMetal => "metal",
        abi::kDLVPI => "vpi",
        abi::kDLROCM => "rocm",
        abi::kDLROCMHost => "rocm_host",
        abi::kDLExtDev => "ext_dev",
        abi::kDLCUDAManaged => "cuda_managed",
        abi::kDLOneAPI => "oneapi",
        abi::kDLWebGPU => "webgpu",
        abi::kDLHexagon => "hexagon",
        abi::kDLMAIA => "maia",
        abi::kDLTrn => "trn",
        _ => return None,
    })
}
