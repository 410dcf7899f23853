# SPDX-License-Identifier: Apache-2.0
"""What compiled classes of wrappers read, and what their wrappers have beside the handle.

Their methods read the memory of objects without a look at the type; so no wrapper of such a class,
or of one that derives from it, may ever hold an object of another type.  Which class stands for a
type in Python says nothing about that: another one may take its place.

A class has one compiled base whose layout is its own, since those that read memory have different
ones.  So no other wrapper comes to it by an assignment to `__class__`, either.  The exception is
Tensor, which is laid out as CObject: it is looked for among all ancestors, and its methods look.
"""

from cpython.object cimport PyTypeObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport is_subtype

cdef extern from *:
    """
    #define tvm_ffi_base(cls) (cls)->tp_base
    #define tvm_ffi_is_made_by_python(cls) (((cls)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0)
    """
    PyTypeObject* base_of "tvm_ffi_base"(PyTypeObject* cls) noexcept
    bint is_made_by_python "tvm_ffi_is_made_by_python"(PyTypeObject* cls) noexcept

cdef enum:
    NUM_SLOTS = 64  # there are about a dozen

cdef Compiled _compiled[NUM_SLOTS]  # by address of the class
cdef const Compiled* _plain_reader = NULL  # that of Tensor


cdef inline Compiled* _slot_of(PyTypeObject* cls) noexcept:
    """What a class has said, or the slot for it, which is empty."""
    cdef size_t i = (<size_t>cls >> 5) % NUM_SLOTS
    while _compiled[i].cls != NULL and _compiled[i].cls != cls:
        i = (i + 1) % NUM_SLOTS
    return &_compiled[i]


cdef Compiled* _add_compiled(type cls) except NULL:
    cdef Compiled* slot = _slot_of(<PyTypeObject*>cls)
    if is_made_by_python(<PyTypeObject*>cls):
        raise SystemError(f"{cls.__name__} is no compiled class")
    slot.cls = <PyTypeObject*>cls
    return slot


cdef int read_objects_of(
    type cls, int32_t type_index, int32_t other_type_index
) except -1:
    global _plain_reader
    cdef Compiled* compiled = _add_compiled(cls)
    compiled.index, compiled.other_index = type_index, other_type_index
    if compiled.cls.tp_basicsize == base_of(compiled.cls).tp_basicsize and (
        compiled_base(base_of(compiled.cls)) == NULL
    ):
        if _plain_reader != NULL and _plain_reader != compiled:
            raise SystemError(f"{cls.__name__} has no layout of its own")
        _plain_reader = compiled
    return 0


cdef int keep_belongings_of(
    type cls, TakeBelongings take, AddBelongings add
) except -1:
    cdef Compiled* compiled = _add_compiled(cls)
    compiled.take, compiled.add = take, add
    return 0


cdef const Compiled* compiled_base(PyTypeObject* cls) noexcept:
    """What the compiled class has said whose layout a class has; NULL: nothing."""
    cdef const Compiled* slot
    while cls != NULL:
        if not is_made_by_python(cls):
            slot = _slot_of(cls)
            if slot.cls != NULL:
                return slot
        cls = base_of(cls)
    return NULL


cdef inline bint _reads(const Compiled* compiled, int32_t index) noexcept:
    return (
        compiled.index == 0 or index == compiled.index or index == compiled.other_index
        or is_derived(index, compiled.index) or is_derived(index, compiled.other_index))


cdef const Compiled* misfit_of(
    PyTypeObject* cls, const Compiled* base, int32_t index
) noexcept:
    """The ancestor whose methods would misread objects of a type; NULL: the class may hold them."""
    if base != NULL and base.index != 0:
        return NULL if _reads(base, index) else base
    if _plain_reader == NULL or not is_subtype(cls, _plain_reader.cls):
        return NULL
    return NULL if _reads(_plain_reader, index) else _plain_reader


cdef bint is_derived(int32_t index, int32_t ancestor) noexcept:
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(index)
    cdef int32_t depth
    if index == ancestor:
        return True
    for depth in range(info.type_depth):
        if info.type_ancestors[depth].type_index == ancestor:
            return True
    return False
