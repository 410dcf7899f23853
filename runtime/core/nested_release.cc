// SPDX-License-Identifier: Apache-2.0
//   1. Up to kMaxDepth levels deep, an object releases what it holds as any object does.
//   2. Below that, an object whose last reference has gone waits in a list of the thread.
//   3. The outermost object, once released, releases what is in the list, in the same way.
#include "nested_release.h"

#include <tvm/ffi/c_api.h>

#include <new>
#include <vector>

#include "object.h"

namespace tvm::ffi::runtime {
namespace {

constexpr int kMaxDepth = 64;

struct Waiting {
  TVMFFIObject* object;
  int flags;
  ObjectDeleter deleter;
};

// What the outermost release of a thread keeps on its stack.
struct Nest {
  int depth = 0;
  std::vector<Waiting> waiting;
};

thread_local Nest* current_nest = nullptr;

// One level of the nest, also when a thread that is being cancelled unwinds through it.
class Level {
 public:
  explicit Level(Nest* nest) : nest_(nest) { ++nest_->depth; }
  ~Level() { --nest_->depth; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Nest* nest_;
};

// False when there is no memory: the object is then released inside the others after all.
bool Postpone(Nest* nest, const Waiting& release) {
  try {
    nest->waiting.push_back(release);
  } catch (const std::bad_alloc&) {
    return false;
  }
  // Who drops the last strong reference gives up the strong owners' weak count as soon as the
  // deleter returns; without one of its own, the object would be freed while it waits.
  if ((release.flags & kTVMFFIObjectDeleterFlagBitMaskWeak) == 0) IncWeakRef(release.object);
  return true;
}

void ReleaseWaiting(Nest* nest) {
  while (!nest->waiting.empty()) {
    Waiting release = nest->waiting.back();  // a copy: the list may grow meanwhile
    nest->waiting.pop_back();
    Level level(nest);
    release.deleter(release.object, release.flags);
    if ((release.flags & kTVMFFIObjectDeleterFlagBitMaskWeak) == 0) DecWeakRef(release.object);
  }
}

void ReleaseOutermost(void* object, int flags, ObjectDeleter deleter) {
  Nest nest;
  struct Reset {
    ~Reset() { current_nest = nullptr; }
  } reset;
  current_nest = &nest;
  {
    Level level(&nest);
    deleter(object, flags);
  }
  ReleaseWaiting(&nest);
}

}  // namespace

void ReleaseInTurn(void* object, int flags, ObjectDeleter deleter) {
  // Memory alone holds nothing.
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) == 0) return deleter(object, flags);
  Nest* nest = current_nest;
  if (nest == nullptr) return ReleaseOutermost(object, flags, deleter);
  if (nest->depth >= kMaxDepth &&
      Postpone(nest, {static_cast<TVMFFIObject*>(object), flags, deleter})) {
    return;
  }
  Level level(nest);
  deleter(object, flags);
}

}  // namespace tvm::ffi::runtime
