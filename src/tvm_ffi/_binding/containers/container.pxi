# SPDX-License-Identifier: Apache-2.0
"""Conversion of Python sequences and dicts to native containers by runtime functions."""

from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    TEMPORARIES_PER_ARGUMENT, CallState, PackFunction, Packer, Precedence, add_rule, add_unpacker,
    begin_conversion, get_packer, pack_object, pack_temporary,
    release_temporaries, view_free_list,
)
from tvm_ffi._binding.cpython cimport (
    PyBool_Type, PyDict_CheckExact, PyErr_NoMemory, PyFloat_Type, PyList_CheckExact,
    PyLong_AsLongLongAndOverflow, PyLong_Type, PySequence_Fast_ITEMS, PySequence_Tuple,
    PyUnicode_Type, Py_None, Py_TYPE, is_subtype, next_item,
)
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, Guard, WrapperTable, add_nonblocking_type, begin_borrowing, begin_guard,
    check, end_borrowing, end_guard, handle_of, live_wrapper, object_locks, replace_handle,
    wrap_again, wrap_object, wrapper_table,
)
from tvm_ffi._binding.tensor cimport choose_stream

from tvm_ffi._binding.call cimport explain_place

from tvm_ffi._binding.call import runtime_function

cdef WrapperTable* _wrappers = wrapper_table()

cdef extern from *:
    """
    #define TVM_FFI_MAX_NESTING 1000
    /* Nesting depth up to which the free space on the stack is not checked. */
    #define TVM_FFI_SAFE_NESTING 16

    /* Depth of nested containers that this thread is converting.  Python's recursion limit cannot
     * replace this count: it includes other calls, and in 3.12 and 3.13 exceeds a small stack. */
    static _Thread_local int tvm_ffi_nesting = 0;

    static void tvm_ffi_leave_container(void) {
      --tvm_ffi_nesting;
      Py_LeaveRecursiveCall();
    }

    /* Return 1 if an int fits int64_t; usually a single comparison. */
    static inline int tvm_ffi_is_within_64_bits(PyObject* number) {
      int overflow = 0;
    #if PY_VERSION_HEX >= 0x030C0000
      if (PyUnstable_Long_IsCompact((PyLongObject*)number)) return 1;
    #else
      if (Py_SIZE(number) >= -2 && Py_SIZE(number) <= 2) return 1; /* at most 2 digits of 30 bits */
    #endif
      PyLong_AsLongLongAndOverflow(number, &overflow);
      return overflow == 0;
    }

    /* Call a runtime function without arguments that returns a bool. */
    static int tvm_ffi_call_predicate(TVMFFIObjectHandle predicate) {
      TVMFFIAny result = {0};
      return TVMFFIFunctionGetCellPtr(predicate)->safe_call(predicate, NULL, 0, &result) == 0 &&
             result.v_int64 != 0;
    }

    static int tvm_ffi_enter_container(TVMFFIObjectHandle stack_is_low) {
      int limit = TVM_FFI_MAX_NESTING;
      if (Py_EnterRecursiveCall(" while converting a container") != 0) return -1;
      if (++tvm_ffi_nesting <= TVM_FFI_SAFE_NESTING) return 0;
      if (tvm_ffi_call_predicate(stack_is_low)) limit = tvm_ffi_nesting - 1;
      if (tvm_ffi_nesting <= limit) return 0;
      tvm_ffi_leave_container();
      PyErr_Format(PyExc_RecursionError, "nesting deeper than %d while converting a container%s",
                   limit, limit < TVM_FFI_MAX_NESTING ? ", on the small stack of this thread" : "");
      return -1;
    }
    """
    bint is_within_64_bits "tvm_ffi_is_within_64_bits"(PyObject* number) noexcept
    bint call_predicate "tvm_ffi_call_predicate"(abi.TVMFFIObjectHandle predicate) noexcept
    # Count one more level of nested containers and return 0.  Fails: -1 with RecursionError set if
    # the nesting is too deep.
    int enter_container "tvm_ffi_enter_container"(abi.TVMFFIObjectHandle stack_is_low) noexcept
    void leave_container "tvm_ffi_leave_container"() noexcept

