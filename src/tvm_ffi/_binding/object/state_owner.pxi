# SPDX-License-Identifier: Apache-2.0
"""Garbage collection of custom modules: native modules that a Python class implements.

The native module owns the state of its Python object, and the object owns the module:

    Python object --> native module --> state

If the state refers to the object, as bound methods do, this is a cycle that the garbage collector
cannot see, because it does not traverse the native module.  So the `tp_traverse` of the Python
object reports the module's reference to the state, while this object is the module's only owner.
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
    """Base of Python objects that own a native module whose state is a Python object."""

    # Weak reference to the native module that owns `state`; NULL before `set_module_state`.  The
    # wrapper's handle may differ, because any code can empty a wrapper or move another handle in.
    cdef abi.TVMFFIObject* module
    cdef object state

    def __dealloc__(self):
        leave_table(&_wrappers, self)
        drop_target(self.module)


def set_module_state(StateOwner owner not None, state not None) -> None:
    """Declare the Python state of an object's native module to the garbage collector.

    Parameters
    ----------
    owner : StateOwner
        Python object whose wrapper already holds the native module.
    state : object
        Python object to which the native module owns a reference.

    Raises
    ------
    RuntimeError
        If the state of this object has been set before.
    """
    if owner.module != NULL:
        raise RuntimeError(
            f"set_module_state: the {type(owner).__name__} object already has a module state")
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
