// SPDX-License-Identifier: Apache-2.0
// Dtype strings: parser and printer of DLDataType as base name, bits and lanes ("float32x4").
#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "error.h"
#include "function_table.h"
#include "text.h"
#include "type_table.h"
#include "value.h"

namespace tvm::ffi::runtime {
namespace {

// Scalable vectors have a negative number of lanes: the uint16 field holds an int16.
constexpr int64_t kMaxFixedLanes = 32767;
constexpr int64_t kMaxScalableLanes = 32768;
constexpr uint8_t kFirstCustomCode = 129;

struct NamedType {
  std::string_view name;
  uint8_t code;
  uint8_t bits;
};

// Dtypes whose number of bits may follow the name, such as "int32"; `bits` is the default.  The
// longest name is first.
constexpr NamedType kSizedTypes[] = {
    {"bfloat", kDLBfloat, 16}, {"handle", kDLOpaqueHandle, 64},
    {"float", kDLFloat, 32},   {"uint", kDLUInt, 32},
    {"bool", kDLBool, 8},      {"int", kDLInt, 32},
    {"bf", kDLBfloat, 16},     {"f", kDLFloat, 32},
    {"u", kDLUInt, 32},        {"i", kDLInt, 32},
};

// Dtypes whose name determines the number of bits, such as "float8_e4m3fn".  Among names with a
// common prefix, the longest is first.
constexpr NamedType kExactTypes[] = {
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8},
    {"float8_e3m4", kDLFloat8_e3m4, 8},
    {"float8_e4m3", kDLFloat8_e4m3, 8},
    {"float8_e5m2", kDLFloat8_e5m2, 8},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6},
    {"float6_e3m2fn", kDLFloat6_e3m2fn, 6},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4},
};

struct Alias {
  std::string_view prefix;
  std::string_view replacement;
};
constexpr Alias kExactPrefixAliases[] = {
    {"fp8_", "float8_"}, {"f8_", "float8_"},  {"fp6_", "float6_"},
    {"f6_", "float6_"},  {"fp4_", "float4_"}, {"f4_", "float4_"},
};

bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// Reads a decimal number.  Returns nullopt if there are no digits.  A number that is too large
// becomes a value far above every valid value.
std::optional<int64_t> ConsumeNumber(std::string_view* text) {
  size_t digits = 0;
  int64_t number = 0;
  while (digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9') {
    number = number > 100'000'000 ? number : number * 10 + ((*text)[digits] - '0');
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  text->remove_prefix(digits);
  return number;
}

[[noreturn]] void RaiseWrongResultType(std::string_view function, int32_t expected,
                                       const Value& result) {
  TypeTable& types = TypeTable::Global();
  Raise("TypeError", function, " must return `", types.KeyOf(expected), "`, got `",
        types.KeyOf(result.type_index()), "`");
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  DLDataType Parse() {
    if (text_.empty() || text_ == "void") return Make(kDLOpaqueHandle, 0, 0);
    std::string_view rest = text_;
    if (ConsumePrefix(&rest, "custom[")) return ParseCustom(rest);
    std::string long_name;
    for (const Alias& alias : kExactPrefixAliases) {
      if (ConsumePrefix(&rest, alias.prefix)) {
        long_name = Concat(alias.replacement, rest);
        rest = long_name;
        break;
      }
    }
    for (std::string_view family : {"float8_", "float6_", "float4_"}) {
      if (rest.substr(0, family.size()) == family) return ParseExact(rest, family);
    }
    return ParseSized(rest);
  }

 private:
  static DLDataType Make(uint8_t code, int64_t bits, int64_t lanes) {
    DLDataType dtype;
    dtype.code = code;
    dtype.bits = static_cast<uint8_t>(bits);
    dtype.lanes = static_cast<uint16_t>(lanes);
    return dtype;
  }

  DLDataType ParseExact(std::string_view text, std::string_view family) {
    for (const NamedType& type : kExactTypes) {
      std::string_view rest = text;
      if (!ConsumePrefix(&rest, type.name)) continue;
      if (type.code == kDLFloat4_e2m1fn && rest.substr(0, 2) == "_x") rest.remove_prefix(1);
      if (!rest.empty() && rest[0] != 'x') continue;  // the text is a longer, unknown name
      return Make(type.code, type.bits, ParseLanes(rest));
    }
    Raise("ValueError", "unknown ", family.substr(0, family.size() - 1), " type `", text_, "`");
  }

  DLDataType ParseSized(std::string_view text) {
    for (const NamedType& type : kSizedTypes) {
      std::string_view rest = text;
      if (!ConsumePrefix(&rest, type.name)) continue;
      int64_t bits = ParseBits(&rest, type.bits);
      if (!rest.empty() && rest[0] != 'x') continue;
      return Make(type.code, bits, ParseLanes(rest));
    }
    Raise("ValueError", "unknown dtype `", text_, "`");
  }

  DLDataType ParseCustom(std::string_view rest) {
    size_t end = rest.find(']');
    if (end == std::string_view::npos) Raise("ValueError", "unknown dtype `", text_, "`");
    Value name = Value::String(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    Value code = CallGlobal("dtype.get_custom_type_code", name.raw());
    if (code.type_index() != kTVMFFIInt) {
      RaiseWrongResultType("dtype.get_custom_type_code", kTVMFFIInt, code);
    }
    if (code.raw().v_int64 < 0 || code.raw().v_int64 > UINT8_MAX) {
      Raise("ValueError", "dtype.get_custom_type_code returned ", code.raw().v_int64,
            ", expected 0..", UINT8_MAX, ", for dtype '", text_, "'");
    }
    int64_t bits = ParseBits(&rest, 0);
    if (!rest.empty() && rest[0] != 'x') Raise("ValueError", "unknown dtype `", text_, "`");
    return Make(static_cast<uint8_t>(code.raw().v_int64), bits, ParseLanes(rest));
  }

  int64_t ParseBits(std::string_view* rest, int64_t default_bits) {
    int64_t bits = ConsumeNumber(rest).value_or(0);
    if (bits > UINT8_MAX) {
      Raise("ValueError", "Bits value ", bits, " is out of range for uint8_t in dtype '", text_,
            "'");
    }
    return bits == 0 ? default_bits : bits;
  }

  int64_t ParseLanes(std::string_view rest) {
    if (rest.empty()) return 1;
    bool is_scalable = ConsumePrefix(&rest, "xvscalex");
    if (!is_scalable) rest.remove_prefix(1);  // skip the "x" before the number of lanes
    std::optional<int64_t> lanes = ConsumeNumber(&rest);
    if (!lanes || *lanes == 0 || !rest.empty()) {
      Raise("ValueError", "Invalid lanes specification in dtype '", text_,
            "'. Lanes must be a positive integer.");
    }
    if (*lanes > UINT16_MAX) {
      Raise("ValueError", "Lanes value ", *lanes, " is out of range for uint16_t in dtype '", text_,
            "'");
    }
    int64_t limit = is_scalable ? kMaxScalableLanes : kMaxFixedLanes;
    if (*lanes > limit) {
      Raise("ValueError", "Lanes value ", *lanes, " is out of range 1..", limit, " in dtype '",
            text_, "'");
    }
    return is_scalable ? -*lanes : *lanes;
  }

  std::string_view text_;
};

std::string CustomName(uint8_t code) {
  Value arg = Value::Int(code);
  Value name = CallGlobal("dtype.get_custom_type_name", arg.raw());
  if (!IsText(name.raw())) RaiseWrongResultType("dtype.get_custom_type_name", kTVMFFIStr, name);
  return Concat("custom[", ViewOfText(name.raw()), "]");
}

std::string NameWithBits(const DLDataType& dtype) {
  for (const NamedType& type : kExactTypes) {
    if (type.code == dtype.code) return std::string(type.name);
  }
  if (dtype.code >= kFirstCustomCode) return Concat(CustomName(dtype.code), int{dtype.bits});
  for (const NamedType& type : kSizedTypes) {  // the long name of a code is first
    if (type.code != dtype.code) continue;
    bool prints_bits = dtype.code != kDLOpaqueHandle && !(dtype.code == kDLBool && dtype.bits == 8);
    return prints_bits ? Concat(type.name, int{dtype.bits}) : std::string(type.name);
  }
  Raise("ValueError", "DLDataType contains unknown type_code=", int{dtype.code});
}

std::string Format(const DLDataType& dtype) {
  if (dtype.code == kDLOpaqueHandle && dtype.bits == 0 && dtype.lanes == 0) return "";
  std::string text = NameWithBits(dtype);
  int lanes = static_cast<int16_t>(dtype.lanes);
  if (lanes > 1) return Concat(text, "x", lanes);
  if (lanes < -1) return Concat(text, "xvscalex", -lanes);
  return text;
}

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIDataTypeFromString(const TVMFFIByteArray* str, DLDataType* out) {
  return GuardBoundary([&] { *out = Parser(View(*str)).Parse(); });
}

int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out) {
  return GuardBoundary([&] { *out = Value::String(Format(*dtype)).Release(); });
}
