# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.call.call_plan cimport CallPlan
from tvm_ffi._binding.convert.table cimport CallState
from tvm_ffi._binding.object.object cimport CObject

ctypedef PyObject* (*Vectorcall)(
    PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) noexcept


cdef class Function(CObject):
    cdef Vectorcall vectorcall  # at a fixed offset, which the type announces to the interpreter
    cdef bint releases_gil
    cdef bint chose_gil    # whether somebody has set `release_gil`
    cdef bint is_resolved  # whether it was asked for its signature
    cdef CallPlan plan     # how arguments find the parameters; None where there is no signature
    # Where the function was found: name of a global function, `_origin.ModuleOrigin`, or None.
    cdef object origin
    cdef dict __dict__


# Finds out how arguments find the parameters, and sets `vectorcall`.  -1 with an exception set.
ctypedef int (*Resolve)(Function function) noexcept
cdef void set_resolve(Resolve resolve) noexcept
# The vectorcall entry of functions without a signature.
cdef PyObject* call_by_position(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames) noexcept
# -1 with an exception set if the function must not get the memory of an argument.
cdef int check_read_only(
    Function function, abi.TVMFFIObjectHandle handle, int32_t place, int32_t num_args,
    CallState* state) noexcept
# The call of a function with packed arguments, in the environment that `state` has; its result, or
# NULL with an exception set.  Releases none of the arguments.
cdef PyObject* call_packed(
    Function function, abi.TVMFFIAny* args, int32_t num_args, CallState* state) noexcept
# Where this wrapper or another one of the function was found, or None.
cdef object origin_of(Function function)
# The Python object of an owned function, which is taken over.
cdef object wrap_function(abi.TVMFFIObjectHandle owned)
# A method of a native type; a static one does not bind.
cdef Function new_method(abi.TVMFFIObjectHandle function, bint is_static)


# Calls `function`; `target` takes the object that it returns.  None, or NULL with an exception set.
cdef PyObject* call_into(
    Function function, PyObject* const* values, Py_ssize_t num_args, CObject target) noexcept
# Lets `target` hold what `owned` holds; `owned` is released.  None, or NULL with an exception set.
cdef PyObject* move_handle(PyObject* owned, PyObject* target) noexcept
