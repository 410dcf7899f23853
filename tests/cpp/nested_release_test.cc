// SPDX-License-Identifier: Apache-2.0
// Deferred release: pending objects keep valid memory, and nested objects other than containers are
// deferred too.
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

// An object whose destructor drops its weak reference.
class WatcherObj : public Object {
 public:
  explicit WatcherObj(const Array<Any>& watched)
      : watched_(detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(watched)) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.NestedReleaseWatcher", WatcherObj, Object);

 private:
  WeakObjectPtr<Object> watched_;
};

// An array inside `depth` levels of arrays, next to an object with the only weak reference to it.
// Elements are released from last to first: the weak reference is dropped while the release of the
// array is pending.
Array<Any> WatchedInside(int depth) {
  Array<Any> watched = {String("long enough to be an object of its own")};
  Any watcher(ObjectRef(ObjectPtr<Object>(make_object<WatcherObj>(watched))));
  Array<Any> nest = {std::move(watcher), std::move(watched)};
  for (int i = 1; i < depth; ++i) nest = Array<Any>{std::move(nest)};
  return nest;
}

// Regression: a pending array with only the Strong flag had no weak count, so dropping the weak
// reference freed its memory before its destructor ran.  AddressSanitizer detects this.
TEST_CASE("dropping weak references during a release keeps pending objects valid") {
  for (int depth = 60; depth < 70; ++depth) WatchedInside(depth);
}

TEST_CASE("dropping weak references after a release frees the memory") {
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

// Regression in the three tests below: only the release of containers was deferred, so each level
// used a stack frame.
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
