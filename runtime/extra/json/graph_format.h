// SPDX-License-Identifier: Apache-2.0
// What the writer and the reader of JSON graphs agree on.
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_GRAPH_FORMAT_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_GRAPH_FORMAT_H_

#include <tvm/ffi/reflection/accessor.h>

#include <string>
#include <string_view>

namespace tvm::ffi::extra {

// Whether the field's value stands in the data of its object; others are indices of nodes.
inline bool IsInline(const TVMFFIFieldInfo* field) {
  switch (field->field_static_type_index) {
    case kTVMFFINone:
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFIDataType:
      return true;
    default:
      return false;
  }
}

inline std::string Quoted(TVMFFIByteArray name) {
  return "`" + std::string(ToStringView(name)) + "`";
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_JSON_GRAPH_FORMAT_H_
