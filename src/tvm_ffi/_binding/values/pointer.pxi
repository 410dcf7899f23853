# SPDX-License-Identifier: Apache-2.0
"""Addresses as arguments: ctypes pointers, streams, and objects with `__tvm_ffi_opaque_ptr__`."""

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, add_unpacker,
)
from tvm_ffi._binding.cpython cimport PyNumber_Index


# Handlers for third-party classes whose values are passed as pointers.  Maps the class to a
# function that returns the address of a value.  Add a class before its first value is passed,
# because the packer of a class is chosen only once.
OPAQUE_PTR_HANDLERS = {}
# The dict of handlers as a C variable, because conversion rules must not read module globals; see
# `add_rule`.
cdef dict _handlers = OPAQUE_PTR_HANDLERS

# Modules that define the class `CUstream`, in newer and older releases of cuda-python.
cdef tuple _CUDA_DRIVER_MODULES = ("cuda.bindings.driver", "cuda.cuda")


cdef int _set_address(abi.TVMFFIAny* out, int64_t address) noexcept:
    out.type_index = abi.kTVMFFIOpaquePtr
    out.zero_padding = 0
    out.v_int64 = address
    return 0


cdef int _set_pointer(abi.TVMFFIAny* out, object address) except -1:
    """Pack an int as an address.  Negative ints, such as the invalid handle -1, are accepted.

    Fails: TypeError if `address` is not an int, OverflowError if it does not fit 64 bits.
    """
    cdef object number = PyNumber_Index(address)
    cdef uintptr_t pointer
    if number < 0:
        pointer = <uintptr_t><int64_t>number
    else:
        pointer = number
    return _set_address(out, <int64_t>pointer)


cdef int _pack_c_void_p(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, (<object>value).value or 0)


cdef int _pack_opaque_ptr(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, (<object>value).__tvm_ffi_opaque_ptr__())


cpdef object address_of_stream(object stream):
    """Return the address of a stream, which is an int or an object with `__cuda_stream__`."""
    if not hasattr(type(stream), "__cuda_stream__"):
        return PyNumber_Index(stream)
    result = stream.__cuda_stream__()
    if not isinstance(result, tuple) or len(result) < 2:
        raise TypeError(
            f"{type(stream).__name__}.__cuda_stream__() must return a tuple "
            f"(version, pointer), got {result!r}")
    return PyNumber_Index(result[1])


cdef int _pack_cuda_stream(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, address_of_stream(<object>value))


cdef int _pack_driver_stream(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, int(<object>value))


cdef int _pack_by_handler(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, _handlers[type(<object>value)](<object>value))


cdef bint _stream_rule(type cls, object value, Packer* packer) except -1:
    if hasattr(cls, "__cuda_stream__"):
        packer.pack = <PackFunction>_pack_cuda_stream
    elif any(
        base.__name__ == "CUstream" and base.__module__ in _CUDA_DRIVER_MODULES
        for base in cls.__mro__
    ):
        packer.pack = <PackFunction>_pack_driver_stream
    else:
        return False
    return True


cdef bint _pointer_rule(type cls, object value, Packer* packer) except -1:
    if any(base.__module__ == "ctypes" and base.__name__ == "c_void_p" for base in cls.__mro__):
        packer.pack = <PackFunction>_pack_c_void_p
    elif hasattr(cls, "__tvm_ffi_opaque_ptr__"):
        packer.pack = <PackFunction>_pack_opaque_ptr
    else:
        return False
    return True


cdef bint _handler_rule(type cls, object value, Packer* packer) except -1:
    if cls not in _handlers:
        return False
    packer.pack = <PackFunction>_pack_by_handler
    return True


cdef object _unpack_pointer(abi.TVMFFIAny* owned, CallState* state):
    import ctypes

    return ctypes.c_void_p(<uintptr_t>owned.v_ptr)


add_rule(Precedence.STREAM, _stream_rule)
add_rule(Precedence.POINTER, _pointer_rule)
add_rule(Precedence.POINTER_HANDLER, _handler_rule)
add_unpacker(abi.kTVMFFIOpaquePtr, _unpack_pointer)
