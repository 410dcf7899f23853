// SPDX-License-Identifier: Apache-2.0
// Remaining machine stack of the calling thread.  Walks use an explicit stack, but hooks that call
// the walk back nest on the machine stack.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_

namespace tvm::ffi::extra {

enum class StackRoom {
  kEnough,
  kLow,      // too little stack for another hook and the error that it may raise
  kUnknown,  // the stack is not the stack of the thread, but for example of a coroutine
};

StackRoom NativeStackRoom();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_STACK_ROOM_H_
