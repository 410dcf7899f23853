// SPDX-License-Identifier: Apache-2.0
// Nested release:
//   1. Up to a depth of kMaxDepth levels, the deleter of an object runs recursively.
//   2. At that depth, the release of a child is deferred: it is added to a list of the thread.
//   3. The release at depth kMaxDepth drains the list after its own object is destroyed.
//
// The depth and the list of deferred releases are thread-local and not on the stack, because a
// destructor may switch to another fiber of the thread, which has its own stack, or end the thread.
// All fibers of a thread share them.  A suspended fiber counts in the depth of the others, which
// therefore defer releases earlier.  A release is deferred only if a draining release is active on
// the same stack; the addresses of the frames decide that.
#include "nested_release.h"

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <new>
#include <vector>

#include "ref_count.h"
#include "thread_state.h"

namespace tvm::ffi::runtime {
namespace {

constexpr int kMaxDepth = 64;

// The largest number of stack bytes between the frames of two nested releases.  If each level used
// more, kMaxDepth levels would not fit into a stack.
constexpr uintptr_t kMaxLevelBytes = 128 << 10;

// The number of active releases on all stacks of the thread.
thread_local int depth = 0;
// The frame address of the latest draining release; used for comparisons only.
thread_local uintptr_t draining_frame = 0;

// A deferred call of a deleter.
struct DeferredRelease {
  TVMFFIObject* object;
  int flags;
  ObjectDeleter deleter;

  bool FreesMemory() const { return (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0; }
};

class DeferredReleases {
 public:
  DeferredReleases() = default;
  DeferredReleases(const DeferredReleases&) = delete;
  DeferredReleases& operator=(const DeferredReleases&) = delete;
  // Runs at thread exit.  At that time, the list contains deferred releases only if the release
  // that drained the list was unwound or ran on a fiber that was abandoned.
  ~DeferredReleases() noexcept(false) { Drain(); }

  void Add(const DeferredRelease& release) { list_.push_back(release); }

  void Drain() {
    while (!list_.empty()) {
      // Copy the element, because the deleter may append to list_.
      DeferredRelease release = list_.back();
      list_.pop_back();
      WeakRefScope scope{release};
      release.deleter(release.object, release.flags);
    }
    constexpr size_t kMaxCapacity = 1024;  // free the memory of a list that grew large
    if (list_.capacity() > kMaxCapacity) std::vector<DeferredRelease>().swap(list_);
  }

 private:
  // Releases, in the destructor, the weak reference that Defer added.  The destructor also runs
  // when a cancelled thread is unwound.
  struct WeakRefScope {
    const DeferredRelease& release;
    ~WeakRefScope() noexcept(false) {
      if (!release.FreesMemory()) DecWeakRef(release.object);
    }
  };

  std::vector<DeferredRelease> list_;
};

// Adds a release to the list.  Returns false if there is no memory; the caller must then release
// the object immediately.
bool Defer(const DeferredRelease& release) {
  try {
    ThreadState<DeferredReleases>::Get().Add(release);
  } catch (const std::bad_alloc&) {
    return false;
  }
  // DecRef releases the weak count of the strong owners as soon as the deleter returns.  The
  // additional weak reference keeps the memory of the object, whose destructor has not run yet.
  if (!release.FreesMemory()) IncWeakRef(release.object);
  return true;
}

// Increments `depth` in the constructor and decrements it in the destructor.  The destructor also
// runs when a cancelled thread is unwound.
struct Level {
  Level() { ++depth; }
  ~Level() { --depth; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
};

// Marks the stack frame of a release that drains the list of deferred releases.
class DrainScope {
 public:
  explicit DrainScope(uintptr_t frame) : frame_(frame), previous_(draining_frame) {
    draining_frame = frame;
  }
  ~DrainScope() {
    // Do not restore the outer frame if another draining release has started on another stack after
    // this one and is still active.
    if (draining_frame == frame_) draining_frame = previous_;
  }
  DrainScope(const DrainScope&) = delete;
  DrainScope& operator=(const DrainScope&) = delete;

  // Returns true if a draining release is active on the stack of `frame`.  The test is a heuristic.
  // A false negative costs some stack space.  After a false positive, the deferred object is
  // released with the thread's next release of that depth, or at thread exit.
  static bool IsActiveOnStackOf(uintptr_t frame) {
    return depth >= kMaxDepth && frame < draining_frame && draining_frame - frame < kMaxLevelBytes;
  }

 private:
  uintptr_t frame_;
  uintptr_t previous_;
};

__attribute__((noinline)) void ReleaseAtMaxDepth(const DeferredRelease& release) {
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (DrainScope::IsActiveOnStackOf(frame) && Defer(release)) return;
  Level level;
  DrainScope scope(frame);
  release.deleter(release.object, release.flags);
  if (DeferredReleases* list = ThreadState<DeferredReleases>::Find()) list->Drain();
}

}  // namespace

void ReleaseNested(void* object, int flags, ObjectDeleter deleter) {
  // The object is already destroyed and has no children: only its memory is freed.
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) == 0) return deleter(object, flags);
  if (depth >= kMaxDepth - 1) {
    return ReleaseAtMaxDepth({static_cast<TVMFFIObject*>(object), flags, deleter});
  }
  Level level;
  deleter(object, flags);
}

}  // namespace tvm::ffi::runtime
