# SPDX-License-Identifier: Apache-2.0
"""Reference links: garbage collection of Python values in fields of native objects.

A field of a native object may refer to a native function that owns a Python callable, or to an
opaque object that owns another Python value.  If that value refers to the wrapper, this is a cycle:

    wrapper --> native object --> native function --> callable --> wrapper

The garbage collector cannot see the second and third reference, so it would never free the cycle.
The wrapper therefore has a reference link, which owns a second reference to the native function.
The wrapper's `tp_traverse` reports the callable while only the link and the field own the function,
and the wrapper is the only owner of the native object.

Native threads without the GIL may write the field during a traversal.  So the link only compares
the field's pointer, and dereferences only references that it owns.

The link belongs to the wrapper's handle (`declare_handle_state`): it is removed when the handle
changes, so it never reads fields of an object that its wrapper does not hold.
"""

from cpython.object cimport PyTypeObject, inquiry, traverseproc, visitproc
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.call cimport owns_python_values, visit_values_of
from tvm_ffi._binding.object cimport (
    Guard, LinkedObject, begin_guard, empty_garbage, end_guard, has_one_owner, object_locks,
)

cdef extern from *:
    """
    #include <tvm/ffi/c_api.h>

    typedef struct {
      TVMFFIObject** slot;  /* address of the object pointer that the field stores */
      TVMFFIObject* target; /* owned; function or opaque object that the field referred to */
    } TVMFFILinkedField;

    /* Access to the link as a pointer: Cython does not expect NULL, the link of a new wrapper. */
    #define tvm_ffi_link_of(owner) (owner)->link
    #define tvm_ffi_replace_link(owner, new_link) \\
      __atomic_exchange_n(&(owner)->link, new_link, __ATOMIC_ACQ_REL)

    static int tvm_ffi_has_owners(TVMFFIObject* object, uint64_t number) {
      uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);
      return (count & TVM_FFI_REF_COUNT_STRONG_MASK) == number * TVM_FFI_REF_COUNT_STRONG_ONE;
    }

    static int tvm_ffi_is_exclusive(const TVMFFILinkedField* field, int is_only_owner) {
      TVMFFIObject* present;
      if (tvm_ffi_has_owners(field->target, 1)) return 1; /* only the link owns it */
      if (!is_only_owner) return 0;
      present = __atomic_load_n(field->slot, __ATOMIC_ACQUIRE);
      return present == field->target && tvm_ffi_has_owners(field->target, 2);
    }
    """
    ctypedef struct LinkedField "TVMFFILinkedField":
        abi.TVMFFIObject** slot
        abi.TVMFFIObject* target
    PyObject* link_of "tvm_ffi_link_of"(LinkedObject owner) noexcept
    # Set the link of a wrapper.  Consumes the reference to the new link; returns the reference to
    # the previous link.
    PyObject* replace_link "tvm_ffi_replace_link"(LinkedObject owner, PyObject* new_link) noexcept
    # Return True if one of two conditions holds.  (1) The link is the only owner of the field's
    # target, because the field has changed.  (2) Only the link and the field own the target, and
    # `is_only_owner` is set: the wrapper is the only owner of the native object.
    bint is_exclusive "tvm_ffi_is_exclusive"(
        const LinkedField* field, bint is_only_owner) noexcept

cdef traverseproc _traverse_fields = NULL


# Python code cannot reach instances of `_ReferenceLink`.
cdef class _ReferenceLink:
    """Reference link: owns references to the targets of fields that own Python values."""

    # Address of the native object with the fields; not owned, only compared.
    cdef abi.TVMFFIObjectHandle owner
    cdef LinkedField* fields
    cdef Py_ssize_t num_fields

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.num_fields):
            abi.TVMFFIObjectDecRef(self.fields[i].target)
        free(self.fields)


cdef abi.TVMFFIObject** _reference_in(FieldGetter getter, abi.TVMFFIObject* header) noexcept:
    """Return the address of the object pointer in a field; NULL if the field has no object."""
    cdef char* address = <char*>header + getter.offset
    cdef abi.TVMFFIAny* value = <abi.TVMFFIAny*>address
    if getter.size == sizeof(void*):
        return <abi.TVMFFIObject**>address
    return &value.v_obj if value.type_index >= abi.kTVMFFIStaticObjectBegin else NULL


cdef int _check_getter(getter) except -1:
    """Raise TypeError unless the getter reads a field that may hold an object."""
    cdef FieldGetter field
    if not isinstance(getter, FieldGetter):
        raise TypeError(f"__ffi_holders__: expected field getters, got {getter!r}")
    field = <FieldGetter>getter
    if field.size == sizeof(void*) and (
        not 0 <= field.static_type_index < abi.kTVMFFIStaticObjectBegin
    ):
        return 0
    if field.size == sizeof(abi.TVMFFIAny) and field.static_type_index < 0:
        return 0
    raise TypeError(
        f"__ffi_holders__: expected fields that can hold an object, got the field `{field.name}`")


