# SPDX-License-Identifier: Apache-2.0
"""Conversion tables: the packer hash table, the rules by precedence, and the unpacker array.

`convert/table.pxd` declares the interface.
"""

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
# The packers are in a hash table with open addressing; the keys are the addresses of the types.
# The slot of a destroyed type becomes a tombstone, which a later type reuses, so that short-lived
# classes do not enlarge the table.
#
# Threads: reading the table needs no lock, even without the GIL; changing it needs `_lock`.  Code
# that holds `_lock` must not run Python code, because that code could wait for the lock.

cdef PackerTable* _table = NULL
cdef size_t _num_used_slots = 0    # number of packers and tombstones in the table
cdef size_t _num_live_packers = 0
cdef Packer _tombstone             # marks the slot of a destroyed type
# List of the packers of destroyed types ("retired").  They are reused for other types but never
# freed, because a running call or another thread may still read the type of a retired packer.
cdef Packer* _retired = NULL
cdef cython.pymutex _lock

# The conversion rules by precedence; NULL: no rule.  The import of the binding fills the array.
cdef PackRule _rules[Precedence.NUM_PRECEDENCES]

# Weak references to the types in the table, by address.  Their callbacks remove the packer of a
# type when the type is destroyed.
cdef dict _watched_types = {}


cdef PackerTable** packer_table() noexcept:
    return &_table


cdef bint _fill_slot(PackerTable* table, Packer* packer) noexcept:
    """Store the packer in the first free slot for its type.

    Return True if the slot was empty, False if it contained a tombstone.
    """
    cdef size_t i = home_slot(table, packer.type)
    cdef bint is_new
    while table.slots[i] != NULL and table.slots[i] != &_tombstone:
        i = (i + 1) & (table.num_slots - 1)
    is_new = table.slots[i] == NULL
    store_packer(&table.slots[i], packer)
    return is_new


cdef int _rebuild(int log2_num_slots) noexcept:
    """Copy the packers, without the tombstones, to a new table with `2**log2_num_slots` slots.

    Fails: -1 without an exception if no memory is available.
    """
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
        free(old)  # without the GIL, the old table leaks: another thread may be reading it
    return 0


cdef int _forget_type(size_t address) except -1:
    """Remove the packer of a destroyed type: the callback of the weak reference to the type.

    Allocates no memory, so that it cannot fail and leave the packer for a new type at this address.
    """
    cdef Packer* packer = NULL
    with _lock:
        packer = _remove_packer(<PyTypeObject*>address)
        if packer != NULL:
            _retire(packer)
    _watched_types.pop(address, None)
    return 0


cdef Packer* _remove_packer(PyTypeObject* cls) noexcept:
    """Replace the packer of the type with a tombstone and return it; NULL if there is none.

    Threads: needs `_lock`.
    """
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
    """Clear the adjacent tombstones up to slot `i`, if the slot after `i` is empty.

    Searches that pass these tombstones end at the empty slot, so they find nothing after them.
    """
    global _num_used_slots
    cdef size_t mask = _table.num_slots - 1
    if _table.slots[(i + 1) & mask] != NULL:
        return
    while _table.slots[i] == &_tombstone:
        store_packer(&_table.slots[i], NULL)
        _num_used_slots -= 1
        i = (i - 1) & mask


cdef void _retire(Packer* packer) noexcept:
    """Add the packer of a destroyed type to the list `_retired`.  Threads: needs `_lock`."""
    global _retired
    store_type(&packer.type, NULL)
    packer.next_retired = _retired
    _retired = packer


