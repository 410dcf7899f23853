# SPDX-License-Identifier: Apache-2.0
"""`DLTensorTestWrapper`: the smallest tensor class with an exchange API, for tests."""

cimport cython
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport check, handle_of, set_exception

cdef abi.DLPackExchangeAPI _wrapper_api


@cython.binding(False)
cdef class DLTensorTestWrapper:
    """Tensor class with an exchange API, for tests.  It converts tensor results to `Tensor`.

    Parameters
    ----------
    tensor : Tensor
        The tensor that the wrapper exports.
    """

    cdef Tensor tensor
    cdef dict __dict__

    __dlpack_c_exchange_api__ = PyCapsule_New(&_wrapper_api, b"dlpack_exchange_api", NULL)

    def __init__(self, Tensor tensor not None):
        handle_of(tensor)
        self.tensor = tensor

    def __tvm_ffi_env_stream__(self) -> int:
        """Return the current stream of the tensor's device."""
        from tvm_ffi._binding.values import get_current_stream

        return get_current_stream(*self.tensor.__dlpack_device__())

    def __dlpack_device__(self) -> tuple:
        """Return the device of the tensor as (device type, device id), in DLPack's numbering."""
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **kwargs):
        """Export the tensor as a DLPack capsule, see `Tensor.__dlpack__`."""
        return self.tensor.__dlpack__(**kwargs)


cdef int _export_wrapper(void* wrapper, abi.DLManagedTensorVersioned** out) noexcept:
    """Exchange API function: store an owned DLPack export in `out`.

    Fails: -1 with an exception set.
    """
    cdef Tensor tensor = (<DLTensorTestWrapper>wrapper).tensor
    try:
        handle_of(tensor)  # raises ValueError if the tensor is empty
        check(abi.TVMFFITensorToDLPackVersioned(exported_handle(tensor), out))
    except BaseException as error:
        set_exception(error)
        return -1
    return 0


cdef int _import_tensor(abi.DLManagedTensorVersioned* managed, void** out) noexcept:
    """Exchange API function: store a new reference to a `Tensor` in `out`.

    Consumes `managed` on success.
    Fails: -1 with an exception set.
    """
    cdef abi.TVMFFIObjectHandle handle = NULL
    try:
        check(abi.TVMFFITensorFromDLPackVersioned(managed, 0, 0, &handle))
        tensor = wrap_tensor(handle)
    except BaseException as error:
        set_exception(error)
        return -1
    Py_INCREF(tensor)
    out[0] = <void*>tensor
    return 0


cdef int _wrapper_stream(abi.DLDeviceType device_type, int32_t device_id, void** out) noexcept:
    """Exchange API function: store the thread's current stream in `out`.  Fails: never."""
    out[0] = abi.TVMFFIEnvGetStream(<int32_t>device_type, device_id)
    return 0


_wrapper_api.header.version.major = abi.DLPACK_MAJOR_VERSION
_wrapper_api.header.version.minor = abi.DLPACK_MINOR_VERSION
_wrapper_api.managed_tensor_from_py_object_no_sync = _export_wrapper
_wrapper_api.managed_tensor_to_py_object_no_sync = _import_tensor
_wrapper_api.current_work_stream = _wrapper_stream
