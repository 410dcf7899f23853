/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that read tensors and the environment of a call: stream and allocator. */
#include <tvm/ffi/extra/c_env_api.h>

#include "kernel.h"

static char* FirstElement(const DLTensor* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}

/* Sums all elements, following shape and strides. `dim` counts from the first dimension. */
static int64_t SumInt64(const DLTensor* tensor, int32_t dim, const int64_t* element) {
  if (dim == tensor->ndim) return *element;
  int64_t sum = 0;
  for (int64_t i = 0; i < tensor->shape[dim]; ++i) {
    /* A weight for each index makes the order of elements visible in the sum. */
    sum += (i + 1) * SumInt64(tensor, dim + 1, element);
    if (i + 1 < tensor->shape[dim]) element += tensor->strides[dim];
  }
  return sum;
}

/* Returns the sum of int64 elements, each weighted by the product of its indices, which count from
 * 1. */
KERNEL(weighted_sum) {
  DLTensor* tensor = TensorArgument(&args[0]);
  if (tensor == NULL) return -1;
  return ReturnInt(result, SumInt64(tensor, 0, (const int64_t*)(void*)FirstElement(tensor)));
}

/* add_one(x, y): y = x + 1 for float32 vectors of any stride. */
KERNEL(add_one) {
  DLTensor* x = TensorArgument(&args[0]);
  DLTensor* y = TensorArgument(&args[1]);
  if (x == NULL || y == NULL) return -1;
  if (x->ndim != 1 || y->ndim != 1 || x->shape[0] != y->shape[0]) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "expected two vectors of the same length");
    return -1;
  }
  const float* in = (const float*)(void*)FirstElement(x);
  float* out = (float*)(void*)FirstElement(y);
  for (int64_t i = 0; i < x->shape[0]; ++i) out[i * y->strides[0]] = in[i * x->strides[0]] + 1;
  return 0;
}

KERNEL(data_address) {
  DLTensor* tensor = TensorArgument(&args[0]);
  return tensor == NULL ? -1 : ReturnPointer(result, tensor->data);
}

KERNEL(byte_offset) {
  DLTensor* tensor = TensorArgument(&args[0]);
  return tensor == NULL ? -1 : ReturnInt(result, (int64_t)tensor->byte_offset);
}

KERNEL(has_strides) {
  DLTensor* tensor = TensorArgument(&args[0]);
  return tensor == NULL ? -1 : Return(result, kTVMFFIBool, tensor->strides != NULL);
}

/* Returns the address of the shape. */
KERNEL(extents) {
  DLTensor* tensor = TensorArgument(&args[0]);
  return tensor == NULL ? -1 : ReturnPointer(result, tensor->shape);
}

/* DLPack type code * 65536 + bits * 256 + lanes */
KERNEL(dtype_triple) {
  DLTensor* tensor = TensorArgument(&args[0]);
  if (tensor == NULL) return -1;
  DLDataType dtype = tensor->dtype;
  return ReturnInt(result, dtype.code * 65536 + dtype.bits * 256 + dtype.lanes);
}

/* Returns a new tensor like the argument, from the environment's allocator. */
KERNEL(new_like) {
  TVMFFIObjectHandle tensor = NULL;
  DLTensor* prototype = TensorArgument(&args[0]);
  if (prototype == NULL || TVMFFIEnvTensorAlloc(prototype, &tensor) != 0) return -1;
  return Return(result, kTVMFFITensor, (int64_t)(intptr_t)tensor);
}

/* Returns a view of the first row. */
KERNEL(first_row) {
  TVMFFIObjectHandle view = NULL;
  DLTensor* source = TensorArgument(&args[0]);
  if (source == NULL) return -1;
  DLTensor row = *source;
  row.ndim -= 1;
  row.shape += 1;
  row.strides += 1;
  if (TVMFFITensorCreateUnsafeView(args[0].v_obj, &row, &view) != 0) return -1;
  return Return(result, kTVMFFITensor, (int64_t)(intptr_t)view);
}

static const void* AllocatorAddress(void) {
  DLPackManagedTensorAllocator allocator = TVMFFIEnvGetDLPackManagedTensorAllocator();
  const void* address;
  memcpy(&address, &allocator, sizeof(address));
  return address;
}

KERNEL(allocator) { return ReturnPointer(result, AllocatorAddress()); }

/* stream(device type, device id) returns the current stream of the device. */
KERNEL(stream) {
  return ReturnPointer(result,
                       TVMFFIEnvGetStream((int32_t)args[0].v_int64, (int32_t)args[1].v_int64));
}

/* Returns the stream of device type 2, device id 3 during the last call of see_stream. */
static void* seen_stream;

KERNEL(see_stream) {
  seen_stream = TVMFFIEnvGetStream(kDLCUDA, 3);
  if (args[0].v_int64 != 0) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "after looking at the stream");
    return -1;
  }
  return 0;
}

KERNEL(seen_stream) { return ReturnPointer(result, seen_stream); }
