# SPDX-License-Identifier: Apache-2.0
"""torch tensors without an exchange API: torch before 2.10, or with the exchange API disabled.

Arguments are exported as DLPack capsules.  `_torch_api` is an exchange API that calls torch's
Python functions.  It reports torch's current stream and converts results to torch tensors.
"""

from cpython.pycapsule cimport PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport int32_t, uintptr_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, pack_temporary,
)
from tvm_ffi._binding.object cimport set_exception

cdef abi.DLPackExchangeAPI _torch_api


cdef int _pack_torch_tensor(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Export a torch tensor as a DLPack capsule and pack it as a temporary."""
    cdef object tensor = <object>value
    cdef abi.TVMFFIObjectHandle handle
    cdef abi.DLDevice device
    from torch.utils.dlpack import to_dlpack

    if tensor.is_conj() or tensor.is_neg():
        resolve = "resolve_conj" if tensor.is_conj() else "resolve_neg"
        raise TypeError(
            "tensor is a conjugated or negated view: the values in its memory differ from its "
            f"elements; pass tensor.{resolve}()")
    handle = consume_capsule(to_dlpack(tensor.detach()), 0, False)
    if pack_temporary(state, out, abi.kTVMFFITensor, handle) != 0:
        return -1
    device = abi.TVMFFITensorGetDLTensorPtr(handle).device
    if device.device_type != abi.kDLCPU and choose_stream(state, &_torch_api, device) != 0:
        return -1
    if state.exchange_api == NULL:
        state.exchange_api = &_torch_api
    return 0


cdef void _delete_legacy_export(abi.DLManagedTensor* legacy) noexcept:
    """Free a legacy export and the versioned export from which it was created."""
    cdef abi.DLManagedTensorVersioned* managed
    managed = <abi.DLManagedTensorVersioned*>legacy.manager_ctx
    if managed.deleter != NULL:
        managed.deleter(managed)
    free(legacy)


cdef object _to_torch(abi.DLManagedTensorVersioned* managed):
    """Return a new torch tensor from a DLPack export.  Consumes `managed` on success."""
    cdef abi.DLManagedTensor* legacy  # old releases of torch read only legacy capsules
    from torch.utils.dlpack import from_dlpack

    legacy = <abi.DLManagedTensor*>malloc(sizeof(abi.DLManagedTensor))
    if legacy == NULL:
        raise MemoryError()
    legacy.dl_tensor = managed.dl_tensor
    legacy.manager_ctx = managed
    legacy.deleter = _delete_legacy_export
    capsule = PyCapsule_New(legacy, b"dltensor", NULL)
    try:
        return from_dlpack(capsule)
    except BaseException:
        if PyCapsule_IsValid(capsule, b"dltensor"):
            free(legacy)
        raise


cdef int _to_py_object(abi.DLManagedTensorVersioned* managed, void** out) noexcept:
    """Exchange API function: store a new torch tensor in `out`.  Consumes `managed` on success.

    Fails: -1 with an exception set.
    """
    try:
        tensor = _to_torch(managed)
    except BaseException as error:
        set_exception(error)
        return -1
    Py_INCREF(tensor)
    out[0] = <void*>tensor
    return 0


cdef int _torch_stream(abi.DLDeviceType device_type, int32_t device_id, void** out) noexcept:
    """Exchange API function: store torch's current stream in `out`, or NULL for the CPU.

    ROCm devices have streams in `torch.cuda`, too.  Fails: -1 with an exception set.
    """
    cdef uintptr_t stream = 0
    try:
        if device_type in (abi.kDLCUDA, abi.kDLROCM):
            import torch

            stream = torch.cuda.current_stream(device_id).cuda_stream
    except BaseException as error:
        set_exception(error)
        return -1
    out[0] = <void*>stream
    return 0


cdef bint _torch_rule(type cls, object value, Packer* packer) except -1:
    if not is_torch_class(cls):
        return False
    refuse_fake_tensor(cls)
    packer.pack = <PackFunction>_pack_torch_tensor
    return True


_torch_api.header.version.major = abi.DLPACK_MAJOR_VERSION
_torch_api.header.version.minor = abi.DLPACK_MINOR_VERSION
_torch_api.managed_tensor_to_py_object_no_sync = _to_py_object
_torch_api.current_work_stream = _torch_stream
add_rule(Precedence.TORCH_TENSOR, _torch_rule)
