# SPDX-License-Identifier: Apache-2.0
"""Guarded calls: container locks instead of the GIL, on free-threaded Python.

With the GIL, short functions of the runtime are called with the GIL held, so that no other thread
changes the `List` and `Dict` arguments.  On free-threaded Python, locks on these
arguments prevent such changes.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport PairGuard, begin_pair_guard, end_pair_guard, object_locks

cdef PyObject** _locks = object_locks()


cdef int call_guarded(
    abi.TVMFFISafeCallType safe_call, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result,
) noexcept:
    cdef PairGuard guard
    cdef abi.TVMFFIObjectHandle first = NULL
    cdef abi.TVMFFIObjectHandle second = NULL
    cdef int32_t i
    cdef int code
    # Two locks are enough: no function of the runtime has more than two List or Dict parameters.
    for i in range(num_args):
        if args[i].type_index == abi.kTVMFFIList or args[i].type_index == abi.kTVMFFIDict:
            second = args[i].v_obj
            if first != NULL:
                break
            first = second
    if first == NULL:
        return safe_call(handle, args, num_args, result)
    begin_pair_guard(&guard, _locks, first, second)
    code = safe_call(handle, args, num_args, result)
    end_pair_guard(&guard)
    return code
