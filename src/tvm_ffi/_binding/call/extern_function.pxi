# SPDX-License-Identifier: Apache-2.0
"""Function objects for compiled code with the packed or MLIR's packed calling convention."""

from libc.stdint cimport int32_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport check, own_python_object, release_python_object, wrap_object


cdef class _ExternFunction:
    """The address of compiled code, and the Python object that keeps the code loaded."""

    cdef uintptr_t address
    cdef object keep_alive


cdef object function_at(
    str parameter, object symbol, object keep_alive, abi.TVMFFISafeCallType call
):
    cdef abi.TVMFFIObjectHandle handle = NULL
    cdef _ExternFunction extern = _ExternFunction.__new__(_ExternFunction)
    if not isinstance(symbol, int):
        raise TypeError(
            f"{parameter} must be the address of a function, got {type(symbol).__name__}")
    if symbol == 0:
        raise ValueError(f"{parameter} must be the address of a function, got 0")
    extern.address = symbol
    extern.keep_alive = keep_alive
    own_python_object(extern)
    if abi.TVMFFIFunctionCreate(<void*>extern, call, release_python_object, &handle) != 0:
        release_python_object(<void*>extern)
        check(-1)
    return wrap_object(handle)


cdef int call_extern_c(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil:
    cdef abi.TVMFFISafeCallType call = <abi.TVMFFISafeCallType>(<_ExternFunction>self).address
    return call(NULL, args, num_args, result)


ctypedef void (*_MlirPackedCall)(void** fields) noexcept nogil


cdef int call_mlir_packed(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil:
    cdef void* context = NULL
    cdef int code = -1
    cdef void* fields[5]
    fields[0] = &context
    fields[1] = &args
    fields[2] = &num_args
    fields[3] = &result
    fields[4] = &code
    (<_MlirPackedCall>(<_ExternFunction>self).address)(fields)
    return code
