// SPDX-License-Identifier: Apache-2.0
// Tensor allocation (TVMFFIEnvTensorAlloc) with the allocator that was set for the thread.  Without
// one, the allocator of the process is used; without either, CPU tensors come from the default
// allocator in this file.
#include <tvm/ffi/extra/c_env_api.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "../platform/platform.h"
#include "../platform/probe.h"
#include "error.h"
#include "released_data.h"
#include "tensor.h"

namespace tvm::ffi::runtime {
namespace {

thread_local DLPackManagedTensorAllocator thread_allocator = nullptr;
std::atomic<DLPackManagedTensorAllocator> process_allocator{nullptr};

// The alignment of tensor data in bytes: the size of a cache line and of the widest vector
// register.
constexpr size_t kDataAlignment = 64;

uint64_t DataBytes(const DLTensor& tensor) {
  uint64_t bits = uint64_t{tensor.dtype.bits} * (tensor.dtype.lanes == 0 ? 1 : tensor.dtype.lanes);
  for (int32_t dim = 0; dim < tensor.ndim; ++dim) {
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(tensor.shape[dim]), &bits)) {
      Raise("MemoryError", "tensor allocation: the size in bits overflows 64 bits");
    }
  }
  return bits / 8 + (bits % 8 != 0);
}

// A CPU tensor of the default allocator; shape and strides follow the struct in the same block.
struct CpuTensor {
  DLManagedTensorVersioned managed;
  void* data;
  size_t size;
  int64_t* extents() { return reinterpret_cast<int64_t*>(this + 1); }
};

void FreeCpuTensor(DLManagedTensorVersioned* managed) {
  auto* tensor = static_cast<CpuTensor*>(managed->manager_ctx);
  auto* keep = released_data_hook.load(std::memory_order_acquire);
  if (keep == nullptr) {
    platform::FreeAligned(tensor->data);
  } else {
    keep(tensor->data, tensor->size);
  }
  std::free(tensor);
}

DLManagedTensorVersioned* AllocateCpuTensor(const DLTensor& prototype) {
  uint64_t bytes = DataBytes(prototype);
  if (bytes > SIZE_MAX - kDataAlignment) throw std::bad_alloc();
  auto ndim = static_cast<size_t>(prototype.ndim);
  auto* tensor =
      static_cast<CpuTensor*>(std::malloc(sizeof(CpuTensor) + 2 * ndim * sizeof(int64_t)));
  if (tensor == nullptr) throw std::bad_alloc();
  // An empty tensor gets an address as well, because some kernels reject null.
  tensor->data = platform::AllocateAligned(bytes == 0 ? 1 : bytes, kDataAlignment);
  if (tensor->data == nullptr) {
    std::free(tensor);
    throw std::bad_alloc();
  }
  tensor->size = bytes;
  int64_t* shape = tensor->extents();
  int64_t* strides = shape + ndim;
  int64_t step = 1;
  for (size_t dim = ndim; dim-- > 0;) {
    shape[dim] = prototype.shape[dim];
    strides[dim] = step;
    step *= shape[dim] > 1 ? shape[dim] : 1;
  }
  DLManagedTensorVersioned& managed = tensor->managed;
  managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.manager_ctx = tensor;
  managed.deleter = &FreeCpuTensor;
  managed.flags = 0;
  managed.dl_tensor = prototype;
  managed.dl_tensor.data = tensor->data;
  managed.dl_tensor.shape = shape;
  managed.dl_tensor.strides = strides;
  managed.dl_tensor.byte_offset = 0;
  return &managed;
}

void RaiseFromAllocator(void* /*error_ctx*/, const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
}

DLManagedTensorVersioned* Allocate(DLTensor* prototype) {
  DLPackManagedTensorAllocator allocator = TVMFFIEnvGetDLPackManagedTensorAllocator();
  if (allocator == nullptr) {
    if (prototype->device.device_type == kDLCPU) return AllocateCpuTensor(*prototype);
    Raise("RuntimeError",
          "TVMFFIEnvTensorAlloc: allocator is nullptr, likely because "
          "TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.");
  }
  DLManagedTensorVersioned* managed = nullptr;
  int code = allocator(prototype, &managed, nullptr, &RaiseFromAllocator);
  if (code != 0) RaisePending(code);
  if (managed == nullptr) {
    Raise("RuntimeError", "TVMFFIEnvTensorAlloc: the allocator returned success but no tensor");
  }
  return managed;
}

}  // namespace

std::atomic<void (*)(void* data, size_t size)> released_data_hook{nullptr};
std::atomic<void (*)(TVMFFIObject* tensor) noexcept> new_tensor_hook{nullptr};

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator* opt_out_original_allocator) {
  if (opt_out_original_allocator != nullptr) *opt_out_original_allocator = thread_allocator;
  thread_allocator = allocator;
  if (write_to_global_context != 0) {
    process_allocator.store(allocator, std::memory_order_release);
  }
  return 0;
}

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator() {
  return thread_allocator != nullptr ? thread_allocator
                                     : process_allocator.load(std::memory_order_acquire);
}

int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out) {
  return GuardBoundary([&] {
    CheckShape(*prototype, "TVMFFIEnvTensorAlloc");
    DLManagedTensorVersioned* managed = Allocate(prototype);
    TVM_FFI_PROBE4("alloc", managed->dl_tensor.data, int64_t{prototype->device.device_type},
                   prototype->ndim, prototype->shape);
    try {
      *out = NewTensorFromManaged(managed).release();
    } catch (...) {
      if (managed->deleter != nullptr) managed->deleter(managed);
      throw;
    }
    auto hook = new_tensor_hook.load(std::memory_order_acquire);
    if (hook != nullptr) hook(static_cast<TVMFFIObject*>(*out));
  });
}
