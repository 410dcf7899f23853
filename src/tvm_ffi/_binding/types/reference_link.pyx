# SPDX-License-Identifier: Apache-2.0
"""What lets the garbage collector see Python values that fields of a native object hold.

An object of a type defined in Python may hold, by way of native references, a callable or any other
Python value that refers to the object again:

    Python object --> native object --> native function --> callable --> Python object

The collector does not see the second and the third arrow, so the circle would stay for ever.  The
Python object therefore has a link, which refers to the same values itself, and reports each of them
once more, for the native reference, while that is no one else's: nothing but the link and the field
holds the native function, and the Python object is the only owner of the object with the field.

Native code may write the field meanwhile, on threads that know no GIL.  So the link looks at the
field's pointer alone and follows only its own references, which stay valid.
"""

from cpython.object cimport PyTypeObject, traverseproc, visitproc
from cpython.ref cimport PyObject
from libc.stdlib cimport free, realloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.call.callback cimport callable_of
from tvm_ffi._binding.object.object cimport CObject, LinkedObject, OwnerLink
from tvm_ffi._binding.types.field cimport FieldGetter

cdef extern from * nogil:
    """
    #include <tvm/ffi/c_api.h>

    typedef struct {
      TVMFFIObject** place; /* the pointer in the field */
      TVMFFIObject* holder; /* owned: the function, or the opaque object, that it held */
      PyObject* value;      /* what that holds; borrowed from it */
    } TVMFFIHeldValue;

    typedef struct {
      TVMFFIHeldValue* values;
      Py_ssize_t num_values;
    } TVMFFIHeldValues;

    /* The link of a new object is NULL, which Cython does not expect. */
    #define tvm_ffi_set_link(owner, made)                  \\
      do {                                                 \\
        PyObject* tvm_ffi_previous = (owner)->link;        \\
        Py_INCREF((PyObject*)(made));                      \\
        (owner)->link = (PyObject*)(made);                 \\
        Py_XDECREF(tvm_ffi_previous);                      \\
      } while (0)

    static int tvm_ffi_has_owners(TVMFFIObject* object, uint64_t number) {
      uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);
      return (count & TVM_FFI_REF_COUNT_STRONG_MASK) == number * TVM_FFI_REF_COUNT_STRONG_ONE;
    }

    static int tvm_ffi_visit_held(
        const TVMFFIHeldValues* held, TVMFFIObject* owner, visitproc visit, void* arg) {
      int is_only_owner = owner != NULL && tvm_ffi_has_owners(owner, 1);
      for (Py_ssize_t i = 0; i < held->num_values; ++i) {
        TVMFFIHeldValue* value = &held->values[i];
        int is_ours = tvm_ffi_has_owners(value->holder, 1); /* the field has got something else */
        if (!is_ours && is_only_owner) {
          TVMFFIObject* present = __atomic_load_n(value->place, __ATOMIC_ACQUIRE);
          is_ours = present == value->holder && tvm_ffi_has_owners(value->holder, 2);
        }
        if (is_ours) Py_VISIT(value->value);
      }
      return 0;
    }
    """
    ctypedef struct HeldValue "TVMFFIHeldValue":
        abi.TVMFFIObject** place
        abi.TVMFFIObject* holder
        PyObject* value
    ctypedef struct HeldValues "TVMFFIHeldValues":
        HeldValue* values
        Py_ssize_t num_values
    void set_link "tvm_ffi_set_link"(LinkedObject owner, object made)
    int visit_held "tvm_ffi_visit_held"(
        const HeldValues* held, abi.TVMFFIObject* owner, visitproc visit, void* arg) noexcept

cdef traverseproc _traverse_fields = NULL


