# SPDX-License-Identifier: Apache-2.0
"""Calls with arguments that native code cannot see, such as tensors without memory.

They are errors; an adapter of a framework that has another way to make them may take them.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t

from tvm_ffi._binding.object.error cimport set_exception
from tvm_ffi._binding.object.object cimport CObject

cdef extern from "Python.h":
    void PyErr_Fetch(PyObject** cls, PyObject** error, PyObject** traceback) noexcept
    void PyErr_Restore(PyObject* cls, PyObject* error, PyObject* traceback) noexcept

cdef object _take = None  # None until an adapter needs it


def set_refused_call(take) -> None:
    """Set what is offered calls of which an argument cannot be passed to native code.

    Parameters
    ----------
    take : callable
        Given the function and the arguments in order.  Returns the result of the call, or
        `NotImplemented`, and the caller gets the error that there would have been without it.
    """
    global _take
    _take = take


cdef PyObject* offer_call(
    CObject function, PyObject* const* values, int32_t num_args
) noexcept:
    cdef PyObject* error[3]
    cdef object answer = None
    cdef bint is_raised = False
    if _take is None:
        return NULL
    PyErr_Fetch(&error[0], &error[1], &error[2])
    try:
        answer = _take(function, tuple([<object>values[i] for i in range(num_args)]))
    except BaseException as raised:
        set_exception(raised)
        is_raised = True
    if answer is NotImplemented:
        PyErr_Restore(error[0], error[1], error[2])
        return NULL
    for reference in error[:3]:
        Py_XDECREF(reference)
    if is_raised:
        return NULL
    Py_INCREF(answer)
    return <PyObject*>answer
