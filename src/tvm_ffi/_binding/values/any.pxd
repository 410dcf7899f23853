# SPDX-License-Identifier: Apache-2.0
# Native values that Python code holds without conversion.
from tvm_ffi._binding cimport abi


cdef class CAny:
    cdef abi.TVMFFIAny value  # owned
    # Always None.  Cython supports garbage collection only in classes with a Python field.
    cdef object gc_marker


# Release the value and set it to None.  May run any Python code.  Fails: never.
cdef void empty_any(CAny value) noexcept
