# SPDX-License-Identifier: Apache-2.0
# How threads without the GIL enter the interpreter, and why they may not at its end; see
# docs/design/exit.md.
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Takes a reference to a Python object for native code, with the GIL held.  From the first one on,
# the gate is closed when the interpreter ends.
cdef void own_python_object(object value) noexcept
# Drops such a reference, on any thread; leaks the object once the gate is closed.
cdef void release_python_object(void* object) noexcept nogil
# Calls `run`, which holds the GIL meanwhile, on any thread; once the gate is closed, -1 with a
# native error pending.
cdef int call_in_python(
    abi.TVMFFISafeCallType run, void* self, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result) noexcept nogil
# PyErr_CheckSignals for threads without the GIL: -1 with an exception set.
cdef int check_signals() noexcept nogil
