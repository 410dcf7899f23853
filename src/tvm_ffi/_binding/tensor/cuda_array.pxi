# SPDX-License-Identifier: Apache-2.0
"""Arrays that are described by `__cuda_array_interface__` alone, such as Numba's device arrays.

The array names the stream that its values are worked on.  A call that has decided for none runs on
that stream; else the stream is waited for, as the interface asks of those who use another one.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.stdlib cimport calloc, free

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, Packer, Precedence, add_rule, pack_temporary,
)
from tvm_ffi._binding.object cimport check, own_python_object, release_python_object


# An export of an array, which it keeps alive; shape and strides lie behind it.
cdef struct _Export:
    abi.DLManagedTensorVersioned managed
    PyObject* owner


cdef void _delete_cuda_export(abi.DLManagedTensorVersioned* managed) noexcept nogil:
    cdef _Export* export = <_Export*>managed.manager_ctx
    release_python_object(export.owner)
    free(export)


cdef abi.TVMFFIObjectHandle _share(object array, object described, int32_t device_id) except NULL:
    """An owned tensor over the memory of an array."""
    cdef int32_t ndim = len(described.shape)
    cdef _Export* export = <_Export*>calloc(1, sizeof(_Export) + 2 * ndim * sizeof(int64_t))
    cdef abi.TVMFFIObjectHandle tensor = NULL
    cdef abi.DLTensor* dltensor
    cdef uintptr_t address
    cdef int32_t dim
    cdef int code
    if export == NULL:
        raise MemoryError()
    dltensor = &export.managed.dl_tensor
    dltensor.shape = <int64_t*>(export + 1)
    dltensor.strides = dltensor.shape + ndim
    try:
        address = described.address
        for dim in range(ndim):
            dltensor.shape[dim] = described.shape[dim]
            dltensor.strides[dim] = described.strides[dim]
        dltensor.dtype.code, dltensor.dtype.bits = described.code, described.bits
    except BaseException:
        free(export)
        raise
    dltensor.data = <void*>address
    dltensor.dtype.lanes = 1
    dltensor.device.device_type, dltensor.device.device_id = abi.kDLCUDA, device_id
    dltensor.ndim = ndim
    export.managed.version.major = abi.DLPACK_MAJOR_VERSION
    export.managed.version.minor = abi.DLPACK_MINOR_VERSION
    export.managed.flags = abi.DLPACK_FLAG_BITMASK_READ_ONLY if described.is_read_only else 0
    export.managed.manager_ctx = export
    export.managed.deleter = _delete_cuda_export
    own_python_object(array)
    export.owner = <PyObject*>array
    code = abi.TVMFFITensorFromDLPackVersioned(&export.managed, 0, 0, &tensor)
    if code != 0:
        _delete_cuda_export(&export.managed)
        check(code)
    return tensor


cdef int _order(CallState* state, object stream, int32_t device_id) except -1:
    """See to it that the call finds the values that are being worked on."""
    from tvm_ffi._binding.tensor.cuda_array_interface import wait_for

    cdef uintptr_t address = stream
    if state.stream_device_type == 0:
        state.stream_device_type, state.stream_device_id = abi.kDLCUDA, device_id
        state.stream = <void*>address
    elif not (
        state.stream_device_type == abi.kDLCUDA and state.stream_device_id == device_id
        and state.stream == <void*>address
    ):
        wait_for(address)
    return 0


cdef int _pack_cuda_array(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    from tvm_ffi._binding.tensor.cuda_array_interface import device_of, read_interface

    cdef object array = <object>value
    cdef object described = read_interface(array.__cuda_array_interface__)
    cdef int32_t device_id = device_of(described.address)
    cdef abi.TVMFFIObjectHandle tensor = _share(array, described, device_id)
    if pack_temporary(state, out, abi.kTVMFFITensor, tensor) != 0:
        return -1
    if described.stream is not None:
        _order(state, described.stream, device_id)
    if described.is_read_only:
        state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
    return 0


cdef bint _cuda_array_rule(type cls, object value, Packer* packer) except -1:
    if not hasattr(cls, "__cuda_array_interface__"):
        return False
    packer.pack = <PackFunction>_pack_cuda_array
    return True


add_rule(Precedence.CUDA_ARRAY, _cuda_array_rule)
