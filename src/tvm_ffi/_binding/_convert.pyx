# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, freethreading_compatible=True
"""Which conversion a value takes: the tables behind `_convert.pxd`."""

import weakref

from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc

from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._error cimport set_exception
from tvm_ffi._binding._object cimport wrap_object

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject* value) noexcept

# ---- packers by type -----------------------------------------------------------------------
# Open addressing over the address of the type.  A type that dies leaves a tombstone, so a table
# does not grow with classes that come and go.

cdef Packer** _slots = NULL
cdef size_t _num_slots = 0       # a power of two
cdef size_t _num_used_slots = 0  # tombstones included
cdef Packer _tombstone

# Rules in order of precedence: (precedence, rule) kept sorted.
cdef PackRule _rules[64]
cdef int _precedences[64]
cdef int _num_rules = 0

# Weak references to the types in the table; their callbacks empty the slots.
cdef dict _watched_types = {}


cdef inline size_t _home(PyTypeObject* cls) noexcept:
    return (<uintptr_t>cls >> 4) & (_num_slots - 1)


cdef const Packer* find_packer(PyTypeObject* cls) noexcept:
    cdef size_t i
    if _num_slots == 0:
        return NULL
    i = _home(cls)
    while _slots[i] != NULL:
        if _slots[i].type == cls:
            return _slots[i]
        i = (i + 1) & (_num_slots - 1)
    return NULL


cdef void _place(Packer* packer) noexcept:
    cdef size_t i = _home(packer.type)
    while _slots[i] != NULL:
        i = (i + 1) & (_num_slots - 1)
    _slots[i] = packer


cdef int _reserve() except -1:
    """Keep at least half of the slots empty; tombstones go when the table is rebuilt."""
    global _slots, _num_slots, _num_used_slots
    cdef Packer** old = _slots
    cdef size_t num_old = _num_slots, i
    cdef size_t num_new = 64 if num_old == 0 else num_old * 2
    if 2 * (_num_used_slots + 1) <= num_old:
        return 0
    cdef Packer** grown = <Packer**>calloc(num_new, sizeof(Packer*))
    if grown == NULL:
        raise MemoryError()
    _slots, _num_slots, _num_used_slots = grown, num_new, 0
    for i in range(num_old):
        if old[i] != NULL and old[i] != &_tombstone:
            _place(old[i])
            _num_used_slots += 1
    free(old)
    return 0


def _forget_type(size_t address):
    cdef size_t i
    cdef Packer* packer
    _watched_types.pop(address, None)
    for i in range(_num_slots):
        packer = _slots[i]
        if packer != NULL and packer.type == <PyTypeObject*>address:
            _slots[i] = &_tombstone
            free(packer)


cdef const Packer* _remember(type cls, Packer* packer) except NULL:
    cdef size_t address = <uintptr_t><PyObject*>cls
    cdef Packer* kept = <Packer*>malloc(sizeof(Packer))
    global _num_used_slots
    if kept == NULL:
        raise MemoryError()
    kept[0] = packer[0]
    kept.type = <PyTypeObject*>cls
    _reserve()
    _watched_types[address] = weakref.ref(cls, lambda _: _forget_type(address))
    _place(kept)
    _num_used_slots += 1
    return kept


cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1:
    cdef Packer packer
    packer.pack = pack
    packer.context = context
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


cdef int pack_view(PyObject* value, _abi.TVMFFIAny* out, CallState* state) noexcept:
    cdef const Packer* packer = find_packer(Py_TYPE(value))
    if packer == NULL:
        packer = choose_packer(value)
        if packer == NULL:
            return -1
    return packer.pack(value, out, state, packer)


cdef int keep_temporary(CallState* state, _abi.TVMFFIObjectHandle owned) noexcept:
    state.temporaries[state.num_temporaries] = <_abi.TVMFFIObject*>owned
    state.num_temporaries += 1
    return 0


cdef int pack_owned(PyObject* value, _abi.TVMFFIAny* out) noexcept:
    cdef _abi.TVMFFIObject* temporaries[2]
    cdef _abi.TVMFFIAny view
    cdef CallState state
    cdef int code
    state.temporaries = temporaries
    state.num_temporaries = 0
    state.stream_device_type = 0
    state.exchange_api = NULL
    code = pack_view(value, &view, &state)
    if code == 0:
        # Only text that native code lent would be copied here, and Python has none.
        if view.type_index >= _abi.kTVMFFIStaticObjectBegin:
            _abi.TVMFFIObjectIncRef(view.v_obj)
        out[0] = view
    release_temporaries(&state)
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


# ---- temporaries ---------------------------------------------------------------------------

ctypedef void (*_Deleter)(void*, int) noexcept

cdef _Deleter _recycled_deleters[4]
cdef RecycleFunction _recyclers[4]
cdef int _num_recyclers = 0


cdef int add_recycler(void (*deleter)(void*, int) noexcept, RecycleFunction recycle) except -1:
    global _num_recyclers
    if _num_recyclers == 4:
        raise RuntimeError("the table of recycled temporaries is full")
    _recycled_deleters[_num_recyclers] = <_Deleter>deleter
    _recyclers[_num_recyclers] = recycle
    _num_recyclers += 1
    return 0


cdef inline void _release_temporary(_abi.TVMFFIObject* temporary) noexcept:
    cdef int i
    for i in range(_num_recyclers):
        if <void*>temporary.deleter == <void*>_recycled_deleters[i]:
            _recyclers[i](temporary)
            return
    _abi.TVMFFIObjectDecRef(temporary)


cdef void release_temporaries(CallState* state) noexcept:
    cdef int32_t i
    for i in range(state.num_temporaries):
        _release_temporary(state.temporaries[i])
    state.num_temporaries = 0
