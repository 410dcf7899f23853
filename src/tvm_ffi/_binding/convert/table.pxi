# SPDX-License-Identifier: Apache-2.0
"""Which conversion a value takes: the tables behind `convert/table.pxd`."""

cimport cython
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdint cimport int32_t, uintptr_t
from libc.stdlib cimport calloc, free

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport PyErr_Fetch, PyErr_Restore, Py_TYPE
from tvm_ffi._binding.object cimport check, set_exception, wrap_object
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL

# ---- packers by type -----------------------------------------------------------------------
# Open addressing over the address of the type.  A type that dies leaves a tombstone, which the next
# type takes over, so a table does not grow with classes that come and go.
#
# Threads look into the table without a lock, also where Python runs without the GIL; `_lock` is for
# those that change it.  Nothing but C code runs under the lock: Python code might come back here.

cdef PackerTable* _table = NULL
cdef size_t _num_used_slots = 0    # tombstones included
cdef size_t _num_live_packers = 0
cdef Packer _tombstone
# Packers of types that have died.  They serve other types later and are never freed: a call, or a
# thread without the GIL, may have one in its hands, and compares its type.
cdef Packer* _retired = NULL
cdef cython.pymutex _lock

# The rules by precedence.  Filled while modules are imported.
cdef PackRule _rules[Precedence.NUM_PRECEDENCES]

# Weak references to the types in the table; their callbacks empty the slots.
cdef dict _watched_types = {}


cdef PackerTable** packer_table() noexcept:
    return &_table


cdef bint _fill_slot(PackerTable* table, Packer* packer) noexcept:
    """Put the packer into the first slot that is free; whether no packer was there before."""
    cdef size_t i = home_slot(table, packer.type)
    cdef bint is_new
    while table.slots[i] != NULL and table.slots[i] != &_tombstone:
        i = (i + 1) & (table.num_slots - 1)
    is_new = table.slots[i] == NULL
    store_packer(&table.slots[i], packer)
    return is_new


cdef int _rebuild(int log2_num_slots) noexcept:
    """Move the live packers to a table of this size; tombstones stay behind.  -1: no memory."""
    global _num_used_slots
    cdef PackerTable* old = _table
    cdef size_t num_slots = <size_t>1 << log2_num_slots, i
    cdef PackerTable* table = <PackerTable*>calloc(
        1, sizeof(PackerTable) + (num_slots - 1) * sizeof(Packer*))
    if table == NULL:
        return -1
    table.num_slots, table.shift = num_slots, 64 - log2_num_slots
    _num_used_slots = 0
    if old != NULL:
        for i in range(old.num_slots):
            if old.slots[i] != NULL and old.slots[i] != &_tombstone:
                _fill_slot(table, old.slots[i])
                _num_used_slots += 1
    store_table(&_table, table)
    if not GIL_IS_OPTIONAL:
        free(old)  # else a thread may be looking into it
    return 0


cdef int _forget_type(size_t address) except -1:
    """Empty the slot of a type that has died: nobody has a value of it any more.

    First of all, and without memory: another type may come to lie at the address.
    """
    cdef Packer* packer = NULL
    with _lock:
        packer = _take_out(<PyTypeObject*>address)
        if packer != NULL:
            _retire(packer)
    _watched_types.pop(address, None)
    return 0


cdef Packer* _take_out(PyTypeObject* cls) noexcept:
    global _num_live_packers
    cdef size_t i = home_slot(_table, cls)
    cdef Packer* packer = _table.slots[i]
    while packer != NULL:
        if packer.type == cls:
            store_packer(&_table.slots[i], &_tombstone)
            _num_live_packers -= 1
            _clear_tombstones(i)
            return packer
        i = (i + 1) & (_table.num_slots - 1)
        packer = _table.slots[i]
    return NULL


