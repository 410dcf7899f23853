// SPDX-License-Identifier: Apache-2.0
// Environment tensor allocators: which one is used, and their possible errors.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "raised.h"
#include "tensor_source.h"
#include "values.h"

namespace {

using SetError = void (*)(void* error_ctx, const char* kind, const char* message);

VersionedSource* next_tensor = nullptr;
void* seen_context = nullptr;
DLTensor* seen_prototype = nullptr;

int Allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context, SetError) {
  seen_prototype = prototype;
  seen_context = context;
  *out = &next_tensor->managed;
  return 0;
}

int AllocateOther(DLTensor*, DLManagedTensorVersioned** out, void*, SetError) {
  *out = nullptr;
  return 0;
}

int FailWithError(DLTensor*, DLManagedTensorVersioned**, void* context, SetError set_error) {
  set_error(context, "MemoryError", "the device is full");
  return -1;
}

int FailSilently(DLTensor*, DLManagedTensorVersioned**, void*, SetError) { return -1; }

// Clears the thread's allocator slot after a test.
struct ScopedAllocator {
  explicit ScopedAllocator(DLPackManagedTensorAllocator allocator) {
    CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, nullptr), 0);
  }
  ~ScopedAllocator() { TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 0, nullptr); }
};

struct Prototype : DLTensor {
  std::vector<int64_t> extents;

  explicit Prototype(std::vector<int64_t> shape_of_it, DLDeviceType type = kDLCPU)
      : DLTensor{}, extents(std::move(shape_of_it)) {
    device = {type, 0};
    ndim = static_cast<int32_t>(extents.size());
    dtype = {kDLFloat, 32, 1};
    shape = extents.empty() ? nullptr : extents.data();
  }
};

}  // namespace

TEST_CASE("the thread's allocator precedes the process-wide one") {
  DLPackManagedTensorAllocator previous = &FailSilently;
  CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == nullptr));
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(&Allocate, 1, &previous), 0);
  CHECK((previous == nullptr));
  CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == &Allocate));
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(&AllocateOther, 0, &previous), 0);
  CHECK((previous == &Allocate));
  CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == &AllocateOther));
  std::thread([] {
    DLPackManagedTensorAllocator mine = &FailSilently;
    CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == &Allocate));
    CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(&FailSilently, 0, &mine), 0);
    CHECK((mine == nullptr));  // the previous value of the thread, not of the process
    CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == &FailSilently));
  }).join();
  CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == &AllocateOther));
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 0, nullptr), 0);
  CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == &Allocate));
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 1, nullptr), 0);
  CHECK((TVMFFIEnvGetDLPackManagedTensorAllocator() == nullptr));
}

TEST_CASE("the allocator receives the prototype and the result owns its tensor") {
  ScopedAllocator scope(&Allocate);
  VersionedSource source({2, 3});
  next_tensor = &source;
  Prototype prototype({2, 3}, kDLCUDA);
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), 0);
  CHECK_EQ(seen_prototype, static_cast<DLTensor*>(&prototype));
  CHECK(seen_context == nullptr);
  CHECK_EQ(TVMFFIObjectGetTypeIndex(tensor), 70);
  CHECK_EQ(TensorOf(tensor)->data, static_cast<void*>(source.elements));
  CHECK_EQ(TensorOf(tensor)->strides[0], 3);  // default strides
  TVMFFIObjectDecRef(tensor);
  CHECK_EQ(source.deletions, 1);
}

TEST_CASE("an error of the allocator reaches the caller") {
  ScopedAllocator scope(&FailWithError);
  Prototype prototype({2});
  TVMFFIObjectHandle tensor = &prototype;
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&prototype, &tensor), "MemoryError", "the device is full");
  CHECK_EQ(tensor, static_cast<void*>(&prototype));
}

TEST_CASE("an allocator that fails without an error still gives an error") {
  ScopedAllocator scope(&FailSilently);
  Prototype prototype({2});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&prototype, &tensor), "RuntimeError", "set no error");
}

