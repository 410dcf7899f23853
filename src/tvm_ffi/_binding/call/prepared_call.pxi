# SPDX-License-Identifier: Apache-2.0
"""Prepared calls: functions whose arguments were packed, checked and owned beforehand.

A `PreparedCall` owns a native prepared call (tvm/ffi/extra/c_prepared.h), which owns the packed
arguments.  There are three paths:

1. `h()` passes the owned arguments.
2. `h(x=value)` (changed_call.pxi) copies the packed arguments to the stack, packs `value` as a
   direct call does, compares it with the slot, and passes the copy.  The slot stays unchanged.
3. `h.x = value` packs a value that outlives calls, and replaces the argument of the slot.

Threads: a call is busy during each path; a second thread, and the called function itself, get
RuntimeError.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject, inquiry, traverseproc, visitproc
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    TEMPORARIES_PER_ARGUMENT, ArgumentRestriction, CallState, Packer, begin_call, get_packer,
    make_owned, refuse_to_keep, release_after_failure, release_temporaries, view_free_list,
)
from tvm_ffi._binding.cpython cimport (
    PyErr_NoMemory, PyErr_Occurred, PyLong_Type, PySequence_Fast_ITEMS, PyTuple_GET_ITEM,
    PyTuple_GET_SIZE, Py_TYPE,
)
from tvm_ffi._binding.interpreter cimport load_flag, store_flag
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, begin_borrowing, check, end_borrowing, handle_of, hooks,
    raise_from_native, release_object, set_exception,
)
from tvm_ffi._binding.tensor cimport own_torch_storage, refresh_stream, wrap_tensor
from tvm_ffi._binding.vectorcall cimport PyVectorcall_Call, PyVectorcall_NARGS, enable_vectorcall

cdef extern from *:
    """
    /* Set the flag `is_busy`; return 1 if it was not set.  The GIL makes load and store atomic. */
    #ifdef Py_GIL_DISABLED
    #define tvm_ffi_enter(cell) (!__atomic_exchange_n(&(cell)->is_busy, 1, __ATOMIC_ACQUIRE))
    #else
    #define tvm_ffi_enter(cell) ((cell)->is_busy ? 0 : ((cell)->is_busy = 1))
    #endif
    #define tvm_ffi_leave(cell) __atomic_store_n(&(cell)->is_busy, 0, __ATOMIC_RELEASE)
    """
    bint enter_call "tvm_ffi_enter"(abi.TVMFFIPreparedCell* cell) noexcept
    void leave_call "tvm_ffi_leave"(abi.TVMFFIPreparedCell* cell) noexcept


@cython.binding(False)
@cython.final
cdef class PreparedCall:
    """A function with its arguments packed, checked and owned; `Function.prepare` returns it.

    ``h()`` runs the function.  Each argument has a slot, ``h.x`` or ``h["x"]`` if the parameter has
    a name, and always ``h[0]``.  ``h(x=value)`` passes another argument in one run; ``h.x = value``
    in all later runs.  The new argument must have the type of the first one, and a tensor its
    dtype, device, shape and layout.

    Raises
    ------
    TypeError, ValueError
        If a new argument differs from the first one in the properties above, or the signature
        refuses it.
    RuntimeError
        If the call is running: on another thread, or because the function runs it again.
    Exception
        If the function fails; see `Function`.

    Notes
    -----
    A prepared call keeps its arguments alive.  It passes the memory that an array had when the slot
    was set: after ``resize`` or ``set_``, set the slot again.

    Use one prepared call per thread; ``copy.copy`` returns another call with the same arguments.
    Prepared calls cannot be pickled, because they contain addresses.
    """

    cdef Vectorcall vectorcall
    cdef Function _function
    cdef ArgumentBinder binder          # argument binder of the function; None without a signature
    cdef tuple names                    # name of each slot; None for a slot without a name
    cdef tuple settable                 # as `names`, without names that the class has as attributes
    cdef list values                    # argument of each slot; None after a change of its address
    cdef abi.TVMFFIObjectHandle handle  # native prepared call, owned; NULL if the call is empty
    cdef abi.TVMFFIPreparedCell* cell   # content of `handle`; NULL if the call is empty
    # The stream and the exchange API that packing the arguments has selected.
    cdef CallState state
    # Index of the argument that selected the stream; unused if there is no stream.
    cdef int32_t stream_index

    def __cinit__(self):
        self.vectorcall = _call
        begin_call(&self.state, NULL, 1)

    cdef int _prepare(self, Function function, tuple args, dict kwargs) except -1:
        cdef abi.TVMFFIObjectHandle handle = handle_of(function)  # ValueError if it is empty
        cdef abi.TVMFFIAny* packed
        cdef Py_ssize_t num_args
        cdef Py_ssize_t num_packed = 0
        values = arguments_in_order(function, args, kwargs)
        num_args = len(values)
        packed = <abi.TVMFFIAny*>PyMem_Calloc(num_args + 1, sizeof(abi.TVMFFIAny))
        if packed == NULL:
            raise MemoryError()
        self._function, self.values = function, list(values)
        self.binder = <ArgumentBinder>load_binder(function)
        self._set_names(num_args)
        try:
            while num_packed < num_args:
                self._pack(<PyObject*>values[num_packed], <int32_t>num_packed, &self.state,
                           &packed[num_packed])
                num_packed += 1
            self._create(handle, packed, _checks_of(function, self.binder))
        finally:
            while num_packed > 0:
                num_packed -= 1
                _release(&packed[num_packed])
            PyMem_Free(packed)
        return 0

    cdef int _set_names(self, Py_ssize_t num_args) except -1:
        names = [name_of_argument(self.binder, i, num_args) for i in range(num_args)]
        self.names = tuple(names)
        self.settable = tuple([
            None if name is None or hasattr(PreparedCall, name) else name for name in names])
        return 0

    cdef int _create(
        self, abi.TVMFFIObjectHandle function, const abi.TVMFFIAny* packed,
        abi.TVMFFIObjectHandle checks,
    ) except -1:
        check(abi.TVMFFIPreparedCreate(
            function, checks, packed, <int32_t>len(self.values), &self.handle))
        self.cell = abi.TVMFFIPreparedGetCellPtr(self.handle)
        # The wrapper owns the function: the garbage collector finds cycles through a callback only
        # if the callback has one owner.
        abi.TVMFFIObjectDecRef(function)
        self._set_environment()
        return 0

    cdef void _set_environment(self) noexcept:
        """Copy the device and the allocator of `state`, for runs of several calls."""
        self.cell.device.device_type = <abi.DLDeviceType>self.state.stream_device_type
        self.cell.device.device_id = self.state.stream_device_id
        if self.state.exchange_api != NULL:
            self.cell.allocator = self.state.exchange_api.managed_tensor_allocator

    cdef int _pack(
        self, PyObject* value, int32_t index, CallState* state, abi.TVMFFIAny* out
    ) except -1:
        """Pack an argument of the slot `index` as an owned value."""
        cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT]
        cdef const Packer* packer = get_packer(value)
        cdef bint had_stream = state.stream_device_type != 0
        cdef int code = -1
        state.temporaries, state.num_temporaries = temporaries, 0
        state.recent_packer = packer
        if packer != NULL:
            code = packer.pack(value, out, state, packer)
        if code == 0 and state.restriction != ArgumentRestriction.NONE:
            code = _check_restriction(self, index, state)
        if code == 0 and out.type_index == abi.kTVMFFIDLTensorPtr:
            code = refuse_to_keep()
        if code == 0 and state.exchange_api != NULL:
            code = _own_torch_storage(value, out)
        if code == 0:
            code = make_owned(out)
        if state.num_temporaries != 0:
            release_after_failure(state, view_free_list())
        state.temporaries, state.num_temporaries = NULL, 0
        if code != 0:
            self._explain(index)
            check(-2)
        if state.stream_device_type != 0 and not had_stream:
            self.stream_index = index
        _make_float(self.binder, index, out)
        return 0

    cdef int _explain(self, int32_t index) noexcept:
        """Add the function and the parameter to the exception that is set.  Returns -1."""
        cdef tuple values = tuple(self.values)
        return explain_argument(
            self._function, self.names[index], PySequence_Fast_ITEMS(values), index,
            <int32_t>len(values), NULL)

    # ---- slots -----------------------------------------------------------------------------

    cdef Py_ssize_t _index_of(self, object slot) except -1:
        cdef Py_ssize_t index
        if isinstance(slot, str):
            if slot in self.names:
                return self.names.index(slot)
            raise KeyError(_unknown_slot(self, slot))
        index = slot
        if not 0 <= index < len(self.names):
            raise IndexError(f"{self!r} has no slot {index}; it has {len(self.names)} slots")
        return index

    cdef object _value_of(self, Py_ssize_t index):
        if self.values[index] is None and self.cell.args[index].type_index == abi.kTVMFFITensor:
            abi.TVMFFIObjectIncRef(self.cell.args[index].v_obj)
            self.values[index] = wrap_tensor(self.cell.args[index].v_obj)
        return self.values[index]

    cdef int _set(self, int32_t index, object value) except -1:
        """Replace the argument of one slot."""
        cdef abi.TVMFFIAny packed
        cdef CallState state = self.state
        value = _converted(self.binder, index, value)
        self._pack(<PyObject*>value, index, &state, &packed)
        try:
            if not abi.TVMFFIPreparedAccepts(&self.cell.args[index], &packed):
                _refuse_facts(self, index, &packed)
            if not enter_call(self.cell):
                _refuse_busy()
                check(-2)
            check(_exchange(self.cell, index, &packed))
            self.state = state
            self._set_environment()
            self.values[index] = value
        finally:
            _release(&packed)  # now the previous argument
        return 0

    cdef int _replace(self, dict changes) except -1:
        """Replace the arguments of slots; `changes` maps indices to values.

        An int for the slot of a tensor is the address of its elements.
        """
        cdef Py_ssize_t count = len(changes)
        cdef Py_ssize_t num_packed = 0
        cdef CallState state = self.state
        cdef abi.TVMFFIAny* packed = <abi.TVMFFIAny*>PyMem_Calloc(
            count + 1, sizeof(abi.TVMFFIAny) + sizeof(int32_t))
        cdef int32_t* slots = <int32_t*>(packed + count)
        cdef dict kept = {}
        cdef int32_t index
        cdef int code
        if packed == NULL:
            raise MemoryError()
        try:
            for index, value in changes.items():
                slots[num_packed] = index
                if isinstance(value, int) and _is_tensor(&self.cell.args[index]):
                    packed[num_packed].type_index = abi.kTVMFFIOpaquePtr
                    packed[num_packed].v_ptr = <void*><uintptr_t>value
                    kept[index] = None
                else:
                    value = kept[index] = _converted(self.binder, index, value)
                    self._pack(<PyObject*>value, index, &state, &packed[num_packed])
                    if not abi.TVMFFIPreparedAccepts(&self.cell.args[index], &packed[num_packed]):
                        num_packed += 1
                        _refuse_facts(self, index, &packed[num_packed - 1])
                num_packed += 1
            with nogil:  # releases the previous arguments
                code = abi.TVMFFIPreparedUpdate(
                    self.handle, slots, packed, <int32_t>num_packed)
            check(code)
        finally:
            while num_packed > 0:
                num_packed -= 1
                _release(&packed[num_packed])
            PyMem_Free(packed)
        self.state = state
        self._set_environment()
        for index, value in kept.items():
            self.values[index] = value
        return 0

    def __getattr__(self, str name):
        # Python calls this only for names that the class does not have.
        if self.cell == NULL or name not in self.names:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._value_of(self._index_of(name))

    def __setattr__(self, str name, value):
        cdef int32_t index
        _require(self)
        for index in range(self.cell.num_args):
            if PyTuple_GET_ITEM(<PyObject*>self.settable, index) == <PyObject*>name:
                self._set(index, value)
                return
        if hasattr(type(self), name):
            raise AttributeError(
                f"{name!r} is an attribute of PreparedCall; use h[{name!r}] = value for the slot")
        if name not in self.names:
            raise AttributeError(_unknown_slot(self, name))
        self._set(<int32_t>self._index_of(name), value)

    def __getitem__(self, slot):
        _require(self)
        return self._value_of(self._index_of(slot))

    def __setitem__(self, slot, value):
        _require(self)
        self._set(<int32_t>self._index_of(slot), value)

    def update(self, slots=None, /, **named):
        """Replace the arguments of several slots, or of none if one of them is refused.

        Parameters
        ----------
        slots : dict, optional
            New arguments by name or index of the slot.
        **named
            New arguments by name.  For a tensor, an int is the address of the first element, whose
            memory the caller keeps valid.
        """
        _require(self)
        self._replace(
            {self._index_of(slot): value for slot, value in {**(slots or {}), **named}.items()})

    @property
    def function(self) -> Function:
        """The function that the call runs."""
        return self._function

    def __call__(self, *args, **slots):
        return PyVectorcall_Call(self, args, <PyObject*>slots if slots else NULL)

    def __repr__(self):
        if self.cell == NULL:
            return "<empty prepared call>"
        return f"<prepared call of {self._function!r} with {self.cell.num_args} arguments>"

    def __copy__(self):
        cdef PreparedCall other = PreparedCall.__new__(PreparedCall)
        _require(self)
        other._function, other.binder = self._function, self.binder
        other.names, other.settable = self.names, self.settable
        other.values, other.state, other.stream_index = (
            list(self.values), self.state, self.stream_index)
        other._create(self.cell.function, self.cell.args, self.cell.checks)
        return other

    def __reduce__(self):
        raise TypeError(
            "a prepared call cannot be pickled, because it contains addresses; pickle the function "
            "and prepare the call again")

    cdef void _empty(self) noexcept:
        cdef abi.TVMFFIObjectHandle handle = self.handle
        if handle != NULL:
            self.cell.function = NULL  # not owned, see `_create`
            self.handle, self.cell = NULL, NULL
            release_object(handle)

    def __dealloc__(self):
        self._empty()


def prepared_call(Function function not None, tuple args not None, dict kwargs not None):
    """Return a new prepared call; implements `Function.prepare`."""
    cdef PreparedCall call = PreparedCall.__new__(PreparedCall)
    call._prepare(function, args, kwargs)
    return call


# ---- helpers -------------------------------------------------------------------------------

cdef int _require(PreparedCall call) except -1:
    if call.cell == NULL:
        raise ValueError("PreparedCall is empty; create prepared calls with `Function.prepare`")
    if call._function.chandle != call.cell.function:
        _set_empty_error()
        check(-2)
    return 0


cdef void _release(abi.TVMFFIAny* owned) noexcept:
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        release_object(owned.v_obj)


cdef int _exchange(abi.TVMFFIPreparedCell* cell, int32_t index, abi.TVMFFIAny* packed) noexcept:
    """Exchange the argument of a slot with `packed`, unless the checks fail; end the busy state.

    Returns the code of the checks.
    """
    cdef abi.TVMFFIAny previous = cell.args[index]
    cdef abi.TVMFFIAny result
    cdef int code = 0
    result.type_index, result.zero_padding, result.v_int64 = abi.kTVMFFINone, 0, 0
    cell.args[index] = packed[0]
    if cell.checks != NULL:
        code = abi.TVMFFIFunctionGetCellPtr(cell.checks).safe_call(
            cell.checks, cell.args, cell.num_args, &result)
    if code != 0:
        cell.args[index] = previous
    else:
        packed[0] = previous
    leave_call(cell)
    return code


cdef bint _is_tensor(const abi.TVMFFIAny* argument) noexcept:
    return argument.type_index == abi.kTVMFFITensor


cdef str _unknown_slot(PreparedCall call, str name):
    names = ", ".join([slot for slot in call.names if slot is not None])
    if not names:
        return (f"no slot is named {name!r}: the function has no signature; use the index, such as "
                "h[0] = value")
    return f"no slot is named {name!r}; the slots are {names}"


cdef abi.TVMFFIObjectHandle _checks_of(Function function, ArgumentBinder binder) except? NULL:
    """Return the native function that checks the arguments, borrowed from the binder; or NULL.

    A function that checks itself in each run is also checked when the call is prepared.
    """
    if binder is None or function.is_unchecked:
        return NULL
    if binder.checks != NULL:
        return binder.checks
    if not load_flag(&binder.has_preparation_checks):
        _store_preparation_checks(
            binder, hooks.load_description().check_function(binder.signature))
    return binder.preparation_checks


cdef int _store_preparation_checks(ArgumentBinder binder, CObject checks) except -1:
    with cython.critical_section(binder):
        if not binder.has_preparation_checks:
            if checks is not None:
                binder.preparation_checks = handle_of(checks)
                abi.TVMFFIObjectIncRef(binder.preparation_checks)
            store_flag(&binder.has_preparation_checks, True)
    return 0


cdef object _converted(ArgumentBinder binder, Py_ssize_t index, object value):
    """Return a new argument of the slot, converted to the declared type of its parameter."""
    cdef PyObject* converted
    cdef int i
    if binder is None or binder.is_variadic:
        return value
    for i in range(binder.num_conversions):
        if binder.conversions[i].index != index:
            continue
        if Py_TYPE(<PyObject*>value) == binder.conversions[i].accepted_class:
            continue
        converted = _convert_argument(binder, &binder.conversions[i], <PyObject*>value)
        if converted != NULL:
            value = <object>converted
            Py_DECREF(value)
        elif PyErr_Occurred() != NULL:
            explain_conversion(binder.signature, binder.names[index])
            check(-2)
    return value


cdef inline void _make_float(
    ArgumentBinder binder, Py_ssize_t index, abi.TVMFFIAny* packed
) noexcept:
    """Same as `make_floats`, for one argument."""
    cdef int i
    if packed.type_index != abi.kTVMFFIInt and packed.type_index != abi.kTVMFFIBool:
        return
    if binder is None:
        return
    for i in range(binder.num_conversions):
        if binder.conversions[i].index == index and binder.conversions[i].kind == TO_FLOAT:
            packed.type_index = abi.kTVMFFIFloat
            packed.v_float64 = <double>packed.v_int64


cdef int _check_restriction(PreparedCall call, int32_t index, CallState* state) noexcept:
    if state.restriction == ArgumentRestriction.MOVED:
        state.restriction = ArgumentRestriction.NONE
        set_exception(TypeError(
            "a prepared call cannot move an object into the function, because the first run would "
            "consume it; pass the object itself"))
        return -1
    return check_restriction(
        call._function, call._function.chandle, index, <int32_t>len(call.values), state, False)


cdef int _refuse_facts(PreparedCall call, int32_t index, const abi.TVMFFIAny* packed) except -1:
    """Raise the error of an argument that has not the facts of its slot."""
    if abi.TVMFFIPreparedUpdate(call.handle, &index, packed, 1) == 0:
        raise SystemError("an argument was refused and accepted")
    raise_from_native(-1)
    call._explain(index)
    check(-2)
    return 0


# ---- runs ----------------------------------------------------------------------------------

cdef PyObject* _call(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    cdef PreparedCall call = <PreparedCall>callable
    cdef abi.TVMFFIPreparedCell* cell = call.cell
    cdef PyObject* result = NULL
    if (
        cell == NULL
        or PyVectorcall_NARGS(nargsf) != 0
        or call._function.chandle != cell.function
    ):
        return _cold_refuse(call)
    if not enter_call(cell):
        return _cold_refuse_busy()
    if kwnames != NULL and PyTuple_GET_SIZE(kwnames) != 0:
        result = _call_changed(call, values, kwnames)
    elif call.state.stream_device_type == 0 or _cold_renew_stream(call) == 0:
        result = call_packed(
            call._function, cell.callee, cell.args, cell.num_args, &call.state)
    leave_call(cell)
    return result


cdef PyObject* _refuse(PreparedCall call) noexcept:
    try:
        _require(call)
        raise TypeError(
            "a prepared call takes no positional arguments: `Function.prepare` has packed all of "
            "them; pass other arguments by name, h(x=value), or set a slot, h[0] = value")
    except BaseException as error:
        set_exception(error)
    return NULL


cdef PyObject* _refuse_busy() noexcept:
    set_exception(RuntimeError(
        "the prepared call is running: on another thread, or it runs or updates itself; prepare "
        "one call per thread (`copy.copy` copies a prepared call)"))
    return NULL


cdef int _renew_stream(PreparedCall call) except -1:
    """Write the framework's current stream, which may have changed since the last run."""
    cdef CallState* state = &call.state
    if state.exchange_api == NULL:
        return refresh_stream(call._value_of(call.stream_index), state)
    if state.exchange_api.current_work_stream != NULL:
        state.exchange_api.current_work_stream(
            <abi.DLDeviceType>state.stream_device_type, state.stream_device_id, &state.stream)
    return 0