cdef PyObject** _locks = object_locks()
cdef CObject _make_array = runtime_function("ffi.Array")
cdef CObject _make_map = runtime_function("ffi.Map")
cdef CObject _stack_is_low = runtime_function("pytvmffi.StackIsLow")

cdef enum:
    # Maximum number of items whose buffers are on the stack; larger buffers are on the heap.
    MAX_STACK_ITEMS = 16
    # Maximum number of containers searched for a device; needed because a container may contain
    # itself.
    MAX_SEARCHED = 1024
    # Maximum number of elements inspected to decide if a container is destroyed with the GIL held.
    # Inspecting more elements would cost as much as releasing the GIL.
    MAX_INSPECTED = 16


cdef class CContainerBase(CObject):
    """Base of Array, List, Map and Dict."""


# ---- construction of containers ------------------------------------------------------------

cdef int _build(
    CObject constructor, CContainerBase owner, PyObject** items, Py_ssize_t count,
    CallState* outer, abi.TVMFFIAny* result,
) except -1:
    """Call the runtime function `constructor` with the items as arguments.

    Sets `result` to a new reference to the container.  Stores the stream and exchange API of the
    tensors among the items in `outer`.  `owner` is the wrapper that messages of errors name; None
    for a container in an argument, where messages name the argument.
    """
    cdef abi.TVMFFIAny few_args[MAX_STACK_ITEMS]
    cdef abi.TVMFFIObject* few_temporaries[TEMPORARIES_PER_ARGUMENT * MAX_STACK_ITEMS]
    cdef abi.TVMFFIAny* args = few_args
    cdef abi.TVMFFIObject** temporaries = few_temporaries
    cdef int code = -2
    if count <= MAX_STACK_ITEMS:
        return check(
            _build_in(constructor, owner, items, count, args, temporaries, outer, result))
    args = <abi.TVMFFIAny*>malloc(count * sizeof(abi.TVMFFIAny))
    temporaries = <abi.TVMFFIObject**>malloc(
        TEMPORARIES_PER_ARGUMENT * count * sizeof(void*))
    if args != NULL and temporaries != NULL and count <= 0x7FFFFFFF:
        code = _build_in(constructor, owner, items, count, args, temporaries, outer, result)
    else:
        PyErr_NoMemory()
    free(temporaries)
    free(args)
    return check(code)


cdef int _build_in(
    CObject constructor, CContainerBase owner, PyObject** items, Py_ssize_t count,
    abi.TVMFFIAny* args, abi.TVMFFIObject** temporaries, CallState* outer, abi.TVMFFIAny* result,
) noexcept:
    """Same as `_build`, but with the caller's buffers.  Return an error code for `check`."""
    cdef Borrowing borrowing
    cdef Borrowing** borrowings
    cdef CallState state
    cdef Py_ssize_t num_packed
    cdef int code = -2
    begin_conversion(&state, temporaries, count)
    _share_stream(&state, outer)
    borrowings = begin_borrowing(&borrowing, items, count)
    num_packed = _pack_items(items, count, args, &state)
    if num_packed == count:
        result.type_index = abi.kTVMFFINone
        result.zero_padding = 0
        result.v_int64 = 0
        code = abi.TVMFFIFunctionCall(constructor.chandle, args, <int32_t>count, result)
    elif owner is not None:
        _explain_item(owner, items, num_packed)
    end_borrowing(borrowings, &borrowing)
    if code == 0:
        _merge_state(outer, &state)
    release_temporaries(&state, view_free_list())
    return code


cdef void _explain_item(
    CContainerBase owner, PyObject** items, Py_ssize_t position
) noexcept:
    """Add the place of an item to the exception that is set: ``Array[1]``, ``Map['key']``."""
    cdef object place = position
    cdef str template = "{0}[{1!a:.60}]"
    if isinstance(owner, MappingBase):
        place = <object>items[position & ~1]
        if position & 1 == 0:
            template = _KEY_PLACE
    elif type(owner) is ListBase:  # a temporary list of values, which a List gets
        template = "item {1} of the values for a List"
    explain_place(template, type(owner), "__name__", place)


