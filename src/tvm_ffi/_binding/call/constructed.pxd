# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState
from tvm_ffi._binding.object cimport CObject

# Constructor calls: storing the returned native object in the Python wrapper that is initialized.

# Store the object that a native constructor returned in the wrapper `target`.  Consumes `result`.
# Returns a new reference to None.  Fails: NULL with an exception set.
cdef PyObject* store_result(abi.TVMFFIAny* result, CallState* state, CObject target) noexcept
# Move the native reference of the wrapper `owned` to the wrapper `target`.  Consumes `owned`.
# Returns a new reference to None.  Fails: NULL with an exception set.
cdef PyObject* move_handle(PyObject* owned, PyObject* target) noexcept
