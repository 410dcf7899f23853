/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks: Python callables as Function objects of the ABI.
 *
 * Native code may call or release a callback on any thread, with or without the GIL; both functions
 * acquire it. */
#ifndef BENCHMARKS_CALL_FLOOR_CALLBACK_H_
#define BENCHMARKS_CALL_FLOOR_CALLBACK_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>

#include "error.h"
#include "handle.h"
#include "value.h"

#define FLOOR_MAX_CALLBACK_ARGS 8

/* Store the current Python exception as the pending error, and clear it. */
static void report_exception(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* message = value != NULL ? PyObject_Str(value) : NULL;
  const char* text = message != NULL ? PyUnicode_AsUTF8(message) : NULL;
  TVMFFIErrorSetRaisedFromCStr(type != NULL ? ((PyTypeObject*)type)->tp_name : "RuntimeError",
                               text != NULL ? text : "(no message)");
  PyErr_Clear();
  Py_XDECREF(message);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

/* Convert the arguments, call, convert the result.  Fails: -1, exception set. */
static int call_callable(PyObject* callable, const TVMFFIAny* args, int32_t num_args,
                         TVMFFIAny* result) {
  PyObject* values[FLOOR_MAX_CALLBACK_ARGS];
  int32_t converted = 0;
  int code = -1;
  if (num_args > FLOOR_MAX_CALLBACK_ARGS) {
    PyErr_SetString(PyExc_TypeError, "too many arguments for a callback of the floor");
    return -1;
  }
  for (; converted < num_args; ++converted) {
    values[converted] = any_to_python(&args[converted]);
    if (values[converted] == NULL) break;
  }
  if (converted == num_args) {
    PyObject* returned = PyObject_Vectorcall(callable, values, (size_t)num_args, NULL);
    if (returned != NULL) {
      code = python_to_any(returned, result);
      Py_DECREF(returned);
    }
  }
  while (converted > 0) Py_DECREF(values[--converted]);
  return code;
}

static int run_callback(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  PyGILState_STATE state = PyGILState_Ensure();
  int code = call_callable((PyObject*)self, args, num_args, result);
  if (code != 0) report_exception();
  PyGILState_Release(state);
  return code;
}

static void release_callable(void* self) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject*)self);
  PyGILState_Release(state);
}

/* Return an owned Function that calls `callable`, or NULL with an exception set. */
static TVMFFIObjectHandle function_from_callable(PyObject* callable) {
  TVMFFIObjectHandle handle = NULL;
  if (!PyCallable_Check(callable)) {
    fail_type("a callable", callable);
    return NULL;
  }
  if (TVMFFIFunctionCreate(callable, run_callback, release_callable, &handle) != 0) {
    raise_pending_error();
    return NULL;
  }
  Py_INCREF(callable); /* release_callable releases it */
  return handle;
}

static PyObject* function_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* callable;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O:Function", &callable)) return NULL;
  TVMFFIObjectHandle handle = function_from_callable(callable);
  return handle != NULL ? handle_wrap(type, handle) : NULL;
}

FLOOR_HANDLE_TYPE(FunctionType, "Function", function_new);

#endif /* BENCHMARKS_CALL_FLOOR_CALLBACK_H_ */
