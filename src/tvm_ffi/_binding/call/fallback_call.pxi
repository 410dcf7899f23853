# SPDX-License-Identifier: Apache-2.0
"""Fallback calls: a hook that executes calls with arguments that cannot be packed.

An example is a tensor without memory, which PyTorch uses while it traces.  Such calls are errors,
unless the adapter of a framework has set `hooks.fallback_call` and executes the call there.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t

from tvm_ffi._binding.cpython cimport PyErr_Fetch, PyErr_Restore
from tvm_ffi._binding.object cimport CObject, hooks, set_exception


cdef PyObject* call_fallback(
    CObject function, PyObject* const* values, int32_t num_args
) noexcept:
    cdef PyObject* error[3]
    cdef object result = None
    cdef bint is_raised = False
    if hooks.fallback_call is None:
        return NULL
    PyErr_Fetch(&error[0], &error[1], &error[2])
    try:
        result = hooks.fallback_call(function, tuple([<object>values[i] for i in range(num_args)]))
    except BaseException as raised:
        set_exception(raised)
        is_raised = True
    if result is NotImplemented:
        PyErr_Restore(error[0], error[1], error[2])
        return NULL
    for reference in error[:3]:
        Py_XDECREF(reference)
    if is_raised:
        return NULL
    Py_INCREF(result)
    return <PyObject*>result
