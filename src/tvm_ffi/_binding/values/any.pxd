# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi


cdef class CAny:
    cdef abi.TVMFFIAny value
    cdef object gc_marker  # always None; only classes with an object field support GC


# Lets go of the value, which is None then.
cdef void empty_any(CAny value) noexcept
