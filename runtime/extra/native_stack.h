// SPDX-License-Identifier: Apache-2.0
// How much of the calling thread's stack is left.  Walks over values keep stacks of their own; what
// remains are hooks that call back into the walk, and those call each other on the thread's stack.
#ifndef TVM_FFI_RUNTIME_EXTRA_NATIVE_STACK_H_
#define TVM_FFI_RUNTIME_EXTRA_NATIVE_STACK_H_

namespace tvm::ffi::extra {

// Whether the stack has no room for another hook and the error that it may end in.  Never on a
// stack that is not the thread's own, such as a coroutine's: nothing is known about its size.
bool IsNativeStackLow();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_NATIVE_STACK_H_
