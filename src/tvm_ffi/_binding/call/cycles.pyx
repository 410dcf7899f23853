# SPDX-License-Identifier: Apache-2.0
"""What the garbage collector sees of a function: the Python callable that lives by it alone.

The native object of a Python callable owns it, which the collector does not see.  A function that
is the object's only owner reports that reference as its own, so that `obj.f = convert_func(obj.g)`
is no leak.
"""

from cpython.object cimport PyObject, PyTypeObject, inquiry, traverseproc, visitproc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.call.callback cimport callable_of
from tvm_ffi._binding.call.function cimport Function
from tvm_ffi._binding.object.object cimport has_one_owner

cdef traverseproc _traverse_fields = NULL
ctypedef int (*_Clear)(PyObject* self) noexcept
cdef _Clear _clear_fields = NULL


cdef PyObject* _own_callable(PyObject* function) noexcept:
    """The callable that lives by this function alone; NULL: there is none."""
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>(<Function>function).chandle
    cdef PyObject* callable = callable_of(handle)
    return callable if callable != NULL and has_one_owner(handle) else NULL


cdef int _traverse(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef PyObject* callable = _own_callable(self)
    cdef int stop = _traverse_fields(self, visit, arg)
    return stop if stop != 0 or callable == NULL else visit(callable, arg)


cdef int _clear(PyObject* self) noexcept:
    """Let go of the callable, whose cycle nobody refers to."""
    cdef abi.TVMFFIObjectHandle handle
    if _own_callable(self) != NULL:
        handle, (<Function>self).chandle = (<Function>self).chandle, NULL
        abi.TVMFFIObjectDecRef(handle)
    return _clear_fields(self)


_traverse_fields = (<PyTypeObject*>Function).tp_traverse
_clear_fields = <_Clear>(<PyTypeObject*>Function).tp_clear
(<PyTypeObject*>Function).tp_traverse = <traverseproc>_traverse
(<PyTypeObject*>Function).tp_clear = <inquiry>_clear
