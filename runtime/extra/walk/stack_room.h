// SPDX-License-Identifier: Apache-2.0
// Remaining machine stack of the calling thread.  Walks use an explicit stack, but hooks that call
// the walk back nest on the machine stack.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_

namespace tvm::ffi::extra {

enum class StackRoom {
  kEnough,
  kLow,      // the stack is too small for another hook and the error that the hook may raise
  kUnknown,  // the code runs on a stack that is not the thread's stack, such as a coroutine stack
};

StackRoom NativeStackRoom();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_
