# SPDX-License-Identifier: Apache-2.0
"""Function objects: vectorcall entries for calls from Python into native code.

The class `Function` and its vectorcall entries are in one file so that the C compiler can inline
them.

`call_by_position` is the hot path:

1. Pack the arguments into an array on the stack.  For the most frequent types, packing compares the
   exact type and is inline; for all others, a hash table contains the pack function.
2. Call the native function through its pointer, with the GIL released if `release_gil` is True.
3. Unpack the result.  For the most frequent types, unpacking is inline.

No function on this path adds a Cython traceback entry, so tracebacks contain only frames of the
caller's Python code and of native code.
"""

cimport cython
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    TEMPORARIES_PER_ARGUMENT, ArgumentRestriction, ArgumentViewFreeList, CallState, PackFunction,
    Packer, PackerTable, add_unpacker, begin_call, choose_packer, find_packer,
    pack_object, packer_table, refuse_to_keep, release_after_failure, release_temporaries,
    view_free_list,
)
from tvm_ffi._binding.cpython cimport (
    PyEval_RestoreThread, PyEval_SaveThread, PyFloat_AS_DOUBLE, PyFloat_FromDouble,
    PyFloat_Type, PyLong_AsLongLongAndOverflow, PyLong_FromLongLong, PyLong_Type, PyMethod_New,
    PyThreadState, PyUnicode_Type, Py_None, Py_TYPE,
)
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, WrapperTable, begin_borrowing, check, declare_readable_types, end_borrowing,
    get_object_metadata, handle_of, hooks, keep_for_borrowers, live_wrapper, raise_from_native,
    releases_gil_by_default, set_exception, wrap_again, wrap_object, wrapper_table,
)
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL, load_flag, store_flag
from tvm_ffi._binding.values cimport pack_handle, pack_int, pack_str
from tvm_ffi._binding.tensor cimport (
    ReadOnlyDeleters, Tensor, is_read_only_tensor, read_only_deleters, wrap_tensor,
)
from tvm_ffi._binding.vectorcall cimport PyVectorcall_Call, PyVectorcall_NARGS, enable_vectorcall

from tvm_ffi._binding.object import register_class

cdef enum:
    MAX_STACK_ARGS = 8   # maximum number of arguments that `call_by_position` packs on the stack
    MAX_MANY_ARGS = 32   # maximum number for `_call_with_many_args`; larger arrays are on the heap

cdef ArgumentViewFreeList* _free_views = view_free_list()
cdef PackerTable** _packers = packer_table()
cdef const ReadOnlyDeleters* _read_only_deleters = read_only_deleters()

# Lock of the critical sections that write the fields of functions and the cached binders of
# `ModuleOrigin`.
cdef object _wrapper_lock = object()

# The default of `Function.release_gil`.
cdef bint _releases_gil_by_default = releases_gil_by_default()


# ---- calls from Python into native code ----------------------------------------------------

cdef inline bint _pack_int(PyObject* value, abi.TVMFFIAny* out) noexcept:
    """Pack an int that fits 64 bits; return False if it does not."""
    cdef int overflow = 0
    out.type_index = abi.kTVMFFIInt
    out.zero_padding = 0
    out.v_int64 = PyLong_AsLongLongAndOverflow(value, &overflow)
    return overflow == 0


cdef inline int _pack_argument(PyObject* value, abi.TVMFFIAny* out, CallState* state) noexcept:
    """Pack an argument, borrowed until the call returns.  Fails: -1 with an exception set."""
    cdef PyTypeObject* cls = Py_TYPE(value)
    cdef const Packer* packer
    packer = state.recent_packer
    if packer != NULL and packer.type == cls:
        return packer.pack(value, out, state, packer)
    if cls == <PyTypeObject*>Tensor and (<Tensor>value).chandle != NULL:
        if is_read_only_tensor(_read_only_deleters, (<Tensor>value).chandle):
            state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
        return pack_object(out, abi.kTVMFFITensor, (<Tensor>value).chandle)
    if cls == &PyFloat_Type:
        out.type_index = abi.kTVMFFIFloat
        out.zero_padding = 0
        out.v_float64 = PyFloat_AS_DOUBLE(value)
        return 0
    if cls == &PyUnicode_Type:
        return pack_str(value, out, state, NULL)
    if cls == &PyLong_Type:
        return pack_int(value, out, state, NULL)  # the int does not fit 64 bits: pack an object
    packer = find_packer(_packers, cls)
    if packer == NULL:
        packer = choose_packer(value)
        if packer == NULL:
            return -1
    state.recent_packer = packer
    return packer.pack(value, out, state, packer)


