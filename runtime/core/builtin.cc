// SPDX-License-Identifier: Apache-2.0
#include "builtin.h"

#include "error.h"
#include "function_table.h"
#include "text.h"
#include "type_table.h"

namespace tvm::ffi::runtime {
namespace {

// `Optional<ffi.Function>` as {"type":"Optional","args":[{"type":"ffi.Function"}]}; one type
// argument at most, which is all that built-in signatures need.
std::string TypeSchema(std::string_view type) {
  size_t open = type.find('<');
  if (open == std::string_view::npos) return Concat("{\"type\":\"", type, "\"}");
  std::string_view inner = type.substr(open + 1, type.size() - open - 2);
  return Concat("{\"type\":\"", type.substr(0, open), "\",\"args\":[", TypeSchema(inner), "]}");
}

std::string FunctionSchema(const Builtin& builtin) {
  if (builtin.IsVariadic()) return "{\"type\":\"ffi.Function\"}";
  std::string params;
  for (std::string_view type : builtin.parameter_types) {
    params += Concat(params.empty() ? "" : ",", TypeSchema(type));
  }
  return Concat("{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[",
                TypeSchema(builtin.result_type), "],\"params\":[", params, "]}}");
}

std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

int CallBuiltin(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return GuardBoundary([&] {
    const auto& builtin = *static_cast<const Builtin*>(self);
    auto expected = static_cast<int32_t>(builtin.parameter_types.size());
    if (!builtin.IsVariadic() && num_args != expected) {
      Raise("TypeError", "Mismatched number of arguments when calling: `", builtin.Signature(),
            "`. Expected ", expected, " but got ", num_args, " arguments");
    }
    *result = builtin.body(Arguments(builtin, args, num_args)).Release();
  });
}

}  // namespace

std::string Builtin::Signature() const {
  if (IsVariadic()) return std::string(name);
  std::string params;
  for (size_t i = 0; i < parameter_types.size(); ++i) {
    params += Concat(i == 0 ? "" : ", ", i, ": ", parameter_types[i]);
  }
  return Concat(name, "(", params, ") -> ", result_type);
}

std::string Builtin::Metadata() const {
  return Concat("{\"type_schema\":", QuoteJson(FunctionSchema(*this)), "}");
}

void Arguments::Mismatch(int32_t i, std::string_view expected) const {
  Raise("TypeError", "Mismatched type on argument #", i, " when calling: `", callee_.Signature(),
        "`. Expected `", expected, "` but got `", TypeTable::Global().KeyOf(args_[i].type_index),
        "`");
}

std::string_view Arguments::Text(int32_t i) const {
  if (!IsText(args_[i])) Mismatch(i, "ffi.String");
  return ViewOfText(args_[i]);
}

std::string_view Arguments::Bytes(int32_t i) const {
  const TVMFFIAny& arg = args_[i];
  switch (arg.type_index) {
    case kTVMFFISmallBytes:
      return std::string_view(arg.v_bytes, arg.small_str_len);
    case kTVMFFIBytes:
      return View(*TVMFFIBytesGetByteArrayPtr(arg.v_obj));
    case kTVMFFIByteArrayPtr:
      return View(*static_cast<const TVMFFIByteArray*>(arg.v_ptr));
    default:
      Mismatch(i, "ffi.Bytes");
  }
}

void* Arguments::Pointer(int32_t i) const {
  if (args_[i].type_index == kTVMFFINone) return nullptr;
  if (args_[i].type_index != kTVMFFIOpaquePtr) Mismatch(i, "void*");
  return args_[i].v_ptr;
}

void RegisterBuiltins(const std::vector<Builtin>& builtins) {
  for (const Builtin& builtin : builtins) {
    Ref<FunctionObject> function =
        NewFunction(const_cast<Builtin*>(&builtin), &CallBuiltin, nullptr);
    std::string metadata = builtin.Metadata();
    FunctionTable::Global().Set({builtin.name, std::move(function), metadata, {}}, true);
  }
}

}  // namespace tvm::ffi::runtime
