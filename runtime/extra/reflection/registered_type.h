// SPDX-License-Identifier: Apache-2.0
// Type indices that callers pass as numbers: TVMFFIGetTypeInfo ends the process for an unknown one.
#ifndef TVM_FFI_RUNTIME_EXTRA_REFLECTION_REGISTERED_TYPE_H_
#define TVM_FFI_RUNTIME_EXTRA_REFLECTION_REGISTERED_TYPE_H_

#include <tvm/ffi/error.h>

#include <cstdint>

#include "../core/extra_layer.h"

namespace tvm::ffi::extra {

// ValueError when no type has the index.
inline const TypeInfo* RegisteredType(int64_t index) {
  if (!runtime::IsRegisteredType(index)) {
    TVM_FFI_THROW(ValueError) << "no type is registered with index " << index;
  }
  return TVMFFIGetTypeInfo(static_cast<int32_t>(index));
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_REFLECTION_REGISTERED_TYPE_H_
