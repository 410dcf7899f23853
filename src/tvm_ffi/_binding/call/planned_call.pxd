# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.call.function cimport Function


# Notes where a function was found, which may tell its signature when it is called.
cdef int set_origin(Function function, object origin) except -1
# Lets the next call ask for the signature again.
cdef int unresolve(Function function) except -1