cdef WrapperTable* _wrappers = wrapper_table()
# `wrap_tensor` as a C function that returns NULL with an exception set if it fails.
ctypedef PyObject* (*_Wrap)(abi.TVMFFIObjectHandle owned) noexcept
cdef _Wrap _wrap_tensor = <_Wrap>wrap_tensor


cdef inline PyObject* _unpack_result(abi.TVMFFIAny* result, CallState* state) noexcept:
    """Return a new reference to the Python value of a native result.  Consumes `result`."""
    cdef int32_t index = result.type_index
    if index == abi.kTVMFFINone:
        Py_INCREF(<object>Py_None)
        return Py_None
    if index == abi.kTVMFFIInt:
        return PyLong_FromLongLong(result.v_int64)
    if index == abi.kTVMFFIFloat:
        return PyFloat_FromDouble(result.v_float64)
    if index == abi.kTVMFFITensor and state.exchange_api == NULL:
        return _wrap_tensor(result.v_obj)
    return _unpack_owned(result, state)


cdef inline int _invoke(
    Function function, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result, PyObject* names,
) noexcept:
    """Call the native function `handle`, with the GIL released if the function allows it.

    `handle` is borrowed.  It is not read from `function.chandle`, because the packing of arguments
    may run Python code that changes this field.  Returns the return code of the native function.
    """
    cdef abi.TVMFFISafeCallType safe_call = abi.TVMFFIFunctionGetCellPtr(handle).safe_call
    cdef PyThreadState* thread
    cdef int code
    if names != NULL:  # only calls of Python callables have keywords here
        return enter_callback(handle, args, num_args, result, names)
    if not load_flag(&function.releases_gil):
        if GIL_IS_OPTIONAL:
            return call_guarded(safe_call, handle, args, num_args, result)
        return safe_call(handle, args, num_args, result)
    thread = PyEval_SaveThread()
    code = safe_call(handle, args, num_args, result)
    PyEval_RestoreThread(thread)
    return code


cdef int _invoke_in_environment(
    Function function, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result, CallState* state, PyObject* names,
) noexcept:
    """Same as `_invoke`, but sets the stream and allocator of `state` during the call."""
    cdef abi.DLPackManagedTensorAllocator allocator = NULL
    cdef abi.DLPackManagedTensorAllocator previous_allocator = NULL
    cdef void* previous_stream = NULL
    cdef int code
    if state.exchange_api != NULL:
        allocator = state.exchange_api.managed_tensor_allocator
    if state.stream_device_type != 0:
        if abi.TVMFFIEnvSetStream(
            state.stream_device_type, state.stream_device_id, state.stream, &previous_stream
        ) != 0:
            return -1
    if allocator != NULL:
        abi.TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, &previous_allocator)
    code = _invoke(function, handle, args, num_args, result, names)
    if allocator != NULL:
        abi.TVMFFIEnvSetDLPackManagedTensorAllocator(previous_allocator, 0, NULL)
    if state.stream_device_type != 0:
        abi.TVMFFIEnvSetStream(
            state.stream_device_type, state.stream_device_id, previous_stream, NULL)
    return code


