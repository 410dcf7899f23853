# SPDX-License-Identifier: Apache-2.0
"""Functions: calls from Python into native code.

The class and the way of a call stand in one file, because the compiler has to see them together.

The hot path is `call_by_position`: arguments are packed into an array on the stack, by one
comparison of the exact type for the commonest types and one cached function pointer for all others;
then one indirect call, with the GIL released if the function says so; then one switch on the
result.
No Cython traceback entry is made on the way, so users see their frames and the native ones only.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    TEMPORARIES_PER_ARGUMENT, ArgumentRestriction, ArgumentViewFreeList, CallState, PackFunction,
    Packer, PackerTable, add_unpacker, begin_call, begin_call_of, choose_packer, find_packer,
    pack_object, packer_table, refuse_to_keep, release_after_failure, release_temporaries,
    view_free_list,
)
from tvm_ffi._binding.cpython cimport (
    PyErr_NoMemory, PyEval_RestoreThread, PyEval_SaveThread, PyFloat_AS_DOUBLE, PyFloat_FromDouble,
    PyFloat_Type, PyLong_AsLongLongAndOverflow, PyLong_FromLongLong, PyLong_Type, PyMethod_New,
    PyThreadState, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyUnicode_Type, Py_None, Py_TYPE,
)
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, begin_borrowing, check, end_borrowing, handle_of, hooks, keep_for_borrowers,
    note_of, raise_from_native, read_objects_of, releases_gil_by_default, set_exception,
    wrap_object,
)
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL, load_flag, store_flag
from tvm_ffi._binding.values cimport pack_handle, pack_int, pack_str
from tvm_ffi._binding.tensor cimport (
    ReadOnlyDeleters, Tensor, is_read_only_tensor, read_only_deleters, wrap_tensor,
)
from tvm_ffi._binding.vectorcall cimport PyVectorcall_Call, PyVectorcall_NARGS, enable_vectorcall

from tvm_ffi._binding.object import register_class

cdef enum:
    MAX_STACK_ARGS = 8   # what the fast way has room for
    MAX_MANY_ARGS = 32   # more than these go to the heap

cdef ArgumentViewFreeList* _free_views = view_free_list()
cdef PackerTable** _packers = packer_table()
cdef const ReadOnlyDeleters* _read_only_deleters = read_only_deleters()

cdef object _wrapper_lock = object()


# Initial Function.release_gil.
cdef bint _releases_gil_by_default = releases_gil_by_default()


# ---- Python calls native -------------------------------------------------------------------

cdef inline bint _pack_int(PyObject* value, abi.TVMFFIAny* out) noexcept:
    """Pack an int if it fits 64 bits."""
    cdef int overflow = 0
    out.type_index = abi.kTVMFFIInt
    out.zero_padding = 0
    out.v_int64 = PyLong_AsLongLongAndOverflow(value, &overflow)
    return overflow == 0


cdef inline int _pack_argument(PyObject* value, abi.TVMFFIAny* out, CallState* state) noexcept:
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
        return pack_int(value, out, state, NULL)  # a large one
    packer = find_packer(_packers, cls)
    if packer == NULL:
        packer = choose_packer(value)
        if packer == NULL:
            return -1
    state.recent_packer = packer
    return packer.pack(value, out, state, packer)


# Seen as a C function that returns NULL with an exception set.
ctypedef PyObject* (*_Wrap)(abi.TVMFFIObjectHandle owned) noexcept
cdef _Wrap _wrap_tensor = <_Wrap>wrap_tensor


cdef inline PyObject* _unpack_result(abi.TVMFFIAny* result, CallState* state) noexcept:
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
    """Call what the function held when the call began; it may hold something else by now."""
    cdef abi.TVMFFISafeCallType safe_call = abi.TVMFFIFunctionGetCellPtr(handle).safe_call
    cdef PyThreadState* thread
    cdef int code
    if names != NULL:  # a Python callable, as _call_unusual has seen to it
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
    """Call with the stream and the allocator of the arguments' framework; restore both after."""
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
) noexcept:
    """The call; `target`, if not NULL, is a CObject that takes the result, which is then None."""
    cdef abi.TVMFFIObjectHandle handle = function.chandle
    cdef Borrowing borrowing
    cdef Borrowing** borrowings = NULL
    cdef CallState state
    cdef abi.TVMFFIAny result
    cdef PyObject* answer = NULL
    cdef int32_t i
    cdef int code
    begin_call_of(&state, temporaries, num_args)
    for i in range(num_args):
        if Py_TYPE(values[i]) == &PyLong_Type and _pack_int(values[i], &args[i]):
            continue
        code = _pack_argument(values[i], &args[i], &state)
        if state.restriction != ArgumentRestriction.NONE and code == 0:
            if state.restriction != ArgumentRestriction.MOVED:
                code = check_restriction(function, handle, i, num_args, &state, target != NULL)
            else:
                state.restriction = ArgumentRestriction.NONE
                if borrowings == NULL:  # the arguments that follow may be of the same wrapper
                    borrowings = begin_borrowing(&borrowing, values, num_args)
                    keep_for_borrowers(<CObject>state.moved)
        if code != 0:
            if borrowings != NULL:
                end_borrowing(borrowings, &borrowing)
            explain_argument(
                function, name_of_argument(<ArgumentBinder>load_binder(function), i, num_args), i,
                num_args, names)
            release_after_failure(&state, _free_views)
            return NULL if names != NULL or target != NULL else offer_call(
                function, values, num_args)
        # With the first object: numbers and short text borrow nothing.
        if args[i].type_index >= abi.kTVMFFIStaticObjectBegin and borrowings == NULL:
            borrowings = begin_borrowing(&borrowing, values, num_args)
    result.type_index = abi.kTVMFFINone
    result.zero_padding = 0
    result.v_int64 = 0
    if state.exchange_api == NULL and state.stream_device_type == 0:
        code = _invoke(function, handle, args, num_args, &result, names)
    else:
        code = _invoke_in_environment(function, handle, args, num_args, &result, &state, names)
    if borrowings != NULL:
        end_borrowing(borrowings, &borrowing)
    if code != 0:
        raise_from_native(code)
        name_opaque_argument(values, num_args)
    elif target == NULL:
        answer = _unpack_result(&result, &state)
    else:
        answer = keep_result(&result, &state, <CObject>target)
    if state.num_temporaries != 0:
        if answer != NULL:
            release_temporaries(&state, _free_views)
        else:
            release_after_failure(&state, _free_views)
    return answer