cdef Packer* _new_packer(type cls, const Packer* chosen) noexcept:
    """Return a new or reused packer for the type, with the fields of `chosen`.

    Fails: NULL without an exception if no memory is available.
    """
    global _retired
    cdef Packer* new_packer
    with _lock:
        new_packer = _retired
        if new_packer != NULL:
            _retired = new_packer.next_retired
    if new_packer == NULL:
        new_packer = <Packer*>calloc(1, sizeof(Packer))
        if new_packer == NULL:
            return NULL
    elif new_packer.owns_context:
        free(new_packer.context)
    new_packer.pack, new_packer.context = chosen.pack, chosen.context
    new_packer.owns_context = chosen.owns_context
    # The last store, because other threads read the type first.
    store_type(&new_packer.type, <PyTypeObject*>cls)
    return new_packer


cdef const Packer* _add_packer(type cls, Packer* packer) except NULL:
    """Store a copy of the packer until the type is destroyed; return it, or an earlier packer."""
    cdef size_t address = <uintptr_t><PyObject*>cls
    cdef const Packer* stored = NULL
    cdef Packer* new_packer = _new_packer(cls, packer)
    if new_packer == NULL:
        raise MemoryError()
    _watched_types[address] = PyWeakref_NewRef(cls, lambda _: _forget_type(address))
    with _lock:
        stored = _insert(new_packer)
    if stored != new_packer:  # another thread has stored a packer, or no memory is available
        with _lock:
            _retire(new_packer)
        if stored == NULL:
            raise MemoryError()
    return stored


cdef const Packer* _insert(Packer* new_packer) noexcept:
    """Store the packer, unless the type has a packer already; return the packer of the type.

    Threads: needs `_lock`.  Fails: NULL if no memory is available for a larger table.
    """
    global _num_used_slots, _num_live_packers
    cdef const Packer* earlier = find_packer(&_table, new_packer.type)
    cdef int log2_num_slots = 64 - _table.shift
    if earlier != NULL:
        return earlier
    if 2 * (_num_used_slots + 1) > _table.num_slots:
        # Enlarge the table only if packers fill it; otherwise removing the tombstones is enough.
        log2_num_slots += 4 * _num_live_packers > _table.num_slots
        if _rebuild(log2_num_slots) != 0:
            return NULL
    _num_used_slots += _fill_slot(_table, new_packer)
    _num_live_packers += 1
    return new_packer


cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1:
    cdef Packer packer
    packer.pack = pack
    packer.context = context
    packer.owns_context = False
    _add_packer(cls, &packer)
    return 0


cdef int add_rule(Precedence precedence, PackRule rule) except -1:
    if not 0 <= <int>precedence < Precedence.NUM_PRECEDENCES:
        raise ValueError(
            f"add_rule: expected a precedence below {<int>Precedence.NUM_PRECEDENCES}, got "
            f"{<int>precedence}")
    if _rules[<int>precedence] != NULL:
        raise RuntimeError(
            f"add_rule: the precedence {<int>precedence} already has a conversion rule")
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
            return _add_packer(cls, &packer)
    raise TypeError(
        f"cannot convert a value of type {cls.__module__}.{cls.__qualname__} to a native value")


cdef const Packer* choose_packer(PyObject* value) noexcept:
    cdef const Packer* packer
    # An owned reference, because rules may run Python code that changes the class of `value` and
    # releases the old class.
    cdef object cls = <object><PyObject*>Py_TYPE(value)
    try:
        packer = _choose(<object>value)
        if <PyObject*>cls != <PyObject*>Py_TYPE(value):
            raise TypeError(
                f"the class of a value changed from {cls!r} while the value was converted")
        return packer
    except BaseException as error:
        set_exception(error)
        return NULL


cdef const Packer* get_packer(PyObject* value) noexcept:
    cdef const Packer* packer = find_packer(&_table, Py_TYPE(value))
    return packer if packer != NULL else choose_packer(value)


cdef int _copy_borrowed_bytes(abi.TVMFFIAny* view) noexcept:
    """Replace a borrowed string by an owned copy.  Fails: TypeError for an ObjectRValueRef."""
    cdef abi.TVMFFIAny borrowed = view[0]
    try:
        if borrowed.type_index == abi.kTVMFFIObjectRValueRef:
            raise TypeError(
                "an ObjectRValueRef can be passed as an argument only, because only a callee can "
                "take its object; pass the object itself here")
        return check(abi.TVMFFIAnyViewToOwnedAny(&borrowed, view))
    except BaseException as error:
        set_exception(error)
        return -1


