// SPDX-License-Identifier: Apache-2.0
#include "hook_call.h"

#ifdef __linux__
#include <pthread.h>
#endif

namespace tvm::ffi::extra {
namespace {

// Addresses of the calling thread's stack, which grows downwards; 0 and 0 when unknown.
struct StackBounds {
  uintptr_t low;
  uintptr_t high;
};

StackBounds FindStackBounds() {
  StackBounds bounds{0, 0};
#ifdef __linux__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    bounds.low = reinterpret_cast<uintptr_t>(low);
    bounds.high = bounds.low + size;
  }
  pthread_attr_destroy(&attributes);
#endif
  return bounds;
}

// What must be left for the next hook: it may be a function of any language.
constexpr size_t kStackReserve = 256 * 1024;
// Cheap enough not to ask.
constexpr size_t kAlwaysAllowedDepth = 16;
// On a stack whose bounds are unknown, a coroutine's for example.
constexpr size_t kMaxDepthOnUnknownStack = 128;

bool HasStackForHook(size_t depth) {
  thread_local StackBounds bounds = FindStackBounds();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here < bounds.low || here >= bounds.high) return depth < kMaxDepthOnUnknownStack;
  size_t size = bounds.high - bounds.low;
  size_t reserve = size / 2 < kStackReserve ? size / 2 : kStackReserve;
  return here - bounds.low > reserve;
}

}  // namespace

void RequireStackForHook(size_t depth, const char* service) {
  if (depth < kAlwaysAllowedDepth || HasStackForHook(depth)) return;
  TVM_FFI_THROW(ValueError) << service << ": " << depth
                            << " nested hooks have used up the machine stack";
}

void ThrowNestedTooDeeply(const char* service) {
  TVM_FFI_THROW(ValueError) << service << ": maximum stack depth (" << kMaxDepth << ") exceeded";
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra
