/* SPDX-License-Identifier: Apache-2.0 */
#include "device_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* State that all tensors allocated by one call share.  Freed after the call and its tensors. */
typedef struct DeviceMemoryOwner {
  const XLA_FFI_Api* api;
  XLA_FFI_Context* ctx;
  atomic_int num_tensors; /* number of live tensors, plus 1 while the call runs */
  atomic_int is_over;     /* 1 after the call returned, when XLA can no longer free the memory */
} DeviceMemoryOwner;

/* A tensor in memory that XLA allocated.  Its shape and strides follow the struct in the same
 * allocation. */
typedef struct DeviceTensor {
  DLManagedTensorVersioned managed;
  DeviceMemoryOwner* owner;
  size_t size_bytes;
} DeviceTensor;

/* Every XLA platform accepts this alignment; the memory is aligned to more. */
enum { kAlignment = 16 };

static _Thread_local DeviceMemory* current = NULL;

void DeviceMemoryBegin(DeviceMemory* memory, const XLA_FFI_CallFrame* frame, DLDevice device) {
  memory->api = frame->api;
  memory->ctx = frame->ctx;
  memory->device = device;
  memory->owner = NULL;
  memory->outer = current;
  current = memory;
}

static void ReleaseOwner(DeviceMemoryOwner* owner) {
  if (atomic_fetch_sub(&owner->num_tensors, 1) == 1) free(owner);
}

int DeviceMemoryEnd(DeviceMemory* memory) {
  DeviceMemoryOwner* owner = memory->owner;
  int are_alive;
  current = memory->outer;
  if (owner == NULL) return 0;
  atomic_store(&owner->is_over, 1);
  are_alive = atomic_load(&owner->num_tensors) > 1;
  ReleaseOwner(owner);
  return are_alive;
}

/* ---- Device memory and its owner ----------------------------------------------------------- */

static void DestroyError(const XLA_FFI_Api* api, XLA_FFI_Error* error) {
  XLA_FFI_Error_Destroy_Args args;
  memset(&args, 0, sizeof(args));
  args.struct_size = sizeof(args);
  args.error = error;
  api->Error_Destroy(&args);
}

static void* AllocateMemory(const DeviceMemory* memory, size_t size_bytes) {
  XLA_FFI_DeviceMemory_Allocate_Args args;
  XLA_FFI_Error* failed;
  memset(&args, 0, sizeof(args));
  args.struct_size = sizeof(args);
  args.ctx = memory->ctx;
  args.size = size_bytes;
  args.alignment = kAlignment;
  failed = memory->api->DeviceMemory_Allocate(&args);
  if (failed == NULL) return args.data;
  DestroyError(memory->api, failed);
  return NULL;
}

static void FreeMemory(const DeviceMemoryOwner* owner, void* data, size_t size_bytes) {
  XLA_FFI_DeviceMemory_Free_Args args;
  XLA_FFI_Error* failed;
  memset(&args, 0, sizeof(args));
  args.struct_size = sizeof(args);
  args.ctx = owner->ctx;
  args.size = size_bytes;
  args.data = data;
  failed = owner->api->DeviceMemory_Free(&args);
  if (failed != NULL) DestroyError(owner->api, failed);
}

static void DeleteTensor(DLManagedTensorVersioned* managed) {
  DeviceTensor* tensor = (DeviceTensor*)managed->manager_ctx;
  if (!atomic_load(&tensor->owner->is_over)) {
    FreeMemory(tensor->owner, managed->dl_tensor.data, tensor->size_bytes);
  }
  ReleaseOwner(tensor->owner);
  free(tensor);
}

/* ---- Tensors in device memory -------------------------------------------------------------- */

/* Return the size of a compact tensor in bytes: at least 1, or 0 if the size overflows. */
static size_t SizeOf(const DLTensor* tensor) {
  uint64_t bits = (uint64_t)tensor->dtype.bits * (tensor->dtype.lanes ? tensor->dtype.lanes : 1);
  int32_t dim;
  for (dim = 0; dim < tensor->ndim; ++dim) {
    if (__builtin_mul_overflow(bits, (uint64_t)tensor->shape[dim], &bits)) return 0;
  }
  if (bits > UINT64_MAX - 7) return 0;
  return bits == 0 ? 1 : (size_t)((bits + 7) / 8);
}

