// SPDX-License-Identifier: Apache-2.0
// Store ordering for readers that use plain loads instead of acquire loads.
#ifndef TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_
#define TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_

namespace tvm::ffi::runtime {

// Call between two stores: no thread sees the second store without the first.  This includes
// threads that load the second value and then the first with plain loads, as clients do that were
// compiled with third-party headers.
void SeparateStores() noexcept;

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_