cdef void _clear_tombstones(size_t i) noexcept:
    """Empty the slots up to this one if no probe has to go on behind it."""
    global _num_used_slots
    cdef size_t mask = _table.num_slots - 1
    if _table.slots[(i + 1) & mask] != NULL:
        return
    while _table.slots[i] == &_tombstone:
        store_packer(&_table.slots[i], NULL)
        _num_used_slots -= 1
        i = (i - 1) & mask


cdef void _retire(Packer* packer) noexcept:
    global _retired
    store_type(&packer.type, NULL)
    packer.next_retired = _retired
    _retired = packer


cdef Packer* _new_packer(type cls, const Packer* chosen) noexcept:
    """A packer like the one that was chosen; NULL when there is no memory."""
    global _retired
    cdef Packer* made
    with _lock:
        made = _retired
        if made != NULL:
            _retired = made.next_retired
    if made == NULL:
        made = <Packer*>calloc(1, sizeof(Packer))
        if made == NULL:
            return NULL
    elif made.owns_context:
        free(made.context)
    made.pack, made.context = chosen.pack, chosen.context
    made.owns_context = chosen.owns_context
    store_type(&made.type, <PyTypeObject*>cls)  # last, as others may be looking at it
    return made


cdef const Packer* _remember(type cls, Packer* packer) except NULL:
    cdef size_t address = <uintptr_t><PyObject*>cls
    cdef const Packer* kept = NULL
    cdef Packer* made = _new_packer(cls, packer)
    if made == NULL:
        raise MemoryError()
    _watched_types[address] = PyWeakref_NewRef(cls, lambda _: _forget_type(address))
    with _lock:
        kept = _insert(made)
    if kept != made:  # another thread came first, or there is no memory
        with _lock:
            _retire(made)
        if kept == NULL:
            raise MemoryError()
    return kept


cdef const Packer* _insert(Packer* made) noexcept:
    """The packer of the type from now on; NULL when there is no memory for a larger table."""
    global _num_used_slots, _num_live_packers
    cdef const Packer* earlier = find_packer(&_table, made.type)
    cdef int log2_num_slots = 64 - _table.shift
    if earlier != NULL:
        return earlier
    if 2 * (_num_used_slots + 1) > _table.num_slots:
        # Tombstones alone are no reason for a larger table.
        log2_num_slots += 4 * _num_live_packers > _table.num_slots
        if _rebuild(log2_num_slots) != 0:
            return NULL
    _num_used_slots += _fill_slot(_table, made)
    _num_live_packers += 1
    return made


cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1:
    cdef Packer packer
    packer.pack = pack
    packer.context = context
    packer.owns_context = False
    _remember(cls, &packer)
    return 0


cdef int add_rule(Precedence precedence, PackRule rule) except -1:
    if not 0 <= <int>precedence < Precedence.NUM_PRECEDENCES:
        raise ValueError(f"there is no precedence {<int>precedence} in convert/precedence.pxd")
    if _rules[<int>precedence] != NULL:
        raise RuntimeError(f"two rules of conversion share the precedence {<int>precedence}")
    _rules[<int>precedence] = rule
    return 0


cdef const Packer* _choose(object value) except NULL:
    cdef type cls = type(value)
    cdef Packer packer
    cdef int i
    packer.context = NULL
    packer.owns_context = False
    for i in range(Precedence.NUM_PRECEDENCES):
        if _rules[i] != NULL and _rules[i](cls, value, &packer):
            return _remember(cls, &packer)
    raise TypeError(f"cannot pass a value of type {cls.__module__}.{cls.__qualname__}")


cdef const Packer* choose_packer(PyObject* value) noexcept:
    cdef const Packer* packer
    cdef object cls = <object><PyObject*>Py_TYPE(value)  # the rules may run code that drops it
    try:
        packer = _choose(<object>value)
        if <PyObject*>cls != <PyObject*>Py_TYPE(value):
            raise TypeError(f"a value of {cls!r} got another class while it was converted")
        return packer
    except BaseException as error:
        set_exception(error)
        return NULL


cdef const Packer* packer_of(PyObject* value) noexcept:
    cdef const Packer* packer = find_packer(&_table, Py_TYPE(value))
    return packer if packer != NULL else choose_packer(value)


