// SPDX-License-Identifier: Apache-2.0
// What waits for its turn to be released stays alive meanwhile; what nests without being a
// container takes turns, too.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/accessor.h>

#include <optional>
#include <vector>

namespace {

using namespace tvm::ffi;

constexpr int kDepth = 300000;

// Drops its weak reference when it is released.
class WatcherObj : public Object {
 public:
  explicit WatcherObj(const Array<Any>& watched)
      : watched_(detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(watched)) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.NestedReleaseWatcher", WatcherObj, Object);

 private:
  WeakObjectPtr<Object> watched_;
};

// An array `depth` levels inside another, beside the only one who watches it.  Elements are
// released from the last to the first: the watcher goes while the array waits for its turn.
Array<Any> WatchedInside(int depth) {
  Array<Any> watched = {String("long enough to be an object of its own")};
  Any watcher(ObjectRef(ObjectPtr<Object>(make_object<WatcherObj>(watched))));
  Array<Any> nest = {std::move(watcher), std::move(watched)};
  for (int i = 1; i < depth; ++i) nest = Array<Any>{std::move(nest)};
  return nest;
}

// Cause: an array put off with the Strong flag alone kept no weak count, so that the watcher freed
// its memory before its destructor ran.  AddressSanitizer sees it.
TEST_CASE("weak references dropped meanwhile do not free what waits") {
  for (int depth = 60; depth < 70; ++depth) WatchedInside(depth);
}

TEST_CASE("weak references dropped later free what waited") {
  Array<Any> watched = {1};
  WeakObjectPtr<Object> watcher(detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(watched));
  {
    Array<Any> nest = {std::move(watched)};
    for (int i = 0; i < 100; ++i) nest = Array<Any>{std::move(nest)};
    CHECK(watcher.lock() != nullptr);
  }
  CHECK(watcher.expired());
  CHECK(watcher.lock() == nullptr);
}

// Cause of the three below: only containers took turns, so that each level was a frame of the
// stack.
TEST_CASE("chains of causes are released") {
  std::optional<Error> error;
  for (int i = 0; i < kDepth; ++i) {
    error = Error("ValueError", "one more", "", error, std::optional<ObjectRef>());
  }
  CHECK_EQ(error->message(), "one more");
}

struct CPUAlloc {
  void AllocData(DLTensor* tensor) { tensor->data = std::malloc(64); }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

TEST_CASE("chains of views are released and exported") {
  Tensor tensor = Tensor::FromNDAlloc(CPUAlloc(), {2, 2}, {kDLFloat, 32, 1}, {kDLCPU, 0});
  for (int i = 0; i < kDepth; ++i) tensor = tensor.as_strided({2}, {1});
  DLManagedTensorVersioned* exported = tensor.ToDLPackVersioned();
  CHECK_EQ(exported->flags, 0u);
  exported->deleter(exported);
}

TEST_CASE("chains of imports are released") {
  Tensor tensor = Tensor::FromNDAlloc(CPUAlloc(), {2, 2}, {kDLFloat, 32, 1}, {kDLCPU, 0});
  for (int i = 0; i < kDepth; ++i) {
    tensor = i % 2 == 0 ? Tensor::FromDLPackVersioned(tensor.ToDLPackVersioned())
                        : Tensor::FromDLPack(tensor.ToDLPack());
  }
}

}  // namespace
