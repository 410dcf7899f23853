/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the call benchmark: the C functions that every implementation calls.
 *
 * The file is compiled once per run.  Ours, the incumbent and the floor load the same library, so
 * that the cost of the callee is the same.  Packed calling convention: arguments are borrowed
 * views; the result is owned by the caller, who initializes it to None. */
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_signature.h>

#include "record.h"

/* Ignore the arguments and return None. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_noop(void* handle, const TVMFFIAny* args, int32_t num_args,
                                      TVMFFIAny* result) {
  (void)handle, (void)args, (void)num_args;
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}

static const DLTensor* TensorOf(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)arg->v_ptr;
  return TVMFFITensorGetDLTensorPtr(arg->v_obj);
}

/* Same as `noop`, with a signature that has parameter names and defaults. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_named(void* handle, const TVMFFIAny* args, int32_t num_args,
                                       TVMFFIAny* result) {
  return __tvm_ffi_noop(handle, args, num_args, result);
}
TVM_FFI_DLL_EXPORT_SIGNATURE(named, "named(x: Any, y: Any = 1, z: Any = 1)")

/* Same as `noop`, with signatures that callers check. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_checked_ints(void* handle, const TVMFFIAny* args, int32_t num_args,
                                              TVMFFIAny* result) {
  return __tvm_ffi_noop(handle, args, num_args, result);
}
TVM_FFI_DLL_EXPORT_SIGNATURE(checked_ints, "checked_ints(x: int, y: int, z: int)")
TVM_FFI_DLL_EXPORT int __tvm_ffi_checked_arrays(void* handle, const TVMFFIAny* args,
                                                int32_t num_args, TVMFFIAny* result) {
  return __tvm_ffi_noop(handle, args, num_args, result);
}
TVM_FFI_DLL_EXPORT_SIGNATURE(checked_arrays,
                             "checked_arrays(x: float32[n, m] compact, "
                             "y: float32[n, m] compact, z: float32[n, m] compact)")

/* Write x + y to z. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_add(void* handle, const TVMFFIAny* args, int32_t num_args,
                                     TVMFFIAny* result) {
  const DLTensor* x = TensorOf(&args[0]);
  const float* a = (const float*)x->data;
  const float* b = (const float*)TensorOf(&args[1])->data;
  float* c = (float*)TensorOf(&args[2])->data;
  (void)handle, (void)num_args, (void)result;
  for (int64_t i = 0; i < x->shape[0]; ++i) c[i] = a[i] + b[i];
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(add, "add(x: float32[n], y: float32[n], z: out float32[n])")

/* Return the first argument. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_echo(void* handle, const TVMFFIAny* args, int32_t num_args,
                                      TVMFFIAny* result) {
  (void)handle;
  if (num_args != 1) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "echo takes 1 argument");
    return -1;
  }
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

/* Call the Function in the first argument with the remaining ones. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_apply(void* handle, const TVMFFIAny* args, int32_t num_args,
                                       TVMFFIAny* result) {
  (void)handle;
  if (num_args < 1 || args[0].type_index != kTVMFFIFunction) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "apply: argument 0 must be a Function");
    return -1;
  }
  /* The parameter is not const for historical reasons; the arguments are only read. */
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny*)args + 1, num_args - 1, result);
}

/* Raise a ValueError. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_raise_error(void* handle, const TVMFFIAny* args, int32_t num_args,
                                             TVMFFIAny* result) {
  (void)handle, (void)args, (void)num_args, (void)result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "the benchmark asked for this error");
  return -1;
}

/* Return 1 if the value is a compact 4 x 8 float32 tensor on the CPU with elements 0, 1, ..., 31.
 */
static int is_expected_tensor(const TVMFFIAny* value) {
  const DLTensor* tensor;
  if (value->type_index == kTVMFFITensor) {
    tensor = (const DLTensor*)((const char*)value->v_obj + sizeof(TVMFFIObject));
  } else if (value->type_index == kTVMFFIDLTensorPtr) {
    tensor = (const DLTensor*)value->v_ptr;
  } else {
    return 0;
  }
  if (tensor->device.device_type != kDLCPU || tensor->ndim != 2) return 0;
  if (tensor->dtype.code != kDLFloat || tensor->dtype.bits != 32 || tensor->dtype.lanes != 1)
    return 0;
  if (tensor->shape[0] != 4 || tensor->shape[1] != 8) return 0;
  if (tensor->strides[0] != 8 || tensor->strides[1] != 1) return 0;
  const float* element = (const float*)((const char*)tensor->data + tensor->byte_offset);
  for (int i = 0; i < 32; ++i) {
    if (element[i] != (float)i) return 0;
  }
  return 1;
}

/* Return the number of arguments; fail unless each is the expected tensor.  Not timed: the
 * benchmark uses it to see that the tensors of a row arrive as they should. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_check_tensors(void* handle, const TVMFFIAny* args,
                                               int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  for (int32_t i = 0; i < num_args; ++i) {
    if (!is_expected_tensor(&args[i])) {
      TVMFFIErrorSetRaisedFromCStr("TypeError",
                                   "expected compact float32 tensors of shape (4, 8) with the "
                                   "values 0 to 31");
      return -1;
    }
  }
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = num_args;
  return 0;
}
