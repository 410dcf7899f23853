# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding.object cimport CObject

# Fallback calls: a hook that executes calls with an argument that cannot be packed.

# Call `hooks.fallback_call` and return a new reference to its result.  The caller has set the
# exception of the failed packing.  Fails: NULL with an exception set.  This is the exception of the
# hook, or the exception of the packing if there is no hook or the hook returned NotImplemented.
cdef PyObject* call_fallback(
    CObject function, PyObject* const* values, int32_t num_args) noexcept
