# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding.object cimport CObject

# The result of a call of which an argument was refused, made by somebody else; NULL with the
# exception set that was, where nobody takes it.
cdef PyObject* offer_call(
    CObject function, PyObject* const* values, int32_t num_args) noexcept
