# SPDX-License-Identifier: Apache-2.0
"""Under which module compiled classes and functions are known: the public one that shows them.

Their `__module__` stands in pickles, which outlive the layout of this package, and in what `repr`
and `help` show.
"""

from cpython.object cimport PyTypeObject

cdef extern from *:
    """
    /* Names the class; -1 with an exception set.  A class that is no heap type has its module in
     * front of its name, and the text lives as long as the class, which is for ever. */
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


def show_in(str module not None, *things) -> None:
    """Let classes and functions say that they belong to a module, which has them by their names."""
    for thing in things:
        if isinstance(thing, type):
            set_module(<PyTypeObject*>thing, module)
        else:
            thing.__module__ = module