cdef int _own_borrowed(abi.TVMFFIAny* view) noexcept:
    """Copy the bytes that an argument lends; nothing but a call can take an object."""
    cdef abi.TVMFFIAny lent = view[0]
    try:
        if lent.type_index == abi.kTVMFFIObjectRValueRef:
            raise TypeError(
                "an ObjectRValueRef is for arguments, whose receiver may take the object; pass "
                "the object itself here")
        return check(abi.TVMFFIAnyViewToOwnedAny(&lent, view))
    except BaseException as error:
        set_exception(error)
        return -1


cdef int own_packed(abi.TVMFFIAny* view) noexcept:
    if view.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectIncRef(view.v_obj)
    elif abi.kTVMFFIRawStr <= view.type_index <= abi.kTVMFFIObjectRValueRef:
        return _own_borrowed(view)
    return 0


cdef int pack_owned(PyObject* value, abi.TVMFFIAny* out) noexcept:
    return _pack_for_keeping(value, out, True)


cdef int pack_owned_or_borrowed(PyObject* value, abi.TVMFFIAny* out) noexcept:
    return _pack_for_keeping(value, out, False)


cdef int _pack_for_keeping(PyObject* value, abi.TVMFFIAny* out, bint refuses_borrowed) noexcept:
    cdef const Packer* packer = packer_of(value)
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT]
    cdef abi.TVMFFIAny view
    cdef CallState state
    cdef int code
    if packer == NULL:
        return -1
    begin_conversion(&state, temporaries)
    state.is_for_keeping = refuses_borrowed
    code = packer.pack(value, &view, &state, packer)
    if code == 0:
        code = own_packed(&view)
        out[0] = view
    release_temporaries(&state, view_free_list())
    return code


cdef int refuse_to_keep() noexcept:
    set_exception(BufferError(
        "cannot keep a tensor that is lent for this call; copy the data instead"))
    return -1


cdef int refuse_temporary(abi.TVMFFIObjectHandle owned) noexcept:
    abi.TVMFFIObjectDecRef(owned)
    set_exception(SystemError(
        f"one argument wants more than {TEMPORARIES_PER_ARGUMENT} objects made for the call; "
        "please report this"))
    return -1


cdef int pack_inner(PyObject* inner, abi.TVMFFIAny* out, CallState* state) noexcept:
    cdef const Packer* packer = packer_of(inner)
    cdef Py_ssize_t num_temporaries = state.num_temporaries
    if packer == NULL or packer.pack(inner, out, state, packer) != 0:
        return -1
    if (
        out.type_index < abi.kTVMFFIStaticObjectBegin or state.num_temporaries != num_temporaries
    ):
        return 0
    # Borrowed from a wrapper that is not among the arguments, and that somebody may empty.
    abi.TVMFFIObjectIncRef(out.v_obj)
    return pack_temporary(state, out, out.type_index, out.v_obj)


cdef void release_after_failure(CallState* state, ArgumentViewFreeList* free_list) noexcept:
    cdef PyObject* cls = NULL
    cdef PyObject* error = NULL
    cdef PyObject* traceback = NULL
    PyErr_Fetch(&cls, &error, &traceback)
    release_temporaries(state, free_list)
    PyErr_Restore(cls, error, traceback)


# ---- native results ------------------------------------------------------------------------

cdef UnpackFunction _makers[128]


cdef int add_unpacker(int32_t type_index, UnpackFunction make) except -1:
    _makers[type_index] = make
    return 0


cdef object unpack_object(abi.TVMFFIAny* owned, CallState* state):
    cdef int32_t index = owned.type_index
    if 0 <= index < 128 and _makers[index] != NULL:
        return _makers[index](owned, state)
    if index >= abi.kTVMFFIStaticObjectBegin:
        return wrap_object(owned.v_obj)
    raise ValueError(f"native function returned a value with the unknown type index {index}")


if _rebuild(6) != 0:
    raise MemoryError()
