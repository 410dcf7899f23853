# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.convert cimport ArgumentRestriction

# -1 with a BufferError set unless an argument may get memory that must not be written.
cdef int refuse_read_only(
    ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args, ArgumentRestriction restriction
) noexcept
