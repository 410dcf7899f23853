// SPDX-License-Identifier: Apache-2.0
// Tensor allocators: aligned memory, a memory pool, and the allocator of the calling framework.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tensor_allocators {

using tvm::ffi::Shape;
using tvm::ffi::Tensor;

constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};
constexpr DLDevice kCPU = {kDLCPU, 0};

// Memory at multiples of `alignment` bytes, a power of two.  AllocData receives the extra arguments
// of FromNDAlloc; FreeData runs once, on the thread that releases the last reference to the tensor.
struct AlignedMemory {
  void AllocData(DLTensor* t, size_t alignment) {
    size_t size = tvm::ffi::GetDataSize(*t);
    // aligned_alloc requires a size that is a multiple of the alignment; a tensor may have 0 bytes.
    t->data = std::aligned_alloc(alignment, (size / alignment + 1) * alignment);
    if (t->data == nullptr) throw std::bad_alloc();
  }
  void FreeData(DLTensor* t) { std::free(t->data); }
};

// Memory pool that reuses the block of a released tensor for the next tensor of the same size.
class Pool {
 public:
  void* Take(size_t size) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      std::vector<void*>& blocks = free_[size];
      if (!blocks.empty()) {
        void* block = blocks.back();
        blocks.pop_back();
        return block;
      }
    }
    void* block = std::malloc(size > 0 ? size : 1);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void Return(void* block, size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_[size].push_back(block);
  }
  int64_t CountFree() {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t count = 0;
    for (const auto& entry : free_) count += entry.second.size();
    return static_cast<int64_t>(count);
  }
  // The pool is never destroyed: tensors may be released after static objects are destroyed.
  static Pool& Global() {
    static auto* pool = new Pool();
    return *pool;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<size_t, std::vector<void*>> free_;
};

struct PooledMemory {
  void AllocData(DLTensor* t) { t->data = Pool::Global().Take(tvm::ffi::GetDataSize(*t)); }
  void FreeData(DLTensor* t) { Pool::Global().Return(t->data, tvm::ffi::GetDataSize(*t)); }
};

Tensor NewAligned(Shape shape, int64_t alignment) {
  return Tensor::FromNDAlloc(AlignedMemory(), shape, kFloat32, kCPU,
                             static_cast<size_t>(alignment));
}

Tensor NewPooled(Shape shape) { return Tensor::FromNDAlloc(PooledMemory(), shape, kFloat32, kCPU); }

// Allocates a tensor with the current allocator of the thread.  If the argument is a PyTorch
// tensor, this is PyTorch's allocator, and the caller receives a PyTorch tensor.
Tensor NewLike(Tensor prototype) {
  return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, prototype.shape(), prototype.dtype(),
                              prototype.device());
}

int64_t CountFreeBlocks() { return Pool::Global().CountFree(); }

}  // namespace tensor_allocators

TVM_FFI_DLL_EXPORT_TYPED_FUNC(new_aligned, tensor_allocators::NewAligned);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(new_pooled, tensor_allocators::NewPooled);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(new_like, tensor_allocators::NewLike);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(count_free_blocks, tensor_allocators::CountFreeBlocks);