cdef Py_ssize_t _pack_items(
    PyObject** items, Py_ssize_t count, abi.TVMFFIAny* args, CallState* state
) noexcept:
    """Convert Python items to the argument array `args`; return `count`.

    Fails: the position of the item that failed, with a Python exception set.
    """
    cdef const Packer* packer
    cdef Py_ssize_t i, num_packed = count
    cdef int overflow = 0
    cdef bint is_guarded = False  # True after enter_container was called, which ints do not need
    for i in range(count):
        if Py_TYPE(items[i]) == &PyLong_Type:  # fast path for int, the most common type
            args[i].type_index = abi.kTVMFFIInt
            args[i].zero_padding = 0
            args[i].v_int64 = PyLong_AsLongLongAndOverflow(items[i], &overflow)
            if overflow == 0:
                continue
        if not is_guarded:
            if enter_container(_stack_is_low.chandle) != 0:
                return i
            is_guarded = True
        packer = get_packer(items[i])
        if packer == NULL or packer.pack(items[i], &args[i], state, packer) != 0:
            num_packed = i
            break
    if is_guarded:
        leave_container()
    return num_packed


cdef inline void _share_stream(CallState* to, const CallState* source) noexcept:
    to.stream_device_type = source.stream_device_type
    to.stream_device_id = source.stream_device_id
    to.stream = source.stream


cdef void _merge_state(CallState* outer, const CallState* inner) noexcept:
    if outer.exchange_api == NULL:
        outer.exchange_api = inner.exchange_api
    _share_stream(outer, inner)  # `inner` began with a copy of the stream of `outer`


cdef int _build_sequence(
    CObject constructor, CContainerBase owner, object items, CallState* outer,
    abi.TVMFFIAny* result,
) except -1:
    cdef tuple copied
    if (
        not GIL_IS_OPTIONAL and PyList_CheckExact(items)
        and _convert_without_python(PySequence_Fast_ITEMS(items), len(<list>items))
    ):
        return _build(
            constructor, owner, PySequence_Fast_ITEMS(items), len(<list>items), outer, result)
    # Copy the items, because conversions, or other threads in free-threaded Python, may change the
    # list.
    copied = PySequence_Tuple(items)
    return _build(
        constructor, owner, PySequence_Fast_ITEMS(copied), len(copied), outer, result)


cdef bint _convert_without_python(PyObject** items, Py_ssize_t count) noexcept:
    """Return True if converting the items runs no Python code and creates no Python object.

    Creating an object may start a garbage collection, whose callbacks run Python code.
    """
    cdef PyTypeObject* cls
    cdef Py_ssize_t i
    for i in range(count):
        cls = Py_TYPE(items[i])
        if not (
            (cls == &PyLong_Type and is_within_64_bits(items[i]))
            or cls == &PyUnicode_Type or cls == &PyFloat_Type or cls == &PyBool_Type
            or items[i] == Py_None
        ):
            return False
    return True


cdef int _build_mapping(
    CObject constructor, CContainerBase owner, object mapping, CallState* outer,
    abi.TVMFFIAny* result,
) except -1:
    cdef PyObject* stack_items[MAX_STACK_ITEMS]
    cdef PyObject* key = NULL
    cdef PyObject* value = NULL
    cdef Py_ssize_t count = 0, position = 0
    cdef tuple items
    if (
        not GIL_IS_OPTIONAL and PyDict_CheckExact(mapping)
        and 2 * len(<dict>mapping) <= MAX_STACK_ITEMS
    ):
        while next_item(<PyObject*>mapping, &position, &key, &value):
            stack_items[count], stack_items[count + 1] = key, value
            count += 2
        if _convert_without_python(stack_items, count):
            return _build(constructor, owner, stack_items, count, outer, result)
    items = _flatten_mapping(mapping)
    return _build(constructor, owner, PySequence_Fast_ITEMS(items), len(items), outer, result)


cdef tuple _flatten_mapping(object mapping):
    """Return a copy of a mapping as a tuple of alternating keys and values.

    The result is not a list, because any code can find a list through `gc.get_objects` and clear it
    while its items are borrowed.
    """
    cdef list pairs = []
    if not GIL_IS_OPTIONAL and PyDict_CheckExact(mapping):
        return _flatten_dict(mapping)
    for first, second in list(mapping.items()):  # raises an exception unless each item is a pair
        pairs += (first, second)
    return tuple(pairs)


