/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion of the pending error to a Python exception.
 *
 * As in the package's contract, the kind selects the exception class, the attribute
 * `__tvm_ffi_error__` is the Error object, and the traceback has one frame per line of the native
 * backtrace. */
#ifndef BENCHMARKS_CALL_FLOOR_ERROR_H_
#define BENCHMARKS_CALL_FLOOR_ERROR_H_

#include <Python.h>
#include <frameobject.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#include "handle.h"

FLOOR_HANDLE_TYPE(ErrorType, "Error", NULL);

typedef struct {
  TVMFFIObject header;
  TVMFFIErrorCell cell;
} ErrorObject;

static PyObject* kind_classes;    /* dict of exception classes, by error kind */
static PyObject* frame_codes;     /* dict of code objects, by line of the backtrace */
static PyObject* frame_globals;   /* empty dict, the globals of all made frames */
static PyObject* error_attribute; /* "__tvm_ffi_error__" */

static int init_errors(void) {
  PyObject* const classes[] = {PyExc_RuntimeError,   PyExc_ValueError,     PyExc_TypeError,
                               PyExc_KeyError,       PyExc_AttributeError, PyExc_IndexError,
                               PyExc_AssertionError, PyExc_MemoryError};
  kind_classes = PyDict_New();
  frame_codes = PyDict_New();
  frame_globals = PyDict_New();
  error_attribute = PyUnicode_InternFromString("__tvm_ffi_error__");
  if (!kind_classes || !frame_codes || !frame_globals || !error_attribute) return -1;
  for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); ++i) {
    const char* name = ((PyTypeObject*)classes[i])->tp_name;
    if (PyDict_SetItemString(kind_classes, name, classes[i]) < 0) return -1;
  }
  return PyType_Ready(&ErrorType);
}

static PyObject* text_to_python(const TVMFFIByteArray* text) {
  return PyUnicode_DecodeUTF8(text->data, (Py_ssize_t)text->size, "replace");
}

/* Return the exception class of an error kind, borrowed from the dict. */
static PyObject* class_of_kind(const TVMFFIByteArray* kind) {
  PyObject* name = text_to_python(kind);
  if (name == NULL) return NULL;
  PyObject* found = PyDict_GetItemWithError(kind_classes, name);
  Py_DECREF(name);
  return found != NULL ? found : PyExc_RuntimeError;
}

/* Return a code object with the position in the line `  File "PATH", line N, in FUNCTION`. */
static PyCodeObject* parse_line(PyObject* line) {
  char path[512], function[512];
  int number;
  const char* text = PyUnicode_AsUTF8(line);
  if (text == NULL) return NULL;
  if (sscanf(text, " File \"%511[^\"]\", line %d, in %511[^\n]", path, &number, function) != 3) {
    return PyCode_NewEmpty("<unknown>", "<unknown>", 0);
  }
  return PyCode_NewEmpty(path, function, number);
}

/* Return a borrowed code object.  The cache of parsed lines is never cleared. */
static PyCodeObject* code_of_line(const char* text, size_t size) {
  PyObject* line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
  if (line == NULL) return NULL;
  PyObject* code = PyDict_GetItemWithError(frame_codes, line);
  if (code == NULL) {
    code = (PyObject*)parse_line(line);
    if (code != NULL) {
      PyDict_SetItem(frame_codes, line, code);
      Py_DECREF(code); /* the dict owns a reference */
    }
  }
  Py_DECREF(line);
  return (PyCodeObject*)code;
}

/* Prepend one frame per line to the current exception's traceback.  The first line of the backtrace
 * is the innermost call, which is the order in which tracebacks grow. */
static void add_frames(const TVMFFIByteArray* backtrace) {
  PyObject *type, *value, *traceback;
  const char* line = backtrace->data;
  const char* end = line + backtrace->size;
  while (line < end) {
    const char* newline = (const char*)memchr(line, '\n', (size_t)(end - line));
    const char* stop = newline != NULL ? newline : end;
    PyErr_Fetch(&type, &value, &traceback); /* no exception may be set during the lookups */
    PyCodeObject* code = code_of_line(line, (size_t)(stop - line));
    PyFrameObject* frame =
        code != NULL ? PyFrame_New(PyThreadState_Get(), code, frame_globals, NULL) : NULL;
    PyErr_Restore(type, value, traceback);
    if (frame != NULL) {
      PyTraceBack_Here(frame);
      Py_DECREF(frame);
    }
    line = stop + 1;
  }
}

/* Take this thread's pending error and set the Python exception for it. */
static void raise_pending_error(void) {
  TVMFFIObjectHandle handle = NULL;
  TVMFFIErrorMoveFromRaised(&handle);
  if (handle == NULL) {
    PyErr_SetString(PyExc_SystemError, "the callee failed but left no error");
    return;
  }
  const TVMFFIErrorCell* cell = &((const ErrorObject*)handle)->cell;
  PyObject* error = handle_wrap(&ErrorType, handle); /* owns the memory that `cell` points to */
  PyObject* message = error != NULL ? text_to_python(&cell->message) : NULL;
  PyObject* exception_class = message != NULL ? class_of_kind(&cell->kind) : NULL;
  PyObject* exception =
      exception_class != NULL ? PyObject_CallOneArg(exception_class, message) : NULL;
  if (exception != NULL && PyObject_SetAttr(exception, error_attribute, error) == 0) {
    PyErr_SetObject(exception_class, exception);
    add_frames(&cell->backtrace);
  }
  Py_XDECREF(exception);
  Py_XDECREF(message);
  Py_XDECREF(error);
}

#endif /* BENCHMARKS_CALL_FLOOR_ERROR_H_ */
