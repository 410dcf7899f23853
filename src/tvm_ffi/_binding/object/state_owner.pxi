# SPDX-License-Identifier: Apache-2.0
"""What lets the garbage collector see through a native module that a Python class implements.

The native module owns the state of its Python object, and the object owns the module.  A state that
refers to the object, as one does that keeps bound methods, would keep all three alive for ever: the
collector does not see the module's reference.  The object therefore reports that reference as its
own as long as it is the module's only owner.
"""

from cpython.object cimport PyTypeObject, traverseproc, visitproc
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi

cdef extern from * nogil:
    """
    static int tvm_ffi_visit(PyObject* object, visitproc visit, void* arg) {
      Py_VISIT(object);
      return 0;
    }
    """
    int visit_object "tvm_ffi_visit"(PyObject* obj, visitproc visit, void* arg) noexcept

cdef traverseproc _traverse_fields = NULL


cdef class StateOwner(CObject):
    """Base of Python objects that stand for native modules with a state in Python."""

    # The module that owns the state: one weak count of it, or NULL.  The handle may be another one,
    # or none: wrappers can be emptied and filled by anybody.
    cdef abi.TVMFFIObject* module
    cdef object state

    def __dealloc__(self):
        drop_target(self.module)


def hold_state(StateOwner owner not None, state not None) -> None:
    """Tell an object, which has its handle already, what its native module owns.

    Parameters
    ----------
    owner : StateOwner
        The object.
    state : object
        What the native module owns.
    """
    if owner.module != NULL:
        raise RuntimeError("the object has a state")
    owner.module = weak_target(owner)
    owner.state = state


cdef int _traverse(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef StateOwner owner = <StateOwner>self
    cdef int stop = _traverse_fields(self, visit, arg)
    if stop != 0 or owner.module == NULL or owner.module != owner.chandle or owner.state is None:
        return stop
    return visit_object(<PyObject*>owner.state, visit, arg) if has_one_owner(owner.module) else 0


_traverse_fields = (<PyTypeObject*>StateOwner).tp_traverse
(<PyTypeObject*>StateOwner).tp_traverse = <traverseproc>_traverse
