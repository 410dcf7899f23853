/* SPDX-License-Identifier: Apache-2.0 */
#include "call_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "call_attributes.h"

/* ---- Attributes of the call ---------------------------------------------------------------- */

/* Sources of an argument (where its value comes from), as encoded in the attribute __arguments.
 * The Python module tvm_ffi.interop._xla.attributes writes the same numbers. */
enum {
  kOperand = 0,
  kOutput = 1,
  kAttribute = 2, /* attribute: a number, a string, or an array of numbers in CPU memory */
  kNone = 3,
  kJSONGraph = 4, /* attribute: a value of any other type, as JSON graph text */
};

static const char kMissingAttributes[] =
    "call_tvm_ffi: the call has no attributes __function and __arguments";

static int IsNamed(const XLA_FFI_ByteSpan* name, const char* text, size_t size) {
  return name->len == size && memcmp(name->ptr, text, size) == 0;
}

/* XLA sorts attributes by name, and no other name begins with "__", so __arguments and __function
 * are adjacent. */
const char* ReadCallAttributes(Call* call) {
  const XLA_FFI_Attrs* attrs = &call->frame->attrs;
  const XLA_FFI_Array* codes;
  const int32_t* numbers;
  int64_t i = 0;
  while (i < attrs->size && !IsNamed(attrs->names[i], "__arguments", 11)) ++i;
  if (i + 1 >= attrs->size || attrs->types[i] != XLA_FFI_AttrType_Array ||
      !IsNamed(attrs->names[i + 1], "__function", 10) ||
      attrs->types[i + 1] != XLA_FFI_AttrType_String) {
    return kMissingAttributes;
  }
  codes = attrs->values[i];
  if (codes->dtype != 4 || codes->size < 2) return kMissingAttributes;
  numbers = codes->data;
  call->name = *(const XLA_FFI_ByteSpan*)attrs->values[i + 1];
  call->checksum = (uint32_t)numbers[1];
  call->arguments = numbers + 2;
  call->num_arguments = (int32_t)codes->size - 2;
  if (numbers[0] != attrs->size) {
    return "call_tvm_ffi: the XLA program was changed: the number of attributes differs from the "
           "number in __arguments";
  }
  return NULL;
}

/* ---- Storage for arguments and tensors ----------------------------------------------------- */

static size_t NumTensors(const Call* call) {
  return (size_t)call->num_arguments + (size_t)call->frame->rets.size;
}

static void UseInlineStorage(Call* call, CallStorage* storage) {
  call->values = storage->values;
  call->tensors = storage->tensors;
  call->strides = storage->strides;
  call->strides_end = storage->strides + kInlineStrides;
}

static int64_t LargestRank(const XLA_FFI_Args* buffers) {
  int64_t rank = 1; /* at least 1, because attributes become tensors of rank 1 */
  int64_t i;
  for (i = 0; i < buffers->size; ++i) {
    const XLA_FFI_Buffer* buffer = buffers->values[i];
    if (buffer->rank > rank) rank = buffer->rank;
  }
  return rank;
}

static int AllocateStorage(Call* call, CallStorage* storage) {
  const XLA_FFI_CallFrame* frame = call->frame;
  size_t num_tensors = NumTensors(call);
  size_t num_strides =
      num_tensors * (size_t)(LargestRank(&frame->args) + LargestRank(&frame->rets));
  storage->heap = malloc(num_tensors * sizeof(DLTensor) + num_strides * sizeof(int64_t) +
                         (size_t)call->num_arguments * sizeof(TVMFFIAny));
  if (storage->heap == NULL) return kNoSpace;
  call->tensors = (DLTensor*)storage->heap;
  call->strides = (int64_t*)(call->tensors + num_tensors);
  call->strides_end = call->strides + num_strides;
  call->values = (TVMFFIAny*)call->strides_end;
  return 0;
}

/* ---- Conversion of arguments --------------------------------------------------------------- */

static int DescribeBuffer(Call* call, const XLA_FFI_Args* buffers, int64_t index, DLTensor* out) {
  const XLA_FFI_Buffer* buffer = buffers->values[index];
  if (buffers->types[index] != XLA_FFI_ArgType_Buffer) return kNoElementType;
  return Describe(call, buffer->dtype, buffer->data, buffer->rank, buffer->dims, call->device, out);
}