cdef inline PyObject* _call_with_buffers(
    Function function, PyObject* const* values, int32_t num_args, PyObject* names,
    abi.TVMFFIAny* args, abi.TVMFFIObject** temporaries, PyObject* target,
    abi.TVMFFIObjectHandle checks,
) noexcept:
    """Pack the arguments into the buffers of the caller, call the function and unpack the result.

    `names` is the tuple of the keywords of the arguments at the end, or NULL if all arguments are
    positional.  `target` is the CObject that gets the result of a constructor, or NULL if the
    function is not a constructor.  `checks` is the native function that checks the packed
    arguments, or NULL.  Returns a new reference: the result, or None if there is a
    target.  Fails: NULL with an exception set.
    """
    cdef abi.TVMFFIObjectHandle handle = function.chandle
    cdef Borrowing borrowing
    cdef Borrowing** borrowings = NULL
    cdef CallState state
    cdef abi.TVMFFIAny result
    cdef PyObject* py_result = NULL
    cdef int32_t i
    cdef int code
    begin_call(&state, temporaries, num_args)
    for i in range(num_args):
        if Py_TYPE(values[i]) == &PyLong_Type and _pack_int(values[i], &args[i]):
            continue
        code = _pack_argument(values[i], &args[i], &state)
        if state.restriction != ArgumentRestriction.NONE and code == 0:
            if state.restriction != ArgumentRestriction.MOVED:
                code = check_restriction(function, handle, i, num_args, &state, target != NULL)
            else:
                state.restriction = ArgumentRestriction.NONE
                if borrowings == NULL:  # a later argument may borrow from the same wrapper
                    borrowings = begin_borrowing(&borrowing, values, num_args)
                    keep_for_borrowers(<CObject>state.moved)
        if code != 0:
            if borrowings != NULL:
                end_borrowing(borrowings, &borrowing)
            explain_argument(
                function, name_of_argument(<ArgumentBinder>load_binder(function), i, num_args),
                values, i, num_args, names)
            release_after_failure(&state, _free_views)
            return NULL if names != NULL or target != NULL else call_fallback(
                function, values, num_args)
        # Numbers and short strings borrow nothing, so borrowing begins at the first object.
        if args[i].type_index >= abi.kTVMFFIStaticObjectBegin and borrowings == NULL:
            borrowings = begin_borrowing(&borrowing, values, num_args)
    result.type_index = abi.kTVMFFINone
    result.zero_padding = 0
    result.v_int64 = 0
    code = 0
    if checks != NULL:
        code = abi.TVMFFIFunctionGetCellPtr(checks).safe_call(checks, args, num_args, &result)
        make_floats(<ArgumentBinder>load_binder(function), args, num_args)
    if code != 0:
        pass
    elif state.exchange_api == NULL and state.stream_device_type == 0:
        code = _invoke(function, handle, args, num_args, &result, names)
    else:
        code = _invoke_in_environment(function, handle, args, num_args, &result, &state, names)
    if borrowings != NULL:
        end_borrowing(borrowings, &borrowing)
    if code != 0:
        raise_from_native(code)
        name_opaque_argument(values, num_args)
    elif target == NULL:
        py_result = _unpack_result(&result, &state)
    else:
        py_result = store_result(&result, &state, <CObject>target)
    if state.num_temporaries != 0:
        if py_result != NULL:
            release_temporaries(&state, _free_views)
        else:
            release_after_failure(&state, _free_views)
    return py_result


cdef int check_restriction(
    Function function, abi.TVMFFIObjectHandle handle, int32_t index, int32_t num_args,
    CallState* state, bint is_constructor,
) noexcept:
    cdef ArgumentRestriction restriction = state.restriction
    cdef bint is_borrowed = (
        restriction == ArgumentRestriction.BORROWED
        or restriction == ArgumentRestriction.BORROWED_READ_ONLY)
    state.restriction = ArgumentRestriction.NONE
    if is_borrowed and (is_constructor or stores_arguments(handle)):
        return refuse_to_keep()
    if is_constructor or restriction == ArgumentRestriction.BORROWED:
        return 0
    if restriction == ArgumentRestriction.MOVED:
        return 0
    if callable_of(handle) != NULL or keeps_gil(handle):
        return 0
    if not load_flag(&function.is_resolved) and resolve_signature(function) != 0:
        return -1
    return refuse_read_only(<ArgumentBinder>load_binder(function), index, num_args, restriction)


cdef PyObject* call_into(
    Function function, PyObject* const* values, Py_ssize_t num_args, CObject target
) noexcept:
    cdef abi.TVMFFIAny args[MAX_STACK_ARGS]
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT * MAX_STACK_ARGS]
    if function.chandle == NULL or num_args > MAX_STACK_ARGS:
        return _call_slow(function, values, num_args, NULL, <PyObject*>target, NULL)
    return _call_with_buffers(
        function, values, <int32_t>num_args, NULL, args, temporaries, <PyObject*>target, NULL)


