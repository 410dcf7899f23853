# SPDX-License-Identifier: Apache-2.0
"""Arguments with `__cuda_array_interface__` but without DLPack, such as Numba's device arrays.

The interface may name a stream with pending writes to the elements.  If no earlier argument has
selected the stream of the call, the call runs on the stream of the array.  Otherwise the binding
waits for the stream of the array, as the interface requires of a consumer that uses another stream.

An object may have the interface as its own attribute, without a class that has the interface.  If
the first value of an otherwise opaque class has it, every value of the class is looked at.  Values
of other classes are not, because the look takes longer than a tenth of the call.
"""

from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.stdlib cimport calloc, free

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, Packer, Precedence, add_rule, pack_temporary,
)
from tvm_ffi._binding.object cimport check, own_python_object, release_python_object
from tvm_ffi._binding.values cimport pack_opaque

cdef extern from *:
    """
    #define tvm_ffi_has_plain_attributes(cls) \
        ((cls)->tp_dictoffset != 0 && (cls)->tp_getattro == PyObject_GenericGetAttr)
    """
    # Return True if instances of the class have a `__dict__`, and looking up an attribute does not
    # call `__getattr__` or `__getattribute__` of the class.
    bint has_plain_attributes "tvm_ffi_has_plain_attributes"(PyTypeObject* cls) noexcept


# The DLPack export of a CUDA array.  The shape and the strides follow this struct in the same
# allocation.
cdef struct _CudaExport:
    abi.DLManagedTensorVersioned managed  # `managed.manager_ctx` is the address of this _CudaExport
    PyObject* owner                       # owned reference to the CUDA array


cdef void _delete_cuda_export(abi.DLManagedTensorVersioned* managed) noexcept nogil:
    """Free the export of a CUDA array and release the array.  Threads: any."""
    cdef _CudaExport* export = <_CudaExport*>managed.manager_ctx
    release_python_object(export.owner)
    free(export)


cdef abi.TVMFFIObjectHandle _new_cuda_tensor(
    object array, object description, int32_t device_id
) except NULL:
    """Return an owned tensor over the memory of `array`; the tensor keeps `array` alive.

    `description` is the `CudaArray` of the array.  Fails: MemoryError, OverflowError if an extent
    or stride does not fit 64 bits, or an error of the runtime.
    """
    cdef int32_t ndim = len(description.shape)
    cdef _CudaExport* export = <_CudaExport*>calloc(
        1, sizeof(_CudaExport) + 2 * ndim * sizeof(int64_t))
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
        address = description.address
        for dim in range(ndim):
            dltensor.shape[dim] = description.shape[dim]
            dltensor.strides[dim] = description.strides[dim]
        dltensor.dtype.code, dltensor.dtype.bits = description.code, description.bits
    except BaseException:
        free(export)
        raise
    dltensor.data = <void*>address
    dltensor.dtype.lanes = 1
    dltensor.device.device_type, dltensor.device.device_id = abi.kDLCUDA, device_id
    dltensor.ndim = ndim
    export.managed.version.major = abi.DLPACK_MAJOR_VERSION
    export.managed.version.minor = abi.DLPACK_MINOR_VERSION
    export.managed.flags = abi.DLPACK_FLAG_BITMASK_READ_ONLY if description.is_read_only else 0
    export.managed.manager_ctx = export
    export.managed.deleter = _delete_cuda_export
    own_python_object(array)
    export.owner = <PyObject*>array
    code = abi.TVMFFITensorFromDLPackVersioned(&export.managed, 0, 0, &tensor)
    if code != 0:
        _delete_cuda_export(&export.managed)
        check(code)
    return tensor


cdef int _follow_stream(CallState* state, object stream, int32_t device_id) except -1:
    """Ensure that the call runs after the work that is pending on `stream`, the array's stream.

    Select this stream for the call, or wait for it if the call has another stream.  Fails:
    RuntimeError if the stream cannot be synchronized.
    """
    from tvm_ffi._binding.tensor.cuda_array_interface import synchronize

    cdef uintptr_t address = stream
    if state.stream_device_type == 0:
        state.stream_device_type, state.stream_device_id = abi.kDLCUDA, device_id
        state.stream = <void*>address
    elif not (
        state.stream_device_type == abi.kDLCUDA and state.stream_device_id == device_id
        and state.stream == <void*>address
    ):
        synchronize(address)
    return 0


cdef int _pack_cuda_array(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    from tvm_ffi._binding.tensor.cuda_array_interface import device_of, read_interface

    cdef object array = <object>value
    cdef object description = read_interface(array.__cuda_array_interface__)
    cdef int32_t device_id = device_of(description.address)
    cdef abi.TVMFFIObjectHandle tensor = _new_cuda_tensor(array, description, device_id)
    if pack_temporary(state, out, abi.kTVMFFITensor, tensor) != 0:
        return -1
    if description.stream is not None:
        _follow_stream(state, description.stream, device_id)
    if description.is_read_only:
        state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
    return 0


cdef bint _cuda_array_rule(type cls, object value, Packer* packer) except -1:
    if not hasattr(cls, "__cuda_array_interface__"):
        return False
    packer.pack = <PackFunction>_pack_cuda_array
    return True


cdef inline bint _has_interface(object value) except -1:
    return getattr(value, "__cuda_array_interface__", None) is not None


cdef int _pack_opaque_or_cuda_array(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    if _has_interface(<object>value):
        return _pack_cuda_array(value, out, state, packer)
    return pack_opaque(value, out, state, packer)


cdef bint _value_interface_rule(type cls, object value, Packer* packer) except -1:
    # The look at a value must not run Python code: `__getattr__` of a proxy is not called.
    if not (has_plain_attributes(<PyTypeObject*>cls) and _has_interface(value)):
        return False
    packer.pack = <PackFunction>_pack_opaque_or_cuda_array
    return True


add_rule(Precedence.CUDA_ARRAY, _cuda_array_rule)
add_rule(Precedence.VALUE_INTERFACE, _value_interface_rule)
