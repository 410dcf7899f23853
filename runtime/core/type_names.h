// SPDX-License-Identifier: Apache-2.0
// Keys of the built-in types and names of the predefined attribute columns.
#ifndef TVM_FFI_RUNTIME_CORE_TYPE_NAMES_H_
#define TVM_FFI_RUNTIME_CORE_TYPE_NAMES_H_

#include <tvm/ffi/c_api.h>

#include <string_view>

namespace tvm::ffi::runtime {

struct BuiltinType {
  int32_t index;
  std::string_view key;
};

// ORDER type-index.  Types with an index below 64 are plain values; the others derive from
// ffi.Object.
inline constexpr BuiltinType kBuiltinTypes[] = {
    {kTVMFFINone, "None"},
    {kTVMFFIInt, "int"},
    {kTVMFFIBool, "bool"},
    {kTVMFFIFloat, "float"},
    {kTVMFFIOpaquePtr, "void*"},
    {kTVMFFIDataType, "DataType"},
    {kTVMFFIDevice, "Device"},
    {kTVMFFIDLTensorPtr, "DLTensor*"},
    {kTVMFFIRawStr, "const char*"},
    {kTVMFFIByteArrayPtr, "TVMFFIByteArray*"},
    {kTVMFFIObjectRValueRef, "ObjectRValueRef"},
    {kTVMFFISmallStr, "ffi.SmallStr"},
    {kTVMFFISmallBytes, "ffi.SmallBytes"},
    {kTVMFFIUnchanged, "ffi.Unchanged"},
    {kTVMFFIObject, "ffi.Object"},
    {kTVMFFIStr, "ffi.String"},
    {kTVMFFIBytes, "ffi.Bytes"},
    {kTVMFFIError, "ffi.Error"},
    {kTVMFFIFunction, "ffi.Function"},
    {kTVMFFIShape, "ffi.Shape"},
    {kTVMFFITensor, "ffi.Tensor"},
    {kTVMFFIArray, "ffi.Array"},
    {kTVMFFIMap, "ffi.Map"},
    {kTVMFFIModule, "ffi.Module"},
    {kTVMFFIOpaquePyObject, "ffi.OpaquePyObject"},
    {kTVMFFIList, "ffi.List"},
    {kTVMFFIDict, "ffi.Dict"},
    {kTVMFFIVisitInterrupt, "ffi.VisitInterrupt"},
    {kTVMFFIBigInt, "ffi.BigInt"},
};

// Attribute columns that always exist: C++ clients look each one up once and cache the pointer.
inline constexpr std::string_view kTypeAttrNames[] = {
    "__ffi_new__",
    "__ffi_init__",
    "__ffi_convert__",
    "__ffi_shallow_copy__",
    "__ffi_type_final__",
    "__any_hash__",
    "__any_equal__",
    "__ffi_repr__",
    "__ffi_hash__",
    "__ffi_eq__",
    "__ffi_compare__",
    "__s_equal__",
    "__s_hash__",
    "__s_visit__",
    "__s_mutate__",
    "__s_maybe_inplace_mutate__",
    "__data_to_json__",
    "__data_from_json__",
    "__ffi_enum__",
    // Binaries of ABI levels 0.1.11 and 0.1.12 look these columns up while they are loaded.
    "__ffi_enum_entries__",
    "__ffi_enum_attrs__",
    "__ffi_enum_value_entries__",
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_TYPE_NAMES_H_
