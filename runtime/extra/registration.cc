// SPDX-License-Identifier: Apache-2.0
#include "registration.h"

void tvm::ffi::runtime::RegisterExtra() {
  extra::RegisterModuleType();
  extra::RegisterModuleFunctions();
}
