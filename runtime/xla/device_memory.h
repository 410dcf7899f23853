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

/* Allocator state of one call, on the stack of the handler. */
typedef struct DeviceMemory {
  const XLA_FFI_Api* api;
  XLA_FFI_Context* ctx;
  DLDevice device;
  struct DeviceMemoryOwner* owner; /* NULL until the first allocation */
  struct DeviceMemory* outer;      /* the state of the enclosing call */
} DeviceMemory;

/* Make DeviceMemoryAllocate on this thread allocate from XLA until DeviceMemoryEnd. */
void DeviceMemoryBegin(DeviceMemory* memory, const XLA_FFI_CallFrame* frame, DLDevice device);

/* End the call.  Return 1 if tensors that it allocated are still alive, else 0. */
int DeviceMemoryEnd(DeviceMemory* memory);

/* Allocate a tensor; the tensor allocator of the thread during a call.  Tensors on other devices
 * come from the allocator that was set before the call. */
int DeviceMemoryAllocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                         void (*set_error)(void* error_ctx, const char* kind, const char* message));

#endif /* TVM_FFI_RUNTIME_XLA_DEVICE_MEMORY_H_ */
