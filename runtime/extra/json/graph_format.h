// SPDX-License-Identifier: Apache-2.0
// JSON graph format: rules that the writer and the reader share.
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_GRAPH_FORMAT_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_GRAPH_FORMAT_H_

#include <tvm/ffi/reflection/accessor.h>

#include <string>
#include <string_view>

namespace tvm::ffi::extra {

// Returns true if the JSON data of an object contains the value of the field itself, and false if
// the JSON data contains the index of the node with the value.
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
