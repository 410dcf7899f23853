# SPDX-License-Identifier: Apache-2.0
# Calls that take C function pointers, which Cython cannot declare: of instances of our classes, and
# of methods that take their arguments apart themselves.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject

cdef extern from "Python.h":
    """
    /* Lets instances of a class be called through the function pointer at this offset.  tp_call
     * stays right for callers that come with a tuple.  Methods take the object as their first
     * argument when they are called on it, so that no bound method is made in between. */
    static void tvm_ffi_enable_vectorcall(PyTypeObject* cls, Py_ssize_t offset, int is_method) {
      cls->tp_vectorcall_offset = offset;
      cls->tp_call = PyVectorcall_Call;
      cls->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
      if (is_method) cls->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
      PyType_Modified(cls);
    }

    /* Gives a class a method that takes its arguments apart itself; -1 with an exception set. */
    static int tvm_ffi_add_method(PyTypeObject* cls, PyMethodDef* definition) {
      PyObject* method = PyDescr_NewMethod(cls, definition);
      int code = -1;
      if (method != NULL) code = PyDict_SetItemString(cls->tp_dict, definition->ml_name, method);
      Py_XDECREF(method);
      PyType_Modified(cls);
      return code;
    }
    """
    ctypedef PyObject* (*PyCFunction)(PyObject* self, PyObject* args) noexcept
    ctypedef struct PyMethodDef:
        const char* ml_name
        PyCFunction ml_meth
        int ml_flags
        const char* ml_doc
    int METH_FASTCALL, METH_KEYWORDS
    int add_method "tvm_ffi_add_method"(PyTypeObject* cls, PyMethodDef* definition) except -1
    void enable_vectorcall "tvm_ffi_enable_vectorcall"(
        PyTypeObject* cls, Py_ssize_t offset, bint is_method)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) noexcept
    object PyVectorcall_Call(object callable, tuple args, PyObject* kwargs)