TEST_CASE("an allocator that returns no tensor is a runtime error") {
  ScopedAllocator scope(&AllocateOther);
  Prototype prototype({2});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&prototype, &tensor), "RuntimeError", "no tensor");
}

TEST_CASE("other devices need an allocator") {
  Prototype prototype({2}, kDLCUDA);
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&prototype, &tensor), "RuntimeError",
               "TVMFFIEnvTensorAlloc: allocator is nullptr, likely because "
               "TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.");
}

TEST_CASE("CPU tensors need no allocator") {
  Prototype prototype({3, 5});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), 0);
  prototype.extents = {-1, -1};  // the tensor has a copy of the shape
  const DLTensor* view = TensorOf(tensor);
  CHECK_EQ(view->ndim, 2);
  CHECK_EQ(view->shape[0], 3);
  CHECK_EQ(view->shape[1], 5);
  CHECK_EQ(view->strides[0], 5);
  CHECK_EQ(view->strides[1], 1);
  CHECK_EQ(view->byte_offset, 0u);
  CHECK_EQ(view->dtype.bits, 32);
  CHECK_EQ(reinterpret_cast<uintptr_t>(view->data) % 64, 0u);
  std::memset(view->data, 0x5A, 3 * 5 * sizeof(float));  // all of the memory is writable
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("CPU tensors of every element width have enough memory") {
  struct Case {
    DLDataType dtype;
    int64_t elements;
    size_t bytes;
  };
  const Case cases[] = {{{kDLInt, 1, 1}, 9, 2},
                        {{kDLFloat4_e2m1fn, 4, 1}, 3, 2},
                        {{kDLFloat, 16, 4}, 3, 24},
                        {{kDLComplex, 128, 1}, 2, 32},
                        {{kDLFloat, 32, 1}, 0, 0}};
  for (const Case& c : cases) {
    Prototype prototype({c.elements});
    prototype.dtype = c.dtype;
    TVMFFIObjectHandle tensor = nullptr;
    CHECK_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), 0);
    CHECK(TensorOf(tensor)->data != nullptr);
    std::memset(TensorOf(tensor)->data, 0x5A, c.bytes);
    TVMFFIObjectDecRef(tensor);
  }
}

TEST_CASE("a CPU scalar is one element") {
  Prototype prototype({});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), 0);
  *static_cast<float*>(TensorOf(tensor)->data) = 1.0f;
  CHECK_EQ(TensorOf(tensor)->ndim, 0);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("a CPU tensor may be exported and outlives its handle") {
  Prototype prototype({4});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), 0);
  DLManagedTensorVersioned* managed = nullptr;
  CHECK_EQ(TVMFFITensorToDLPackVersioned(tensor, &managed), 0);
  TVMFFIObjectDecRef(tensor);
  std::memset(managed->dl_tensor.data, 0, 16);
  managed->deleter(managed);
}

TEST_CASE("sizes that overflow are memory errors") {
  TVMFFIObjectHandle tensor = nullptr;
  Prototype bits_overflow({int64_t{1} << 60});
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&bits_overflow, &tensor), "MemoryError", "overflows");
  Prototype too_large({int64_t{1} << 58});
  too_large.dtype = {kDLInt, 8, 1};
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&too_large, &tensor), "MemoryError", "memory");
}

TEST_CASE("impossible prototypes are rejected before the allocator is called") {
  ScopedAllocator scope(&Allocate);
  seen_prototype = nullptr;
  TVMFFIObjectHandle tensor = nullptr;
  Prototype negative({2, -3});
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&negative, &tensor), "ValueError",
               "TVMFFIEnvTensorAlloc: shape[1] must be >= 0, got -3");
  Prototype null_shape({2});
  null_shape.shape = nullptr;
  CHECK_RAISES(TVMFFIEnvTensorAlloc(&null_shape, &tensor), "ValueError", "shape is NULL");
  CHECK(seen_prototype == nullptr);
}
