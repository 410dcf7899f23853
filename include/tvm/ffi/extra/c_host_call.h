/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls on behalf of a host framework: what an adapter needs that makes our functions operators of
 * a graph compiler (`call_tvm_ffi`).  An adapter is a loop over it:
 *
 *     1. find the function: the slot of its name once, what is in the slot in each call;
 *     2. describe the buffers in DLTensors on the stack, and arguments in an array of TVMFFIAny;
 *     3. TVMFFIHostCall, with the framework's stream and allocator;
 *     4. where the function returns tensors, TVMFFIHostMoveResults into the framework's buffers;
 *     5. after a failure, the error's text and status in the framework's own form.
 *
 * Nothing here allocates while calls succeed.  These functions are additions of this
 * implementation to the contract; return codes, ownership and out-parameters follow the conventions
 * of tvm/ffi/c_api.h. */
#ifndef TVM_FFI_EXTRA_C_HOST_CALL_H_
#define TVM_FFI_EXTRA_C_HOST_CALL_H_

#include <tvm/ffi/extra/c_env_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a host framework has its work: stream and allocator in effect while a function runs.
 *
 *   offset  bytes  field
 *   0       8      struct_size
 *   8       8      device
 *   16      8      stream
 *   24      8      allocator       (32 in all) */
typedef struct TVMFFIHostScope {
  size_t struct_size;        /* sizeof(TVMFFIHostScope): later versions may have more fields */
  DLDevice device;           /* whose stream is set; device type 0: of none */
  TVMFFIStreamHandle stream; /* the framework's; may be NULL */
  DLPackManagedTensorAllocator allocator; /* the framework's; NULL: what is in effect stays */
} TVMFFIHostScope;

/* The place of a global function under its name.  It stays when the function is replaced or
 * removed, and is there until the process ends. */
typedef struct TVMFFIHostSlot TVMFFIHostSlot;

/* Return the slot of a name, which a host keeps.
 *
 * name   borrowed until the call returns.
 * out    receives the slot.
 * Fails: ValueError when no function is registered under the name.     Threads: any; no lock. */
TVM_FFI_DLL int TVMFFIHostFindSlot(const TVMFFIByteArray* name, const TVMFFIHostSlot** out);

/* Return the function that is in a slot at the moment; hosts ask in each call.
 *
 * slot   from TVMFFIHostFindSlot.
 * out    receives a Function borrowed until the process ends: what hosts have found stays alive, as
 *        compiled programs hold no references.
 * Fails: ValueError when it was removed.     Threads: any; a lock the first time. */
TVM_FFI_DLL int TVMFFIHostSlotFunction(const TVMFFIHostSlot* slot, TVMFFIObjectHandle* out);

/* Return the global function of a name: both of the above in one, for a host that keeps no slot.
 *
 * name   borrowed until the call returns.
 * out    as above.
 * Fails: ValueError when there is no such function.     Threads: any; a lock the first time. */
TVM_FFI_DLL int TVMFFIHostFindFunction(const TVMFFIByteArray* name, TVMFFIObjectHandle* out);

/* Call a function with the host's stream and allocator, and put back afterwards what was in effect
 * before, also when the call fails.
 *
 * Tensors are best passed as DLTensor pointers (type index kTVMFFIDLTensorPtr) to descriptions on
 * the caller's stack: C and C++ functions take them as views, and Python functions get a tensor
 * that can be read and written as long as the call lasts, by whatever library.  Functions
 * that take owned tensors need a Tensor, for which the host has to say who keeps the memory.
 *
 * scope      NULL: call in the environment that is there.
 * function   borrowed.
 * args       borrowed values.
 * num_args   at least 0.
 * result     receives an owned value; None before the call.
 * error      receives an owned Error when the call fails, also when the function returned nonzero
 *            without raising one, and is not touched otherwise.  The thread's error slot is empty
 *            afterwards.
 * Fails: as the function does; ValueError for a scope that describes none.
 * Threads: any; the environment is that of the calling thread. */
TVM_FFI_DLL int TVMFFIHostCall(const TVMFFIHostScope* scope, TVMFFIObjectHandle function,
                               TVMFFIAny* args, int32_t num_args, TVMFFIAny* result,
                               TVMFFIObjectHandle* error);

/* Copy the tensors that a function returned into buffers of the host, in CPU memory.
 *
 * result        owned, and None afterwards, whatever happens: a Tensor for one output, an Array or
 *               List of them for any number.  What a function without outputs returned is released.
 * outputs       num_outputs descriptions of buffers, compact and row-major; borrowed.
 * num_outputs   at least 0.
 * Fails: TypeError when it is something else; ValueError when the number of tensors, a shape, an
 *        element type or a device differs, with what was expected and what came.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIHostMoveResults(TVMFFIAny* result, const DLTensor* outputs,
                                      int32_t num_outputs);

/* Write an error as text, "KIND: MESSAGE", as snprintf does.
 *
 * error      borrowed.
 * buffer     receives as much as fits, and a NUL; may be NULL when capacity is 0.
 * capacity   bytes of the buffer.
 * Returns: bytes of the whole text without the NUL.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL size_t TVMFFIHostErrorText(TVMFFIObjectHandle error, char* buffer, size_t capacity);

/* Return what kind of failure an error is, in the numbers that XLA, TensorFlow and gRPC share:
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
