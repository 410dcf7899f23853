/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion of NumPy arrays, torch tensors and Tensor objects to tensors of the ABI.
 *
 * An argument is converted to a CallTensor on the C stack, which borrows the memory of the Python
 * object.  After the call, `check_not_kept` raises an error if the callee kept a reference.  If the
 * callee is expected to keep it (echo), the argument is an OwnedTensor on the heap, which owns a
 * reference to the Python object. */
#ifndef BENCHMARKS_CALL_FLOOR_TENSOR_H_
#define BENCHMARKS_CALL_FLOOR_TENSOR_H_

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "error.h"
#include "handle.h"
#include "value.h"

#define FLOOR_MAX_NDIM 32

typedef struct {
  TVMFFIObject header;
  DLTensor tensor;
  int64_t strides[FLOOR_MAX_NDIM]; /* strides in elements, for producers with strides in bytes */
} CallTensor;

typedef struct {
  TVMFFIObject header;
  DLTensor tensor;
  PyObject* producer; /* owned reference to the object that owns the memory */
  int64_t extents[];  /* the extents, followed by the strides */
} OwnedTensor;

_Static_assert(sizeof(npy_intp) == sizeof(int64_t),
               "NumPy's shapes are borrowed without a conversion");

static inline void set_tensor(TVMFFIObject* object, TVMFFIAny* out) {
  out->type_index = kTVMFFITensor;
  out->zero_padding = 0;
  out->v_obj = object;
}

static inline void init_call_tensor(CallTensor* target) {
  target->header.combined_ref_count = kNewObjectCount;
  target->header.type_index = kTVMFFITensor;
  target->header.__padding = 0;
  target->header.deleter = NULL;
}

/* Check that the callee kept no reference to a tensor on the stack.  Fails: -1, exception set. */
static inline int check_not_kept(const CallTensor* tensors, int count) {
  for (int i = 0; i < count; ++i) {
    if (__atomic_load_n(&tensors[i].header.combined_ref_count, __ATOMIC_ACQUIRE) !=
        kNewObjectCount) {
      PyErr_SetString(PyExc_RuntimeError, "the callee kept a reference to a borrowed tensor");
      return -1;
    }
  }
  return 0;
}

/* ---- Tensors of NumPy --------------------------------------------------------------------- */

typedef struct {
  DLDataType dtype;  /* bits are 0 if DLPack has no such dtype */
  uint8_t size_log2; /* log2 of the element size in bytes */
} ElementType;

#define FLOOR_ELEMENT(code, bits, size_log2) {{code, bits, 1}, size_log2}

/* DLPack dtypes and element sizes, by NumPy's type number. */
static const ElementType element_types[] = {
    [NPY_BOOL] = FLOOR_ELEMENT(kDLBool, 8, 0),
    [NPY_BYTE] = FLOOR_ELEMENT(kDLInt, 8, 0),
    [NPY_UBYTE] = FLOOR_ELEMENT(kDLUInt, 8, 0),
    [NPY_SHORT] = FLOOR_ELEMENT(kDLInt, 16, 1),
    [NPY_USHORT] = FLOOR_ELEMENT(kDLUInt, 16, 1),
    [NPY_INT] = FLOOR_ELEMENT(kDLInt, 32, 2),
    [NPY_UINT] = FLOOR_ELEMENT(kDLUInt, 32, 2),
    [NPY_LONG] = FLOOR_ELEMENT(kDLInt, 64, 3),
    [NPY_ULONG] = FLOOR_ELEMENT(kDLUInt, 64, 3),
    [NPY_LONGLONG] = FLOOR_ELEMENT(kDLInt, 64, 3),
    [NPY_ULONGLONG] = FLOOR_ELEMENT(kDLUInt, 64, 3),
    [NPY_HALF] = FLOOR_ELEMENT(kDLFloat, 16, 1),
    [NPY_FLOAT] = FLOOR_ELEMENT(kDLFloat, 32, 2),
    [NPY_DOUBLE] = FLOOR_ELEMENT(kDLFloat, 64, 3),
    [NPY_CFLOAT] = FLOOR_ELEMENT(kDLComplex, 64, 3),
    [NPY_CDOUBLE] = FLOOR_ELEMENT(kDLComplex, 128, 4),
};

static inline const ElementType* element_type_of(PyArrayObject* array) {
  static const int count = (int)(sizeof(element_types) / sizeof(element_types[0]));
  int number = PyArray_TYPE(array);
  if (number < 0 || number >= count || element_types[number].dtype.bits == 0) return NULL;
  return &element_types[number];
}