cdef int link_python_values(LinkedObject owner, tuple getters) except -1:
    cdef abi.TVMFFIObject* header = <abi.TVMFFIObject*>owner.chandle
    cdef _ReferenceLink new_link
    cdef PyObject* previous = NULL
    cdef bint is_needed = False
    cdef Guard guard
    for getter in getters:
        _check_getter(getter)
        if header != NULL:
            (<FieldGetter>getter)._check_owner(header.type_index)
    if header != NULL:
        begin_guard(&guard, object_locks(), header)
        is_needed = _has_python_values(header, getters)
        if not is_needed and link_of(owner) != NULL:
            previous = replace_link(owner, NULL)
        end_guard(&guard)
    if not is_needed:
        Py_XDECREF(previous)
        return 0
    new_link = _ReferenceLink.__new__(_ReferenceLink)
    new_link.fields = <LinkedField*>calloc(len(getters) + 1, sizeof(LinkedField))
    if new_link.fields == NULL:
        raise MemoryError()
    # Read the handle again, because the allocation may have run Python code.  No Python code runs
    # from here on.
    header = <abi.TVMFFIObject*>owner.chandle
    if header == NULL:
        return 0
    for getter in getters:
        (<FieldGetter>getter)._check_owner(header.type_index)
    begin_guard(&guard, object_locks(), header)
    _add_fields(header, getters, new_link)
    Py_INCREF(new_link)
    previous = replace_link(owner, <PyObject*>new_link)
    end_guard(&guard)
    Py_XDECREF(previous)
    return 0


cdef bint _has_python_values(abi.TVMFFIObject* header, tuple getters) noexcept:
    """Return True if a field of the object owns a Python value.  This case is rare."""
    cdef abi.TVMFFIObject** slot
    for getter in getters:
        slot = _reference_in(<FieldGetter>getter, header)
        if slot != NULL and owns_python_values(slot[0]):
            return True
    return False


cdef void _add_fields(
    abi.TVMFFIObject* header, tuple getters, _ReferenceLink new_link
) noexcept:
    cdef abi.TVMFFIObject** slot
    cdef LinkedField* field
    new_link.owner = header
    for getter in getters:
        slot = _reference_in(<FieldGetter>getter, header)
        if slot != NULL and owns_python_values(slot[0]):
            field = &new_link.fields[new_link.num_fields]
            abi.TVMFFIObjectIncRef(slot[0])
            field.slot, field.target = slot, slot[0]
            new_link.num_fields += 1


def relink(owner) -> None:
    """Update the reference link of a wrapper after a field may have changed.

    Parameters
    ----------
    owner : CObject
        The wrapper; ``__ffi_holders__`` of its class contains the getters of the fields.
    """
    getters = getattr(type(owner), "__ffi_holders__", None)
    if getters is not None and isinstance(owner, LinkedObject):
        link_python_values(owner, getters)


cdef int _traverse(PyObject* self, visitproc visit, void* arg) noexcept:
    # Use casts instead of object variables: a variable would own a reference while the garbage
    # collector counts references.
    cdef abi.TVMFFIObject* header = <abi.TVMFFIObject*>(<LinkedObject>self).chandle
    cdef PyObject* link = link_of(<LinkedObject>self)
    cdef int stop = _traverse_fields(self, visit, arg)
    cdef bint is_only_owner
    cdef LinkedField* field
    cdef Py_ssize_t i
    if stop != 0 or link == NULL:
        return stop
    is_only_owner = (
        header != NULL and header == (<_ReferenceLink>link).owner and has_one_owner(header))
    for i in range((<_ReferenceLink>link).num_fields):
        field = &(<_ReferenceLink>link).fields[i]
        if is_exclusive(field, is_only_owner):
            stop = visit_values_of(field.target, visit, arg)
            if stop != 0:
                return stop
    return 0


cdef int _clear(PyObject* self) noexcept:
    """Break a reference cycle that the garbage collector has found to be unreachable."""
    cdef abi.TVMFFIObject* header = <abi.TVMFFIObject*>(<LinkedObject>self).chandle
    if link_of(<LinkedObject>self) != NULL:
        if header != NULL and has_one_owner(header):
            empty_garbage(<LinkedObject>self)
        else:
            Py_XDECREF(replace_link(<LinkedObject>self, NULL))
    return 0


_traverse_fields = (<PyTypeObject*>LinkedObject).tp_traverse
(<PyTypeObject*>LinkedObject).tp_traverse = <traverseproc>_traverse
(<PyTypeObject*>LinkedObject).tp_clear = <inquiry>_clear
