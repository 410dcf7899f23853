// SPDX-License-Identifier: Apache-2.0
// How much of the calling thread's stack is left.  Walks over values keep stacks of their own; what
// remains are hooks that call back into the walk, and those call each other on the thread's stack.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_

namespace tvm::ffi::extra {

enum class StackRoom {
  kEnough,
  kLow,      // none for another hook and the error that it may end in
  kUnknown,  // not the thread's own stack, a coroutine's for example
};

StackRoom NativeStackRoom();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_
