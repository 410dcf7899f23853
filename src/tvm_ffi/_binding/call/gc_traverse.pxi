# SPDX-License-Identifier: Apache-2.0
"""What the garbage collector sees of Python values that a native object owns.

The native object of a Python callable owns it, which the collector does not see; so does the object
around any other Python value, and the native error of an exception, whose traceback often leads
back to whoever keeps the error.  Who is the only owner of such an object reports that reference as
its own, so that `obj.f = convert_func(obj.g)` is no leak.

Values inside of containers are not seen: they may be anywhere, and other threads may be changing
the container.
"""

from cpython.object cimport PyObject, PyTypeObject, inquiry, traverseproc, visitproc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport (
    CObject, Error, OpaquePyObject, empty_garbage, exception_in, has_one_owner, is_python_error,
)
from tvm_ffi._binding.values cimport CAny, empty_any

ctypedef int (*_Clear)(PyObject* self) noexcept
cdef traverseproc _traverse_function = NULL
cdef traverseproc _traverse_opaque = NULL
cdef traverseproc _traverse_any = NULL
cdef traverseproc _traverse_error = NULL
cdef _Clear _clear_function = NULL
cdef _Clear _clear_opaque = NULL
cdef _Clear _clear_any = NULL
cdef _Clear _clear_error = NULL


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


cdef int _traverse_rest_of_function(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = visit_as_only_owner((<CObject>self).chandle, visit, arg)
    return stop if stop != 0 else _traverse_function(self, visit, arg)


cdef int _traverse_rest_of_opaque(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = visit_as_only_owner((<CObject>self).chandle, visit, arg)
    return stop if stop != 0 else _traverse_opaque(self, visit, arg)


cdef int _traverse_rest_of_any(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = 0
    if (<CAny>self).value.type_index >= abi.kTVMFFIStaticObjectBegin:
        stop = visit_as_only_owner((<CAny>self).value.v_obj, visit, arg)
    return stop if stop != 0 else _traverse_any(self, visit, arg)


cdef int _traverse_rest_of_error(PyObject* self, visitproc visit, void* arg) noexcept:
    """The native error carries the exception as well once the wrapper has been passed."""
    cdef int stop = visit_as_only_owner((<CObject>self).chandle, visit, arg)
    return stop if stop != 0 else _traverse_error(self, visit, arg)


cdef int _clear_all_of_function(PyObject* self) noexcept:
    """Let go of the callable, whose cycle nobody refers to."""
    if _is_only_owner((<CObject>self).chandle):
        empty_garbage(<CObject>self)
    return _clear_function(self)


cdef int _clear_all_of_opaque(PyObject* self) noexcept:
    if _is_only_owner((<CObject>self).chandle):
        empty_garbage(<CObject>self)
    return _clear_opaque(self)


cdef int _clear_all_of_any(PyObject* self) noexcept:
    empty_any(<CAny>self)
    return _clear_any(self)


cdef int _clear_all_of_error(PyObject* self) noexcept:
    if _is_only_owner((<CObject>self).chandle):
        empty_garbage(<CObject>self)
    return _clear_error(self)


_traverse_function = (<PyTypeObject*>Function).tp_traverse
_clear_function = <_Clear>(<PyTypeObject*>Function).tp_clear
(<PyTypeObject*>Function).tp_traverse = <traverseproc>_traverse_rest_of_function
(<PyTypeObject*>Function).tp_clear = <inquiry>_clear_all_of_function
_traverse_opaque = (<PyTypeObject*>OpaquePyObject).tp_traverse
_clear_opaque = <_Clear>(<PyTypeObject*>OpaquePyObject).tp_clear
(<PyTypeObject*>OpaquePyObject).tp_traverse = <traverseproc>_traverse_rest_of_opaque
(<PyTypeObject*>OpaquePyObject).tp_clear = <inquiry>_clear_all_of_opaque
_traverse_any = (<PyTypeObject*>CAny).tp_traverse
_clear_any = <_Clear>(<PyTypeObject*>CAny).tp_clear
(<PyTypeObject*>CAny).tp_traverse = <traverseproc>_traverse_rest_of_any
(<PyTypeObject*>CAny).tp_clear = <inquiry>_clear_all_of_any
_traverse_error = (<PyTypeObject*>Error).tp_traverse
_clear_error = <_Clear>(<PyTypeObject*>Error).tp_clear
(<PyTypeObject*>Error).tp_traverse = <traverseproc>_traverse_rest_of_error
(<PyTypeObject*>Error).tp_clear = <inquiry>_clear_all_of_error
