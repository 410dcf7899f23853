// SPDX-License-Identifier: Apache-2.0
// Types that are stored as an Any: optionals, variants, big integers, Expected; and the conversions
// of the other library's parameters.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

// ---- Plain values -------------------------------------------------------------------------------

Any MakePlain(Any, int64_t which) {
  switch (which) {
    case 0:
      return nullptr;
    case 1:
      return true;
    case 2:
      return INT64_MIN;
    case 3:
      return -0.5f;
    case 4:
      return reinterpret_cast<void*>(0x1234);
    case 5:
      return DLDataType{kDLBfloat, 16, 4};
    default:
      return DLDevice{kDLCUDA, 3};
  }
}
// All 16 bytes of a value, in the layout of the contract.
void CheckPlain(Any value, int64_t which) {
  const int32_t indices[] = {0, 2, 1, 3, 4, 5, 6};
  const uint64_t payloads[] = {0,      1,          uint64_t{1} << 63, 0xbfe0000000000000,
                               0x1234, 0x00041004, 0x0000000300000002};
  TVMFFIAny cell = AnyView(value).CopyToTVMFFIAny();
  CHECK_EQ(cell.type_index, indices[which]);
  CHECK_EQ(cell.zero_padding, 0);
  CHECK_EQ(cell.v_uint64, payloads[which]);
  CHECK(AnyEqual()(value, MakePlain(nullptr, which)));
}

// ---- Optional, Variant --------------------------------------------------------------------------

using Choice = Variant<int64_t, String, Array<int64_t>>;

String Describe(Optional<int64_t> number, Optional<String> text, Choice choice,
                Optional<Array<String>> names, Tuple<bool, double> pair) {
  std::string all = number.has_value() ? std::to_string(number.value()) : "-";
  all += " " + (text.has_value() ? std::string(text.value()) : "-");
  if (std::optional<int64_t> as_number = choice.as<int64_t>()) {
    all += " number " + std::to_string(*as_number);
  } else if (std::optional<String> as_text = choice.as<String>()) {
    all += " text " + std::string(*as_text);
  } else {
    all += " array of " + std::to_string(choice.get<Array<int64_t>>().size());
  }
  all += names.has_value() ? " " + std::to_string(names.value().size()) : " -";
  all += pair.get<0>() ? " yes" : " no";
  return all + " " + std::to_string(static_cast<int64_t>(pair.get<1>() * 4));
}
Function MakeDescriber(Any) { return Function::FromTyped(Describe, "describe"); }
void CheckDescriber(Function describe) {
  Tuple<bool, double> pair(true, 2.5);
  CHECK_EQ(describe(7, "x", 1, nullptr, pair).cast<String>(), "7 x number 1 - yes 10");
  CHECK_EQ(
      describe(nullptr, nullptr, "some longer text", Array<String>{"a", "b"}, pair).cast<String>(),
      "- - text some longer text 2 yes 10");
  Optional<int64_t> number = 5;
  Optional<String> text = String("a text on the heap");
  Choice choice = Array<int64_t>{1, 2, 3};
  CHECK_EQ(describe(number, text, choice, Optional<Array<String>>(), Tuple<bool, double>(false, 0))
               .cast<String>(),
           "5 a text on the heap array of 3 - no 0");
  number = std::nullopt;
  CHECK_EQ(describe(number, Optional<String>(), Choice(String("t")), nullptr, pair).cast<String>(),
           "- - text t - yes 10");
}
Optional<String> MakeOptionalText(Any, bool engaged) {
  return engaged ? Optional<String>(String("engaged, on the heap")) : std::nullopt;
}
void CheckOptionalText(Optional<String> text, bool engaged) {
  CHECK_EQ(text.has_value(), engaged);
  if (engaged) CHECK_EQ(text.value(), "engaged, on the heap");
}
Choice MakeChoice(Any, int64_t which) {
  if (which == 0) return Choice(int64_t{42});
  return which == 1 ? Choice(String("forty-two")) : Choice(Array<int64_t>{4, 2});
}
void CheckChoice(Choice choice, int64_t which) {
  CHECK_EQ(choice.as<int64_t>().value_or(0), which == 0 ? 42 : 0);
  CHECK_EQ(choice.as<String>().value_or("none"), which == 1 ? "forty-two" : "none");
  CHECK_EQ(choice.as<ArrayObj>() != nullptr, which == 2);
}

