# SPDX-License-Identifier: Apache-2.0
"""Garbage collection: traverse and clear Python values that native objects own.

Callbacks, opaque objects and errors that were created from exceptions own references to Python
objects.  CPython's garbage collector does not know these references.  If a wrapper owns the only
reference to such a native object, the wrapper visits the Python objects as if it owned them
directly.  The collector then frees cycles such as `obj.f = convert_func(obj.g)`.

Elements of containers are not visited: a container may be shared, and other threads may change it.
"""

from cpython.object cimport PyObject, PyTypeObject, inquiry, traverseproc, visitproc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport (
    CObject, Error, OpaquePyObject, empty_garbage, exception_in, has_one_owner, is_python_error,
)
from tvm_ffi._binding.values cimport CAny, empty_any

ctypedef int (*_Clear)(PyObject* self) noexcept
# The tp_traverse and tp_clear functions that Cython generates for each class.  The functions below
# replace them in the class and call them at their end.
cdef traverseproc _generated_traverse_function = NULL
cdef traverseproc _generated_traverse_opaque = NULL
cdef traverseproc _generated_traverse_any = NULL
cdef traverseproc _generated_traverse_error = NULL
cdef _Clear _generated_clear_function = NULL
cdef _Clear _generated_clear_opaque = NULL
cdef _Clear _generated_clear_any = NULL
cdef _Clear _generated_clear_error = NULL


cdef inline bint _is_opaque(abi.TVMFFIObjectHandle handle) noexcept:
    return handle != NULL and (
        (<abi.TVMFFIObject*>handle).type_index == abi.kTVMFFIOpaquePyObject)


cdef bint owns_python_values(abi.TVMFFIObjectHandle handle) noexcept:
    return callable_of(handle) != NULL or _is_opaque(handle) or is_python_error(handle)


cdef inline int _visit(PyObject* value, visitproc visit, void* arg) noexcept:
    return 0 if value == NULL else visit(value, arg)


cdef int visit_values_of(abi.TVMFFIObjectHandle handle, visitproc visit, void* arg) noexcept:
    cdef PyObject* callable = callable_of(handle)
    cdef int stop
    if callable != NULL:
        stop = visit(callable, arg)
        return stop if stop != 0 else _visit(tensor_class_of(handle), visit, arg)
    if _is_opaque(handle):
        return _visit(<PyObject*>abi.TVMFFIOpaqueObjectGetCellPtr(handle).handle, visit, arg)
    if is_python_error(handle):
        return _visit(exception_in(handle), visit, arg)
    return 0


cdef inline bint _is_only_owner(abi.TVMFFIObjectHandle handle) noexcept:
    return owns_python_values(handle) and has_one_owner(<abi.TVMFFIObject*>handle)


cdef int visit_as_only_owner(abi.TVMFFIObjectHandle handle, visitproc visit, void* arg) noexcept:
    return visit_values_of(handle, visit, arg) if _is_only_owner(handle) else 0


cdef int _traverse_function(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = visit_as_only_owner((<CObject>self).chandle, visit, arg)
    return stop if stop != 0 else _generated_traverse_function(self, visit, arg)


cdef int _traverse_opaque(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = visit_as_only_owner((<CObject>self).chandle, visit, arg)
    return stop if stop != 0 else _generated_traverse_opaque(self, visit, arg)


cdef int _traverse_any(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = 0
    if (<CAny>self).value.type_index >= abi.kTVMFFIStaticObjectBegin:
        stop = visit_as_only_owner((<CAny>self).value.v_obj, visit, arg)
    return stop if stop != 0 else _generated_traverse_any(self, visit, arg)


cdef int _traverse_error(PyObject* self, visitproc visit, void* arg) noexcept:
    # An Error passed to native code has a native error object, which owns the exception, too.
    cdef int stop = visit_as_only_owner((<CObject>self).chandle, visit, arg)
    return stop if stop != 0 else _generated_traverse_error(self, visit, arg)


cdef int _clear_function(PyObject* self) noexcept:
    # The wrapper is part of an unreachable cycle: release its callback, which owns the callable.
    if _is_only_owner((<CObject>self).chandle):
        empty_garbage(<CObject>self)
    return _generated_clear_function(self)


cdef int _clear_opaque(PyObject* self) noexcept:
    if _is_only_owner((<CObject>self).chandle):
        empty_garbage(<CObject>self)
    return _generated_clear_opaque(self)


cdef int _clear_any(PyObject* self) noexcept:
    empty_any(<CAny>self)
    return _generated_clear_any(self)


cdef int _clear_error(PyObject* self) noexcept:
    if _is_only_owner((<CObject>self).chandle):
        empty_garbage(<CObject>self)
    return _generated_clear_error(self)


_generated_traverse_function = (<PyTypeObject*>Function).tp_traverse
_generated_clear_function = <_Clear>(<PyTypeObject*>Function).tp_clear
(<PyTypeObject*>Function).tp_traverse = <traverseproc>_traverse_function
(<PyTypeObject*>Function).tp_clear = <inquiry>_clear_function
_generated_traverse_opaque = (<PyTypeObject*>OpaquePyObject).tp_traverse
_generated_clear_opaque = <_Clear>(<PyTypeObject*>OpaquePyObject).tp_clear
(<PyTypeObject*>OpaquePyObject).tp_traverse = <traverseproc>_traverse_opaque
(<PyTypeObject*>OpaquePyObject).tp_clear = <inquiry>_clear_opaque
_generated_traverse_any = (<PyTypeObject*>CAny).tp_traverse
_generated_clear_any = <_Clear>(<PyTypeObject*>CAny).tp_clear
(<PyTypeObject*>CAny).tp_traverse = <traverseproc>_traverse_any
(<PyTypeObject*>CAny).tp_clear = <inquiry>_clear_any
_generated_traverse_error = (<PyTypeObject*>Error).tp_traverse
_generated_clear_error = <_Clear>(<PyTypeObject*>Error).tp_clear
(<PyTypeObject*>Error).tp_traverse = <traverseproc>_traverse_error
(<PyTypeObject*>Error).tp_clear = <inquiry>_clear_error
