// SPDX-License-Identifier: Apache-2.0
// Kernels that check all of their arguments, for the faults of mutations.py.
#include <string.h>
#include <tvm/ffi/c_api.h>

static int Fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static int ReturnInt(TVMFFIAny* result, int64_t value) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = value;
  return 0;
}

static const DLTensor* ReadTensor(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)value->v_ptr;
  if (value->type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(value->v_obj);
  return NULL;
}

static int Has(const DLTensor* t, int32_t ndim, uint8_t code, uint8_t bits) {
  int type = t->dtype.code == code && t->dtype.bits == bits && t->dtype.lanes == 1;
  return type && t->ndim == ndim && t->device.device_type == kDLCPU;
}

/* Address of an element, for tensors with and without strides. */
static char* At(const DLTensor* t, int64_t i, int64_t j) {
  int64_t columns = t->ndim == 2 ? t->shape[1] : 1;
  int64_t step_i = t->strides ? t->strides[0] : columns;
  int64_t step_j = t->ndim == 2 && t->strides ? t->strides[1] : 1;
  int64_t position = i * step_i + j * step_j;
  return (char*)t->data + t->byte_offset + position * (t->dtype.bits / 8);
}

/* y = x * factor; returns the number of elements. */
int __tvm_ffi_scale(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  if (count != 3) return Fail("TypeError", "scale: expected 3 arguments");
  const DLTensor* x = ReadTensor(&args[0]);
  const DLTensor* y = ReadTensor(&args[2]);
  if (!x || !y) return Fail("TypeError", "scale: expected tensors x and y");
  if (!Has(x, 2, kDLFloat, 64)) return Fail("ValueError", "scale: expected float64 x");
  if (!Has(y, 2, kDLFloat, 64)) return Fail("ValueError", "scale: expected float64 y");
  if (x->shape[0] != y->shape[0]) return Fail("ValueError", "scale: expected equal n");
  if (x->shape[1] != y->shape[1]) return Fail("ValueError", "scale: expected equal m");
  double factor = 0;
  if (args[1].type_index == kTVMFFIFloat) {
    factor = args[1].v_float64;
  } else if (args[1].type_index == kTVMFFIInt || args[1].type_index == kTVMFFIBool) {
    factor = (double)args[1].v_int64;
  } else {
    return Fail("TypeError", "scale: expected a number as factor");
  }
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    for (int64_t j = 0; j < x->shape[1]; ++j) {
      double element = 0;
      memcpy(&element, At(x, i, j), sizeof(element));
      element *= factor;
      memcpy(At(y, i, j), &element, sizeof(element));
    }
  }
  return ReturnInt(result, x->shape[0] * x->shape[1]);
}

/* The element of x at a position, or at the position from the end. */
int __tvm_ffi_pick(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  if (count != 3) return Fail("TypeError", "pick: expected 3 arguments");
  const DLTensor* x = ReadTensor(&args[0]);
  if (!x) return Fail("TypeError", "pick: expected a tensor x");
  if (!Has(x, 1, kDLInt, 32)) return Fail("ValueError", "pick: expected int32 x");
  if (args[1].type_index != kTVMFFIInt) return Fail("TypeError", "pick: expected an int");
  if (args[2].type_index != kTVMFFIBool) return Fail("TypeError", "pick: expected a bool");
  int64_t position = args[1].v_int64;
  if (position < 0 || position >= x->shape[0]) return ReturnInt(result, -1);
  if (args[2].v_int64) position = x->shape[0] - 1 - position;
  int32_t element = 0;
  memcpy(&element, At(x, position, 0), sizeof(element));
  return ReturnInt(result, element);
}

static int64_t SizeOf(const TVMFFIAny* value, int32_t small, int32_t heap) {
  if (value->type_index == small) return value->small_str_len;
  if (value->type_index == heap) return TVMFFIBytesGetByteArrayPtr(value->v_obj)->size;
  return -1;
}

/* The number of bytes of both arguments. */
int __tvm_ffi_size(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  if (count != 2) return Fail("TypeError", "size: expected 2 arguments");
  int64_t text = SizeOf(&args[0], kTVMFFISmallStr, kTVMFFIStr);
  if (args[0].type_index == kTVMFFIRawStr) text = (int64_t)strlen(args[0].v_c_str);
  int64_t bytes = SizeOf(&args[1], kTVMFFISmallBytes, kTVMFFIBytes);
  if (args[1].type_index == kTVMFFIByteArrayPtr) bytes = ((TVMFFIByteArray*)args[1].v_ptr)->size;
  if (text < 0) return Fail("TypeError", "size: expected a str");
  if (bytes < 0) return Fail("TypeError", "size: expected bytes");
  return ReturnInt(result, text + bytes);
}
