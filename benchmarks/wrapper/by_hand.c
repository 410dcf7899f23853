/* SPDX-License-Identifier: Apache-2.0
 *
 * Hand-written wrapper of `scale`: the floor of the wrapper rows.
 *
 * It makes the checks of
 *     scale(x: float32*[n, m], y: out float32*[n, m], a: float = 1.0)
 * on the CPU, in the order of the generated wrapper.  Its messages are shorter, which does not
 * change the time of a successful call. */
#include <stdbool.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>

void scale(const float* x, float* y, int64_t n, int64_t m, double a);

static int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static inline const DLTensor* tensor_of(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFITensor) return (const DLTensor*)(value->v_obj + 1);
  return value->type_index == kTVMFFIDLTensorPtr ? (const DLTensor*)value->v_ptr : NULL;
}

static inline bool is_compact(const DLTensor* x) {
  if (x->strides == NULL || x->shape[0] == 0 || x->shape[1] == 0) return true;
  return (x->shape[1] == 1 || x->strides[1] == 1) &&
         (x->shape[0] == 1 || x->strides[0] == x->shape[1]);
}

static inline bool is_usable(const DLTensor* x) {
  if (x->shape[0] == 0 || x->shape[1] == 0) return true;
  return x->data != NULL && ((uintptr_t)x->data + x->byte_offset) % sizeof(float) == 0;
}

static inline float* address_of(const DLTensor* x) {
  return (float*)((char*)x->data + x->byte_offset);
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_by_hand(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  (void)handle;
  if (num_args < 2 || num_args > 3) return fail("TypeError", "scale() takes 2 or 3 arguments");

  const DLTensor* x = tensor_of(&args[0]);
  if (x == NULL) return fail("TypeError", "x must be a tensor");
  if (x->ndim != 2) return fail("ValueError", "x must have 2 dimensions");
  if (x->dtype.code != kDLFloat || x->dtype.bits != 32 || x->dtype.lanes != 1) {
    return fail("ValueError", "x must be float32");
  }
  if (x->device.device_type != kDLCPU) return fail("ValueError", "x must be on the CPU");
  if (x->shape[0] < 0 || x->shape[1] < 0) return fail("ValueError", "x must have extents >= 0");
  if (!is_compact(x)) return fail("ValueError", "x must be compact");
  if (!is_usable(x)) return fail("ValueError", "x must be aligned");

  const DLTensor* y = tensor_of(&args[1]);
  if (y == NULL) return fail("TypeError", "y must be a tensor");
  if (y->ndim != 2) return fail("ValueError", "y must have 2 dimensions");
  if (y->dtype.code != kDLFloat || y->dtype.bits != 32 || y->dtype.lanes != 1) {
    return fail("ValueError", "y must be float32");
  }
  if (y->device.device_type != kDLCPU) return fail("ValueError", "y must be on the CPU");
  if (!is_compact(y)) return fail("ValueError", "y must be compact");
  if (y->shape[0] != x->shape[0] || y->shape[1] != x->shape[1]) {
    return fail("ValueError", "y must have the shape of x");
  }
  if (!is_usable(y)) return fail("ValueError", "y must be aligned");
  uintptr_t x_start = (uintptr_t)x->data + x->byte_offset;
  uintptr_t y_start = (uintptr_t)y->data + y->byte_offset;
  uintptr_t size = (uintptr_t)(x->shape[0] * x->shape[1]) * sizeof(float);
  if (x_start < y_start + size && y_start < x_start + size) {
    return fail("ValueError", "y must not overlap x");
  }

  double a = 1.0;
  if (num_args > 2) {
    if (args[2].type_index == kTVMFFIFloat) {
      a = args[2].v_float64;
    } else if (args[2].type_index == kTVMFFIInt || args[2].type_index == kTVMFFIBool) {
      a = (double)args[2].v_int64;
    } else {
      return fail("TypeError", "a must be a number");
    }
  }
  scale(address_of(x), address_of(y), x->shape[0], x->shape[1], a);
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
