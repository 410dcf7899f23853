/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyword arguments of a function with three parameters, the last two with defaults, as a
 * METH_FASTCALL | METH_KEYWORDS function of an extension binds them. */
#ifndef BENCHMARKS_CALL_FLOOR_KEYWORDS_H_
#define BENCHMARKS_CALL_FLOOR_KEYWORDS_H_

#include <Python.h>

enum { NUM_NAMED = 3 };

static PyObject* parameter_names[NUM_NAMED]; /* interned */
static PyObject* parameter_defaults[NUM_NAMED];

static int make_parameters(void) {
  static const char* const names[NUM_NAMED] = {"x", "y", "z"};
  for (int i = 0; i < NUM_NAMED; ++i) {
    parameter_names[i] = PyUnicode_InternFromString(names[i]);
    if (parameter_names[i] == NULL) return -1;
    if (i > 0) parameter_defaults[i] = PyLong_FromLong(1);
  }
  return 0;
}

/* Return the index of a parameter, or -1. */
static inline int parameter_index(PyObject* name) {
  for (int i = 0; i < NUM_NAMED; ++i) {
    if (parameter_names[i] == name) return i;
  }
  for (int i = 0; i < NUM_NAMED; ++i) {
    if (PyUnicode_Compare(parameter_names[i], name) == 0) return i;
  }
  return -1;
}

/* Bind arguments to parameters: `bound` has borrowed references in the order of the parameters.
 * Fails: -1, exception set. */
static inline int bind_named(PyObject* const* args, Py_ssize_t num_args, PyObject* kwnames,
                             PyObject** bound) {
  Py_ssize_t num_names = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
  if (num_args > NUM_NAMED) {
    PyErr_SetString(PyExc_TypeError, "takes from 1 to 3 positional arguments");
    return -1;
  }
  for (Py_ssize_t i = 0; i < NUM_NAMED; ++i) bound[i] = i < num_args ? args[i] : NULL;
  for (Py_ssize_t i = 0; i < num_names; ++i) {
    int index = parameter_index(PyTuple_GET_ITEM(kwnames, i));
    if (index < 0 || bound[index] != NULL) {
      PyErr_SetString(PyExc_TypeError, "unexpected keyword argument, or one given twice");
      return -1;
    }
    bound[index] = args[num_args + i];
  }
  for (int i = 0; i < NUM_NAMED; ++i) {
    if (bound[i] == NULL) bound[i] = parameter_defaults[i];
    if (bound[i] == NULL) {
      PyErr_SetString(PyExc_TypeError, "missing a required argument: 'x'");
      return -1;
    }
  }
  return 0;
}

#endif /* BENCHMARKS_CALL_FLOOR_KEYWORDS_H_ */
