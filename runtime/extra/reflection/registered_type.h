// SPDX-License-Identifier: Apache-2.0
// Validation of type indices that callers pass as numbers, since TVMFFIGetTypeInfo exits for an
// unknown index; and registration of constructors.
#ifndef TVM_FFI_RUNTIME_EXTRA_REFLECTION_REGISTERED_TYPE_H_
#define TVM_FFI_RUNTIME_EXTRA_REFLECTION_REGISTERED_TYPE_H_

#include <tvm/ffi/error.h>

#include <cstdint>

#include "../core/extra_layer.h"

namespace tvm::ffi::extra {

// Returns the type info of a type index; throws ValueError if no type has the index.
inline const TypeInfo* RegisteredType(int64_t index) {
  if (!runtime::IsRegisteredType(index)) {
    TVM_FFI_THROW(ValueError) << "no type is registered with index " << index;
  }
  return TVMFFIGetTypeInfo(static_cast<int32_t>(index));
}

// A function that returns a new object of the type with empty fields.
//
// size  the size of the object in bytes, including the header
using MakeEmptyObject = ObjectPtr<Object> (*)(int32_t type_index, size_t size);

// Registers the automatic "__ffi_init__".  The constructor creates objects with `make`, or with
// CreateEmptyObject if `make` is null.
void RegisterInitOf(const TypeInfo* type, MakeEmptyObject make, size_t size);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_REFLECTION_REGISTERED_TYPE_H_
