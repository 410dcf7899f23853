# SPDX-License-Identifier: Apache-2.0
# Compiled wrapper classes: the native types that their methods can read, and the Python state that
# belongs to the wrapped object.  See docs/design/wrappers.md.
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t

# Some wrappers store Python state that belongs to the wrapped native object, such as the exception
# of an Error.  A DetachState function removes this state from a wrapper before its handle changes.
# Returns a new reference for the caller to release, or NULL.
ctypedef PyObject* (*DetachState)(PyObject* wrapper) noexcept
# An AttachState function moves the state of the wrapper's new native object into the wrapper.
ctypedef void (*AttachState)(PyObject* wrapper) noexcept

ctypedef struct CompiledClass:
    PyTypeObject* cls         # the compiled class, borrowed
    # Type index of the objects that the methods can read, as well as objects of derived types; 0 if
    # there are none.
    int32_t type_index
    int32_t other_type_index  # second type index; equal to type_index if there is only one
    DetachState detach        # NULL if wrappers of the class store no Python state
    AttachState attach        # NULL if native objects of the class store no Python state


# Declare that the methods of a compiled class read the memory of objects of these two types and of
# derived types.  Pass the same index twice for one type.  Wrappers of the class and of its
# subclasses then cannot hold objects of other types.
# Fails: SystemError if the class is not compiled, or has the layout of CObject and is not Tensor.
cdef int declare_readable_types(
    type cls, int32_t type_index, int32_t other_type_index) except -1
# Declare the functions that move an object's state out of and into wrappers of a compiled class.
# Fails: SystemError if the class is not compiled.
cdef int declare_handle_state(
    type cls, DetachState detach, AttachState attach) except -1
# Return the declarations of a class or of its nearest base class that has some; NULL if none has.
# The struct is never freed.
cdef const CompiledClass* compiled_base(PyTypeObject* cls) noexcept
# Return the base class of `cls` whose methods would misread objects of the type `index`; NULL if
# wrappers of `cls` may hold such objects.  `base` is the result of `compiled_base(cls)`.
cdef const CompiledClass* mismatched_base(
    PyTypeObject* cls, const CompiledClass* base, int32_t index) noexcept
# Return True if the type `index` is `ancestor` or derives from it.
cdef bint is_derived(int32_t index, int32_t ancestor) noexcept
