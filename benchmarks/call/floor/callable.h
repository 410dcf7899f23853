/* SPDX-License-Identifier: Apache-2.0
 *
 * Callable objects with the vectorcall protocol (PEP 590).
 *
 * A binding represents a function that it finds in a library at run time by such an object, not by
 * a built-in function of a module.  CPython calls built-in functions on a shorter path; the row
 * noop_builtin shows the difference. */
#ifndef BENCHMARKS_CALL_FLOOR_CALLABLE_H_
#define BENCHMARKS_CALL_FLOOR_CALLABLE_H_

#include <Python.h>
#include <stddef.h>

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
} CallableObject;

static PyTypeObject CallableType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.Callable",
    .tp_doc = "A kernel with its conversions.",
    .tp_basicsize = sizeof(CallableObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(CallableObject, vectorcall),
    .tp_call = PyVectorcall_Call,
};

/* Add a callable to the module under `name`.  Fails: -1, exception set. */
static int add_callable(PyObject* module, const char* name, vectorcallfunc vectorcall) {
  CallableObject* callable = PyObject_New(CallableObject, &CallableType);
  if (callable == NULL) return -1;
  callable->vectorcall = vectorcall;
  int code = PyObject_SetAttrString(module, name, (PyObject*)callable);
  Py_DECREF(callable);
  return code;
}

#endif /* BENCHMARKS_CALL_FLOOR_CALLABLE_H_ */