cdef class ReferenceLink(OwnerLink):
    """Belongs to one Python object, and knows the Python values in the fields of the native one.

    Parameters
    ----------
    owner : CObject
        The object, the only one that keeps the link.
    """

    cdef HeldValues held
    cdef list values  # the link's own references to what `held` has

    def __init__(self, CObject owner not None):
        self.values = []
        self.owner = &owner.chandle  # which the owner takes back

    def __dealloc__(self):
        self._forget()
        free(self.held.values)

    cdef int _forget(self) noexcept:
        cdef Py_ssize_t count = self.held.num_values
        cdef Py_ssize_t i
        self.held.num_values = 0
        for i in range(count):
            abi.TVMFFIObjectDecRef(self.held.values[i].holder)
        return 0

    cdef int _add(self, abi.TVMFFIObject** place, PyObject* value) except -1:
        cdef HeldValue* grown = <HeldValue*>realloc(
            self.held.values, (self.held.num_values + 1) * sizeof(HeldValue))
        if grown == NULL:
            raise MemoryError()
        self.held.values = grown
        self.values.append(<object>value)
        abi.TVMFFIObjectIncRef(place[0])
        grown[self.held.num_values].place = place
        grown[self.held.num_values].holder = place[0]
        grown[self.held.num_values].value = value
        self.held.num_values += 1
        return 0


cdef PyObject* _python_value_of(abi.TVMFFIObject* holder) noexcept:
    """What a native object holds for Python; NULL when it is no such object."""
    if holder == NULL:
        return NULL
    if holder.type_index == abi.kTVMFFIOpaquePyObject:
        return <PyObject*>abi.TVMFFIOpaqueObjectGetCellPtr(holder).handle
    return callable_of(holder) if holder.type_index == abi.kTVMFFIFunction else NULL


cdef abi.TVMFFIObject** _reference_in(FieldGetter getter, char* header) noexcept:
    """Where a field has its reference; NULL when its value is none."""
    cdef abi.TVMFFIAny* value = <abi.TVMFFIAny*>(header + getter.offset)
    if getter.size == sizeof(void*):
        return <abi.TVMFFIObject**>(header + getter.offset)
    return &value.v_obj if value.type_index >= abi.kTVMFFIStaticObjectBegin else NULL


cdef inline bint _has_link(LinkedObject owner) noexcept:
    # NULL in a new object, None in one that the collector has cleared.
    return <PyObject*>owner.link != NULL and owner.link is not None


cdef int link_python_values(LinkedObject owner, tuple getters) except -1:
    cdef ReferenceLink link
    cdef list previous
    cdef char* header = <char*>owner.chandle
    cdef abi.TVMFFIObject** place
    cdef PyObject* value
    if _has_link(owner):
        link = owner.link
        previous = link.values
        link._forget()
        link.values = []
        previous.clear()  # last: what dies may come back here
    if header == NULL:
        return 0
    for getter in getters:
        place = _reference_in(<FieldGetter>getter, header)
        value = _python_value_of(place[0]) if place != NULL else NULL
        if value == NULL:
            continue
        if not _has_link(owner):
            set_link(owner, ReferenceLink(owner))
        (<ReferenceLink>owner.link)._add(place, value)
    return 0


def relink(owner) -> None:
    """Look again at the fields of an object that may hold Python values.

    Parameters
    ----------
    owner : CObject
        The object; its class names the fields.  What is in them is the caller's: no one else
        writes them now.
    """
    getters = getattr(type(owner), "__ffi_holders__", None)
    if getters is not None and isinstance(owner, LinkedObject):
        link_python_values(owner, getters)


cdef int _traverse(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = _traverse_fields(self, visit, arg)
    # Casts only: a variable would count as a reference while the collector counts.
    if stop != 0 or (<ReferenceLink>self).owner == NULL:
        return stop
    return visit_held(
        &(<ReferenceLink>self).held, <abi.TVMFFIObject*>(<ReferenceLink>self).owner[0], visit, arg)


_traverse_fields = (<PyTypeObject*>ReferenceLink).tp_traverse
(<PyTypeObject*>ReferenceLink).tp_traverse = <traverseproc>_traverse
