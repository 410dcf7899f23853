# SPDX-License-Identifier: Apache-2.0
# `CAny`: a native value that Python code owns without conversion to a Python value.
from tvm_ffi._binding cimport abi


cdef class CAny:
    cdef abi.TVMFFIAny value  # owned
    # Always None.  The field exists because Cython adds garbage collection (tp_traverse and
    # tp_clear) only to classes with a field for Python objects.
    cdef object gc_marker


# Set `value` to None and release its previous content.  May run any Python code.  Fails: never.
cdef void empty_any(CAny value) noexcept
