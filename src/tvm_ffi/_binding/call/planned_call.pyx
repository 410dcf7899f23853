# SPDX-License-Identifier: Apache-2.0
"""Calls of functions that have a signature: by name, with defaults, converted as is declared.

A function that was found somewhere is asked for its signature by its first call.  What has none is
called by position ever after, and pays nothing; what has one pays a comparison where all arguments
are given by position.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

from tvm_ffi._binding.call.call_plan cimport (
    CallPlan, bind, convert_bound, count_bound, is_as_declared,
)
from tvm_ffi._binding.call.callback cimport callable_of
from tvm_ffi._binding.call.function cimport (
    Function, Resolve, Vectorcall, call_by_position, call_lock, load_plan, load_way, origin_of,
    set_resolve, store_way, swap_plan,
)
from tvm_ffi._binding.interpreter cimport (
    is_finalizing, load_count, load_flag, store_count, store_flag,
)
from tvm_ffi._binding.object.error cimport check, set_exception
from tvm_ffi._binding.object.release cimport releases_gil_by_default
from tvm_ffi._binding.vectorcall cimport PyVectorcall_NARGS

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object sequence) noexcept
    PyObject* PyErr_NoMemory() noexcept
    void PyErr_Clear() noexcept

cdef enum:
    MAX_STACK_ARGS = 8

# Finds the plan of a native function, given it and where it was found.
cdef object _plan_of = None

# How many times signatures were given from outside.
cdef Py_ssize_t _num_descriptions = 0
# Wrappers change, and descriptions are counted, under this lock.
cdef object _lock = call_lock()


def set_plan_lookup(plan_of) -> None:
    """Set what returns the plan of a function, given it and its origin, or None."""
    global _plan_of
    _plan_of = plan_of


def declared_signature(Function function not None):
    """Return the signature with which a function was declared; None where nobody has said it."""
    plan = _plan_of(function, origin_of(function))
    return None if plan is None else plan.signature


cdef PyObject* _call_unresolved(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """The way until the first call, which asks for the signature.

    In a finalizer at the end of the interpreter nobody may be left who could tell: what asks has
    been emptied.
    """
    cdef Function function = <Function>callable
    if _resolve(function) != 0:
        if kwnames != NULL or not is_finalizing():
            return NULL
        PyErr_Clear()
        return call_by_position(callable, values, nargsf, NULL)
    return load_way(function)(callable, values, nargsf, kwnames)


cdef int _resolve(Function function) noexcept:
    """Find out how arguments find their parameters.  -1 with an exception set.

    Several threads may do so at once.  The wrapper stays unresolved meanwhile, so that none of them
    calls without what the signature says; a signature that is given from outside meanwhile wins.
    """
    cdef Py_ssize_t before
    try:
        while True:
            before = num_descriptions()
            plan = None
            if callable_of(function.chandle) == NULL:  # a Python callable's the interpreter knows
                plan = _plan_of(function, origin_of(function))
            if _keep(function, plan, plan is not None and plan.signature.non_blocking, before):
                return 0
    except BaseException as error:  # no memory, Ctrl-C: the next call asks again
        set_exception(error)
    return -1


cdef bint _keep(
    Function function, CallPlan plan, bint is_non_blocking, Py_ssize_t before
) except -1:
    """Let the wrapper call like this unless signatures were given since; whether it does.

    A thread that was quicker has kept an equal plan, which others may be reading.
    """
    cdef object _earlier = None  # dies outside of the section
    with cython.critical_section(_lock):
        if _num_descriptions != before:
            return False
        if not function.is_resolved:
            if is_non_blocking and not function.chose_gil:
                store_flag(&function.releases_gil, False)
            _earlier = _publish(function, plan)
    return True


cdef object _publish(Function function, CallPlan plan):
    """Let calls take this plan, or none; returns the earlier one.  Under the lock."""
    Py_INCREF(plan)
    cdef PyObject* earlier = swap_plan(function, <PyObject*>plan)
    cdef object owned = <object>earlier
    Py_DECREF(owned)
    store_way(
        function, <Vectorcall>call_by_position if plan is None else <Vectorcall>_call_with_plan)
    store_flag(&function.is_resolved, True)
    return owned


cdef PyObject* _call_with_plan(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """The way of functions with a signature."""
    cdef Py_ssize_t num_args = PyVectorcall_NARGS(nargsf)
    cdef CallPlan plan = <CallPlan>load_plan(<Function>callable)
    cdef PyObject* bound[MAX_STACK_ARGS]
    cdef Py_ssize_t num_bound
    if kwnames == NULL and num_args == plan.exact_count and is_as_declared(plan, values):
        return call_by_position(callable, values, nargsf, NULL)
    num_bound = count_bound(plan, num_args)
    if num_bound > MAX_STACK_ARGS:
        return _call_bound_on_heap(callable, values, num_args, kwnames, plan)
    if bind(plan, values, num_args, kwnames, bound) != 0:
        return NULL
    return _call_bound(callable, plan, bound, num_bound)


cdef inline PyObject* _call_bound(
    PyObject* callable, CallPlan plan, PyObject** bound, Py_ssize_t num_bound
) noexcept:
    """Call with arguments in the order of the parameters, converted where that is declared."""
    cdef PyObject* owned[MAX_STACK_ARGS]
    cdef Py_ssize_t num_owned = 0
    cdef PyObject* answer
    if plan.num_conversions != 0:
        num_owned = convert_bound(plan, bound, owned)
        if num_owned < 0:
            return NULL
    answer = call_by_position(callable, bound, <size_t>num_bound, NULL)
    while num_owned > 0:
        num_owned -= 1
        Py_DECREF(<object>owned[num_owned])
    return answer


cdef PyObject* _call_bound_on_heap(
    PyObject* callable, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    CallPlan plan,
) noexcept:
    """The same for any number of arguments."""
    cdef Py_ssize_t num_bound = count_bound(plan, num_args)
    cdef PyObject** bound = <PyObject**>PyMem_Malloc(2 * <size_t>num_bound * sizeof(void*))
    cdef PyObject** owned = bound + num_bound
    cdef Py_ssize_t num_owned = -1
    cdef PyObject* answer = NULL
    if bound == NULL:
        return PyErr_NoMemory()
    if bind(plan, values, num_args, kwnames, bound) == 0:
        num_owned = convert_bound(plan, bound, owned)
    if num_owned >= 0:
        answer = call_by_position(callable, bound, <size_t>num_bound, NULL)
    while num_owned > 0:
        num_owned -= 1
        Py_DECREF(<object>owned[num_owned])
    PyMem_Free(bound)
    return answer


def arguments_in_order(Function function not None, tuple args not None, dict kwargs not None):
    """Return what native code gets in a call: in the order of the parameters, with defaults.

    Raises
    ------
    TypeError
        If an argument is missing, unknown or given twice, or names are not known.
    """
    cdef CallPlan plan
    if not load_flag(&function.is_resolved) and _resolve(function) != 0:
        check(-2)
    plan = <CallPlan>load_plan(function)
    if plan is None:
        if kwargs:
            name = next(iter(kwargs))
            raise TypeError(f"bind() got an unexpected keyword argument '{name}'")
        return args
    return _bound(plan, args, kwargs)


cdef tuple _bound(CallPlan plan, tuple args, dict kwargs):
    cdef tuple values = args + tuple(kwargs.values())
    cdef tuple names = tuple(kwargs)
    cdef Py_ssize_t num_bound = count_bound(plan, len(args))
    cdef PyObject** bound = <PyObject**>PyMem_Malloc(2 * <size_t>num_bound * sizeof(void*) + 1)
    cdef PyObject** owned = bound + num_bound
    cdef Py_ssize_t num_owned = -1
    if bound == NULL:
        raise MemoryError()
    try:
        if bind(plan, PySequence_Fast_ITEMS(values), len(args), <PyObject*>names, bound) == 0:
            num_owned = convert_bound(plan, bound, owned)
        if num_owned < 0:
            check(-2)
        return tuple([<object>bound[i] for i in range(num_bound)])
    finally:
        while num_owned > 0:
            num_owned -= 1
            Py_DECREF(<object>owned[num_owned])
        PyMem_Free(bound)


cdef int set_origin(Function function, object origin) except -1:
    function.origin = origin
    if function.way == <Vectorcall>call_by_position:
        function.way = _call_unresolved
    return 0


cdef Py_ssize_t num_descriptions() noexcept:
    return load_count(&_num_descriptions)


cdef void count_description() noexcept:
    store_count(&_num_descriptions, _num_descriptions + 1)


cdef int unresolve(Function function) except -1:
    # The plan stays: another thread may be about to read it.
    with cython.critical_section(_lock):
        if not function.chose_gil:
            store_flag(&function.releases_gil, releases_gil_by_default())
        store_way(function, <Vectorcall>_call_unresolved)
        store_flag(&function.is_resolved, False)
    return 0


set_resolve(<Resolve>_resolve)
