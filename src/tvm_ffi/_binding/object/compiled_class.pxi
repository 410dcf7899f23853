# SPDX-License-Identifier: Apache-2.0
"""Compiled wrapper classes: the native types that their methods read without a type check.

A method of a compiled class such as `Function` reads the native object's memory directly.  So a
wrapper of the class, or of a subclass, must never hold an object of another type.  The table of
registered classes does not guarantee this, because `register_class` can replace a type's class.

Each compiled class that reads memory has a distinct instance layout.  A Python class can therefore
have only one such base, and Python refuses an assignment to ``__class__`` that would change the
base.  Tensor is the exception: it has the layout of CObject.  So `mismatched_base` searches all
ancestors of a class for Tensor, and the methods of Tensor check the type.
"""

from cpython.object cimport PyTypeObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport is_subtype

cdef extern from *:
    """
    #define tvm_ffi_base(cls) (cls)->tp_base
    #define tvm_ffi_is_heap_type(cls) (((cls)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0)
    """
    PyTypeObject* base_of "tvm_ffi_base"(PyTypeObject* cls) noexcept
    bint is_heap_type "tvm_ffi_is_heap_type"(PyTypeObject* cls) noexcept

cdef enum:
    NUM_SLOTS = 64  # hash table size; about a dozen slots are used

cdef CompiledClass _compiled_classes[NUM_SLOTS]  # hash table by the address of the class
cdef const CompiledClass* _tensor_class = NULL   # slot of Tensor; NULL before its declaration


cdef inline CompiledClass* _slot_of(PyTypeObject* cls) noexcept:
    """Return the slot of a class in the hash table, or the empty slot for a new class."""
    cdef size_t i = (<size_t>cls >> 5) % NUM_SLOTS
    while _compiled_classes[i].cls != NULL and _compiled_classes[i].cls != cls:
        i = (i + 1) % NUM_SLOTS
    return &_compiled_classes[i]


cdef CompiledClass* _declare(type cls) except NULL:
    cdef CompiledClass* slot = _slot_of(<PyTypeObject*>cls)
    if is_heap_type(<PyTypeObject*>cls):
        raise SystemError(f"{cls.__name__}: expected a compiled class, got a Python class")
    slot.cls = <PyTypeObject*>cls
    return slot


cdef int declare_readable_types(
    type cls, int32_t type_index, int32_t other_type_index
) except -1:
    global _tensor_class
    cdef CompiledClass* compiled = _declare(cls)
    compiled.type_index, compiled.other_type_index = type_index, other_type_index
    if compiled.cls.tp_basicsize == base_of(compiled.cls).tp_basicsize and (
        compiled_base(base_of(compiled.cls)) == NULL
    ):
        if _tensor_class != NULL and _tensor_class != compiled:
            raise SystemError(
                f"{cls.__name__}: expected a class with C fields in addition to those of CObject")
        _tensor_class = compiled
    return 0


cdef int declare_handle_state(
    type cls, DetachState detach, AttachState attach
) except -1:
    cdef CompiledClass* compiled = _declare(cls)
    compiled.detach, compiled.attach = detach, attach
    return 0


cdef const CompiledClass* compiled_base(PyTypeObject* cls) noexcept:
    cdef const CompiledClass* slot
    while cls != NULL:
        if not is_heap_type(cls):
            slot = _slot_of(cls)
            if slot.cls != NULL:
                return slot
        cls = base_of(cls)
    return NULL


cdef inline bint _can_read(const CompiledClass* compiled, int32_t index) noexcept:
    return (
        compiled.type_index == 0
        or index == compiled.type_index or index == compiled.other_type_index
        or is_derived(index, compiled.type_index) or is_derived(index, compiled.other_type_index))


cdef const CompiledClass* mismatched_base(
    PyTypeObject* cls, const CompiledClass* base, int32_t index
) noexcept:
    if base != NULL and base.type_index != 0:
        return NULL if _can_read(base, index) else base
    if _tensor_class == NULL or not is_subtype(cls, _tensor_class.cls):
        return NULL
    return NULL if _can_read(_tensor_class, index) else _tensor_class


cdef bint is_derived(int32_t index, int32_t ancestor) noexcept:
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(index)
    cdef int32_t depth
    if index == ancestor:
        return True
    for depth in range(info.type_depth):
        if info.type_ancestors[depth].type_index == ancestor:
            return True
    return False