cdef int make_owned(abi.TVMFFIAny* view) noexcept:
    if view.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectIncRef(view.v_obj)
    elif abi.kTVMFFIRawStr <= view.type_index <= abi.kTVMFFIObjectRValueRef:
        return _copy_borrowed_bytes(view)
    return 0


cdef int pack_owned(PyObject* value, abi.TVMFFIAny* out) noexcept:
    return _pack_for_keeping(value, out, True)


cdef int pack_owned_or_borrowed(PyObject* value, abi.TVMFFIAny* out) noexcept:
    return _pack_for_keeping(value, out, False)


cdef int _pack_for_keeping(PyObject* value, abi.TVMFFIAny* out, bint refuses_borrowed) noexcept:
    cdef const Packer* packer = get_packer(value)
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT]
    cdef abi.TVMFFIAny view
    cdef CallState state
    cdef int code
    if packer == NULL:
        return -1
    begin_conversion(&state, temporaries, 1)
    state.outlives_call = refuses_borrowed
    code = packer.pack(value, &view, &state, packer)
    if code == 0:
        code = make_owned(&view)
        out[0] = view
    release_temporaries(&state, view_free_list())
    return code


cdef int refuse_to_keep() noexcept:
    set_exception(BufferError(
        "cannot store a tensor whose memory is borrowed until the call returns; store a copy of "
        "the tensor instead"))
    return -1


cdef int refuse_temporary(abi.TVMFFIObjectHandle owned) noexcept:
    abi.TVMFFIObjectDecRef(owned)
    set_exception(SystemError(
        f"packing an argument created more than {TEMPORARIES_PER_ARGUMENT} temporaries; this is a "
        "bug in tvm_ffi, please report it"))
    return -1


cdef int pack_inner(PyObject* inner, abi.TVMFFIAny* out, CallState* state) noexcept:
    cdef const Packer* packer = get_packer(inner)
    cdef Py_ssize_t num_temporaries = state.num_temporaries
    if packer == NULL or packer.pack(inner, out, state, packer) != 0:
        return -1
    if (
        out.type_index < abi.kTVMFFIStaticObjectBegin or state.num_temporaries != num_temporaries
    ):
        return 0
    # The call keeps only its arguments from being emptied, and `inner` is not an argument: Python
    # code may move the reference out of its wrapper.  A temporary owns another reference.
    abi.TVMFFIObjectIncRef(out.v_obj)
    return pack_temporary(state, out, out.type_index, out.v_obj)


cdef void release_after_failure(CallState* state, ArgumentViewFreeList* free_list) noexcept:
    cdef PyObject* cls = NULL
    cdef PyObject* error = NULL
    cdef PyObject* traceback = NULL
    PyErr_Fetch(&cls, &error, &traceback)
    release_temporaries(state, free_list)
    PyErr_Restore(cls, error, traceback)


# ---- unpackers by type index ----------------------------------------------------------------

# NULL if an index has no unpacker: `unpack_object` then wraps objects and refuses other values.
cdef UnpackFunction _unpackers[128]


cdef int add_unpacker(int32_t type_index, UnpackFunction unpack) except -1:
    _unpackers[type_index] = unpack
    return 0


cdef object unpack_object(abi.TVMFFIAny* owned, CallState* state):
    cdef int32_t index = owned.type_index
    if 0 <= index < 128 and _unpackers[index] != NULL:
        return _unpackers[index](owned, state)
    if index >= abi.kTVMFFIStaticObjectBegin:
        return wrap_object(owned.v_obj)
    raise ValueError(f"a native function returned a value with the unknown type index {index}")


if _rebuild(6) != 0:
    raise MemoryError()
