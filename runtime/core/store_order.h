// SPDX-License-Identifier: Apache-2.0
// Store ordering for readers that use plain loads instead of acquire loads.
#ifndef TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_
#define TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_

namespace tvm::ffi::runtime {

// Orders the stores before the call and the stores after it: a thread that sees a store after the
// call also sees every store before the call.  This holds even if the thread reads with plain
// loads, as in clients that were compiled with third-party headers.
void SeparateStores() noexcept;

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_
