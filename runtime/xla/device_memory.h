/* SPDX-License-Identifier: Apache-2.0
 *
 * XLA device allocator as the tensor allocator during an XLA custom call.
 *
 * XLA's allocator may be used only during a call.  A tensor that is alive afterwards can neither be
 * used nor freed: DeviceMemoryEnd detects it, and the call fails. */
#ifndef TVM_FFI_RUNTIME_XLA_DEVICE_MEMORY_H_
#define TVM_FFI_RUNTIME_XLA_DEVICE_MEMORY_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "xla_ffi.h"

struct DeviceMemoryOwner;

/* Allocator state of one call.  The struct is a local variable of the handler. */
typedef struct DeviceMemory {
  const XLA_FFI_Api* api;
  XLA_FFI_Context* ctx;
  DLDevice device;
  /* State that the tensors share; NULL until the first allocation. */
  struct DeviceMemoryOwner* owner;
  /* Allocator state of the enclosing call; NULL if no call encloses this one. */
  struct DeviceMemory* outer;
} DeviceMemory;

/* Begin a call: until DeviceMemoryEnd, DeviceMemoryAllocate on this thread allocates memory from
 * XLA. */
void DeviceMemoryBegin(DeviceMemory* memory, const XLA_FFI_CallFrame* frame, DLDevice device);

/* End the call.  Return 1 if tensors that the call allocated are still alive, else 0. */
int DeviceMemoryEnd(DeviceMemory* memory);

/* Allocate a tensor.  This function is the tensor allocator of the thread during a call.  A tensor
 * on another device than the call's device comes from the allocator that the thread had before the
 * call. */
int DeviceMemoryAllocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                         void (*set_error)(void* error_ctx, const char* kind, const char* message));

#endif /* TVM_FFI_RUNTIME_XLA_DEVICE_MEMORY_H_ */