# Rare functions as C functions that return -1 or NULL with an exception set.  The pointers also
# prevent the C compiler from inlining the functions.
cdef int (*_own_torch_storage)(PyObject* value, const abi.TVMFFIAny* packed) noexcept
_own_torch_storage = <int (*)(PyObject*, const abi.TVMFFIAny*) noexcept>own_torch_storage
cdef int (*_cold_renew_stream)(PreparedCall call) noexcept
_cold_renew_stream = <int (*)(PreparedCall) noexcept>_renew_stream
cdef PyObject* (*_cold_refuse)(PreparedCall call) noexcept
_cold_refuse = _refuse
cdef PyObject* (*_cold_refuse_busy)() noexcept
_cold_refuse_busy = _refuse_busy
cdef int32_t (*_cold_find_slot)(PreparedCall call, PyObject* name) noexcept
_cold_find_slot = _find_slot
cdef int (*_cold_refuse_change)(
    PreparedCall call, int32_t index, const abi.TVMFFIAny* arg) noexcept
_cold_refuse_change = _refuse_change


def _install_prepared_calls():
    """Enable the vectorcall protocol for PreparedCall, at the offset of its field `vectorcall`."""
    cdef PreparedCall probe = PreparedCall.__new__(PreparedCall)
    enable_vectorcall(
        <PyTypeObject*>PreparedCall, <char*>&probe.vectorcall - <char*><PyObject*>probe, False)


# ---- garbage collection, see call/gc_traverse.pxi ------------------------------------------------

cdef traverseproc _traverse_fields = NULL
cdef _Clear _clear_fields = NULL


cdef int _traverse(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = _traverse_fields(self, visit, arg)
    cdef abi.TVMFFIPreparedCell* cell = (<PreparedCall>self).cell
    cdef int32_t i
    for i in range(0 if cell == NULL else cell.num_args):
        if stop != 0:
            break
        if cell.args[i].type_index >= abi.kTVMFFIStaticObjectBegin:
            stop = visit_as_only_owner(cell.args[i].v_obj, visit, arg)
    return stop


cdef int _clear(PyObject* self) noexcept:
    # Empty the call first, because the destructors of the fields may run Python code.
    (<PreparedCall>self)._empty()
    return _clear_fields(self)


_traverse_fields = (<PyTypeObject*>PreparedCall).tp_traverse
_clear_fields = <_Clear>(<PyTypeObject*>PreparedCall).tp_clear
(<PyTypeObject*>PreparedCall).tp_traverse = <traverseproc>_traverse
(<PyTypeObject*>PreparedCall).tp_clear = <inquiry>_clear
_install_prepared_calls()
