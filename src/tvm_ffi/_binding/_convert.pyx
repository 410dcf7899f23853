# SPDX-License-Identifier: Apache-2.0
"""Which conversion a value takes: the tables behind `_convert.pxd`."""

import weakref

from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc

from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._error cimport set_exception
from tvm_ffi._binding._loan cimport loan_pool
from tvm_ffi._binding._object cimport wrap_object

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject* value) noexcept

# ---- packers by type -----------------------------------------------------------------------
# Open addressing over the address of the type.  A type that dies leaves a tombstone, so a table
# does not grow with classes that come and go.

cdef PackerTable _table
cdef size_t _num_used_slots = 0    # tombstones included
cdef size_t _num_live_packers = 0
cdef Packer _tombstone

# Rules in order of precedence: (precedence, rule) kept sorted.
cdef PackRule _rules[64]
cdef int _precedences[64]
cdef int _num_rules = 0

# Weak references to the types in the table; their callbacks empty the slots.
cdef dict _watched_types = {}


cdef const PackerTable* packer_table() noexcept:
    return &_table


cdef void _place(Packer* packer) noexcept:
    cdef size_t i = home_slot(&_table, packer.type)
    while _table.slots[i] != NULL:
        i = (i + 1) & (_table.num_slots - 1)
    _table.slots[i] = packer


cdef int _rebuild(int log2_num_slots) except -1:
    """Move the live packers to a table of this size; tombstones stay behind."""
    global _num_used_slots
    cdef Packer** old = _table.slots
    cdef size_t num_old = _table.num_slots, i
    cdef size_t num_slots = <size_t>1 << log2_num_slots
    cdef Packer** slots = <Packer**>calloc(num_slots, sizeof(Packer*))
    if slots == NULL:
        raise MemoryError()
    _table.slots, _table.num_slots, _table.shift = slots, num_slots, 64 - log2_num_slots
    _num_used_slots = 0
    for i in range(num_old):
        if old[i] != NULL and old[i] != &_tombstone:
            _place(old[i])
            _num_used_slots += 1
    free(old)
    return 0


def _forget_type(size_t address):
    """Empty the slot of a type that has died."""
    global _num_live_packers
    cdef size_t i
    cdef Packer* packer
    _watched_types.pop(address, None)
    for i in range(_table.num_slots):
        packer = _table.slots[i]
        if packer != NULL and packer.type == <PyTypeObject*>address:
            _table.slots[i] = &_tombstone
            _num_live_packers -= 1
            if packer.owns_context:
                free(packer.context)
            free(packer)


cdef const Packer* _remember(type cls, Packer* packer) except NULL:
    global _num_used_slots, _num_live_packers
    cdef size_t address = <uintptr_t><PyObject*>cls
    cdef Packer* kept
    if 2 * (_num_used_slots + 1) > _table.num_slots:
        # Tombstones alone are no reason for a larger table.
        _rebuild(64 - _table.shift + (4 * _num_live_packers > _table.num_slots))
    kept = <Packer*>malloc(sizeof(Packer))
    if kept == NULL:
        raise MemoryError()
    kept[0] = packer[0]
    kept.type = <PyTypeObject*>cls
    _watched_types[address] = weakref.ref(cls, lambda _: _forget_type(address))
    _place(kept)
    _num_used_slots += 1
    _num_live_packers += 1
    return kept


cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1:
    cdef Packer packer
    packer.pack = pack
    packer.context = context
    packer.owns_context = False
    _remember(cls, &packer)
    return 0


cdef int add_rule(int precedence, PackRule rule) except -1:
    """Insert the rule behind those with the same or a lower number."""
    global _num_rules
    cdef int i = _num_rules
    if _num_rules == 64:
        raise RuntimeError("the table of conversion rules is full")
    while i > 0 and _precedences[i - 1] > precedence:
        _precedences[i] = _precedences[i - 1]
        _rules[i] = _rules[i - 1]
        i -= 1
    _precedences[i] = precedence
    _rules[i] = rule
    _num_rules += 1
    return 0


cdef const Packer* _choose(object value) except NULL:
    cdef type cls = type(value)
    cdef Packer packer
    cdef int i
    packer.context = NULL
    packer.owns_context = False
    for i in range(_num_rules):
        if _rules[i](cls, value, &packer):
            return _remember(cls, &packer)
    raise TypeError(f"cannot pass a value of type {cls.__module__}.{cls.__qualname__}")


cdef const Packer* choose_packer(PyObject* value) noexcept:
    try:
        return _choose(<object>value)
    except BaseException as error:
        set_exception(error)
        return NULL


cdef const Packer* packer_of(PyObject* value) noexcept:
    cdef const Packer* packer = find_packer(&_table, Py_TYPE(value))
    return packer if packer != NULL else choose_packer(value)


cdef int pack_owned(PyObject* value, _abi.TVMFFIAny* out) noexcept:
    cdef const Packer* packer = packer_of(value)
    cdef _abi.TVMFFIObject* temporaries[2]
    cdef _abi.TVMFFIAny view
    cdef CallState state
    cdef int code
    if packer == NULL:
        return -1
    begin_call(&state, temporaries)
    code = packer.pack(value, &view, &state, packer)
    if code == 0:
        # Python lends no text, so taking a reference is all it needs to own the value.
        if view.type_index >= _abi.kTVMFFIStaticObjectBegin:
            _abi.TVMFFIObjectIncRef(view.v_obj)
        out[0] = view
    release_temporaries(&state, loan_pool())
    return code


# ---- native results ------------------------------------------------------------------------

cdef MakeFunction _makers[128]


cdef int add_maker(int32_t type_index, MakeFunction make) except -1:
    _makers[type_index] = make
    return 0


cdef object make_object(_abi.TVMFFIAny* owned, CallState* state):
    cdef int32_t index = owned.type_index
    if 0 <= index < 128 and _makers[index] != NULL:
        return _makers[index](owned, state)
    if index >= _abi.kTVMFFIStaticObjectBegin:
        return wrap_object(owned.v_obj)
    raise ValueError(f"native function returned a value with the unknown type index {index}")


_rebuild(6)
