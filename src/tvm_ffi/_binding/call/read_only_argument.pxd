# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.convert cimport Remark

# -1 with a BufferError set unless an argument may get memory that must not be written.
cdef int refuse_read_only(
    ArgumentBinder binder, Py_ssize_t place, Py_ssize_t num_args, Remark because) noexcept