static inline int numpy_to_any(PyObject* value, CallTensor* target, TVMFFIAny* out) {
  if (!PyArray_Check(value)) return fail_type("numpy.ndarray", value);
  PyArrayObject* array = (PyArrayObject*)value;
  const ElementType* element = element_type_of(array);
  int ndim = PyArray_NDIM(array);
  /* BEHAVED: aligned, writable, in the machine's byte order. */
  if (element == NULL || ndim > FLOOR_MAX_NDIM || !PyArray_ISBEHAVED(array)) {
    PyErr_SetString(PyExc_TypeError, "the array has no DLPack counterpart");
    return -1;
  }
  const npy_intp* byte_strides = PyArray_STRIDES(array);
  for (int i = 0; i < ndim; ++i) {
    if (byte_strides[i] & ((1 << element->size_log2) - 1)) {
      PyErr_SetString(PyExc_ValueError, "strides are not multiples of the element size");
      return -1;
    }
    target->strides[i] = byte_strides[i] >> element->size_log2;
  }
  init_call_tensor(target);
  target->tensor.data = PyArray_DATA(array);
  target->tensor.device.device_type = kDLCPU;
  target->tensor.device.device_id = 0;
  target->tensor.ndim = ndim;
  target->tensor.dtype = element->dtype;
  target->tensor.shape = (int64_t*)PyArray_DIMS(array);
  target->tensor.strides = target->strides;
  target->tensor.byte_offset = 0;
  set_tensor(&target->header, out);
  return 0;
}

/* ---- Tensors of torch, through its exchange API ------------------------------------------- */

static PyTypeObject* exchange_type;       /* owned tensor class; set by floor.use_exchange_api */
static const DLPackExchangeAPI* exchange; /* exchange API of that class; never freed */

/* Store a view of a torch tensor in *tensor, borrowed from `value`.  Fails: -1, exception set. */
static inline int view_exchange_tensor(PyObject* value, DLTensor* tensor) {
  if (exchange_type == NULL || !PyObject_TypeCheck(value, exchange_type))
    return fail_type("an instance of the exchange class", value);
  if (exchange->dltensor_from_py_object_no_sync(value, tensor) != 0) return -1;
  if (tensor->device.device_type != kDLCPU) {
    PyErr_SetString(PyExc_TypeError, "the floor handles tensors on the CPU only");
    return -1;
  }
  return 0;
}

static inline int torch_to_any(PyObject* value, CallTensor* target, TVMFFIAny* out) {
  if (view_exchange_tensor(value, &target->tensor) != 0) return -1;
  init_call_tensor(target);
  set_tensor(&target->header, out);
  return 0;
}

/* Make torch's allocator the thread's allocator during a call; return the previous allocator. */
static inline DLPackManagedTensorAllocator enter_allocator(void) {
  DLPackManagedTensorAllocator previous = NULL;
  TVMFFIEnvSetDLPackManagedTensorAllocator(exchange->managed_tensor_allocator, 0, &previous);
  return previous;
}

static inline void leave_allocator(DLPackManagedTensorAllocator previous) {
  TVMFFIEnvSetDLPackManagedTensorAllocator(previous, 0, NULL);
}

/* Return a new torch tensor over the same memory; consumes the reference to `handle`. */
static PyObject* torch_from_tensor(TVMFFIObjectHandle handle) {
  DLManagedTensorVersioned* managed = NULL;
  void* tensor = NULL;
  int code = TVMFFITensorToDLPackVersioned(handle, &managed);
  TVMFFIObjectDecRef(handle);
  if (code != 0) {
    raise_pending_error();
    return NULL;
  }
  if (exchange->managed_tensor_to_py_object_no_sync(managed, &tensor) != 0) return NULL;
  return (PyObject*)tensor;
}

/* ---- Tensors that outlive the call -------------------------------------------------------- */

static void delete_owned_tensor(void* self, int flags) {
  OwnedTensor* owned = (OwnedTensor*)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    PyGILState_STATE state = PyGILState_Ensure(); /* any thread may release the last reference */
    Py_DECREF(owned->producer);
    PyGILState_Release(state);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(owned);
}

/* Return a new reference to a tensor with copies of the view's shape and strides.  It owns a
 * reference to `producer`. */
static TVMFFIObjectHandle own_tensor(const DLTensor* view, PyObject* producer) {
  size_t extents_size = sizeof(int64_t) * (size_t)view->ndim;
  OwnedTensor* owned = (OwnedTensor*)malloc(sizeof(OwnedTensor) + 2 * extents_size);
  if (owned == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  owned->header.combined_ref_count = kNewObjectCount;
  owned->header.type_index = kTVMFFITensor;
  owned->header.__padding = 0;
  owned->header.deleter = delete_owned_tensor;
  owned->tensor = *view;
  owned->tensor.shape = owned->extents;
  owned->tensor.strides = owned->extents + view->ndim;
  memcpy(owned->tensor.shape, view->shape, extents_size);
  memcpy(owned->tensor.strides, view->strides, extents_size);
  Py_INCREF(producer);
  owned->producer = producer;
  return owned;
}

/* Tensor(array): a Tensor over the memory of a NumPy array. */
static PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* array;
  CallTensor view;
  TVMFFIAny unused;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O:Tensor", &array)) return NULL;
  if (numpy_to_any(array, &view, &unused) != 0) return NULL;
  TVMFFIObjectHandle handle = own_tensor(&view.tensor, array);
  return handle != NULL ? handle_wrap(type, handle) : NULL;
}

FLOOR_HANDLE_TYPE(TensorType, "Tensor", tensor_new);

static inline int tensor_to_any(PyObject* value, TVMFFIAny* out) {
  if (!PyObject_TypeCheck(value, &TensorType)) return fail_type("Tensor", value);
  set_tensor((TVMFFIObject*)((HandleObject*)value)->handle, out);
  return 0;
}

#endif /* BENCHMARKS_CALL_FLOOR_TENSOR_H_ */
