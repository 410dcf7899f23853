/* SPDX-License-Identifier: Apache-2.0 */
/* The function softmax(x, y, temperature), which writes the softmax of each row of x to y. */
#include <math.h>
#include <stdint.h>
#include <tvm/ffi/extra/c_signature.h>

static int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* Return the tensor of an argument, a DLTensor pointer or a tensor object; NULL for other values.
 * The tensor is borrowed until the call returns. */
static const DLTensor* borrow_tensor(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(value->v_obj);
  return value->type_index == kTVMFFIDLTensorPtr ? (const DLTensor*)value->v_ptr : NULL;
}

/* Return 1 if t is a compact float32 matrix in CPU memory, otherwise 0.  Strides are in elements;
 * the stride of a dimension with an extent below 2 is ignored. */
static int is_matrix(const DLTensor* t) {
  if (t == NULL || t->ndim != 2 || t->device.device_type != kDLCPU) return 0;
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1) return 0;
  if (t->strides == NULL) return 1;
  return (t->shape[1] < 2 || t->strides[1] == 1) &&
         (t->shape[0] < 2 || t->strides[0] == t->shape[1]);
}

static float* first_element(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

/* Write the softmax of a row.  Subtracting the largest element does not change the result and
 * prevents an overflow in expf. */
static void softmax_row(const float* x, float* y, int64_t size, float temperature) {
  float largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < size; ++i) largest = fmaxf(largest, x[i]);
  for (int64_t i = 0; i < size; ++i) sum += y[i] = expf((x[i] - largest) / temperature);
  for (int64_t i = 0; i < size; ++i) y[i] /= sum;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_softmax(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  (void)handle, (void)result; /* the result stays None, which the caller has set */
  if (num_args != 3) return fail("TypeError", "softmax: expected 3 arguments");
  const DLTensor* x = borrow_tensor(&args[0]);
  const DLTensor* y = borrow_tensor(&args[1]);
  if (!is_matrix(x))
    return fail("TypeError", "softmax: x must be compact float32[n, m] on the CPU");
  if (!is_matrix(y))
    return fail("TypeError", "softmax: y must be compact float32[n, m] on the CPU");
  if (x->shape[0] != y->shape[0] || x->shape[1] != y->shape[1]) {
    return fail("ValueError", "softmax: x and y must have the same shape");
  }
  double temperature;
  if (args[2].type_index == kTVMFFIFloat) {
    temperature = args[2].v_float64;
  } else if (args[2].type_index == kTVMFFIInt) {
    temperature = (double)args[2].v_int64;
  } else {
    return fail("TypeError", "softmax: temperature must be a float");
  }
  if (!(temperature > 0)) return fail("ValueError", "softmax: temperature must be above 0");
  int64_t columns = x->shape[1];
  for (int64_t row = 0; row < x->shape[0]; ++row) {
    softmax_row(first_element(x) + row * columns, first_element(y) + row * columns, columns,
                (float)temperature);
  }
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(softmax,
                             "softmax(x: float32[n, m] compact, y: out float32[n, m] compact, "
                             "temperature: float = 1.0) "
                             "doc 'Write the softmax of each row of x to y.'")
