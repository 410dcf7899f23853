# SPDX-License-Identifier: Apache-2.0
"""Calls with keywords or with many arguments, and the errors of calls that cannot start."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport TEMPORARIES_PER_ARGUMENT
from tvm_ffi._binding.cpython cimport PyErr_NoMemory, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from tvm_ffi._binding.interpreter cimport load_flag
from tvm_ffi._binding.object cimport set_exception


cdef PyObject* _call_slow(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    PyObject* target, abi.TVMFFIObjectHandle checks,
) noexcept:
    """Execute calls that `call_by_position` does not support: with keywords, or many arguments.

    Callbacks pass keyword arguments on to their Python callable, and Python binds them.  Native
    functions accept keyword arguments only if they have a signature.  Sets an exception if the call
    is invalid, for example if the function is empty.
    """
    if kwnames != NULL and PyTuple_GET_SIZE(kwnames) == 0:
        kwnames = NULL
    if kwnames != NULL and callable_of(function.chandle) == NULL:
        return _call_by_name(function, values, num_args, kwnames)
    if function.chandle == NULL:
        _set_empty_error()
        return NULL
    if kwnames != NULL:
        num_args += PyTuple_GET_SIZE(kwnames)
    if num_args <= MAX_MANY_ARGS:
        return _call_with_many_args(function, values, num_args, kwnames, target, checks)
    return _call_on_heap(function, values, num_args, kwnames, target, checks)


cdef PyObject* _call_by_name(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    # The signature of a function that native code returned was not looked up, because calls by
    # position do not need it.  The first call with a keyword argument looks the signature up.
    if not load_flag(&function.is_resolved) and type(function) is Function:
        if resolve_signature(function) != 0:
            return NULL
        return load_entry(function)(<PyObject*>function, values, <size_t>num_args, kwnames)
    _set_keyword_error(function, PyTuple_GET_ITEM(kwnames, 0))
    return NULL


cdef PyObject* _call_with_many_args(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* names,
    PyObject* target, abi.TVMFFIObjectHandle checks,
) noexcept:
    cdef abi.TVMFFIAny args[MAX_MANY_ARGS]
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT * MAX_MANY_ARGS]
    return _call_with_buffers(
        function, values, <int32_t>num_args, names, args, temporaries, target, checks)


cdef PyObject* _call_on_heap(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* names,
    PyObject* target, abi.TVMFFIObjectHandle checks,
) noexcept:
    cdef abi.TVMFFIAny* args
    cdef abi.TVMFFIObject** temporaries
    cdef PyObject* py_result = NULL
    args = <abi.TVMFFIAny*>PyMem_Malloc(<size_t>num_args * sizeof(abi.TVMFFIAny) + 1)
    temporaries = <abi.TVMFFIObject**>PyMem_Malloc(
        TEMPORARIES_PER_ARGUMENT * <size_t>num_args * sizeof(void*) + 1)
    if args != NULL and temporaries != NULL:
        py_result = _call_with_buffers(
            function, values, <int32_t>num_args, names, args, temporaries, target, checks)
    else:
        PyErr_NoMemory()
    PyMem_Free(args)
    PyMem_Free(temporaries)
    return py_result


cdef void _set_empty_error() noexcept:
    set_exception(ValueError(
        "Function is empty: its native object was never set, or was moved to another owner"))


cdef void _set_keyword_error(Function function, PyObject* keyword) noexcept:
    try:
        set_exception(keyword_error(function, <object>keyword))
    except BaseException as error:  # reading `function.__name__` may raise
        set_exception(error)
