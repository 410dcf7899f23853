/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor export with the DLPack protocol: a versioned capsule, whatever the consumer requests.
 *
 * It is the least work that a producer can do. */
#ifndef BENCHMARKS_CALL_FLOOR_EXPORT_H_
#define BENCHMARKS_CALL_FLOOR_EXPORT_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>

#include "error.h"
#include "handle.h"
#include "tensor.h"

static const char kVersionedCapsule[] = "dltensor_versioned";

/* Capsule destructor: delete the tensor unless a consumer took it and renamed the capsule. */
static void delete_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kVersionedCapsule)) return;
  DLManagedTensorVersioned* managed =
      (DLManagedTensorVersioned*)PyCapsule_GetPointer(capsule, kVersionedCapsule);
  managed->deleter(managed);
}

static PyObject* tensor_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t num_args,
                               PyObject* names) {
  DLManagedTensorVersioned* managed = NULL;
  PyObject* capsule;
  (void)args, (void)num_args, (void)names;
  if (TVMFFITensorToDLPackVersioned(((HandleObject*)self)->handle, &managed) != 0) {
    raise_pending_error();
    return NULL;
  }
  capsule = PyCapsule_New(managed, kVersionedCapsule, delete_capsule);
  if (capsule == NULL) managed->deleter(managed);
  return capsule;
}

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {0},
};

/* Set the methods of the Tensor type; call it before PyType_Ready. */
static void add_tensor_methods(void) { TensorType.tp_methods = tensor_methods; }

#endif /* BENCHMARKS_CALL_FLOOR_EXPORT_H_ */
