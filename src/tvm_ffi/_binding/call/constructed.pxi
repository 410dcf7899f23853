# SPDX-License-Identifier: Apache-2.0
"""Constructor calls: storing the returned native object in the wrapper that is initialized."""

from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, UnpackResult, unpack_object
from tvm_ffi._binding.cpython cimport Py_None
from tvm_ffi._binding.object cimport CObject, move_reference, replace_handle, set_exception

cdef UnpackResult _unpack_owned = <UnpackResult>unpack_object
# `replace_handle` and `move_reference` as C functions that return -1 with an exception set, so that
# callers need no `try` statement.
cdef int (*_replace_handle)(CObject wrapper, abi.TVMFFIObjectHandle owned) noexcept
cdef int (*_move_reference)(CObject wrapper, CObject source) noexcept
_replace_handle = <int (*)(CObject, abi.TVMFFIObjectHandle) noexcept>replace_handle
_move_reference = <int (*)(CObject, CObject) noexcept>move_reference


cdef PyObject* store_result(abi.TVMFFIAny* result, CallState* state, CObject target) noexcept:
    cdef PyObject* wrapper
    # Such a value may become a str or an int, not a wrapper.
    if result.type_index < abi.kTVMFFIDynObjectBegin:
        wrapper = _unpack_owned(result, state)
        return NULL if wrapper == NULL else move_handle(wrapper, <PyObject*>target)
    if _replace_handle(target, result.v_obj) != 0:
        return NULL
    Py_INCREF(<object>Py_None)
    return Py_None


cdef PyObject* move_handle(PyObject* owned, PyObject* target) noexcept:
    cdef object wrapper = <object>owned
    Py_DECREF(wrapper)
    if not isinstance(wrapper, CObject):
        set_exception(TypeError(
            f"a constructor function must return a native object, got {type(wrapper).__name__}"))
        return NULL
    if wrapper is not <object>target and _move_reference(<CObject>target, <CObject>wrapper) != 0:
        return NULL
    Py_INCREF(<object>Py_None)
    return Py_None
