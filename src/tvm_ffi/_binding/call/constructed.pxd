# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState
from tvm_ffi._binding.object cimport CObject

# Both return None, as __init__ does, or NULL with an exception set.

# Lets `target` hold the object that a native function returned.
cdef PyObject* keep_result(abi.TVMFFIAny* result, CallState* state, CObject target) noexcept
# Lets `target` hold what `owned` holds, which is empty then and released.
cdef PyObject* move_handle(PyObject* owned, PyObject* target) noexcept
