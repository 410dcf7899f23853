# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi


cdef class CAny:
    cdef abi.TVMFFIAny value
    cdef object seen  # None; the collector asks objects of classes with such a field alone


# Lets go of the value, which is None then.
cdef void empty_any(CAny value) noexcept
