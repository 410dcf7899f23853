/* SPDX-License-Identifier: Apache-2.0
 *
 * C API of prepared calls: a function with its arguments packed, checked and owned, which runs many
 * times.  A graph executor uses prepared calls in these steps:
 *
 *     1. Create one prepared call per node with TVMFFIPreparedCreate.
 *     2. Replace the arguments that change with TVMFFIPreparedUpdate: a value, or an address.
 *     3. Run all nodes with one TVMFFIPreparedRun; repeat from step 2.
 *
 * A slot is the position of an argument.  A slot keeps the facts of its first argument: the type;
 * for a tensor dtype, device, shape and layout.  Updates compare the facts, so that a call whose
 * launch configuration was computed once stays valid.
 *
 * A prepared call is an object of type ffi.Function without parameters: TVMFFIObjectDecRef releases
 * it, and every caller of functions can call it.  Use one prepared call per thread.  These
 * functions are extensions of the specification by this implementation; return codes, ownership and
 * out-parameters follow the conventions of tvm/ffi/c_api.h. */
#ifndef TVM_FFI_EXTRA_C_PREPARED_H_
#define TVM_FFI_EXTRA_C_PREPARED_H_

#include <tvm/ffi/extra/c_env_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Content of a prepared call, after its object header and its TVMFFIFunctionCell.  Read-only except
 * for the environment, which the owner of the call may change between runs.
 *
 *   offset  bytes  field
 *   0       8      function
 *   8       8      checks
 *   16      8      args
 *   24      4      num_args
 *   28      4      is_busy
 *   32      8      device
 *   40      8      stream
 *   48      8      allocator
 *   56      8      callee      (64 in all) */
typedef struct TVMFFIPreparedCell {
  TVMFFIObjectHandle function; /* the function that runs; owned */
  TVMFFIObjectHandle checks;   /* function that fails for invalid arguments; owned, or NULL */
  TVMFFIAny* args;             /* array of owned values; DLTensor* and void* are borrowed */
  int32_t num_args;            /* length of `args`, at least 0 */
  int32_t is_busy;             /* 1 while the call runs or is updated, else 0; atomic */
  /* The environment of a run: a stream, if the device type of `device` is not 0, and an allocator
   * of tensors, if it is not NULL.  TVMFFIPreparedCreate sets neither. */
  DLDevice device;
  TVMFFIStreamHandle stream;
  DLPackManagedTensorAllocator allocator;
  /* The function that a run calls: `function`, or a function of this prepared call that repeats the
   * kernel launches of `function`; borrowed from the prepared call.  Only its runs may call it. */
  TVMFFIObjectHandle callee;
} TVMFFIPreparedCell;

/* Prepare a call.
 *
 * function   borrowed; the prepared call takes a reference.
 * checks     function that is called with the arguments, here and in each update, and fails if they
 *            are invalid, such as the result of the global function "pytvmffi.CheckFunction";
 *            borrowed.  NULL: no checks.
 * args       borrowed values, which become owned as by TVMFFIAnyViewToOwnedAny.  The memory of a
 *            DLTensor* must stay valid until the slot is updated or the prepared call is destroyed.
 * num_args   at least 0.
 * out        receives an owned Function.
 * Fails: TypeError for an rvalue reference, which a call consumes; with the error of `checks`;
 *        MemoryError.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIPreparedCreate(TVMFFIObjectHandle function, TVMFFIObjectHandle checks,
                                     const TVMFFIAny* args, int32_t num_args,
                                     TVMFFIObjectHandle* out);

/* Replace arguments of a prepared call.  All arguments stay unchanged if the update fails.
 *
 * prepared     from TVMFFIPreparedCreate; borrowed.
 * slots        array of num_values indices of arguments.
 * values       array of num_values borrowed values, as in TVMFFIPreparedCreate.  A void* for a
 *              slot with a tensor is the address of the first element: the slot gets a tensor with
 *              the facts of the previous tensor over this memory, which the caller keeps valid.
 * num_values   at least 0.
 * Fails: IndexError for a slot out of range; TypeError if the type or the dtype, ValueError if the
 *        device, the shape or the layout differs from the previous argument; RuntimeError if the
 *        call is running; with the error of `checks`.
 * Threads: any, but a failure if the call is running or updated on another thread. */
TVM_FFI_DLL int TVMFFIPreparedUpdate(TVMFFIObjectHandle prepared, const int32_t* slots,
                                     const TVMFFIAny* values, int32_t num_values);

/* Run prepared calls in order, each in its environment.  The first failure ends the run.
 *
 * prepared    num_calls prepared calls; borrowed.  A call may occur several times.
 * num_calls   at least 0.
 * results     array of num_calls elements that receives owned values, also before a failure; the
 *             elements from the failed call on are then None.  NULL: the results are released.
 * failed      receives the index of the call that failed; unchanged otherwise.  May be NULL.
 * Fails: with the return code and the error of the call that failed; RuntimeError if a call is
 *        running on another thread, or runs itself.
 * Threads: any; sets the environment of the calling thread. */
TVM_FFI_DLL int TVMFFIPreparedRun(const TVMFFIObjectHandle* prepared, int32_t num_calls,
                                  TVMFFIAny* results, int32_t* failed);

/* ---- Accessors -------------------------------------------------------------------------------
 *
 * Inline functions that return the content of a prepared call and compare arguments with a slot.
 * Arguments are borrowed.  They never fail and may be called on any thread. */

/* Return the content of a prepared call, borrowed from it. */
static inline TVMFFIPreparedCell* TVMFFIPreparedGetCellPtr(TVMFFIObjectHandle prepared) {
  return (TVMFFIPreparedCell*)((char*)prepared + sizeof(TVMFFIObject) + sizeof(TVMFFIFunctionCell));
}

/* Return the tensor in an argument, borrowed from it; NULL if the argument is not a tensor. */
static inline const DLTensor* TVMFFIPreparedTensorOf(const TVMFFIAny* argument) {
  if (argument->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)argument->v_ptr;
  if (argument->type_index != kTVMFFITensor) return NULL;
  return (const DLTensor*)((char*)argument->v_obj + sizeof(TVMFFIObject));
}

/* Return 1 if two tensors have the same strides, otherwise 0.  The tensors have the same shape. The
 * stride of a dimension with one element, and the strides of an empty tensor, have no meaning. */
static inline int TVMFFIPreparedHasSameLayout(const DLTensor* slot, const DLTensor* tensor) {
  int64_t step = 1; /* stride of the dimension in a compact tensor */
  int is_same = 1, i;
  for (i = slot->ndim - 1; i >= 0; --i) {
    int64_t left = slot->strides != NULL ? slot->strides[i] : step;
    int64_t right = tensor->strides != NULL ? tensor->strides[i] : step;
    if (slot->shape[i] == 0) return 1;
    if (left != right && slot->shape[i] != 1) is_same = 0;
    step = (int64_t)((uint64_t)step * (uint64_t)slot->shape[i]);
  }
  return is_same;
}

/* Return 1 if a tensor has the dtype, the device, the shape and the layout of the tensor in a slot,
 * otherwise 0. */
static inline int TVMFFIPreparedHasSameFacts(const DLTensor* slot, const DLTensor* tensor) {
  const int32_t ndim = slot->ndim;
  int32_t i = 0;
  if (slot->dtype.code != tensor->dtype.code || slot->dtype.bits != tensor->dtype.bits ||
      slot->dtype.lanes != tensor->dtype.lanes || ndim != tensor->ndim ||
      slot->device.device_type != tensor->device.device_type ||
      slot->device.device_id != tensor->device.device_id) {
    return 0;
  }
  if (slot->strides != NULL && tensor->strides != NULL) {
    while (i < ndim && slot->shape[i] == tensor->shape[i] && slot->strides[i] == tensor->strides[i])
      ++i;
  }
  if (i == ndim) return 1; /* usual */
  for (; i < ndim; ++i) {
    if (slot->shape[i] != tensor->shape[i]) return 0;
  }
  return TVMFFIPreparedHasSameLayout(slot, tensor);
}

/* Return the type index that represents all type indices of strings, or of bytes; for other types,
 * the type index itself. */
static inline int32_t TVMFFIPreparedTypeOf(const TVMFFIAny* argument) {
  switch (argument->type_index) {
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
      return kTVMFFIStr;
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
      return kTVMFFIBytes;
    default:
      return argument->type_index;
  }
}

/* Return 1 if an update of the slot accepts the argument, apart from `checks`; otherwise 0. */
static inline int TVMFFIPreparedAccepts(const TVMFFIAny* slot, const TVMFFIAny* argument) {
  const DLTensor *old_tensor = TVMFFIPreparedTensorOf(slot), *tensor;
  if (old_tensor == NULL) return TVMFFIPreparedTypeOf(slot) == TVMFFIPreparedTypeOf(argument);
  tensor = TVMFFIPreparedTensorOf(argument);
  return tensor != NULL && TVMFFIPreparedHasSameFacts(old_tensor, tensor);
}

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_PREPARED_H_ */
