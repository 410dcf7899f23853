// SPDX-License-Identifier: Apache-2.0
// Containers in containers are released one after the other, not one inside the other: otherwise a
// few hundred thousand levels, which take a moment to build, would overflow the stack.
//
//   1. Up to kMaxDepth levels deep, a container releases its elements as any object does.
//   2. Below that, a container whose last reference has gone is put into a list of the thread.
//   3. The outermost container, once released, releases what is in the list, in the same way.
//
// Each library has a list of its own, so a nest made by several goes kMaxDepth deep in each.
#ifndef TVM_FFI_RELEASE_DETAIL_H_
#define TVM_FFI_RELEASE_DETAIL_H_

#include <tvm/ffi/base_detail.h>

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace tvm {
namespace ffi {
namespace detail {

class TVM_FFI_HIDDEN PendingReleases {
 public:
  using Deleter = void (*)(void* object, int flags);

  // Calls the deleter, now or when the containers around the object have gone.
  static void Release(void* object, int flags, Deleter deleter) noexcept {
    PendingReleases& pending = Current();
    Item item{object, flags, deleter};
    if (pending.depth_ >= kMaxDepth && pending.Add(item)) return;
    pending.ReleaseNow(item);
    if (pending.depth_ == 0 && pending.items_ != nullptr) pending.ReleaseAll();
  }

 private:
  struct Item {
    void* object;
    int flags;
    Deleter deleter;
  };
  static constexpr int kMaxDepth = 64;

  static PendingReleases& Current() noexcept {
    static thread_local PendingReleases pending;
    return pending;
  }
  // False when there is no memory: the object is then released inside the others after all.
  bool Add(const Item& item) noexcept {
    if (size_ == capacity_) {
      size_t capacity = capacity_ == 0 ? 16 : 2 * capacity_;
      void* grown = std::realloc(static_cast<void*>(items_), capacity * sizeof(Item));
      if (grown == nullptr) return false;
      items_ = static_cast<Item*>(grown);
      capacity_ = capacity;
    }
    items_[size_++] = item;
    return true;
  }
  void ReleaseNow(const Item& item) noexcept {
    ++depth_;
    item.deleter(item.object, item.flags);
    --depth_;
  }
  void ReleaseAll() noexcept {
    while (size_ != 0) {
      Item item = items_[--size_];  // a copy: the list may grow meanwhile
      ReleaseNow(item);
    }
    std::free(static_cast<void*>(items_));
    items_ = nullptr;
    capacity_ = 0;
  }

  int depth_ = 0;
  Item* items_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Whether a class says, by a member type of this name, that its objects may be nested deeply.
template <typename T, typename = void>
struct NestsDeeply : std::false_type {};
template <typename T>
struct NestsDeeply<T, std::void_t<typename T::NestsDeeply_>> : std::true_type {};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_RELEASE_DETAIL_H_
