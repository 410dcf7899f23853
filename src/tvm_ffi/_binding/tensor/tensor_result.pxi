# SPDX-License-Identifier: Apache-2.0
"""Tensor results: tensors that native code passes to Python, in the class of a framework.

The framework is that of the arguments of the call, of the container from which the tensor is read,
or of the tensors that a callback expects.  A tensor stays a `Tensor` if the framework cannot
represent the tensor: no framework with an exchange API has read-only tensors.
"""

from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport INT64_MAX, int32_t, int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport ArgumentView, CallState, add_unpacker, as_argument_view
from tvm_ffi._binding.cpython cimport PyErr_Clear
from tvm_ffi._binding.object cimport check

# Type of the devices other than the CPU on which torch has tensors; kDLCPU if there are none, or if
# it is not known yet.
cdef int32_t _torch_accelerator = abi.kDLCPU
# DLPack type of a device of torch, by torch's name of the device.
cdef dict _TORCH_DEVICES = {
    "cuda": abi.kDLCUDA, "maia": abi.kDLMAIA, "mps": abi.kDLMetal, "xpu": abi.kDLOneAPI,
}


cdef object _unpack_tensor(abi.TVMFFIAny* owned, CallState* state):
    """Return a tensor result in the framework of `state`, or as `Tensor`.  Consumes `owned`.

    The result is a `Tensor` if no argument has a framework, or if the framework cannot represent
    the tensor.
    """
    cdef const abi.DLPackExchangeAPI* api = NULL
    cdef ArgumentView* arg_view
    cdef object result
    if state != NULL:
        api = state.exchange_api
    if api == NULL:
        return wrap_tensor(owned.v_obj)
    arg_view = as_argument_view(_free_views, owned.v_obj)
    if arg_view != NULL and arg_view.exchange_api == api:
        result = <object>arg_view.owner  # the Python argument of which the result is a view
        abi.TVMFFIObjectDecRef(owned.v_obj)
        return result
    if is_read_only_tensor(read_only_deleters(), owned.v_obj):
        return wrap_tensor(owned.v_obj)
    try:
        result = _to_framework(owned.v_obj, api)
    except BaseException:
        abi.TVMFFIObjectDecRef(owned.v_obj)
        raise
    if result is None:
        return wrap_tensor(owned.v_obj)
    abi.TVMFFIObjectDecRef(owned.v_obj)
    return result


cdef object _to_framework(abi.TVMFFIObjectHandle tensor, const abi.DLPackExchangeAPI* api):
    """Return a new tensor of an exchange API's framework; it shares the memory of `tensor`.

    Returns None if the exchange API cannot import tensors or fails to import `tensor`.  `tensor` is
    borrowed.
    """
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef void* result = NULL
    if api.managed_tensor_to_py_object_no_sync == NULL:
        return None
    if is_torch_api(api) and not _torch_accepts(abi.TVMFFITensorGetDLTensorPtr(tensor)):
        return None
    check(abi.TVMFFITensorToDLPackVersioned(tensor, &managed))
    if api.managed_tensor_to_py_object_no_sync(managed, &result) != 0:
        PyErr_Clear()
        managed.deleter(managed)
        return None
    if result == NULL:
        return None
    converted = <object>result
    Py_XDECREF(<PyObject*>result)  # `converted` has its own reference
    return converted


# ---- tensors that torch accepts ------------------------------------------------------------

cdef bint _torch_accepts(const abi.DLTensor* tensor) except -1:
    """Return False if the import of a tensor into torch fails without an error code.

    torch ends the process if the size of its memory is not representable, and creates unusable
    tensors for devices that it was not built for.
    """
    if tensor.device.device_type != abi.kDLCPU:
        # torch stores the device id in 8 bits.
        if not 0 <= tensor.device.device_id < 128:
            return False
        if (
            tensor.device.device_type != _torch_accelerator
            and tensor.device.device_type != _find_torch_accelerator()
        ):
            return False
    return _is_size_representable(tensor)


cdef bint _is_size_representable(const abi.DLTensor* tensor) noexcept:
    """Return True if all elements are at offsets from 0 to INT64_MAX bytes."""
    cdef int64_t element_bytes = max(
        (<int>tensor.dtype.bits * <int>tensor.dtype.lanes + 7) // 8, 1)
    cdef int64_t max_offset = INT64_MAX // element_bytes - 1
    cdef int64_t compact_stride = 1
    cdef int64_t stride, last
    cdef int dim
    if not _has_elements(tensor):
        return True
    for dim in range(tensor.ndim - 1, -1, -1):
        last = tensor.shape[dim] - 1
        stride = tensor.strides[dim] if tensor.strides != NULL else compact_stride
        compact_stride *= tensor.shape[dim]
        if last == 0 or stride == 0:
            continue
        if stride < 0 or last > max_offset // stride:
            return False
        max_offset -= last * stride
    return True


cdef int32_t _find_torch_accelerator() except -1:
    """Return the type of the devices other than the CPU on which torch has tensors.

    Returns kDLCPU if there are none.  torch has at most one such type, which it is built for, or
    which an extension package adds later.
    """
    global _torch_accelerator
    import torch

    name = "cuda" if torch.version.cuda or torch.version.hip else "cpu"
    if hasattr(torch, "accelerator"):
        device = torch.accelerator.current_accelerator()
        name = "cpu" if device is None else device.type
    if name == "cuda" and torch.version.hip:
        _torch_accelerator = abi.kDLROCM
    elif name in _TORCH_DEVICES:
        _torch_accelerator = _TORCH_DEVICES[name]
    elif name == torch._C._get_privateuse1_backend_name():
        _torch_accelerator = abi.kDLExtDev
    return _torch_accelerator


add_unpacker(abi.kTVMFFITensor, _unpack_tensor)
