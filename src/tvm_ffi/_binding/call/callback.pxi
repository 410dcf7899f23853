# SPDX-License-Identifier: Apache-2.0
"""Callbacks: native functions that call a Python callable.

A callback runs on the thread of its caller, acquires the GIL, and returns exceptions as native
errors.  The array of the converted arguments is on the stack for up to MAX_CALLBACK_STACK_ARGS
arguments, otherwise on the heap.

The binding allocates the native function object itself instead of calling `TVMFFIFunctionCreate`.
A call then needs no second indirect call, and the deleter in the object header identifies
callbacks (`callable_of`).
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF, Py_XINCREF
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, begin_call, pack_owned_or_borrowed,
    pack_temporary, unpack_object,
)
from tvm_ffi._binding.cpython cimport (
    PyErr_Fetch, PyErr_Restore, PyErr_SetString, PyExc_RecursionError,
    PyLong_AsLongLongAndOverflow, PyLong_Type, PyObject_Vectorcall, PyTuple_GET_SIZE, Py_TYPE,
)
from tvm_ffi._binding.object cimport (
    add_nonblocking_type, add_note, call_in_python, check, own_python_object, raise_to_native,
    release_python_object,
)
from tvm_ffi._binding.tensor cimport BorrowedTensor, borrow_tensor, end_borrowed_tensor, has_views
from tvm_ffi._binding.values cimport text_of

cdef extern from *:
    """
    /* The lowest address of a frame on this thread for which the runtime has found enough room on
     * the stack. */
    static __thread uintptr_t tvm_ffi_lowest_frame = UINTPTR_MAX;

    /* Return 1 if the machine stack has room for a callback. */
    static inline int tvm_ffi_has_stack_room(TVMFFIObjectHandle stack_is_low) {
      uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
      TVMFFIAny result = {0};
      if (frame >= tvm_ffi_lowest_frame) return 1;
      TVMFFIFunctionGetCellPtr(stack_is_low)->safe_call(stack_is_low, NULL, 0, &result);
      if (result.v_int64 != 0) return 0;
      tvm_ffi_lowest_frame = frame;
      return 1;
    }
    """
    bint has_stack_room "tvm_ffi_has_stack_room"(abi.TVMFFIObjectHandle stack_is_low) noexcept

cdef abi.TVMFFIObjectHandle _stack_is_low = _find_function("pytvmffi.StackIsLow")  # owned

cdef enum:
    MAX_CALLBACK_STACK_ARGS = 8  # maximum number of arguments whose array is in each stack frame
    MAX_CALLBACK_MANY_ARGS = 32  # maximum number of arguments whose array is on the stack


# The native function object of a callback.
cdef struct _CallbackObject:
    abi.TVMFFIObject header
    abi.TVMFFIFunctionCell cell
    PyObject* callable      # owned; the Python callable
    PyObject* tensor_class  # owned; class of the tensors that the callable gets; NULL: `Tensor`
    const abi.DLPackExchangeAPI* exchange_api  # exchange API of tensor_class, or NULL


cdef void _delete_callback(void* self, int flags) noexcept nogil:
    cdef _CallbackObject* callback = <_CallbackObject*>self
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskStrong:
        release_python_object(callback.callable)
        if callback.tensor_class != NULL:
            release_python_object(callback.tensor_class)
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskWeak:
        free(callback)


cdef PyObject* callable_of(abi.TVMFFIObjectHandle function) noexcept:
    if function != NULL and (<abi.TVMFFIObject*>function).deleter == _delete_callback:
        return (<_CallbackObject*>function).callable
    return NULL


cdef PyObject* tensor_class_of(abi.TVMFFIObjectHandle callback) noexcept:
    return (<_CallbackObject*>callback).tensor_class


cdef object callable_object(abi.TVMFFIObjectHandle function):
    cdef PyObject* callable = callable_of(function)
    return None if callable == NULL else <object>callable


cdef object tensor_class_object(abi.TVMFFIObjectHandle function):
    if callable_of(function) == NULL or tensor_class_of(function) == NULL:
        return None
    return <object>tensor_class_of(function)


cdef object _argument_to_python(const abi.TVMFFIAny* view, CallState* state):
    """Convert a borrowed native argument to a Python value and return a new reference.

    Tensors are created with the exchange API of `state`; if `state` is NULL, as `Tensor`.
    """
    cdef int32_t index = view.type_index
    cdef abi.TVMFFIAny owned = view[0]
    if index == abi.kTVMFFIInt:
        return view.v_int64
    if index in (abi.kTVMFFIRawStr, abi.kTVMFFIByteArrayPtr):
        return text_of(view)
    if index == abi.kTVMFFIDLTensorPtr:
        return borrow_tensor(<abi.DLTensor*>view.v_ptr)
    if index == abi.kTVMFFIObjectRValueRef:
        if (<void**>view.v_ptr)[0] == NULL:
            raise ValueError("RValueRef already moved")
        check(abi.TVMFFIAnyViewToOwnedAny(view, &owned))
    elif index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectIncRef(owned.v_obj)
    return unpack_object(&owned, state)


cdef bint _end_borrowed_tensors(PyObject** values, int32_t count) noexcept:
    """Empty the `BorrowedTensor` arguments after a call; Python code may have stored them.

    Return True if Python arrays that share their memory are still alive.
    """
    cdef int32_t i
    cdef bint have_views = False
    for i in range(count):
        if isinstance(<object>values[i], BorrowedTensor) and end_borrowed_tensor(
            <BorrowedTensor>values[i]
        ):
            have_views = True
    return have_views


cdef object _outliving_view_message(PyObject** values, int32_t count, bint collects_garbage):
    """Return the error message if an array over borrowed memory is still alive, otherwise None."""
    cdef int32_t i
    if collects_garbage:
        import gc

        gc.collect()  # the array may be alive only as part of an unreachable cycle
    for i in range(count):
        if isinstance(<object>values[i], BorrowedTensor) and has_views(<BorrowedTensor>values[i]):
            return (
                f"the memory of argument #{i} of the callback is borrowed for the call, but an "
                "array over this memory outlives the call; copy the data to keep or return it")
    return None


cdef str _report_outliving_views(PyObject** values, int32_t count, int code):
    """Return the error message if an array outlives the borrowed tensor it views, otherwise None.

    If the callback raised an exception (`code` is not 0), add the message to the exception as a
    note and return None, because a frame in the exception's traceback may own the array.
    """
    cdef PyObject* cls = NULL
    cdef PyObject* error = NULL
    cdef PyObject* traceback = NULL
    if code == 0:
        return _outliving_view_message(values, count, True)
    PyErr_Fetch(&cls, &error, &traceback)
    message = _outliving_view_message(values, count, False)
    if error != NULL and message is not None:
        add_note(<object>error, message)
    PyErr_Restore(cls, error, traceback)
    return None


cdef int _fail_outliving_view(abi.TVMFFIAny* result, str message) except -1:
    """Release the result of a callback and raise BufferError, as an array outlives the call."""
    if result.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectDecRef(result.v_obj)
    result.type_index = abi.kTVMFFINone
    result.v_ptr = NULL
    raise BufferError(message)


cdef inline int _pack_result(PyObject* py_result, abi.TVMFFIAny* result) noexcept:
    """Pack the result of a callback as an owned value; ints of up to 64 bits have a fast path."""
    cdef int overflow = 0
    if Py_TYPE(py_result) == &PyLong_Type:
        result.type_index = abi.kTVMFFIInt
        result.zero_padding = 0
        result.v_int64 = PyLong_AsLongLongAndOverflow(py_result, &overflow)
        if overflow == 0:
            return 0
    return pack_owned_or_borrowed(py_result, result)


cdef int _run_callback(
    PyObject* callable, const abi.DLPackExchangeAPI* exchange_api, const abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result, PyObject** values, PyObject* names,
) except -1:
    """Convert the arguments, call the Python callable and convert its result.

    `values` is an uninitialized array of `num_args` elements for the converted arguments.  `names`
    is the tuple of the keywords of the arguments at the end, or NULL if all arguments are
    positional.  Writes an owned value to `result`.
    """
    cdef int32_t num_positional = num_args
    cdef int32_t num_values = 0
    cdef bint has_borrowed_tensors = False
    cdef str view_message = None
    cdef PyObject* py_result = NULL
    cdef int code = -1
    cdef CallState tensor_state
    cdef CallState* state = NULL
    if num_args < 0:
        raise TypeError(f"packed call: expected an argument count of 0 or more, got {num_args}")
    if exchange_api != NULL:
        begin_call(&tensor_state, NULL, 0)
        tensor_state.exchange_api = exchange_api
        state = &tensor_state
    if names != NULL:
        num_positional -= <int32_t>PyTuple_GET_SIZE(names)
    try:
        while num_values < num_args:
            value = _argument_to_python(&args[num_values], state)
            Py_INCREF(value)
            values[num_values] = <PyObject*>value
            has_borrowed_tensors |= args[num_values].type_index == abi.kTVMFFIDLTensorPtr
            num_values += 1
        py_result = PyObject_Vectorcall(callable, values, <size_t>num_positional, names)
        if py_result != NULL:
            code = _pack_result(py_result, result)
            if code != 0:
                explain_place("result of `{}{}`", <object>callable, "__qualname__", "()")
            Py_XDECREF(py_result)
    finally:
        try:
            if has_borrowed_tensors and _end_borrowed_tensors(values, num_values):
                view_message = _report_outliving_views(values, num_values, code)
        finally:
            while num_values > 0:
                num_values -= 1
                Py_XDECREF(values[num_values])
    if code != 0:
        return check(-2)
    if view_message is not None:
        return _fail_outliving_view(result, view_message)
    if result.type_index == abi.kTVMFFIDLTensorPtr:
        result.type_index = abi.kTVMFFINone
        result.v_ptr = NULL
        raise ValueError(
            "a callback cannot return a tensor that is borrowed for the call, because nothing "
            "keeps its memory alive; return a copy")
    return 0


cdef int _run_callback_with_many_args(
    PyObject* callable, const abi.DLPackExchangeAPI* exchange_api, const abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result, PyObject* names,
) except -1:
    cdef PyObject* stack_values[MAX_CALLBACK_MANY_ARGS]
    cdef PyObject** values
    if num_args <= MAX_CALLBACK_MANY_ARGS:
        return _run_callback(callable, exchange_api, args, num_args, result, stack_values, names)
    values = <PyObject**>PyMem_Malloc(<size_t>num_args * sizeof(PyObject*))
    if values == NULL:
        raise MemoryError()
    try:
        return _run_callback(callable, exchange_api, args, num_args, result, values, names)
    finally:
        PyMem_Free(values)


cdef int _callback(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil:
    """Call a callback; this is the field `cell.safe_call` of each `_CallbackObject`.

    Threads: runs on any thread; acquires the GIL.
    """
    return call_in_python(
        <abi.TVMFFISafeCallType><void*>_enter_positional, self, args, num_args, result)


cdef int _enter_positional(
    void* self, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept:
    return enter_callback(self, args, num_args, result, NULL)


cdef int enter_callback(
    abi.TVMFFIObjectHandle callback, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result, PyObject* names,
) noexcept:
    cdef PyObject* callable = (<_CallbackObject*>callback).callable
    cdef const abi.DLPackExchangeAPI* exchange_api = (<_CallbackObject*>callback).exchange_api
    # Keep a reference to the class during the call, because the class owns the exchange API.
    cdef PyObject* tensor_class = (<_CallbackObject*>callback).tensor_class
    cdef int code
    if not has_stack_room(_stack_is_low):
        PyErr_SetString(
            PyExc_RecursionError, b"the machine stack has no room for another nested callback")
        return raise_to_native()
    # The call may release the last reference to the callback: do not read `callback` after this.
    Py_INCREF(<object>callable)
    Py_XINCREF(tensor_class)
    code = _run_guarded(callable, exchange_api, args, num_args, result, names)
    Py_XDECREF(tensor_class)
    Py_XDECREF(callable)
    return code


# `_run_callback` and `_run_callback_with_many_args` as C functions, which return -1 with an
# exception set.
# The caller tests the result instead of using `try`, because a `try` statement allocates memory and
# may fail itself when the exception is a MemoryError.
ctypedef int (*_Run)(
    PyObject* callable, const abi.DLPackExchangeAPI* exchange_api, const abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result, PyObject** values, PyObject* names) noexcept
ctypedef int (*_RunMany)(
    PyObject* callable, const abi.DLPackExchangeAPI* exchange_api, const abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result, PyObject* names) noexcept
cdef _Run _run = <_Run>_run_callback
cdef _RunMany _run_many = <_RunMany>_run_callback_with_many_args


cdef inline int _run_guarded(
    PyObject* callable, const abi.DLPackExchangeAPI* exchange_api, const abi.TVMFFIAny* args,
    int32_t num_args, abi.TVMFFIAny* result, PyObject* names,
) noexcept:
    cdef PyObject* values[MAX_CALLBACK_STACK_ARGS]
    cdef int code
    if num_args > MAX_CALLBACK_STACK_ARGS:
        code = _run_many(callable, exchange_api, args, num_args, result, names)
    else:
        code = _run(callable, exchange_api, args, num_args, result, values, names)
    return 0 if code == 0 else raise_to_native()


cdef int new_callback(
    object function, object tensor_class, const abi.DLPackExchangeAPI* exchange_api,
    abi.TVMFFIObjectHandle* out,
) except -1:
    cdef _CallbackObject* callback = <_CallbackObject*>malloc(sizeof(_CallbackObject))
    if callback == NULL:
        raise MemoryError()
    callback.header.combined_ref_count = abi.TVM_FFI_REF_COUNT_INITIAL
    callback.header.type_index = abi.kTVMFFIFunction
    callback.header.__padding = 0
    callback.header.deleter = _delete_callback
    callback.cell.safe_call = _callback
    callback.cell.cpp_call = NULL
    own_python_object(function)
    callback.callable = <PyObject*>function
    callback.tensor_class = NULL
    callback.exchange_api = exchange_api
    if exchange_api != NULL:
        own_python_object(tensor_class)
        callback.tensor_class = <PyObject*>tensor_class
    out[0] = callback
    if abi.TVMFFIObserverCount() != 0:
        _show_to_observers(callback, function)
    return 0


cdef void _show_to_observers(abi.TVMFFIObjectHandle callback, object function) noexcept:
    """Show a new callback to the observers of calls, under its qualified name."""
    cdef abi.TVMFFIByteArray view
    cdef bytes text
    try:
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        text = str(name).encode("utf-8", "replace")
        view.data, view.size = text, len(text)
        check(abi.TVMFFIObserverShow(callback, &view))
    except Exception:
        pass  # reading the name may raise any exception; the callback is not observed


cdef int _pack_callable(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef abi.TVMFFIObjectHandle function = NULL
    new_callback(<object>value, None, NULL, &function)
    return pack_temporary(state, out, abi.kTVMFFIFunction, function)


cdef bint _callable_rule(type cls, object value, Packer* packer) except -1:
    if not callable(value):
        return False
    packer.pack = <PackFunction>_pack_callable
    return True


cdef bint _is_callback(abi.TVMFFIObject* function) noexcept:
    return function.deleter == _delete_callback


add_rule(Precedence.CALLABLE, _callable_rule)
add_nonblocking_type(abi.kTVMFFIFunction, _is_callback)
