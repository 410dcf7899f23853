// SPDX-License-Identifier: Apache-2.0
// C functions of objects: version, reference counting, opaque objects and the custom allocator.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "error.h"
#include "object.h"

namespace tvm::ffi::runtime {
namespace {

struct OpaqueObject : TVMFFIObject, TVMFFIOpaqueObjectCell {
  ~OpaqueObject() noexcept(false) {
    if (deleter_of_handle != nullptr) deleter_of_handle(handle);
  }
  void (*deleter_of_handle)(void*) = nullptr;
};

// The struct before the object in every block of the default allocator.  The object begins directly
// after the last member, TVMFFIObjectAllocHeader.
struct BlockHeader {
  void* block;
  TVMFFIObjectAllocHeader header;
};

void FreeBlock(void* body) { std::free((static_cast<BlockHeader*>(body) - 1)->block); }

void* DefaultAllocate(size_t size, size_t alignment, int32_t /*type_index*/, void* /*context*/) {
  alignment = std::max(alignment, alignof(std::max_align_t));
  size_t offset = std::max(alignment, sizeof(BlockHeader));  // a multiple of both powers of two
  // malloc aligns to max_align_t.  A larger alignment needs room to move the body.
  size_t spare = alignment - alignof(std::max_align_t);
  if (size > SIZE_MAX - offset - spare) return nullptr;
  void* block = std::malloc(offset + spare + size);
  if (block == nullptr) return nullptr;
  auto address = reinterpret_cast<uintptr_t>(block) + spare;
  char* body = static_cast<char*>(block) + spare - address % alignment + offset;
  *(reinterpret_cast<BlockHeader*>(body) - 1) = {block, {&FreeBlock}};
  return body;
}

TVMFFICustomAllocator default_allocator = {&DefaultAllocate, nullptr};
std::atomic<TVMFFICustomAllocator*> current_allocator{&default_allocator};

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

void TVMFFIGetVersion(TVMFFIVersion* out_version) {
  out_version->major = TVM_FFI_VERSION_MAJOR;
  out_version->minor = TVM_FFI_VERSION_MINOR;
  out_version->patch = TVM_FFI_VERSION_PATCH;
}

int TVMFFIObjectIncRef(TVMFFIObjectHandle obj) {
  IncRef(static_cast<TVMFFIObject*>(obj));
  return 0;
}

int TVMFFIObjectDecRef(TVMFFIObjectHandle obj) {
  if (obj != nullptr) DecRef(static_cast<TVMFFIObject*>(obj));
  return 0;
}

int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index, void (*deleter)(void* handle),
                             TVMFFIObjectHandle* out) {
  return GuardBoundary([&] {
    if (type_index != kTVMFFIOpaquePyObject) {
      Raise("RuntimeError",
            "TVMFFIObjectCreateOpaque: expected the type index kTVMFFIOpaquePyObject, got ",
            type_index);
    }
    Ref<OpaqueObject> object = NewObject<OpaqueObject>(type_index, 0);
    object->handle = handle;
    object->deleter_of_handle = deleter;
    *out = object.release();
  });
}

TVMFFICustomAllocator* TVMFFIGetCustomAllocator() {
  return current_allocator.load(std::memory_order_acquire);
}

int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator) {
  current_allocator.store(allocator == nullptr ? &default_allocator : allocator,
                          std::memory_order_release);
  return 0;
}
