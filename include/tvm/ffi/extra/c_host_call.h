/* SPDX-License-Identifier: Apache-2.0
 *
 * C API for framework adapters: calls to functions from the operators of a graph compiler
 * (`call_tvm_ffi`).  An operator calls a function in these steps:
 *
 *     1. Find the function: look up the slot of its name once, read the slot in each call.
 *     2. Describe the buffers by DLTensors on the stack, the arguments by an array of TVMFFIAny.
 *     3. Call TVMFFIHostCall with the framework's stream, allocator and read-only tensors.
 *     4. If the function returns tensors, copy them with TVMFFIHostMoveResults into the framework's
 *        buffers.
 *     5. After a failure, convert the error's text and status to the framework's error.
 *
 * None of these functions allocates memory unless a call fails.  They are extensions of the
 * specification by this implementation; return codes, ownership and out-parameters follow the
 * conventions of tvm/ffi/c_api.h. */
#ifndef TVM_FFI_EXTRA_C_HOST_CALL_H_
#define TVM_FFI_EXTRA_C_HOST_CALL_H_

#include <tvm/ffi/extra/c_env_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The stream, the allocator and the read-only tensors of a host framework.  They are in effect
 * while a function runs.
 *
 *   offset  bytes  field
 *   0       8      struct_size
 *   8       8      device
 *   16      8      stream
 *   24      8      allocator
 *   32      8      read_only
 *   40      8      num_read_only   (48 in all) */
typedef struct TVMFFIHostScope {
  size_t struct_size;        /* sizeof(TVMFFIHostScope); identifies the version of the struct */
  DLDevice device;           /* the device of `stream`; if its device type is 0, no stream is set */
  TVMFFIStreamHandle stream; /* the current stream of the framework; may be NULL */
  DLPackManagedTensorAllocator allocator; /* allocates tensors; NULL: keep the allocator */
  /* Array of the arguments of type DLTensor* whose memory the function must not write, borrowed
   * until the call returns.  Python functions get them as read-only tensors. */
  const DLTensor* read_only;
  size_t num_read_only; /* length of `read_only`, at least 0 */
} TVMFFIHostScope;

/* Slot of a name in the table of global functions: contains the current function of the name.  The
 * slot remains valid until the process ends, even if the function is replaced or removed. */
typedef struct TVMFFIHostSlot TVMFFIHostSlot;

/* Return the slot of a name.  A host looks up the slot once and stores its address.
 *
 * name   borrowed until the call returns.
 * out    receives the slot, valid until the process ends.
 * Fails: ValueError if no function is registered under the name.     Threads: any; no lock. */
TVM_FFI_DLL int TVMFFIHostFindSlot(const TVMFFIByteArray* name, const TVMFFIHostSlot** out);

/* Return the current function of a slot.  A host calls this in each call of the function.
 *
 * slot   from TVMFFIHostFindSlot.
 * out    receives a Function borrowed until the process ends.  The runtime never destroys a
 *        function that it has returned here, because compiled graphs store it without a reference.
 * Fails: ValueError if the function was removed.
 * Threads: any; acquires a lock in the first call for a function. */
TVM_FFI_DLL int TVMFFIHostSlotFunction(const TVMFFIHostSlot* slot, TVMFFIObjectHandle* out);

/* Return the global function of a name: TVMFFIHostFindSlot and TVMFFIHostSlotFunction in one call,
 * for a host that does not store slots.
 *
 * name   borrowed until the call returns.
 * out    receives a Function borrowed until the process ends.
 * Fails: ValueError if the function does not exist.
 * Threads: any; acquires a lock the first time. */
TVM_FFI_DLL int TVMFFIHostFindFunction(const TVMFFIByteArray* name, TVMFFIObjectHandle* out);

/* Call a function with the host's stream and allocator.  The previous stream and allocator are
 * restored after the call, also if it fails.
 *
 * Tensors should be passed as DLTensor pointers (type index kTVMFFIDLTensorPtr) to structs on the
 * caller's stack: C and C++ functions take them as views, and Python functions get a tensor that
 * any library can read until the call returns, and write unless the scope lists it.  Functions that
 * take owned tensors need a Tensor, for which the host must define the owner of the memory.
 *
 * scope      stream, allocator and read-only tensors to set; NULL: do not change the environment.
 * function   borrowed.
 * args       borrowed values.
 * num_args   at least 0.
 * result     receives an owned value; None before the call.
 * error      receives an owned Error if the call fails, also if the function returned nonzero
 *            without setting an error; unchanged otherwise.  The thread's error slot is empty after
 *            the call.
 * Fails: with the error of the function; ValueError for an invalid scope.
 * Threads: any; sets the environment of the calling thread. */
TVM_FFI_DLL int TVMFFIHostCall(const TVMFFIHostScope* scope, TVMFFIObjectHandle function,
                               TVMFFIAny* args, int32_t num_args, TVMFFIAny* result,
                               TVMFFIObjectHandle* error);

/* Return 1 if a tensor is in the array `read_only` of the innermost host call that runs on this
 * thread, otherwise 0.
 *
 * tensor   any address; it is compared and not read.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL int32_t TVMFFIHostIsReadOnly(const DLTensor* tensor);

/* Copy the tensors that a function returned into buffers of the host, in CPU memory.
 *
 * result        a Tensor for one output, or an Array or List of Tensors for any number of outputs;
 *               any value for 0 outputs.  Consumed, and None afterwards, also on failure.
 * outputs       num_outputs buffers, compact and row-major; borrowed.
 * num_outputs   at least 0.
 * Fails: TypeError if the result is not a tensor or a sequence of tensors; ValueError if the number
 *        of tensors, a shape, a dtype or a device differs from the outputs.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIHostMoveResults(TVMFFIAny* result, const DLTensor* outputs,
                                      int32_t num_outputs);

/* Write an error as the text "KIND: MESSAGE" to a buffer, with the conventions of snprintf.  A NUL
 * in the error is written as the two characters \0, so that the text is a whole C string.
 *
 * error      borrowed.
 * buffer     receives the text, truncated to fit, and a NUL; may be NULL if capacity is 0.
 * capacity   size of the buffer in bytes.
 * Returns: length of the untruncated text in bytes, without the NUL.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL size_t TVMFFIHostErrorText(TVMFFIObjectHandle error, char* buffer, size_t capacity);

/* Return the status code of an error, with the numbers that XLA, TensorFlow and gRPC share:
 * 3 invalid argument (ValueError, TypeError), 5 not found (KeyError, AttributeError,
 * FileNotFoundError), 7 permission denied (PermissionError), 8 resource exhausted (MemoryError),
 * 11 out of range (IndexError), 12 unimplemented (NotImplementedError), 13 internal (all others).
 *
 * error   borrowed.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL int32_t TVMFFIHostErrorStatus(TVMFFIObjectHandle error);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_HOST_CALL_H_ */
