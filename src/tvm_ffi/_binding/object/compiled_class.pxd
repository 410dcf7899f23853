# SPDX-License-Identifier: Apache-2.0
# What compiled classes of wrappers say about themselves, see docs/design/wrappers.md.
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t

# What belongs to the object that a wrapper holds, and lies in the wrapper beside the handle.
# Taken out before the handle goes; owned, or NULL.
ctypedef PyObject* (*TakeBelongings)(PyObject* wrapper) noexcept
# Put in when another handle is there.
ctypedef void (*AddBelongings)(PyObject* wrapper) noexcept

ctypedef struct Compiled:
    PyTypeObject* cls
    int32_t index  # 0: reads objects of no type
    int32_t other_index
    TakeBelongings take
    AddBelongings add


# Says what the methods of a compiled class read: objects of these types and of those that derive
# from them.  Of two that are the same, one is meant.  Classes that derive from it hold no others.
cdef int read_objects_of(
    type cls, int32_t type_index, int32_t other_type_index) except -1
# Says what belongs to the object that a wrapper of a class holds.
cdef int keep_belongings_of(
    type cls, TakeBelongings take, AddBelongings add) except -1
# What the compiled class has said whose layout a class has; NULL: nothing.
cdef const Compiled* compiled_base(PyTypeObject* cls) noexcept
# The ancestor whose methods would misread objects of a type; NULL: wrappers of the class may hold
# them.  `base` is what `compiled_base` gives.
cdef const Compiled* misfit_of(
    PyTypeObject* cls, const Compiled* base, int32_t index) noexcept
# Whether a type is another one or derives from it.
cdef bint is_derived(int32_t index, int32_t ancestor) noexcept
