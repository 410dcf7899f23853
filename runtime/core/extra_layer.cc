// SPDX-License-Identifier: Apache-2.0
// Functions of the core for runtime/extra, over the function table and the type table.
#include "extra_layer.h"

#include "backtrace.h"
#include "error.h"
#include "function_table.h"
#include "tensor.h"
#include "type_table.h"

namespace tvm::ffi::runtime {

bool RemoveGlobalFunction(std::string_view name) { return FunctionTable::Global().Remove(name); }

bool FindGlobalFunctionMetadata(std::string_view name, std::string* metadata) {
  return FunctionTable::Global().FindMetadata(name, metadata);
}

std::vector<std::string> GlobalFunctionNames() { return FunctionTable::Global().Names(); }

std::vector<std::string_view> RegisteredTypeKeys() { return TypeTable::Global().Keys(); }

bool IsRegisteredType(int64_t type_index) {
  return type_index == static_cast<int32_t>(type_index) &&
         TypeTable::Global().Find(static_cast<int32_t>(type_index)) != nullptr;
}

bool IsReadOnlyTensor(const TVMFFIObject* tensor) { return IsReadOnly(tensor); }

std::string TextOfFrames(const uintptr_t* addresses, size_t count) {
  return std::string(BacktraceOf(addresses, count));
}

int AllocateType(std::string_view key, int32_t parent_index, int32_t* type_index) {
  return GuardBoundary([&] {
    const TVMFFITypeInfo* parent = TypeTable::Global().Find(parent_index);
    if (parent == nullptr) Raise("ValueError", "no type is registered with index ", parent_index);
    *type_index = TypeTable::Global().GetOrAllocIndex(
        {key, -1, parent->type_depth + 1, 0, true, parent_index});
  });
}

}  // namespace tvm::ffi::runtime
