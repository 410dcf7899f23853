# SPDX-License-Identifier: Apache-2.0
# Vectorcall support that Cython lacks: instances that are called through a C function pointer, and
# methods that parse their arguments themselves.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject

cdef extern from "Python.h":
    """
    /* Make instances of a class callable through the vectorcall pointer at `offset`.  `tp_call`
     * still serves callers that pass a tuple.  With `is_method`, Python passes the object as first
     * argument of `obj.method()` and creates no bound method.  Fails: never. */
    static void tvm_ffi_enable_vectorcall(PyTypeObject* cls, Py_ssize_t offset, int is_method) {
      cls->tp_vectorcall_offset = offset;
      cls->tp_call = PyVectorcall_Call;
      cls->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
      if (is_method) cls->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
      PyType_Modified(cls);
    }

    /* Add a method that parses its arguments itself.  Fails: -1 with an exception set. */
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
