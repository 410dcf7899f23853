/* SPDX-License-Identifier: Apache-2.0
 *
 * The callee: add_one_cpu(x, y) computes y = x + 1 for float32 vectors on the CPU.
 *
 * The complete reference for a function exported through the ABI: it reads both kinds of tensor
 * argument, trusts nothing the caller chose, honours strides and byte_offset, and says in every
 * error which function, which parameter, what was expected and what came.  x and y may be the
 * same tensor. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

/* [aux.begin] */
/* Raise `kind` with the message "add_one_cpu(x, y): PARAM: expected EXPECTED, got RECEIVED".
 * The parts are joined by the runtime, so constant pieces are stored once.  Returns -1, which is
 * what a function returns after it has filled the error slot. */
static int raise_mismatch(const char* kind, const char* param, const char* expected,
                          const char* received) {
  const char* parts[] = {"add_one_cpu(x, y): ", param, ": expected ", expected, ", got ", received};
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, (int32_t)(sizeof(parts) / sizeof(parts[0])));
  return -1;
}

/* The same for a received value that is a number behind a label, such as "ndim 2". */
static int raise_mismatch_number(const char* kind, const char* param, const char* expected,
                                 const char* label, int64_t number) {
  char received[64];
  snprintf(received, sizeof(received), "%s%" PRId64, label, number);
  return raise_mismatch(kind, param, expected, received);
}

/* The same for a received dtype.  Its name comes back as a small string inside the Any or as a
 * heap string that we own; both end in NUL. */
static int raise_mismatch_dtype(const char* param, DLDataType dtype) {
  TVMFFIAny name;
  if (TVMFFIDataTypeToString(&dtype, &name) != 0) { /* its error is replaced by ours */
    return raise_mismatch_number("TypeError", param, "dtype float32", "dtype code ", dtype.code);
  }
  int on_heap = name.type_index == kTVMFFIStr; /* its byte array follows the object header */
  raise_mismatch("TypeError", param, "dtype float32",
                 on_heap ? ((const TVMFFIByteArray*)(name.v_obj + 1))->data : name.v_bytes);
  if (on_heap) TVMFFIObjectDecRef(name.v_obj);
  return -1;
}

/* Address of the first element.  `data` is the start of the allocation, so a view such as x[2:]
 * may carry its start in byte_offset alone. */
static float* first_element(const DLTensor* tensor) {
  return (float*)((char*)tensor->data + tensor->byte_offset);
}

/* Step between elements, in elements.  Before DLPack 1.2 no strides meant compact. */
static int64_t stride_elements(const DLTensor* tensor) {
  return tensor->strides == NULL ? 1 : tensor->strides[0];
}

/* Lend the DLTensor of an argument, which arrives as a bare pointer or inside a Tensor object. */
static int borrow_tensor(const TVMFFIAny* value, const char* param, const DLTensor** out) {
  const char* expected = "a Tensor or DLTensor*";
  switch (value->type_index) {
    case kTVMFFIDLTensorPtr:
      if (value->v_ptr == NULL) return raise_mismatch("TypeError", param, expected, "NULL");
      *out = value->v_ptr;
      return 0;
    case kTVMFFITensor:
      *out = (const DLTensor*)(value->v_obj + 1); /* follows the object header */
      return 0;
    default:
      return raise_mismatch("TypeError", param, expected,
                            TVMFFIGetTypeInfo(value->type_index)->type_key.data);
  }
}

/* Elements must be there and readable as float; an empty tensor may have no memory at all. */
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

/* Lend an argument that must be a float32 vector on the CPU. */
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
/* The prefix __tvm_ffi_ makes the symbol a function of the library, named by what follows. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_add_one_cpu(void* handle, const TVMFFIAny* args, int32_t num_args,
                                             TVMFFIAny* result) {
  (void)handle; /* closure of the callee; NULL for an exported symbol */

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

  /* Step 3. Set the result: None.  All 16 bytes are written; the caller reads them all. */
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
/* [example.end] */
