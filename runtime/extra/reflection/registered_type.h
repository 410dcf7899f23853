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

// Makes an object of a type, `size` bytes large, with empty fields.
using MakeEmptyObject = ObjectPtr<Object> (*)(int32_t type_index, size_t size);

// Registers the automatic "__ffi_init__"; the type itself says how to make objects when `make` is
// null.
void RegisterInitOf(const TypeInfo* type, MakeEmptyObject make, size_t size);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_REFLECTION_REGISTERED_TYPE_H_
