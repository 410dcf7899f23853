// SPDX-License-Identifier: Apache-2.0
// Destructors that switch to another fiber of the thread during the release of nested objects, like
// coroutines and Python's greenlets.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <ucontext.h>

#include <cstring>
#include <memory>

namespace {

using namespace tvm::ffi;

class CountedObj : public Object {
 public:
  CountedObj() { ++alive; }
  ~CountedObj() { --alive; }
  static inline int alive = 0;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.FiberCounted", CountedObj, Object);
};

Any NewCounted() { return ObjectRef(make_object<CountedObj>()); }

Any Nested(int depth, Any value) {
  for (int i = 0; i < depth; ++i) value = Array<Any>{std::move(value)};
  return value;
}

// A fiber: a body with a separate stack; destructors leave the fiber with Yield().
class Fiber {
 public:
  explicit Fiber(void (*body)()) : stack_(new char[kStackBytes]) {
    getcontext(&here_);
    here_.uc_stack.ss_sp = stack_.get();
    here_.uc_stack.ss_size = kStackBytes;
    here_.uc_link = &outside_;
    makecontext(&here_, body, 0);
  }
  // Runs the fiber until its body yields or ends.
  void Run() {
    Fiber* earlier = std::exchange(running_, this);
    swapcontext(&outside_, &here_);
    running_ = earlier;
  }
  static void Yield() {
    Fiber* self = running_;
    swapcontext(&self->here_, &self->outside_);
  }
  // The memory in which the fiber's former stack frames were.
  void Overwrite() { std::memset(stack_.get(), 0x5A, kStackBytes); }

 private:
  static constexpr size_t kStackBytes = size_t{1} << 20;
  static inline Fiber* running_ = nullptr;

  std::unique_ptr<char[]> stack_;
  ucontext_t here_, outside_;
};

class YieldingObj : public Object {
 public:
  ~YieldingObj() { Fiber::Yield(); }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.FiberYielding", YieldingObj, Object);
};

Any NewYielding() { return ObjectRef(make_object<YieldingObj>()); }

// Nesting depths around the object that yields: without and with deferred releases.
template <int depth>
void ReleaseYielding() {
  Any value = Nested(depth, Array<Any>{NewCounted(), NewYielding(), NewCounted()});
}

}  // namespace

// Regression: deferred objects were in a list on the stack of the outermost release, and that
// release was suspended.
TEST_CASE("objects released during a suspended release are destroyed") {
  for (auto body : {&ReleaseYielding<0>, &ReleaseYielding<40>, &ReleaseYielding<62>,
                    &ReleaseYielding<63>, &ReleaseYielding<64>, &ReleaseYielding<200>}) {
    Fiber fiber(body);
    fiber.Run();
    CHECK_EQ(CountedObj::alive, 1);
    for (int depth : {0, 1, 63, 64, 65, 1000, 100000}) {
      Nested(depth, NewCounted());
      CHECK_EQ(CountedObj::alive, 1);
    }
    fiber.Run();
    CHECK_EQ(CountedObj::alive, 0);
    Nested(100000, NewCounted());
    CHECK_EQ(CountedObj::alive, 0);
  }
}

TEST_CASE("releases on several stacks end in any order") {
  for (bool is_reverse : {false, true}) {
    Fiber fibers[] = {Fiber(&ReleaseYielding<1>), Fiber(&ReleaseYielding<63>),
                      Fiber(&ReleaseYielding<64>), Fiber(&ReleaseYielding<300>)};
    for (Fiber& fiber : fibers) fiber.Run();
    CHECK_EQ(CountedObj::alive, 4);
    for (int i = 0; i < 4; ++i) {
      fibers[is_reverse ? 3 - i : i].Run();
      CHECK_EQ(CountedObj::alive, 3 - i);
      Nested(1000, NewCounted());
      CHECK_EQ(CountedObj::alive, 3 - i);
    }
  }
}

// Regression: the thread's pointer to the list referred to the stack of a release that was never
// resumed.
TEST_CASE("stacks may be abandoned during a release") {
  static Any kept;  // references on the abandoned stack, kept reachable for leak checkers
  [[maybe_unused]] static const void* abandoned;
  {
    Fiber fiber([] {
      Array<Any> array = {kept, NewYielding()};
      abandoned = array.get();
      array = Array<Any>();
    });
    kept = NewCounted();
    fiber.Run();
    fiber.Overwrite();
  }
  for (int depth : {0, 100, 100000}) {
    Nested(depth, NewCounted());
    CHECK_EQ(CountedObj::alive, 1);
  }
  kept = nullptr;
}