cdef tuple _flatten_dict(dict mapping):
    cdef PyObject* key = NULL
    cdef PyObject* value = NULL
    cdef Py_ssize_t count = 0, position = 0
    cdef tuple items = ()
    # The allocation may run Python code that changes the dict.
    while len(items) != 2 * len(mapping):
        items = PyTuple_New(2 * len(mapping))
    while next_item(<PyObject*>mapping, &position, &key, &value):
        Py_INCREF(<object>key)  # PyTuple_SET_ITEM consumes both references
        Py_INCREF(<object>value)
        PyTuple_SET_ITEM(items, count, <object>key)
        PyTuple_SET_ITEM(items, count + 1, <object>value)
        count += 2
    return items


cdef int _set_container(
    CContainerBase self, abi.TVMFFIObjectHandle made, CallState* state
) except -1:
    """Set the native container and the exchange API of a wrapper.  Consumes the handle."""
    replace_handle(self, made)
    self.exchange_api = state.exchange_api
    return 0


cdef int fill_from_sequence(CContainerBase self, CObject constructor, object items) except -1:
    cdef CallState state
    cdef abi.TVMFFIAny made
    begin_conversion(&state, NULL, 0)
    _build_sequence(constructor, self, items, &state, &made)
    return _set_container(self, made.v_obj, &state)


cdef int fill_from_mapping(CContainerBase self, CObject constructor, object mapping) except -1:
    cdef CallState state
    cdef abi.TVMFFIAny made
    begin_conversion(&state, NULL, 0)
    _build_mapping(constructor, self, mapping, &state, &made)
    return _set_container(self, made.v_obj, &state)


# ---- conversion rules and unpackers --------------------------------------------------------