cdef inline PyObject* _call_without_packing(
    Function function, PyObject* const* values, abi.TVMFFIAny* args, int32_t num_args
) noexcept:
    """Fast path for calls without arguments to pack and without temporaries to release.

    For a function, `num_args` is 0.  For a method, `args` contains the packed receiver, and
    `values` the wrapper of the receiver.
    """
    cdef Borrowing borrowing
    cdef Borrowing** borrowings = NULL
    cdef CallState state
    cdef abi.TVMFFIAny result
    cdef int code
    if num_args != 0:
        borrowings = begin_borrowing(&borrowing, values, num_args)
    result.type_index = abi.kTVMFFINone
    result.zero_padding = 0
    result.v_int64 = 0
    code = _invoke(function, function.chandle, args, num_args, &result, NULL)
    if num_args != 0:
        end_borrowing(borrowings, &borrowing)
    if code != 0:
        raise_from_native(code)
        return NULL
    begin_call(&state, NULL, 0)
    return _unpack_result(&result, &state)


cdef PyObject* call_packed(
    Function function, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args, int32_t num_args,
    CallState* state,
) noexcept:
    cdef abi.TVMFFIAny result
    cdef int code
    result.type_index = abi.kTVMFFINone
    result.zero_padding = 0
    result.v_int64 = 0
    if state.exchange_api == NULL and state.stream_device_type == 0:
        code = _invoke(function, handle, args, num_args, &result, NULL)
    else:
        code = _invoke_in_environment(function, handle, args, num_args, &result, state, NULL)
    if code != 0:
        raise_from_native(code)
        return NULL
    return _unpack_result(&result, state)


cdef PyObject* call_by_position(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:

    cdef abi.TVMFFIAny args[MAX_STACK_ARGS]
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT * MAX_STACK_ARGS]
    cdef Py_ssize_t num_args = PyVectorcall_NARGS(nargsf)
    cdef Function function = <Function>callable
    if function.chandle == NULL or kwnames != NULL or num_args > MAX_STACK_ARGS:
        return _call_slow(function, values, num_args, kwnames, NULL, NULL)
    if num_args == 0:
        return _call_without_packing(function, values, NULL, 0)
    return _call_with_buffers(
        function, values, <int32_t>num_args, NULL, args, temporaries, NULL, NULL)


cdef PyObject* call_checked(
    Function function, PyObject* const* values, Py_ssize_t num_args,
    abi.TVMFFIObjectHandle checks,
) noexcept:
    cdef abi.TVMFFIAny args[MAX_STACK_ARGS]
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT * MAX_STACK_ARGS]
    if function.chandle == NULL or num_args > MAX_STACK_ARGS:
        return _call_slow(function, values, num_args, NULL, NULL, checks)
    return _call_with_buffers(
        function, values, <int32_t>num_args, NULL, args, temporaries, NULL, checks)


