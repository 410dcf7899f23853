# SPDX-License-Identifier: Apache-2.0
# Interpreter gate: attaches native threads to the interpreter, and refuses them once the
# interpreter shuts down.
# See docs/design/exit.md.
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Take a reference to a Python object for native code.  The first call registers the exit handler
# that closes the gate.  Threads: requires the GIL.
cdef void own_python_object(object value) noexcept
# Release a reference from `own_python_object`; leak it if the gate is closed.
# Threads: any, with or without the GIL.
cdef void release_python_object(void* object) noexcept nogil
# Call `run` with the GIL held.  Fails: -1 with a native error pending, also if the gate is closed.
# Threads: any, with or without the GIL.
cdef int call_in_python(
    abi.TVMFFISafeCallType run, void* self, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result) noexcept nogil
# Call PyErr_CheckSignals with the GIL held; do nothing on threads other than the main thread.
# Fails: -1 with an exception set.  Threads: any, with or without the GIL.
cdef int check_signals() noexcept nogil