static int EnsureOwner(DeviceMemory* memory) {
  DeviceMemoryOwner* owner = memory->owner;
  if (owner != NULL) return 0;
  owner = (DeviceMemoryOwner*)malloc(sizeof(DeviceMemoryOwner));
  if (owner == NULL) return -1;
  owner->api = memory->api;
  owner->ctx = memory->ctx;
  atomic_init(&owner->num_tensors, 1);
  atomic_init(&owner->is_over, 0);
  memory->owner = owner;
  return 0;
}

static DeviceTensor* NewTensor(DeviceMemory* memory, const DLTensor* prototype) {
  size_t ndim = (size_t)prototype->ndim, size_bytes = SizeOf(prototype);
  DeviceTensor* tensor;
  /* Unsigned, because the product of extents may overflow if another extent is 0. */
  uint64_t step = 1;
  size_t dim;
  if (size_bytes == 0 || EnsureOwner(memory) != 0) return NULL;
  tensor = (DeviceTensor*)malloc(sizeof(DeviceTensor) + 2 * ndim * sizeof(int64_t));
  if (tensor == NULL) return NULL;
  memset(tensor, 0, sizeof(*tensor));
  tensor->managed.version.major = DLPACK_MAJOR_VERSION;
  tensor->managed.version.minor = DLPACK_MINOR_VERSION;
  tensor->managed.manager_ctx = tensor;
  tensor->managed.deleter = &DeleteTensor;
  tensor->managed.dl_tensor = *prototype;
  tensor->managed.dl_tensor.shape = (int64_t*)(tensor + 1);
  tensor->managed.dl_tensor.strides = tensor->managed.dl_tensor.shape + ndim;
  tensor->managed.dl_tensor.byte_offset = 0;
  for (dim = ndim; dim-- > 0;) {
    tensor->managed.dl_tensor.shape[dim] = prototype->shape[dim];
    tensor->managed.dl_tensor.strides[dim] = (int64_t)step;
    step *= prototype->shape[dim] > 1 ? (uint64_t)prototype->shape[dim] : 1;
  }
  tensor->size_bytes = size_bytes;
  tensor->managed.dl_tensor.data = AllocateMemory(memory, size_bytes);
  if (tensor->managed.dl_tensor.data == NULL) {
    free(tensor);
    return NULL;
  }
  tensor->owner = memory->owner;
  atomic_fetch_add(&tensor->owner->num_tensors, 1);
  return tensor;
}

/* Allocate a tensor on another device than the call's device.  Uses the allocator that the thread
 * had before the call. */
static int AllocateOutsideXla(DLTensor* prototype, DLManagedTensorVersioned** out) {
  DLPackManagedTensorAllocator ours = NULL;
  TVMFFIObjectHandle tensor = NULL;
  int code;
  TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 0, &ours);
  code = TVMFFIEnvTensorAlloc(prototype, &tensor);
  TVMFFIEnvSetDLPackManagedTensorAllocator(ours, 0, NULL);
  if (code != 0) return code;
  code = TVMFFITensorToDLPackVersioned(tensor, out);
  TVMFFIObjectDecRef(tensor);
  return code;
}

int DeviceMemoryAllocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                         void (*set_error)(void* error_ctx, const char* kind,
                                           const char* message)) {
  DeviceTensor* tensor;
  if (current == NULL || prototype->device.device_type != current->device.device_type ||
      prototype->device.device_id != current->device.device_id) {
    return AllocateOutsideXla(prototype, out);
  }
  tensor = NewTensor(current, prototype);
  if (tensor == NULL) {
    set_error(error_ctx, "MemoryError", "XLA has no memory for a tensor of this size");
    return -1;
  }
  *out = &tensor->managed;
  return 0;
}
