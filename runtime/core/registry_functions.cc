// SPDX-License-Identifier: Apache-2.0
// Global functions over the function and type tables, and the constructors of plain objects.
#include <memory>
#include <vector>

#include "array.h"
#include "builtin.h"
#include "error.h"
#include "function_table.h"
#include "shape.h"
#include "text.h"
#include "type_table.h"

namespace tvm::ffi::runtime {
namespace {

Value RemoveGlobal(const Arguments& args) {
  return Value::Bool(FunctionTable::Global().Remove(args.Text(0)));
}

Value GetGlobalMetadata(const Arguments& args) {
  std::string metadata;
  if (!FunctionTable::Global().FindMetadata(args.Text(0), &metadata)) {
    Raise("RuntimeError", "Global Function is not found: ", args.Text(0));
  }
  return Value::String(metadata);
}

// A snapshot of the names: called with -1 it answers their number, with i the i-th name.
int AnswerName(void* snapshot, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return GuardBoundary([&] {
    const auto& names = *static_cast<std::vector<std::string>*>(snapshot);
    if (num_args != 1 || args[0].type_index != kTVMFFIInt) {
      Raise("TypeError", "the list of global function names takes one int, -1 for the count");
    }
    int64_t i = args[0].v_int64;
    auto count = static_cast<int64_t>(names.size());
    if (i < -1 || i >= count) Raise("IndexError", "Index ", i, " out of bounds ", count);
    Value answer = i == -1 ? Value::Int(count) : Value::String(names[static_cast<size_t>(i)]);
    *result = answer.Release();
  });
}

Value ListGlobalNames(const Arguments& /*args*/) {
  auto snapshot = std::make_unique<std::vector<std::string>>(FunctionTable::Global().Names());
  auto delete_snapshot = [](void* self) { delete static_cast<std::vector<std::string>*>(self); };
  Ref<FunctionObject> lister = NewFunction(snapshot.get(), &AnswerName, delete_snapshot);
  snapshot.release();  // the function's own from here on
  return Value::FromObject(std::move(lister));
}

Value FunctionFromExternC(const Arguments& args) {
  auto call = reinterpret_cast<TVMFFISafeCallType>(args.Pointer(1));
  auto deleter = reinterpret_cast<void (*)(void*)>(args.Pointer(2));
  if (call == nullptr) Raise("ValueError", "ffi.FunctionFromExternC: safe_call is NULL");
  return Value::FromObject(NewFunction(args.Pointer(0), call, deleter));
}

Value MakeString(const Arguments& args) { return Value::String(args.Text(0)); }

Value MakeBytes(const Arguments& args) { return Value::Bytes(args.Bytes(0)); }

Value MakeShape(const Arguments& args) {
  std::vector<int64_t> extents;
  for (int32_t i = 0; i < args.count(); ++i) {
    if (args[i].type_index != kTVMFFIInt && args[i].type_index != kTVMFFIBool) {
      Raise("ValueError", "ffi.Shape: extent ", i, " must be an int, got `",
            TypeTable::Global().KeyOf(args[i].type_index), "`");
    }
    extents.push_back(args[i].v_int64);
  }
  return Value::FromObject(NewShape(extents));
}

Value GetTypeKeys(const Arguments& /*args*/) {
  std::vector<Value> keys;
  for (std::string_view key : TypeTable::Global().Keys()) keys.push_back(Value::String(key));
  return Value::FromObject(NewArray(std::move(keys)));
}

// Sentinels are told apart by address: one object each, for ever.
template <int kWhich>
Value GetSentinel(const Arguments& /*args*/) {
  static const auto* sentinel = new Ref<TVMFFIObject>(NewObject<TVMFFIObject>(kTVMFFIObject, 0));
  return Value::FromObject(*sentinel);
}

}  // namespace

void RegisterRegistryFunctions() {
  static const auto* builtins = new std::vector<Builtin>{
      {"ffi.FunctionRemoveGlobal", "bool", {"ffi.String"}, &RemoveGlobal},
      {"ffi.FunctionListGlobalNamesFunctor", "ffi.Function", {}, &ListGlobalNames},
      {"ffi.GetGlobalFuncMetadata", "ffi.String", {"ffi.String"}, &GetGlobalMetadata},
      {"ffi.FunctionFromExternC",
       "ffi.Function",
       {"void*", "void*", "void*"},
       &FunctionFromExternC},
      {"ffi.String", "ffi.String", {"ffi.String"}, &MakeString},
      {"ffi.Bytes", "ffi.Bytes", {"ffi.Bytes"}, &MakeBytes},
      {"ffi.Shape", "", {}, &MakeShape},
      {"ffi.GetRegisteredTypeKeys", "ffi.Array<ffi.String>", {}, &GetTypeKeys},
      {"ffi.GetInvalidObject", "ffi.Object", {}, &GetSentinel<0>},
      {"ffi.GetKwargsObject", "ffi.Object", {}, &GetSentinel<1>},
  };
  RegisterBuiltins(*builtins);
}

}  // namespace tvm::ffi::runtime
