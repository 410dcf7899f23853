/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of XLA's for tensors that a function makes while it runs on a device.
 *
 * XLA lends its allocator for the time of a call.  What is still alive afterwards can neither be
 * used nor given back: DeviceMemoryEnd finds it, and the call fails. */
#ifndef TVM_FFI_RUNTIME_XLA_DEVICE_MEMORY_H_
#define TVM_FFI_RUNTIME_XLA_DEVICE_MEMORY_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "xla_ffi.h"

struct DeviceMemoryOwner;

/* One call; on the stack of the handler. */
typedef struct DeviceMemory {
  const XLA_FFI_Api* api;
  XLA_FFI_Context* ctx;
  DLDevice device;
  struct DeviceMemoryOwner* owner; /* made with the first tensor */
  struct DeviceMemory* outer;      /* of the call that this one is part of */
} DeviceMemory;

/* From here on, DeviceMemoryAllocate on this thread makes tensors on the device of the call. */
void DeviceMemoryBegin(DeviceMemory* memory, const XLA_FFI_CallFrame* frame, DLDevice device);

/* Whether tensors outlive the call. */
int DeviceMemoryEnd(DeviceMemory* memory);

/* The environment's allocator during a call.  Tensors on other devices come from the one that would
 * be in effect without the call. */
int DeviceMemoryAllocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                         void (*set_error)(void* error_ctx, const char* kind, const char* message));

#endif /* TVM_FFI_RUNTIME_XLA_DEVICE_MEMORY_H_ */
