# SPDX-License-Identifier: Apache-2.0
"""Public module names (``__module__``) of compiled classes and functions.

Pickles contain ``__module__``, and `repr` and `help` show it.  The name of the public module stays
valid when the private modules of this package are renamed.
"""

from cpython.object cimport PyTypeObject

cdef extern from *:
    """
    /* Set `__module__` of a class.  Fails: -1 with an exception set.  A static type has no
     * `__module__` entry; its `tp_name` is "module.name".  The new string is never freed, because
     * static types are never freed. */
    static int tvm_ffi_set_module(PyTypeObject* cls, PyObject* module) {
      const char* name = strrchr(cls->tp_name, '.');
      const char* text = PyUnicode_AsUTF8(module);
      char* full;
      if (text == NULL) return -1;
      if (cls->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        if (PyDict_SetItemString(cls->tp_dict, "__module__", module) != 0) return -1;
      } else {
        name = name == NULL ? cls->tp_name : name + 1;
        full = (char*)malloc(strlen(text) + strlen(name) + 2);
        if (full == NULL) {
          PyErr_NoMemory();
          return -1;
        }
        sprintf(full, "%s.%s", text, name);
        cls->tp_name = full;
      }
      PyType_Modified(cls);
      return 0;
    }
    """
    int set_module "tvm_ffi_set_module"(PyTypeObject* cls, object module) except -1


def set_public_module(str module not None, *members) -> None:
    """Set ``__module__`` of classes and functions to the public module that exports them."""
    for member in members:
        if isinstance(member, type):
            set_module(<PyTypeObject*>member, module)
        else:
            member.__module__ = module
