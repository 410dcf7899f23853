/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrapper types that own one reference to an object of the ABI, such as Tensor, Function, Error.
 *
 * They differ only in name and constructor. */
#ifndef BENCHMARKS_CALL_FLOOR_HANDLE_H_
#define BENCHMARKS_CALL_FLOOR_HANDLE_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>

typedef struct {
  PyObject_HEAD TVMFFIObjectHandle handle; /* owned */
} HandleObject;

static void handle_dealloc(PyObject* self) {
  TVMFFIObjectDecRef(((HandleObject*)self)->handle);
  Py_TYPE(self)->tp_free(self);
}

/* Return a new wrapper; consumes the reference, also on failure.  Fails: NULL, exception set. */
static inline PyObject* handle_wrap(PyTypeObject* type, TVMFFIObjectHandle handle) {
  HandleObject* self = PyObject_New(HandleObject, type);
  if (self == NULL) {
    TVMFFIObjectDecRef(handle);
    return NULL;
  }
  self->handle = handle;
  return (PyObject*)self;
}

#define FLOOR_HANDLE_TYPE(variable, name, constructor)             \
  static PyTypeObject variable = {                                 \
      PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor." name,      \
      .tp_basicsize = sizeof(HandleObject),                        \
      .tp_dealloc = handle_dealloc,                                \
      .tp_flags = Py_TPFLAGS_DEFAULT,                              \
      .tp_new = constructor,                                       \
      .tp_doc = "Owner of one reference to an object of the ABI.", \
  }

#endif /* BENCHMARKS_CALL_FLOOR_HANDLE_H_ */
