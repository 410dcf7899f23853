// SPDX-License-Identifier: Apache-2.0
// WalkLimits: error messages.
#include "walk/walk_limits.h"

#include <cstdio>

namespace tvm::ffi::extra {
namespace {

std::string Message(const WalkLimits& limits, const char* format, size_t number) {
  char text[160];
  std::snprintf(text, sizeof(text), format, number);
  return std::string(limits.service) + text;
}

}  // namespace

std::string WalkLimits::TooDeepMessage() const { return Message(*this, too_deep, max_depth); }

void WalkLimits::ThrowTooDeep() const {
  TVM_FFI_THROW(ValueError) << TooDeepMessage();
  TVM_FFI_UNREACHABLE();
}

void WalkLimits::ThrowNoStack(size_t num_hooks) const {
  TVM_FFI_THROW(ValueError) << Message(*this, no_stack, num_hooks);
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra
