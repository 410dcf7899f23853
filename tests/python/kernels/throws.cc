// SPDX-License-Identifier: Apache-2.0
// C++ kernels that throw exceptions through a runtime function.
#include <stdexcept>

#include "kernel.h"

namespace {

struct NotAnException {};

int ThrowUnknown(void**) { throw NotAnException(); }
int ThrowStandard(void**) { throw std::out_of_range("index 7 of 3"); }

}  // namespace

extern "C" {

KERNEL(throw_unknown) {
  void* slot = nullptr;
  return TVMFFIHandleInitOnce(&slot, &ThrowUnknown);
}

KERNEL(throw_standard) {
  void* slot = nullptr;
  return TVMFFIHandleInitOnce(&slot, &ThrowStandard);
}

}  // extern "C"
