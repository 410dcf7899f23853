/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers of the kernels of the Python tests: exported functions, arguments and results.
 * The libraries are not linked to libtvm_ffi; the loader finds its symbols in the process. */
#ifndef TESTS_PYTHON_KERNELS_KERNEL_H_
#define TESTS_PYTHON_KERNELS_KERNEL_H_

#include <string.h>
#include <tvm/ffi/c_api.h>

#define MAYBE_UNUSED __attribute__((unused))

#define KERNEL(name)                                                 \
  TVM_FFI_DLL_EXPORT int __tvm_ffi_##name(                           \
      void* handle MAYBE_UNUSED, const TVMFFIAny* args MAYBE_UNUSED, \
      int32_t num_args MAYBE_UNUSED, TVMFFIAny* result MAYBE_UNUSED)

static inline TVMFFIAny None(void) {
  TVMFFIAny value;
  memset(&value, 0, sizeof(value));
  return value;
}

static inline int Return(TVMFFIAny* result, int32_t type_index, int64_t payload) {
  *result = None();
  result->type_index = type_index;
  result->v_int64 = payload;
  return 0;
}

static inline int ReturnInt(TVMFFIAny* result, int64_t value) {
  return Return(result, kTVMFFIInt, value);
}

static inline int ReturnPointer(TVMFFIAny* result, const void* address) {
  return Return(result, kTVMFFIOpaquePtr, (int64_t)(intptr_t)address);
}

/* Returns the function in `arg`, or NULL with a TypeError pending. */
static inline TVMFFIObjectHandle FunctionArgument(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFIFunction) return arg->v_obj;
  TVMFFIErrorSetRaisedFromCStr("TypeError", "expected a function");
  return NULL;
}

/* Returns the DLTensor of a tensor argument, owned or borrowed, or NULL with a TypeError pending.
 * */
static inline DLTensor* TensorArgument(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(arg->v_obj);
  if (arg->type_index == kTVMFFIDLTensorPtr) return (DLTensor*)arg->v_ptr;
  TVMFFIErrorSetRaisedFromCStr("TypeError", "expected a tensor");
  return NULL;
}

/* Returns the content of a string or bytes; borrowed from `arg`. */
static inline TVMFFIByteArray TextArgument(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFISmallStr || arg->type_index == kTVMFFISmallBytes) {
    return TVMFFISmallBytesGetContentByteArray(arg);
  }
  if (arg->type_index == kTVMFFIStr || arg->type_index == kTVMFFIBytes) {
    return *TVMFFIBytesGetByteArrayPtr(arg->v_obj);
  }
  TVMFFIByteArray nothing = {NULL, 0};
  return nothing;
}

static inline void Release(TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
  *value = None();
}

#endif /* TESTS_PYTHON_KERNELS_KERNEL_H_ */
