// SPDX-License-Identifier: Apache-2.0
// What was said from outside about functions of modules; it comes before what modules say.
//
// Kept beside the modules, since their layout is binary contract and their kinds are foreign code.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_DESCRIBED_FUNCTIONS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_DESCRIBED_FUNCTIONS_H_

#include <tvm/ffi/extra/module.h>

namespace tvm::ffi::extra {

struct FunctionDescription {
  Optional<String> metadata;  // JSON text
  Optional<String> doc;
};

// Takes the place of what was said before; a description without texts takes it away.
void DescribeFunction(const Module& module, const String& name, FunctionDescription description);

// Empty when nothing was said.  One atomic read as long as nobody has described anything.
FunctionDescription DescriptionOf(const ModuleObj* module, const String& name);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_DESCRIBED_FUNCTIONS_H_
