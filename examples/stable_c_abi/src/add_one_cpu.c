/* SPDX-License-Identifier: Apache-2.0
 *
 * Callee: add_one_cpu(x, y) computes y = x + 1 for float32 vectors on the CPU.
 *
 * This is the reference implementation of an exported function.  It accepts both types of tensor
 * arguments, DLTensor* and Tensor object, checks every property of its arguments, and supports
 * strides and byte_offset.  Every error names the function, the parameter, the expected value and
 * the actual value.  x and y may be the same tensor. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

/* [aux.begin] */
/* Raise `kind` with the message "add_one_cpu(x, y): PARAM: expected EXPECTED, got RECEIVED".
 * The runtime joins the parts of the message.  Returns -1, the return code of a function that has
 * filled the error slot. */
static int raise_mismatch(const char* kind, const char* param, const char* expected,
                          const char* received) {
  const char* parts[] = {"add_one_cpu(x, y): ", param, ": expected ", expected, ", got ", received};
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, (int32_t)(sizeof(parts) / sizeof(parts[0])));
  return -1;
}

/* Call raise_mismatch with a label and a number as the received value, such as "ndim 2". */
static int raise_mismatch_number(const char* kind, const char* param, const char* expected,
                                 const char* label, int64_t number) {
  char received[64];
  snprintf(received, sizeof(received), "%s%" PRId64, label, number);
  return raise_mismatch(kind, param, expected, received);
}

/* Call raise_mismatch with the name of a dtype as the received value.  The runtime returns the name
 * in a TVMFFIAny, as a small string or an owned string object; both end with NUL. */
static int raise_mismatch_dtype(const char* param, DLDataType dtype) {
  TVMFFIAny name;
  if (TVMFFIDataTypeToString(&dtype, &name) != 0) { /* the next error replaces this one */
    return raise_mismatch_number("TypeError", param, "dtype float32", "dtype code ", dtype.code);
  }
  int on_heap = name.type_index == kTVMFFIStr; /* a TVMFFIByteArray follows the object header */
  raise_mismatch("TypeError", param, "dtype float32",
                 on_heap ? ((const TVMFFIByteArray*)(name.v_obj + 1))->data : name.v_bytes);
  if (on_heap) TVMFFIObjectDecRef(name.v_obj);
  return -1;
}

/* Return the address of the first element.  `data` alone may be the start of the allocation: the
 * byte_offset of a view such as x[2:] can be greater than 0. */
static float* first_element(const DLTensor* tensor) {
  return (float*)((char*)tensor->data + tensor->byte_offset);
}

/* Return the stride of a vector in elements.  NULL, allowed before DLPack 1.2, means compact. */
static int64_t stride_elements(const DLTensor* tensor) {
  return tensor->strides == NULL ? 1 : tensor->strides[0];
}

/* Write the DLTensor of an argument, a DLTensor* or a Tensor object, to *out.  It is borrowed until
 * the call returns. */
static int borrow_tensor(const TVMFFIAny* value, const char* param, const DLTensor** out) {
  const char* expected = "a Tensor or DLTensor*";
  switch (value->type_index) {
    case kTVMFFIDLTensorPtr:
      if (value->v_ptr == NULL) return raise_mismatch("TypeError", param, expected, "NULL");
      *out = value->v_ptr;
      return 0;
    case kTVMFFITensor:
      *out = (const DLTensor*)(value->v_obj + 1); /* the DLTensor follows the object header */
      return 0;
    default:
      return raise_mismatch("TypeError", param, expected,
                            TVMFFIGetTypeInfo(value->type_index)->type_key.data);
  }
}

/* Check that the elements have an address that is not NULL and is aligned for float.  An empty
 * tensor needs no address. */
static int check_memory(const DLTensor* tensor, const char* param) {
  if (tensor->shape[0] == 0) return 0;
  if (tensor->data == NULL) {
    return raise_mismatch("ValueError", param, "a data pointer", "NULL");
  }
  int64_t remainder = (int64_t)((uintptr_t)first_element(tensor) % sizeof(float));
  if (remainder != 0) {
    return raise_mismatch_number("ValueError", param, "memory aligned to 4 bytes",
                                 "address modulo 4 = ", remainder);
  }
  return 0;
}

/* Same as borrow_tensor, but also check that the tensor is a float32 vector on the CPU. */
static int borrow_vector(const TVMFFIAny* value, const char* param, const DLTensor** out) {
  const DLTensor* tensor = NULL;
  if (borrow_tensor(value, param, &tensor) != 0) return -1;
  if (tensor->ndim != 1) {
    return raise_mismatch_number("ValueError", param, "ndim 1", "ndim ", tensor->ndim);
  }
  if (tensor->dtype.code != kDLFloat || tensor->dtype.bits != 32 || tensor->dtype.lanes != 1) {
    return raise_mismatch_dtype(param, tensor->dtype);
  }
  if (tensor->device.device_type != kDLCPU) {
    return raise_mismatch_number("ValueError", param, "a CPU tensor (device type 1)",
                                 "device type ", tensor->device.device_type);
  }
  if (check_memory(tensor, param) != 0) return -1;
  *out = tensor;
  return 0;
}

static int check_same_length(const DLTensor* x, const DLTensor* y) {
  if (x->shape[0] == y->shape[0]) return 0;
  char expected[64];
  snprintf(expected, sizeof(expected), "the length of `x`, %" PRId64, x->shape[0]);
  return raise_mismatch_number("ValueError", "argument 1 `y`", expected, "length ", y->shape[0]);
}
/* [aux.end] */

/* [example.begin] */
/* The symbol of an exported function is the prefix __tvm_ffi_ followed by the function name. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_add_one_cpu(void* handle, const TVMFFIAny* args, int32_t num_args,
                                             TVMFFIAny* result) {
  (void)handle; /* the closure of a function object; NULL for an exported function */

  /* Step 1. Extract the input `x` and the output `y` as DLPack tensors. */
  const DLTensor *x = NULL, *y = NULL;
  if (num_args != 2) {
    return raise_mismatch_number("TypeError", "arguments", "2", "", num_args);
  }
  if (borrow_vector(&args[0], "argument 0 `x`", &x) != 0) return -1;
  if (borrow_vector(&args[1], "argument 1 `y`", &y) != 0) return -1;
  if (check_same_length(x, y) != 0) return -1;

  /* Step 2. Compute y = x + 1. */
  const float* source = first_element(x);
  float* target = first_element(y);
  int64_t source_stride = stride_elements(x), target_stride = stride_elements(y);
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    target[i * target_stride] = source[i * source_stride] + 1.0f;
  }

  /* Step 3. Set the result to None.  Write all 16 bytes: the caller reads all of them. */
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
/* [example.end] */
