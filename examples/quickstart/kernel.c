/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimal kernel: add_one(x, y) computes y = x + 1.
 *
 * It accepts only compact float32 vectors on the CPU, so the computation is a simple loop.  The
 * kernel in ../stable_c_abi also accepts strided views. */
#include <stdarg.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

/* Raise an error and return -1; in Python, `kind` is the name of the exception class. */
static int fail(const char* kind, const char* format, ...) {
  char message[160];
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof(message), format, values);
  va_end(values);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* Check that an argument is a compact float32 vector, a Tensor object or a DLTensor*, and write its
 * DLTensor to *out. */
static int read_vector(const TVMFFIAny* value, const char* name, DLTensor** out) {
  DLTensor* t = NULL;
  /* The DLTensor of a Tensor object follows the object header. */
  if (value->type_index == kTVMFFITensor) t = (DLTensor*)(value->v_obj + 1);
  if (value->type_index == kTVMFFIDLTensorPtr) t = value->v_ptr;
  if (t == NULL) {
    return fail("TypeError", "add_one(x, y): `%s` must be a tensor, got %s", name,
                TVMFFIGetTypeInfo(value->type_index)->type_key.data);
  }
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1) {
    return fail("TypeError", "add_one(x, y): `%s` must be float32, got dtype code %d of %d bits",
                name, t->dtype.code, t->dtype.bits);
  }
  if (t->device.device_type != kDLCPU || t->ndim != 1) {
    return fail("ValueError", "add_one(x, y): `%s` must be a CPU vector, got device %d, ndim %d",
                name, (int)t->device.device_type, t->ndim);
  }
  if (t->strides != NULL && t->shape[0] > 1 && t->strides[0] != 1) {
    return fail("ValueError", "add_one(x, y): `%s` must be compact, got stride %lld", name,
                (long long)t->strides[0]);
  }
  *out = t;
  return 0;
}

/* All exported functions have this C type; module.NAME calls the symbol __tvm_ffi_NAME. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_add_one(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  (void)handle; /* the closure of a function object; NULL for exported functions */
  DLTensor *x = NULL, *y = NULL;
  if (num_args != 2) return fail("TypeError", "add_one(x, y) takes 2 arguments, got %d", num_args);
  if (read_vector(&args[0], "x", &x) != 0 || read_vector(&args[1], "y", &y) != 0) return -1;
  if (x->shape[0] != y->shape[0]) {
    return fail("ValueError", "add_one(x, y): `x` and `y` must have one length, got %lld and %lld",
                (long long)x->shape[0], (long long)y->shape[0]);
  }

  const float* from = (const float*)((const char*)x->data + x->byte_offset);
  float* to = (float*)((char*)y->data + y->byte_offset);
  for (int64_t i = 0; i < x->shape[0]; ++i) to[i] = from[i] + 1.0f;
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  return 0;
}
