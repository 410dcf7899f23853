// SPDX-License-Identifier: Apache-2.0
// AccessStack: the stack of a thread whose access to memory entered a signal handler.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_ACCESS_STACK_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_ACCESS_STACK_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "../core/extra_layer.h"
#include "../platform/platform.h"

namespace tvm::ffi::extra {

struct AccessStack {
  static constexpr size_t kMaxFrames = 48;
  size_t num_frames;
  uintptr_t frames[kMaxFrames];

  // Called in the signal handler.
  void Read() noexcept {
    num_frames = 0;
    auto visit = [](uintptr_t address, void* data) noexcept {
      auto* stack = static_cast<AccessStack*>(data);
      stack->frames[stack->num_frames++] = address;
      return stack->num_frames < kMaxFrames;
    };
    platform::WalkStack(visit, this);
  }
  std::string Text() const { return runtime::TextOfFrames(frames, num_frames); }
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_ACCESS_STACK_H_