cdef int check_restriction(
    Function function, abi.TVMFFIObjectHandle handle, int32_t index, int32_t num_args,
    CallState* state, bint is_constructor,
) noexcept:
    """-1 with an exception set if the function must not get what was said to be special."""
    cdef ArgumentRestriction restriction = state.restriction
    cdef bint is_borrowed = (
        restriction == ArgumentRestriction.BORROWED
        or restriction == ArgumentRestriction.BORROWED_READ_ONLY)
    state.restriction = ArgumentRestriction.NONE
    if is_borrowed and (is_constructor or keeps_arguments(handle)):
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
    """Call `function`; `target` takes the object that it returns.  Returns None."""
    cdef abi.TVMFFIAny args[MAX_STACK_ARGS]
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT * MAX_STACK_ARGS]
    if function.chandle == NULL or num_args > MAX_STACK_ARGS:
        return _call_unusual(function, values, num_args, NULL, <PyObject*>target)
    return _call_with_buffers(
        function, values, <int32_t>num_args, NULL, args, temporaries, <PyObject*>target)


cdef inline PyObject* _call_with_nothing_to_pack(
    Function function, PyObject* const* values, abi.TVMFFIAny* args, int32_t num_args
) noexcept:
    """The same with nothing to pack and nothing to release: half of the way is not there."""
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
    begin_call(&state, NULL)
    return _unpack_result(&result, &state)


cdef PyObject* call_packed(
    Function function, abi.TVMFFIAny* args, int32_t num_args, CallState* state
) noexcept:
    cdef abi.TVMFFIObjectHandle handle = function.chandle
    cdef abi.TVMFFIAny result
    cdef int code
    if handle == NULL:
        _refuse_empty()
        return NULL
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
    """The way of functions that nobody has found a signature for."""
    cdef abi.TVMFFIAny args[MAX_STACK_ARGS]
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT * MAX_STACK_ARGS]
    cdef Py_ssize_t num_args = PyVectorcall_NARGS(nargsf)
    cdef Function function = <Function>callable
    if function.chandle == NULL or kwnames != NULL or num_args > MAX_STACK_ARGS:
        return _call_unusual(function, values, num_args, kwnames, NULL)
    if num_args == 0:
        return _call_with_nothing_to_pack(function, values, NULL, 0)
    return _call_with_buffers(function, values, <int32_t>num_args, NULL, args, temporaries, NULL)


cdef PyObject* _call_as_is_known(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """The vectorcall entry where other threads may be changing the way."""
    cdef Vectorcall entry = load_entry(<Function>callable)
    if entry == <Vectorcall>call_by_position:  # the commonest: a jump that needs no address
        return call_by_position(callable, values, nargsf, kwnames)
    return entry(callable, values, nargsf, kwnames)


cdef PyObject* _call_method(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """The vectorcall entry of Method, which goes straight where only the object is passed."""
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
                return _call_with_nothing_to_pack(method, values, &arg, 1)
        elif cls == <PyTypeObject*>Py_None:
            _learn_receiver_class(method, Py_TYPE(values[0]))
    return call_by_position(callable, values, nargsf, kwnames)


cdef void _learn_receiver_class(Method method, PyTypeObject* cls) noexcept:
    """Remember the class if a call has shown that nothing but the handle of its objects is passed.
    """
    cdef const Packer* packer = find_packer(_packers, cls)
    if packer != NULL and packer.pack == <PackFunction>pack_handle:
        Py_INCREF(<object>cls)
        if not set_receiver_class(method, cls):  # another thread was quicker
            Py_DECREF(<object>cls)


cdef PyObject* _call_unusual(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    PyObject* target,
) noexcept:
    """Calls with names or with many arguments, and those that cannot be made at all.

    Names reach Python callables: there the interpreter binds them, with its own texts for what is
    missing, unknown or given twice.  Native functions know them where they have a signature.
    """
    if kwnames != NULL and PyTuple_GET_SIZE(kwnames) == 0:
        kwnames = NULL
    if kwnames != NULL and callable_of(function.chandle) == NULL:
        return _call_by_name(function, values, num_args, kwnames)
    if function.chandle == NULL:
        _refuse_empty()
        return NULL
    if kwnames != NULL:
        num_args += PyTuple_GET_SIZE(kwnames)
    if num_args <= MAX_MANY_ARGS:
        return _call_with_many(function, values, num_args, kwnames, target)
    return _call_on_heap(function, values, num_args, kwnames, target)


cdef PyObject* _call_by_name(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    """A native function that came as a value has not been asked for its signature."""
    if not load_flag(&function.is_resolved) and type(function) is Function:
        if resolve_signature(function) != 0:
            return NULL
        return load_entry(function)(<PyObject*>function, values, <size_t>num_args, kwnames)
    _refuse_keyword(PyTuple_GET_ITEM(kwnames, 0))
    return NULL


cdef PyObject* _call_with_many(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* names,
    PyObject* target,
) noexcept:
    cdef abi.TVMFFIAny args[MAX_MANY_ARGS]
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT * MAX_MANY_ARGS]
    return _call_with_buffers(
        function, values, <int32_t>num_args, names, args, temporaries, target)


cdef PyObject* _call_on_heap(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* names,
    PyObject* target,
) noexcept:
    cdef abi.TVMFFIAny* args
    cdef abi.TVMFFIObject** temporaries
    cdef PyObject* answer = NULL
    args = <abi.TVMFFIAny*>PyMem_Malloc(<size_t>num_args * sizeof(abi.TVMFFIAny) + 1)
    temporaries = <abi.TVMFFIObject**>PyMem_Malloc(
        TEMPORARIES_PER_ARGUMENT * <size_t>num_args * sizeof(void*) + 1)
    if args != NULL and temporaries != NULL:
        answer = _call_with_buffers(
            function, values, <int32_t>num_args, names, args, temporaries, target)
    else:
        PyErr_NoMemory()
    PyMem_Free(args)
    PyMem_Free(temporaries)
    return answer


cdef void _refuse_empty() noexcept:
    set_exception(ValueError("Function is empty: it was never set, or has been moved away"))


cdef void _refuse_keyword(PyObject* name) noexcept:
    set_exception(TypeError(f"__call__() got an unexpected keyword argument '{<object>name}'"))


# ---- the class -----------------------------------------------------------------------------

@cython.binding(False)
@cython.trashcan(True)  # a function may have a function as its attribute, and so on
cdef class Function(CObject):
    """A function that any language can call.

    Calling it converts the arguments, runs the native code with the GIL released (see
    `release_gil`), and converts the result.  Keyword arguments and defaults work for Python
    callables, and for native functions that have a `Signature`.

    ``__name__``, ``__doc__`` and ``inspect.signature`` give those of the Python callable, or what
    the library says about the function.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be converted; the message names function and position.
    Exception
        What the function raised: a native error arrives as the class registered for its kind, a
        Python exception as the very same object.

    Notes
    -----
    Made by `get_global_func`, `convert`, or the functions of a module.

    A function travels in a pickle as its name in the global table, as its module's file and its
    name there, or as the Python callable it stands for; others cannot be pickled.  Copies are the
    function itself.
    """

    def __cinit__(self):
        self.vectorcall = _call_as_is_known
        self.entry = call_by_position
        self.releases_gil = _releases_gil_by_default

    def __call__(self, *args, **kwargs):
        # Reached through `Function.__call__` only: calls of an instance take the pointer above.
        return PyVectorcall_Call(self, args, <PyObject*>kwargs if kwargs else NULL)

    @property
    def release_gil(self) -> bool:
        """Whether other Python threads run while this function does.

        They do, unless the function's signature says *non-blocking*.  Assigning overrides it.
        """
        if not load_flag(&self.is_resolved) and resolve_signature(self) != 0:
            check(-2)
        return load_flag(&self.releases_gil)

    @release_gil.setter
    def release_gil(self, value: bool) -> None:
        cdef bint releases = value
        with cython.critical_section(_wrapper_lock):
            self.chose_gil = True
            store_flag(&self.releases_gil, releases)

    def bind(self, *args, **kwargs):
        """Return a callable without parameters that passes these arguments each time.

        Parameters
        ----------
        *args, **kwargs
            As in a call; defaults are put in.

        Returns
        -------
        BoundCall
            Its call packs nothing: the arguments are kept as native code sees them.

        Notes
        -----
        For loops over the same buffers.  The arguments are kept alive.  Arrays are seen as they
        were: who gives one other memory (``resize``, ``set_``) binds anew.
        """
        return hooks.load_description().bound_call(self, args, kwargs)

    @staticmethod
    def __from_extern_c__(c_symbol, *, keep_alive_object=None) -> Function:
        """Return a function that calls the C function at this address.

        Parameters
        ----------
        c_symbol : int
            Address of a function with the packed calling convention; its first argument is NULL.
        keep_alive_object : object, optional
            Kept alive as long as the function.
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
            Kept alive as long as the function.
        """
        return function_at(
            "mlir_packed_symbol", mlir_packed_symbol, keep_alive_object, call_mlir_packed)

    def __getattr__(self, name):
        # Reached for what neither the instance nor the class has.
        value = None
        if name == "__name__":
            value = _name_of(self)
        elif name == "__signature__" and type(self).__call__ is Function.__call__:
            value = hooks.load_description().signature_of(
                self, callable_object(self.chandle), origin_of(self))
        if value is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return value

    @property
    def __doc__(self):
        """Documentation of the Python callable, or what the library says."""
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
            return hooks.load_description().text_of(self)
        except Exception:  # what describes a function may fail itself
            return "ffi.Function"

    def __reduce__(self):
        handle_of(self)  # an empty one has nothing to send
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
    """A function that binds to the object it is read from, as Python's own functions do."""

    def __cinit__(self):
        self.vectorcall = self.entry = _call_method

    def __get__(self, obj, owner):
        return self if obj is None else PyMethod_New(self, obj)


cdef object wrap_function(abi.TVMFFIObjectHandle owned):
    cdef object function = wrap_object(owned)
    if keeps_gil(owned) and isinstance(function, Function):
        (<Function>function).releases_gil = False
    return function


cdef object _unpack_function(abi.TVMFFIAny* owned, CallState* state):
    return wrap_function(owned.v_obj)


cdef Function new_method(abi.TVMFFIObjectHandle function, bint is_static):
    cdef Function method = Function.__new__(Function) if is_static else Method.__new__(Method)
    abi.TVMFFIObjectIncRef(function)
    method.chandle = function
    return method


# ---- what a function says about itself -----------------------------------------------------

cdef object origin_of(Function function):
    """Where this wrapper or another one of the function was found, or None."""
    return settled_origin(function, None)


cdef object settled_origin(Function function, object origin):
    with cython.critical_section(function):
        if function.origin is None:
            function.origin = note_of(function)
        if function.origin is None:
            function.origin = origin
        return function.origin


cdef object _name_of(Function function):
    origin = origin_of(function)
    if origin is not None:
        return origin if isinstance(origin, str) else origin.name
    name = getattr(callable_object(function.chandle), "__name__", None)
    return name if isinstance(name, str) else None


def _install_functions():
    """Make Function callable without an argument tuple, and known to the tables."""
    cdef Function probe = Function.__new__(Function)
    cdef char* slot = <char*>(&probe.vectorcall if GIL_IS_OPTIONAL else &probe.entry)
    cdef Py_ssize_t offset = <Py_ssize_t>(slot - <char*><PyObject*>probe)
    enable_vectorcall(<PyTypeObject*>Function, offset, False)
    enable_vectorcall(<PyTypeObject*>Method, offset, True)
    read_objects_of(Function, abi.kTVMFFIFunction, abi.kTVMFFIFunction)
    register_class(abi.kTVMFFIFunction, Function)
    add_unpacker(abi.kTVMFFIFunction, _unpack_function)


_install_functions()
