/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the call benchmark with a hand-written no-op that checks its arguments: three float32
 * matrices of one shape, compact, aligned, on the CPU. */
#define __tvm_ffi_noop unchecked_noop
#include "../call/kernels.c"
#undef __tvm_ffi_noop
#include <stdbool.h>

static int fail(const char* message) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", message);
  return -1;
}

static inline bool is_matrix(const DLTensor* x) {
  return x->ndim == 2 && x->dtype.code == kDLFloat && x->dtype.bits == 32 && x->dtype.lanes == 1 &&
         x->device.device_type == kDLCPU;
}

static inline bool is_usable(const DLTensor* x) {
  if (x->shape[0] == 0 || x->shape[1] == 0) return true;
  if (x->data == NULL || ((uintptr_t)x->data + x->byte_offset) % sizeof(float) != 0) return false;
  return x->strides == NULL || ((x->shape[1] == 1 || x->strides[1] == 1) &&
                                (x->shape[0] == 1 || x->strides[0] == x->shape[1]));
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_noop(void* handle, const TVMFFIAny* args, int32_t num_args,
                                      TVMFFIAny* result) {
  const DLTensor* first = NULL;
  (void)handle;
  if (num_args != 3) return fail("noop() takes 3 arguments");
  for (int i = 0; i < 3; ++i) {
    const DLTensor* x = NULL;
    if (args[i].type_index == kTVMFFITensor) x = TVMFFITensorGetDLTensorPtr(args[i].v_obj);
    if (args[i].type_index == kTVMFFIDLTensorPtr) x = (const DLTensor*)args[i].v_ptr;
    if (x == NULL || !is_matrix(x) || !is_usable(x)) return fail("expected a float32 matrix");
    if (first == NULL) first = x;
    if (x->shape[0] != first->shape[0] || x->shape[1] != first->shape[1]) {
      return fail("expected matrices of one shape");
    }
  }
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
