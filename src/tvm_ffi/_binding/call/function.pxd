# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.object cimport CObject

ctypedef PyObject* (*Vectorcall)(
    PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) noexcept


cdef class Function(CObject):
    cdef Vectorcall vectorcall  # at a fixed offset, which the type announces to the interpreter
    cdef bint releases_gil
    # Where the function was found: name of a global function, `_origin.ModuleOrigin`, or None.
    cdef object origin
    cdef dict __dict__


# The Python object of an owned function, which is taken over.
cdef object wrap_function(abi.TVMFFIObjectHandle owned)
# A method of a native type; a static one does not bind.
cdef Function new_method(abi.TVMFFIObjectHandle function, bint is_static)


# Calls `function`; `target` takes the object that it returns.  None, or NULL with an exception set.
cdef PyObject* call_into(
    Function function, PyObject* const* values, Py_ssize_t num_args, CObject target) noexcept
# Lets `target` hold what `owned` holds; `owned` is released.  None, or NULL with an exception set.
cdef PyObject* move_handle(PyObject* owned, PyObject* target) noexcept