cdef PyObject* _call_through_entry(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """Vectorcall entry in free-threaded Python: load `function.entry` atomically and call it."""
    cdef Vectorcall entry = load_entry(<Function>callable)
    if entry == <Vectorcall>call_by_position:  # a direct call of the most frequent entry is faster
        return call_by_position(callable, values, nargsf, kwnames)
    return entry(callable, values, nargsf, kwnames)


cdef PyObject* _call_method(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """Vectorcall entry of `Method`, with a fast path if the receiver is the only argument."""
    cdef Method method = <Method>callable
    cdef PyTypeObject* cls
    cdef abi.TVMFFIObjectHandle receiver
    cdef abi.TVMFFIAny arg
    if PyVectorcall_NARGS(nargsf) == 1 and kwnames == NULL and method.chandle != NULL:
        cls = receiver_class(method)
        if Py_TYPE(values[0]) == cls:
            receiver = (<CObject>values[0]).chandle
            if receiver != NULL:
                pack_object(&arg, (<abi.TVMFFIObject*>receiver).type_index, receiver)
                return _call_without_packing(method, values, &arg, 1)
        elif cls == <PyTypeObject*>Py_None:
            _learn_receiver_class(method, Py_TYPE(values[0]))
    return call_by_position(callable, values, nargsf, kwnames)


cdef void _learn_receiver_class(Method method, PyTypeObject* cls) noexcept:
    """Store the class of a receiver if values of the class are packed as only their handle.

    Later calls with a receiver of this class use the fast path of `_call_method`.
    """
    cdef const Packer* packer = find_packer(_packers, cls)
    if packer != NULL and packer.pack == <PackFunction>pack_handle:
        Py_INCREF(<object>cls)
        if not set_receiver_class(method, cls):  # another thread has stored a class already
            Py_DECREF(<object>cls)


# ---- class Function ------------------------------------------------------------------------

@cython.binding(False)
@cython.trashcan(True)  # attributes of functions may form a long chain of functions
cdef class Function(CObject):
    """A function that any language can call.

    Calling it converts the arguments, runs the native code with the GIL released (see
    `release_gil`), and converts the result.  Keyword arguments and defaults work for Python
    callables, and for native functions that have a `Signature`.

    ``__name__``, ``__doc__`` and ``inspect.signature`` return the values of the Python callable, or
    of the metadata in the library.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be converted; the message names function and position.
    Exception
        If the function fails.  A native error is raised as an instance of the Python class that is
        registered for the error's kind.  An exception of a Python callable is raised unchanged.

    Notes
    -----
    `get_global_func`, `convert` and modules return functions.

    The pickle of a function contains one of these: the global name; the file of the module and the
    name in the module; the Python callable.  Other functions cannot be pickled.  Copying a function
    returns the function itself.
    """

    def __cinit__(self):
        self.vectorcall = _call_through_entry
        self.entry = call_by_position
        self.releases_gil = _releases_gil_by_default

    def __call__(self, *args, **kwargs):
        # Only `Function.__call__(f, ...)` calls this; `f(...)` calls the vectorcall entry.
        return PyVectorcall_Call(self, args, <PyObject*>kwargs if kwargs else NULL)

    @property
    def release_gil(self) -> bool:
        """True if calls release the GIL, so other Python threads run during the call.

        True by default, except for functions whose signature is *non-blocking* and for short
        functions of the runtime.  Can be assigned.
        """
        if not load_flag(&self.is_resolved) and resolve_signature(self) != 0:
            check(-2)
        return load_flag(&self.releases_gil)

    @release_gil.setter
    def release_gil(self, value: bool) -> None:
        cdef bint releases = value
        with cython.critical_section(_wrapper_lock):
            self.release_gil_assigned = True
            store_flag(&self.releases_gil, releases)

    def prepare(self, *args, **kwargs):
        """Return a call with these arguments, packed and checked, which can run many times.

        Parameters
        ----------
        *args, **kwargs
            The arguments of a call; missing arguments get their defaults.

        Returns
        -------
        PreparedCall
            A callable that owns the packed arguments; each argument can be replaced.

        Raises
        ------
        TypeError, ValueError
            If an argument cannot be converted, or the signature refuses it.
        """
        return hooks.load_description().prepared_call(self, args, kwargs)

    def bind(self, *args, **kwargs):
        """Earlier name of `prepare`."""
        return hooks.load_description().prepared_call(self, args, kwargs)

    @staticmethod
    def __from_extern_c__(c_symbol, *, keep_alive_object=None) -> Function:
        """Return a function that calls the C function at this address.

        Parameters
        ----------
        c_symbol : int
            Address of a function with the packed calling convention; its first argument is NULL.
        keep_alive_object : object, optional
            Object that the function keeps alive, such as the library of the symbol.
        """
        return function_at("c_symbol", c_symbol, keep_alive_object, call_extern_c)

    @staticmethod
    def __from_mlir_packed_safe_call__(
        mlir_packed_symbol, *, keep_alive_object=None
    ) -> Function:
        """Return a function that calls compiled code with MLIR's packed convention.

        Parameters
        ----------
        mlir_packed_symbol : int
            Address of a function that takes one ``void**``: pointers to the context, the argument
            array's address, the argument count, the result's address, and the return code.
        keep_alive_object : object, optional
            Object that the function keeps alive, such as the owner of the compiled code.
        """
        return function_at(
            "mlir_packed_symbol", mlir_packed_symbol, keep_alive_object, call_mlir_packed)

    def __getattr__(self, name):
        # Python calls this only for attributes that neither the instance nor the class has.
        value = None
        if name == "__name__":
            value = _name_of(self)
        elif name == "__module__":
            value = getattr(callable_object(self.chandle), "__module__", None) or "tvm_ffi"
        elif name == "__signature__" and type(self).__call__ is Function.__call__:
            value = hooks.load_description().signature_of(
                self, callable_object(self.chandle), origin_of(self))
        if value is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return value

    @property
    def __doc__(self):
        """Documentation of the Python callable, or of the metadata in the library."""
        assigned = vars(self).get("__doc__")
        if assigned is not None:
            return assigned
        return hooks.load_description().doc_of(self, callable_object(self.chandle), origin_of(self))

    @__doc__.setter
    def __doc__(self, value):
        vars(self)["__doc__"] = value

    def __repr__(self):
        if self.chandle == NULL:
            return "Function(chandle=None)"
        try:
            return hooks.load_description().repr_of(self)
        except Exception:  # reading the name or the metadata may raise an exception
            return "ffi.Function"

    def __reduce__(self):
        handle_of(self)  # raises ValueError if the function is empty
        description = hooks.load_description()
        if type(self) not in (Function, Method):
            return description.reduce_subclass(self)
        return description.reduce(
            self, callable_object(self.chandle), tensor_class_object(self.chandle), origin_of(self))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


cdef class Method(Function):
    """A function that becomes a bound method when it is read from an object."""

    def __cinit__(self):
        self.entry = _call_method

    def __get__(self, obj, owner):
        return self if obj is None else PyMethod_New(self, obj)


cdef object wrap_function(abi.TVMFFIObjectHandle owned):
    return _with_settings(wrap_again(owned))


cdef object _with_settings(object function):
    """Apply the settings of the native function to a new wrapper, and return the wrapper."""
    cdef abi.TVMFFIObjectHandle handle
    cdef object origin
    if not isinstance(function, Function):
        return function
    handle = (<Function>function).chandle
    if keeps_gil(handle):
        (<Function>function).releases_gil = False
    if callable_of(handle) == NULL:  # a function of a module keeps its signature as a value
        origin = get_object_metadata(<CObject>function)
        if origin is not None:
            set_origin(<Function>function, origin)
    return function


cdef object _unpack_function(abi.TVMFFIAny* owned, CallState* state):
    cdef PyObject* live = live_wrapper(_wrappers, owned.v_obj)
    cdef object function = wrap_object(owned.v_obj)
    return function if <PyObject*>function == live else _with_settings(function)


cdef Function new_method(abi.TVMFFIObjectHandle function, bint is_static):
    cdef Function method = Function.__new__(Function) if is_static else Method.__new__(Method)
    abi.TVMFFIObjectIncRef(function)
    method.chandle = function
    return method


# ---- origin and name -----------------------------------------------------------------------

cdef const bint* releases_gil_of(Function function) noexcept:
    return &function.releases_gil


cdef object origin_of(Function function):
    return set_default_origin(function, None)


cdef object set_default_origin(Function function, object origin):
    with cython.critical_section(function):
        if function.origin is None:
            function.origin = get_object_metadata(function)
        if function.origin is None:
            function.origin = origin
        return function.origin


cdef object _name_of(Function function):
    origin = origin_of(function)
    if origin is not None:
        return origin if isinstance(origin, str) else origin.name
    name = getattr(callable_object(function.chandle), "__name__", None)
    return name if isinstance(name, str) else None


cdef Py_ssize_t _vectorcall_offset():
    """Return the offset of the field through which the interpreter calls functions."""
    cdef Function probe = Function.__new__(Function)
    cdef char* slot = <char*>(&probe.vectorcall if GIL_IS_OPTIONAL else &probe.entry)
    return <Py_ssize_t>(slot - <char*><PyObject*>probe)


def called_like_functions(cls):
    """Enable the vectorcall protocol for a subclass of `Function` without `__call__`; a decorator.

    Before Python 3.12, classes that are written in Python do not inherit the protocol.
    """
    if not issubclass(cls, Function):
        raise TypeError(f"expected a subclass of Function, got {cls!r}")
    enable_vectorcall(<PyTypeObject*>cls, _vectorcall_offset(), False)
    return cls


def _install_functions():
    """Enable the vectorcall protocol for `Function` and `Method`, and register `Function`."""
    enable_vectorcall(<PyTypeObject*>Function, _vectorcall_offset(), False)
    enable_vectorcall(<PyTypeObject*>Method, _vectorcall_offset(), True)
    declare_readable_types(Function, abi.kTVMFFIFunction, abi.kTVMFFIFunction)
    register_class(abi.kTVMFFIFunction, Function)
    add_unpacker(abi.kTVMFFIFunction, _unpack_function)


_install_functions()
