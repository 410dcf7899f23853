# SPDX-License-Identifier: Apache-2.0
"""What lets the garbage collector see through a native module that a Python class implements.

The native module owns the state of its Python object, and the object owns the module.  A state that
refers to the object, as one does that keeps bound methods, would keep all three alive for ever: the
collector does not see the module's reference.  The object therefore has a link, which reports that
reference as long as the object is the module's only owner.
"""

from cpython.object cimport PyTypeObject, traverseproc, visitproc
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.object cimport CObject

cdef extern from * nogil:
    """
    #include <tvm/ffi/c_api.h>

    static int tvm_ffi_has_one_owner(TVMFFIObject* object) {
      uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);
      return (count & TVM_FFI_REF_COUNT_STRONG_MASK) == TVM_FFI_REF_COUNT_STRONG_ONE;
    }

    typedef struct {
      TVMFFIObjectHandle* handle; /* of the object that owns the link; it may be NULL */
      PyObject* state;            /* borrowed from the link */
    } TVMFFILinkView;

    static int tvm_ffi_visit_link(TVMFFILinkView link, visitproc visit, void* arg) {
      TVMFFIObject* module = (TVMFFIObject*)*link.handle;
      if (module != NULL && tvm_ffi_has_one_owner(module)) Py_VISIT(link.state);
      return 0;
    }
    """
    ctypedef struct LinkView "TVMFFILinkView":
        abi.TVMFFIObjectHandle* handle
        PyObject* state
    int visit_link "tvm_ffi_visit_link"(LinkView link, visitproc visit, void* arg) noexcept

cdef traverseproc _traverse_fields = NULL


cdef class StateLink:
    """Belongs to one Python object that stands for a native module, and refers to its state.

    Parameters
    ----------
    owner : CObject
        The object, the only one that keeps the link.
    state : object
        What the native module owns.
    """

    cdef LinkView view
    cdef object state

    def __init__(self, CObject owner not None, state):
        self.state = state
        self.view.state = <PyObject*>state
        self.view.handle = &owner.chandle  # the link dies with its owner, so this stays valid


cdef int _traverse(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = _traverse_fields(self, visit, arg)
    if stop != 0 or (<StateLink>self).view.handle == NULL or (<StateLink>self).state is None:
        return stop
    return visit_link((<StateLink>self).view, visit, arg)


_traverse_fields = (<PyTypeObject*>StateLink).tp_traverse
(<PyTypeObject*>StateLink).tp_traverse = <traverseproc>_traverse
