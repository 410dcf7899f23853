// SPDX-License-Identifier: Apache-2.0
// Order of stores for readers that do not ask for it.
#ifndef TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_
#define TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_

namespace tvm::ffi::runtime {

// Between two stores: no thread sees the second without the first, not even one that loads both
// plainly, in the other order, as clients do that were built with other headers.
void SeparateStores() noexcept;

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_STORE_ORDER_H_
