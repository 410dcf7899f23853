// SPDX-License-Identifier: Apache-2.0
// A kernel that checks all of its arguments: the end of the guide "Is my library right?".
#include <tvm/ffi/c_api.h>

static const DLTensor* ReadTensor(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)value->v_ptr;
  if (value->type_index == kTVMFFITensor) return (const DLTensor*)((char*)value->v_obj + 24);
  return 0;
}

static int IsVector(const DLTensor* t) {
  return !(t->ndim != 1 || t->dtype.code != kDLFloat || t->dtype.bits != 32 ||
           t->dtype.lanes != 1 || t->device.device_type != kDLCPU);
}

static float* Data(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

static int64_t Step(const DLTensor* t) { return t->strides ? t->strides[0] : 1; }

int __tvm_ffi_add(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  if (count != 2) return TVMFFIErrorSetRaisedFromCStr("TypeError", "add: expected 2 arguments"), -1;
  (void)handle, (void)result;  // the result is None, as the caller has set it
  const DLTensor *x = ReadTensor(&args[0]), *y = ReadTensor(&args[1]);
  if (!x || !y)
    return TVMFFIErrorSetRaisedFromCStr("TypeError", "add: expected tensors x and y"), -1;
  if (!IsVector(x) || !IsVector(y))
    return TVMFFIErrorSetRaisedFromCStr("ValueError", "add: expected float32[n] on the CPU"), -1;
  if (y->shape[0] != x->shape[0])
    return TVMFFIErrorSetRaisedFromCStr("ValueError", "add: expected y as long as x"), -1;
  float *in = Data(x), *out = Data(y);
  int64_t step_x = Step(x), step_y = Step(y);
  for (int64_t i = 0; i < x->shape[0]; ++i) out[i * step_y] = in[i * step_x] + 1;
  return 0;
}