cdef int _pack_sequence(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef abi.TVMFFIAny result
    _build_sequence(_make_array, None, <object>value, state, &result)
    return pack_temporary(state, out, abi.kTVMFFIArray, result.v_obj)


cdef int _pack_mapping(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef abi.TVMFFIAny result
    _build_mapping(_make_map, None, <object>value, state, &result)
    return pack_temporary(state, out, abi.kTVMFFIMap, result.v_obj)


cdef int _pack_container(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef CContainerBase container = <CContainerBase>value
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>handle_of(container)
    cdef int64_t budget = MAX_SEARCHED
    cdef abi.DLDevice device
    if container.exchange_api != NULL:
        if state.exchange_api == NULL:
            state.exchange_api = container.exchange_api
        if state.stream_device_type == 0 and _find_device(handle, &budget, &device):
            if choose_stream(state, container.exchange_api, device) != 0:
                return -1
            # Read the handle again, because the framework may have run Python code that replaced
            # it.
            handle = <abi.TVMFFIObject*>handle_of(container)
    return pack_object(out, handle.type_index, handle)


cdef bint _find_device(
    abi.TVMFFIObjectHandle handle, int64_t* budget, abi.DLDevice* out
) noexcept:
    """Store the device of the first tensor that is not on the CPU; return False without one.

    The search includes nested containers.
    """
    cdef int32_t index = (<abi.TVMFFIObject*>handle).type_index
    cdef bint is_guarded = needs_guard(handle)
    cdef bint is_found = False
    cdef Guard guard
    if index == abi.kTVMFFITensor:
        out[0] = abi.TVMFFITensorGetDLTensorPtr(handle).device
        return out.device_type != abi.kDLCPU
    if is_guarded:
        begin_guard(&guard, _locks, handle)
    if index == abi.kTVMFFIArray or index == abi.kTVMFFIList:
        is_found = _find_device_in_sequence(seq_cell(handle), budget, out)
    elif index == abi.kTVMFFIMap or index == abi.kTVMFFIDict:
        is_found = _find_device_in_mapping(map_cell(handle), budget, out)
    if is_guarded:
        end_guard(&guard)
    return is_found


# In free-threaded Python, the container may change after each element, because beginning the guard
# (lock) of a nested container suspends the guard of the outer container.

cdef bint _find_device_in_sequence(
    const SeqCell* sequence, int64_t* budget, abi.DLDevice* out
) noexcept:
    cdef int64_t position = 0
    while position < sequence.size:
        if _find_device_in(&sequence.data[position], budget, out):
            return True
        position += 1
    return False


cdef bint _find_device_in_mapping(
    const MapCell* mapping, int64_t* budget, abi.DLDevice* out
) noexcept:
    cdef uint64_t _position, slot = first_slot(mapping)
    cdef Pair* pair
    for _position in range(mapping.size):
        pair = next_pair(mapping, &slot)
        if pair == NULL:
            break
        if _find_device_in(&pair.value, budget, out):
            return True
    return False


cdef bint _find_device_in(
    const abi.TVMFFIAny* element, int64_t* budget, abi.DLDevice* out
) noexcept:
    cdef int32_t index = element.type_index
    cdef abi.TVMFFIAny owned
    cdef bint is_found
    if index < abi.kTVMFFIStaticObjectBegin:
        return False
    if index in (abi.kTVMFFIArray, abi.kTVMFFIList, abi.kTVMFFIMap, abi.kTVMFFIDict):
        if budget[0] <= 0 or call_predicate(_stack_is_low.chandle):
            return False
        budget[0] -= 1
    if not GIL_IS_OPTIONAL:
        return _find_device(element.v_obj, budget, out)
    take_element(element, &owned)
    is_found = _find_device(owned.v_obj, budget, out)
    release_element(&owned)
    return is_found


cdef bint _native_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, CContainerBase):
        return False
    packer.pack = <PackFunction>_pack_container
    return True


cdef bint _python_rule(type cls, object value, Packer* packer) except -1:
    if issubclass(cls, (tuple, list)):
        packer.pack = <PackFunction>_pack_sequence
    elif issubclass(cls, dict):
        packer.pack = <PackFunction>_pack_mapping
    else:
        return False
    return True


cdef object _unpack_container(abi.TVMFFIAny* owned, CallState* state):
    cdef const abi.DLPackExchangeAPI* api = NULL if state == NULL else state.exchange_api
    cdef PyObject* live = live_wrapper(_wrappers, owned.v_obj)
    cdef object container
    if live == NULL or (
        is_subtype(Py_TYPE(live), <PyTypeObject*>CContainerBase)
        and (<CContainerBase>live).exchange_api == api
    ):
        container = wrap_object(owned.v_obj)
    else:  # the tensors in the new wrapper have another framework than those in the live wrapper
        container = wrap_again(owned.v_obj)
    if api != NULL and isinstance(container, CContainerBase):
        (<CContainerBase>container).exchange_api = api
    return container


# ---- destruction of containers ---------------------------------------------------------------

cdef inline bint _is_plain_element(const abi.TVMFFIAny* element) noexcept:
    return element.type_index < abi.kTVMFFIStaticObjectBegin or element.type_index in (
        abi.kTVMFFIStr, abi.kTVMFFIBytes, abi.kTVMFFIShape)


cdef bint _has_plain_elements(abi.TVMFFIObject* sequence) noexcept:
    cdef SeqCell* cell = seq_cell(sequence)
    cdef int64_t i
    if cell.size > MAX_INSPECTED:
        return False
    for i in range(cell.size):
        if not _is_plain_element(&cell.data[i]):
            return False
    return True


cdef bint _has_plain_pairs(abi.TVMFFIObject* mapping) noexcept:
    cdef MapCell* cell = map_cell(mapping)
    cdef uint64_t _position, slot
    cdef Pair* pair
    if 2 * cell.size > MAX_INSPECTED:
        return False
    slot = first_slot(cell)
    for _position in range(cell.size):
        pair = next_pair(cell, &slot)
        if pair == NULL or not (_is_plain_element(&pair.key) and _is_plain_element(&pair.value)):
            return False
    return True


add_rule(Precedence.CONTAINER, _native_rule)
add_rule(Precedence.PYTHON_CONTAINER, _python_rule)
add_unpacker(abi.kTVMFFIArray, _unpack_container)
add_unpacker(abi.kTVMFFIList, _unpack_container)
add_unpacker(abi.kTVMFFIMap, _unpack_container)
add_unpacker(abi.kTVMFFIDict, _unpack_container)
add_nonblocking_type(abi.kTVMFFIArray, _has_plain_elements)
add_nonblocking_type(abi.kTVMFFIList, _has_plain_elements)
add_nonblocking_type(abi.kTVMFFIMap, _has_plain_pairs)
add_nonblocking_type(abi.kTVMFFIDict, _has_plain_pairs)
