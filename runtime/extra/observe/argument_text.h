// SPDX-License-Identifier: Apache-2.0
// Short text of the arguments of a call, such as "float32[2, 3], 'mean', 0.5".
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_ARGUMENT_TEXT_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_ARGUMENT_TEXT_H_

#include <tvm/ffi/extra/c_observe.h>

#include <string>

namespace tvm::ffi::extra {

// Returns the tensor of an argument, or null.
const DLTensor* TensorOf(const TVMFFIAny& arg);
// Appends the shapes and values of the arguments; about 300 bytes at most.
void AppendArguments(const TVMFFIObservedCall& call, std::string* text);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_ARGUMENT_TEXT_H_
