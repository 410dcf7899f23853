# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.convert cimport ArgumentRestriction

# Read-only arguments: checks that a function does not write memory that must not be written.

# Check that the function of `binder` may get the argument at `index`, whose memory has the
# given restriction.  `binder` is None if the function has no signature.
# Fails: -1 with BufferError set.
cdef int refuse_read_only(
    ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args, ArgumentRestriction restriction
) noexcept
