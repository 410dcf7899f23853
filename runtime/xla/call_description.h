/* SPDX-License-Identifier: Apache-2.0
 *
 * State of one XLA custom call: argument values, and tensors over XLA's buffers.  All memory in it
 * lives as long as the call. */
#ifndef TVM_FFI_RUNTIME_XLA_CALL_DESCRIPTION_H_
#define TVM_FFI_RUNTIME_XLA_CALL_DESCRIPTION_H_

#include <tvm/ffi/c_api.h>

#include "xla_ffi.h"
#include "xla_values.h"

typedef struct Call {
  const XLA_FFI_CallFrame* frame;
  DLDevice device;
  XLA_FFI_ByteSpan name; /* name of the called global function */
  uint32_t checksum;     /* checksum of the name and the attributes, see named_function.h */
  /* Source of each argument, from the attribute __arguments; length num_arguments. */
  const int32_t* arguments;
  int32_t num_arguments;
  int32_t num_read_only;  /* number of arguments that are not outputs */
  int32_t num_returned;   /* number of outputs to which no argument refers */
  uint64_t named_outputs; /* bit i: an argument refers to output i; bits for the first 64 outputs */
  TVMFFIAny* values;      /* argument values, owned; length num_arguments */
  /* Tensors of the arguments that are not outputs, then of those that are outputs in reverse order,
   * then of the num_returned outputs.  The first num_read_only tensors must not be written. */
  DLTensor* tensors;
  int64_t* strides; /* the next free element of the array for the strides of `tensors` */
  int64_t* strides_end;
} Call;

/* Return codes for arguments that could not be converted. */
enum {
  kBadProgram = -1,    /* the attributes are not in the form that tvm_ffi.interop.jax writes */
  kRaised = -2,        /* a TVM FFI error is pending on this thread */
  kNoElementType = -3, /* a buffer has an element type that DLPack lacks */
  kNoSpace = -4,       /* no memory for the arguments and tensors of the call */
};

/* Fill *out, a DLTensor over compact memory.  Returns 0 on success, else kNoSpace or
 * kNoElementType. */
static inline int Describe(Call* call, XLA_FFI_DataType dtype, void* data, int64_t ndim,
                           int64_t* shape, DLDevice device, DLTensor* out) {
  int64_t* strides = call->strides;
  int64_t dim;
  /* Unsigned, because the product of extents may overflow if another extent is 0. */
  uint64_t step = 1;
  if (ndim > call->strides_end - strides) return kNoSpace;
  if (!HasDLPackType(dtype)) return kNoElementType;
  call->strides = strides + ndim;
  out->data = data;
  out->device = device;
  out->ndim = (int32_t)ndim;
  out->dtype = kDLPackTypes[dtype];
  out->shape = shape;
  out->strides = strides;
  out->byte_offset = 0;
  for (dim = ndim - 1; dim >= 0; --dim) {
    strides[dim] = (int64_t)step;
    step *= shape[dim] > 1 ? (uint64_t)shape[dim] : 1;
  }
  return 0;
}

/* Release an owned value: drop its reference if the value is an object. */
static inline void ReleaseValue(const TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
}

#endif /* TVM_FFI_RUNTIME_XLA_CALL_DESCRIPTION_H_ */
