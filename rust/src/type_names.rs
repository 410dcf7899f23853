// SPDX-License-Identifier: Apache-2.0
//! Names of native types and devices in error messages: the Python names, as in generated wrappers.

use crate::abi;

/// Return the name of a built-in type; None for other type indices.
pub(crate) const fn type_name(index: i32) -> Option<&'static str> {
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

/// Return the name of a device type; None for unknown device types.
pub(crate) const fn device_name(device_type: i32) -> Option<&'static str> {
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
