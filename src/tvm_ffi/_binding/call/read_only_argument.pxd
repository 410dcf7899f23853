# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.convert cimport ArgumentRestriction

# Check that a function may get an argument with this restriction on its memory.
# Fails: -1 with BufferError set.
cdef int refuse_read_only(
    ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args, ArgumentRestriction restriction
) noexcept
