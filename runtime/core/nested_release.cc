// SPDX-License-Identifier: Apache-2.0
//   1. Up to kMaxDepth levels deep, an object releases what it holds as any object does.
//   2. What the object at that depth holds, and what that holds, waits in a list of the thread.
//   3. Once that object has gone, its release releases what is in the list until nothing waits.
//
// None of it lies on the stack, which may be another one at any time: a destructor may let another
// fiber of the thread run, or end the thread.  Depth and list are those of all its fibers.  A fiber
// that stands still makes the others deeper than they are, so they wait earlier; whether somebody
// on the same stack will come for what waits is told by where the frames lie.
#include "nested_release.h"

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <new>
#include <vector>

#include "object.h"
#include "thread_state.h"

namespace tvm::ffi::runtime {
namespace {

constexpr int kMaxDepth = 64;

// What one level may take of the stack.  If each took more, kMaxDepth of them would not fit either.
constexpr uintptr_t kMaxLevelBytes = 128 << 10;

// Releases that have begun and not ended, on whichever stack.
thread_local int depth = 0;
// The frame of the latest one that will release what waits; only compared.
thread_local uintptr_t collector = 0;

struct Waiting {
  TVMFFIObject* object;
  int flags;
  ObjectDeleter deleter;

  bool IsFreedWithIt() const { return (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0; }
};

class WaitingList {
 public:
  WaitingList() = default;
  WaitingList(const WaitingList&) = delete;
  WaitingList& operator=(const WaitingList&) = delete;
  // The thread ends and nobody has come: a release was unwound, or its stack given up.
  ~WaitingList() noexcept(false) { ReleaseAll(); }

  void Add(const Waiting& release) { list_.push_back(release); }

  void ReleaseAll() {
    while (!list_.empty()) {
      Waiting release = list_.back();  // a copy: the list may grow meanwhile
      list_.pop_back();
      Turn turn{release};
      release.deleter(release.object, release.flags);
    }
    constexpr size_t kMaxKept = 1024;  // what a wide container took is given back
    if (list_.capacity() > kMaxKept) std::vector<Waiting>().swap(list_);
  }

 private:
  // Ends also when the thread does.
  struct Turn {
    const Waiting& release;
    ~Turn() noexcept(false) {
      if (!release.IsFreedWithIt()) DecWeakRef(release.object);
    }
  };

  std::vector<Waiting> list_;
};

// False when there is no memory: the object is then released inside the others after all.
bool Postpone(const Waiting& release) {
  try {
    ThreadState<WaitingList>::Get().Add(release);
  } catch (const std::bad_alloc&) {
    return false;
  }
  // Who drops the last strong reference gives up the strong owners' weak count as soon as the
  // deleter returns; without one of its own, the object would be freed while it waits.
  if (!release.IsFreedWithIt()) IncWeakRef(release.object);
  return true;
}

// One level, also when a thread that is being cancelled unwinds through it.
struct Level {
  Level() { ++depth; }
  ~Level() { --depth; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
};

// A frame that comes for what waits.
class Collector {
 public:
  explicit Collector(uintptr_t frame) : frame_(frame), previous_(collector) { collector = frame; }
  ~Collector() {
    // On another stack one may have begun since that goes on.
    if (collector == frame_) collector = previous_;
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Whether one is under way on the stack that `frame` is on.  A wrong no costs some stack; after a
  // wrong yes an object waits until the thread releases something as deep again, or ends.
  static bool IsAround(uintptr_t frame) {
    return depth >= kMaxDepth && frame < collector && collector - frame < kMaxLevelBytes;
  }

 private:
  uintptr_t frame_;
  uintptr_t previous_;
};

__attribute__((noinline)) void ReleaseDeep(const Waiting& release) {
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (Collector::IsAround(frame) && Postpone(release)) return;
  Level level;
  Collector here(frame);
  release.deleter(release.object, release.flags);
  if (WaitingList* list = ThreadState<WaitingList>::Find()) list->ReleaseAll();
}

}  // namespace

void ReleaseInTurn(void* object, int flags, ObjectDeleter deleter) {
  // Memory alone holds nothing.
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) == 0) return deleter(object, flags);
  if (depth >= kMaxDepth - 1) {
    return ReleaseDeep({static_cast<TVMFFIObject*>(object), flags, deleter});
  }
  Level level;
  deleter(object, flags);
}

}  // namespace tvm::ffi::runtime
