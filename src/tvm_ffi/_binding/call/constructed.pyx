# SPDX-License-Identifier: Apache-2.0
"""What a constructor returned becomes what the object under construction holds."""

from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert.table cimport CallState, MakeResult, make_object
from tvm_ffi._binding.object.error cimport set_exception
from tvm_ffi._binding.object.object cimport CObject, hold, keep_for_borrowers

cdef extern from "Python.h":
    PyObject* Py_None

cdef MakeResult _make_result = <MakeResult>make_object


cdef PyObject* keep_result(abi.TVMFFIAny* result, CallState* state, CObject target) noexcept:
    cdef PyObject* made
    if result.type_index < abi.kTVMFFIDynObjectBegin:  # strings and others become Python's own
        made = _make_result(result, state)
        return NULL if made == NULL else move_handle(made, <PyObject*>target)
    hold(target, result.v_obj)
    Py_INCREF(<object>Py_None)
    return Py_None


cdef PyObject* move_handle(PyObject* owned, PyObject* target) noexcept:
    cdef object made = <object>owned
    Py_DECREF(made)
    if not isinstance(made, CObject):
        set_exception(TypeError(
            f"constructor must return an object, got {type(made).__name__}"))
        return NULL
    keep_for_borrowers(<CObject>made)
    keep_for_borrowers(<CObject>target)
    # The target's old object dies with the wrapper of the new one.
    (<CObject>made).chandle, (<CObject>target).chandle = (
        (<CObject>target).chandle, (<CObject>made).chandle)
    Py_INCREF(<object>Py_None)
    return Py_None