// ---- BigInt -------------------------------------------------------------------------------------

// Returns 3 * 2^bits, negated if requested.
BigInt Threefold(int64_t bits, bool negative) {
  BigInt value = BigInt(3) << BigInt(bits);
  return negative ? -value : value;
}
BigInt MakeBigInt(Any, int64_t bits, bool negative) { return Threefold(bits, negative); }
BigInt CheckBigInt(BigInt value, int64_t bits, bool negative) {
  BigInt own = Threefold(bits, negative);
  CHECK(value == own);
  CHECK_EQ(Any(value).type_index(), bits < 62 ? kTVMFFIInt : kTVMFFIBigInt);
  CHECK(AnyEqual()(Any(value), Any(own)));
  CHECK_EQ(AnyHash()(Any(value)), AnyHash()(Any(own)));
  CHECK(!AnyEqual()(Any(value), Any(own + 1)));
  CHECK(value - own == BigInt(0));
  CHECK((value >> BigInt(bits)) == BigInt(negative ? -3 : 3));
  return value;
}
Map<Any, Any> MakeBigIntKeys(Any) {
  Map<Any, Any> map;
  for (int64_t bits = 55; bits < 75; ++bits) map.Set(Any(Threefold(bits, bits % 2 == 0)), bits);
  return map;
}
void CheckBigIntKeys(Map<Any, Any> map) {
  CHECK_EQ(map.size(), size_t{20});
  for (int64_t bits = 55; bits < 75; ++bits) {
    CHECK_EQ(map[Any(Threefold(bits, bits % 2 == 0))].cast<int64_t>(), bits);
    CHECK_EQ(map.count(Any(Threefold(bits, bits % 2 != 0))), size_t{0});
  }
}

// ---- Expected -----------------------------------------------------------------------------------

Expected<int64_t> Halve(int64_t number) {
  if (number % 2 != 0) return Error("ValueError", "odd", "");
  return number / 2;
}
Function MakeHalve(Any) { return Function::FromTyped(Halve, "halve"); }
void CheckHalve(Function halve) {
  Expected<int64_t> half = halve.CallExpected<int64_t>(10);
  CHECK(half.is_ok());
  CHECK_EQ(half.value(), 5);
  Expected<int64_t> failed = halve.CallExpected<int64_t>(3);
  CHECK(failed.is_err());
  CHECK_EQ(failed.error().kind(), "ValueError");
  CHECK_EQ(failed.error().message(), "odd");
  // An error that is returned is received as a value, also without CallExpected.
  CHECK_EQ(halve(3).type_index(), kTVMFFIError);
  // An error that is thrown is received as a value only with CallExpected.
  CHECK_EQ(halve.CallExpected<int64_t>("text").error().kind(), "TypeError");
  CHECK_EQ(halve.CallExpected<String>(4).error().message(),
           "CallExpected: result type mismatch, expected str, but got int");
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_plain, exchange::MakePlain)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_plain, exchange::CheckPlain)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_describer, exchange::MakeDescriber)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_describer, exchange::CheckDescriber)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_optional_text, exchange::MakeOptionalText)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_optional_text, exchange::CheckOptionalText)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_choice, exchange::MakeChoice)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_choice, exchange::CheckChoice)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_big_int, exchange::MakeBigInt)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_big_int, exchange::CheckBigInt)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_big_int_keys, exchange::MakeBigIntKeys)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_big_int_keys, exchange::CheckBigIntKeys)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_halve, exchange::MakeHalve)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_halve, exchange::CheckHalve)
