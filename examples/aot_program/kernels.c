/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as a compiler generates them ahead of time: two kernels of a model `lenet`, and a
 * function that registers them before main.  The prefix lenet_ distinguishes them from kernels of
 * other models. */
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

/* Return the tensor of an argument, a DLTensor* or a Tensor object; NULL for other values. */
static const DLTensor* tensor_of(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)arg->v_ptr;
  if (arg->type_index == kTVMFFITensor) return (const DLTensor*)(arg->v_obj + 1);
  return NULL;
}

/* Return the compact float32 vector of an argument; for other values raise `error`, return NULL. */
static const DLTensor* vector_of(const TVMFFIAny* arg, const char* error) {
  const DLTensor* tensor = tensor_of(arg);
  if (tensor == NULL || tensor->device.device_type != kDLCPU || tensor->ndim != 1 ||
      tensor->dtype.code != kDLFloat || tensor->dtype.bits != 32 || tensor->dtype.lanes != 1 ||
      (tensor->strides != NULL && tensor->shape[0] > 1 && tensor->strides[0] != 1)) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", error);
    return NULL;
  }
  return tensor;
}

static float* data_of(const DLTensor* tensor) {
  return (float*)((char*)tensor->data + tensor->byte_offset);
}

/* relu(x, y): y = max(x, 0). */
int __tvm_ffi_lenet_relu(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)self, (void)result; /* the caller has set the result to None */
  if (num_args != 2) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "relu(x, y) takes 2 arguments");
    return -1;
  }
  const DLTensor* x = vector_of(&args[0], "relu(x, y): `x` must be a compact float32 vector");
  if (x == NULL) return -1;
  const DLTensor* y = vector_of(&args[1], "relu(x, y): `y` must be a compact float32 vector");
  if (y == NULL) return -1;
  if (x->shape[0] != y->shape[0]) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "relu(x, y): `y` must be as long as `x`");
    return -1;
  }
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    float value = data_of(x)[i];
    data_of(y)[i] = value > 0 ? value : 0;
  }
  return 0;
}

/* sum(x): return the sum of the elements of x. */
int __tvm_ffi_lenet_sum(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)self;
  if (num_args != 1) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "sum(x) takes 1 argument");
    return -1;
  }
  const DLTensor* x = vector_of(&args[0], "sum(x): `x` must be a compact float32 vector");
  if (x == NULL) return -1;
  double sum = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) sum += data_of(x)[i];
  result->type_index = kTVMFFIFloat;
  result->zero_padding = 0;
  result->v_float64 = sum;
  return 0;
}

__attribute__((constructor)) static void register_kernels(void) {
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_lenet_relu",
                                      (void*)(uintptr_t)&__tvm_ffi_lenet_relu);
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_lenet_sum",
                                      (void*)(uintptr_t)&__tvm_ffi_lenet_sum);
}