static int SetBuffer(Call* call, const XLA_FFI_Args* buffers, int64_t index, TVMFFIAny* out,
                     DLTensor* tensor) {
  if ((uint64_t)index >= (uint64_t)buffers->size) return kBadProgram;
  out->type_index = kTVMFFIDLTensorPtr;
  out->v_ptr = tensor;
  return DescribeBuffer(call, buffers, index, tensor);
}

/* Fill an argument whose value is not a buffer but None or an attribute. */
static int SetValue(Call* call, int32_t source, int64_t index, TVMFFIAny* out, DLTensor* tensor) {
  if (source == kNone) return 0;
  if (index < 0 || index >= call->frame->attrs.size) return kBadProgram;
  if (source == kAttribute) return SetAttribute(call, index, out, tensor);
  return source == kJSONGraph ? SetFromJSONGraph(call, index, out) : kBadProgram;
}

/* Fill argument i, after the arguments before it. */
static int SetArgument(Call* call, int32_t i, TVMFFIAny* out) {
  int32_t source = call->arguments[i] & 15, index = call->arguments[i] >> 4;
  int32_t num_outputs = i - call->num_read_only;
  DLTensor* tensor;
  if (source == kOutput) {
    if (index < 64) call->named_outputs |= (uint64_t)1 << (index & 63);
    tensor = call->tensors + (call->num_arguments - 1 - num_outputs);
    return SetBuffer(call, &call->frame->rets, index, out, tensor);
  }
  tensor = call->tensors + call->num_read_only++;
  if (source == kOperand) return SetBuffer(call, &call->frame->args, index, out, tensor);
  return SetValue(call, source, index, out, tensor);
}

static void ReleaseValues(const TVMFFIAny* values, int32_t count) {
  int32_t i;
  for (i = 0; i < count; ++i) ReleaseValue(&values[i]);
}

/* Fill all arguments.  After a failure, release the arguments that were filled before. */
static int SetArguments(Call* call) {
  static const TVMFFIAny none = {kTVMFFINone, {0}, {0}};
  int code = 0;
  int32_t i;
  call->named_outputs = 0;
  call->num_read_only = 0;
  for (i = 0; i < call->num_arguments && code == 0; ++i) {
    call->values[i] = none;
    code = SetArgument(call, i, &call->values[i]);
  }
  if (code != 0) ReleaseValues(call->values, i);
  return code;
}

static int IsNamedOutput(const Call* call, int64_t output) {
  int32_t i;
  for (i = 0; i < call->num_arguments; ++i) {
    if (call->arguments[i] == 16 * (int32_t)output + kOutput) return 1;
  }
  return 0;
}

static int AllOutputsAreNamed(const Call* call) {
  int64_t num_outputs = call->frame->rets.size;
  return num_outputs < 64 && call->named_outputs == ((uint64_t)1 << num_outputs) - 1;
}

/* Describe the outputs to which no argument refers as tensors.  The function's results are copied
 * into these tensors. */
static int DescribeReturned(Call* call) {
  DLTensor* next = call->tensors + call->num_arguments;
  int64_t output;
  int code = 0;
  for (output = 0; output < call->frame->rets.size && code == 0; ++output) {
    if (IsNamedOutput(call, output)) continue;
    code = DescribeBuffer(call, &call->frame->rets, output, next++);
    ++call->num_returned;
  }
  if (code != 0) ReleaseValues(call->values, call->num_arguments);
  return code;
}

static int FillArguments(Call* call) {
  int code = SetArguments(call);
  call->num_returned = 0;
  return code != 0 || AllOutputsAreNamed(call) ? code : DescribeReturned(call);
}

static int PrepareInHeap(Call* call, CallStorage* storage) {
  int code = AllocateStorage(call, storage);
  if (code != 0) return code;
  code = FillArguments(call);
  if (code != 0) free(storage->heap);
  return code;
}

int PrepareArguments(Call* call, CallStorage* storage) {
  int code = kNoSpace;
  storage->heap = NULL;
  if (NumTensors(call) <= kInlineTensors) {
    UseInlineStorage(call, storage);
    code = FillArguments(call);
  }
  return code == kNoSpace ? PrepareInHeap(call, storage) : code;
}

void ReleaseArguments(Call* call, CallStorage* storage) {
  ReleaseValues(call->values, call->num_arguments);
  if (storage->heap != NULL) free(storage->heap);
}
