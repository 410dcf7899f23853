# SPDX-License-Identifier: Apache-2.0
"""Changed calls: runs of a prepared call with other arguments in some slots, `h(x=value)`."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    TEMPORARIES_PER_ARGUMENT, ArgumentRestriction, CallState, begin_call, release_after_failure,
    release_temporaries, view_free_list,
)
from tvm_ffi._binding.cpython cimport (
    PyErr_NoMemory, PyLong_Type, PyTuple_GET_ITEM, PyTuple_GET_SIZE, Py_TYPE,
)
from tvm_ffi._binding.object cimport (
    Borrowing, begin_borrowing, end_borrowing, raise_from_native, set_exception,
)

cdef enum:
    MAX_CHANGED = 8  # maximum number of keywords of `h(x=value)` with buffers on the stack


cdef PyObject* _call_changed(
    PreparedCall call, PyObject* const* values, PyObject* kwnames
) noexcept:
    """Run the call with other arguments in some slots.  Fails: NULL with an exception set."""
    cdef abi.TVMFFIAny stack_args[MAX_MANY_ARGS]
    cdef abi.TVMFFIObject* stack_temporaries[TEMPORARIES_PER_ARGUMENT * MAX_CHANGED]
    cdef PyObject* stack_owned[MAX_CHANGED]
    cdef abi.TVMFFIAny* args = stack_args
    cdef abi.TVMFFIObject** temporaries = stack_temporaries
    cdef PyObject** owned = stack_owned
    cdef Py_ssize_t count = PyTuple_GET_SIZE(kwnames)
    cdef Py_ssize_t num_args = call.cell.num_args
    cdef void* memory = NULL
    cdef PyObject* result
    if num_args > MAX_MANY_ARGS or count > MAX_CHANGED:
        memory = PyMem_Malloc(
            <size_t>num_args * sizeof(abi.TVMFFIAny)
            + <size_t>count * (TEMPORARIES_PER_ARGUMENT + 1) * sizeof(void*))
        if memory == NULL:
            return PyErr_NoMemory()
        args = <abi.TVMFFIAny*>memory
        owned = <PyObject**>(args + num_args)
        temporaries = <abi.TVMFFIObject**>owned + count
    result = _call_with_changes(call, values, kwnames, args, temporaries, owned)
    if memory != NULL:
        PyMem_Free(memory)
    return result


cdef inline PyObject* _call_with_changes(
    PreparedCall call, PyObject* const* values, PyObject* kwnames, abi.TVMFFIAny* args,
    abi.TVMFFIObject** temporaries, PyObject** owned,
) noexcept:
    """Pack the changed arguments into the buffers of the caller, then check and call.

    `owned` receives the converted arguments, or NULL.
    """
    cdef Py_ssize_t count = PyTuple_GET_SIZE(kwnames)
    cdef int32_t num_args = call.cell.num_args
    cdef abi.TVMFFIObjectHandle checks = NULL
    cdef Borrowing borrowing
    cdef Borrowing** borrowings
    cdef CallState state
    cdef abi.TVMFFIAny result
    cdef PyObject* py_result = NULL
    cdef Py_ssize_t num_owned = 0
    cdef int code = 0
    begin_call(&state, temporaries, count)
    if call.state.stream_device_type != 0:
        code = _cold_renew_stream(call)
        state.stream_device_type = call.state.stream_device_type
        state.stream_device_id = call.state.stream_device_id
        state.stream = call.state.stream
    state.exchange_api = call.state.exchange_api
    state.recent_packer = call.state.recent_packer
    memcpy(args, call.cell.args, <size_t>num_args * sizeof(abi.TVMFFIAny))
    borrowings = begin_borrowing(&borrowing, values, count)
    while code == 0 and num_owned < count:
        owned[num_owned] = NULL
        code = _pack_change(
            call, PyTuple_GET_ITEM(kwnames, num_owned), values[num_owned], args, &state,
            &owned[num_owned])
        num_owned += 1
    if code == 0:
        if call.binder is not None and not call._function.is_unchecked:
            checks = call.binder.checks
        code = _check_and_invoke(call, args, checks, &result, &state)
        if code != 0:
            raise_from_native(code)
    end_borrowing(borrowings, &borrowing)
    if code == 0:
        py_result = _unpack_result(&result, &state)
    if state.num_temporaries != 0:
        if py_result != NULL:
            release_temporaries(&state, view_free_list())
        else:
            release_after_failure(&state, view_free_list())
    while num_owned > 0:
        num_owned -= 1
        Py_XDECREF(owned[num_owned])
    return py_result


cdef inline int _check_and_invoke(
    PreparedCall call, abi.TVMFFIAny* args, abi.TVMFFIObjectHandle checks, abi.TVMFFIAny* result,
    CallState* state,
) noexcept:
    """Check packed arguments, unless `checks` is NULL, and call the function; return its code."""
    cdef int32_t num_args = call.cell.num_args
    cdef int code
    result.type_index, result.zero_padding, result.v_int64 = abi.kTVMFFINone, 0, 0
    if checks != NULL:
        code = abi.TVMFFIFunctionGetCellPtr(checks).safe_call(checks, args, num_args, result)
        if code != 0:
            return code
    if state.exchange_api == NULL and state.stream_device_type == 0:
        return _invoke(call._function, call.cell.callee, args, num_args, result, NULL)
    return _invoke_in_environment(
        call._function, call.cell.callee, args, num_args, result, state, NULL)


cdef inline int _pack_change(
    PreparedCall call, PyObject* name, PyObject* value, abi.TVMFFIAny* args, CallState* state,
    PyObject** owned,
) noexcept:
    """Pack the argument of a keyword into its element of `args`.

    Fails: -1 with an exception set.
    """
    cdef int32_t index = _slot_of_keyword(call, name)
    cdef abi.TVMFFIAny* arg
    cdef int code = 0
    if index < 0:
        return -1
    arg = &args[index]
    if call.binder is not None and call.binder.num_conversions != 0:
        if _convert_change(call, index, value, owned) != 0:
            return -1
        if owned[0] != NULL:
            value = owned[0]
    if Py_TYPE(value) != &PyLong_Type or not _pack_int(value, arg):
        code = _pack_argument(value, arg, state)
        if code == 0 and state.restriction != ArgumentRestriction.NONE:
            code = _check_restriction(call, index, state)
        if code != 0:
            return call._explain(index)
    _make_float(call.binder, index, arg)
    if not abi.TVMFFIPreparedAccepts(&call.cell.args[index], arg):
        return _cold_refuse_change(call, index, arg)
    return 0


cdef int _convert_change(
    PreparedCall call, int32_t index, PyObject* value, PyObject** owned
) noexcept:
    """Store a new reference to the converted argument in `owned` if it needs a conversion."""
    try:
        converted = _converted(call.binder, index, <object>value)
    except BaseException as error:
        set_exception(error)
        return -1
    if <PyObject*>converted != value:
        Py_INCREF(converted)
        owned[0] = <PyObject*>converted
    return 0


cdef inline int32_t _slot_of_keyword(PreparedCall call, PyObject* name) noexcept:
    """Return the index of the slot with the name of a keyword.  Fails: -1 with an exception set."""
    cdef PyObject* names = <PyObject*>call.names
    cdef int32_t i
    for i in range(call.cell.num_args):
        if PyTuple_GET_ITEM(names, i) == name:
            return i
    return _cold_find_slot(call, name)


cdef int32_t _find_slot(PreparedCall call, PyObject* name) noexcept:
    """Same as `_slot_of_keyword`, for a name that is not interned, or not the name of a slot."""
    try:
        if <object>name in call.names:
            return call.names.index(<object>name)
        raise TypeError(_unknown_slot(call, <object>name))
    except BaseException as error:
        set_exception(error)
    return -1


cdef int _refuse_change(PreparedCall call, int32_t index, const abi.TVMFFIAny* arg) noexcept:
    """Set the error of an argument that has not the facts of its slot.  Returns -1."""
    leave_call(call.cell)  # the engine, which writes the message, marks the call as busy
    try:
        _refuse_facts(call, index, arg)
    except BaseException as error:
        set_exception(error)
    enter_call(call.cell)
    return -1
