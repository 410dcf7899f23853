// SPDX-License-Identifier: Apache-2.0
// BigInt in JSON graphs: decimal text.  The number of digits is limited, because conversion from
// and to decimal takes quadratic time and graphs may be untrusted.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <string_view>

#include "registration.h"

namespace tvm::ffi {
namespace {

constexpr size_t kMaxDigits = 100000;

void CheckLength(size_t num_digits) {
  if (num_digits > kMaxDigits) {
    TVM_FFI_THROW(ValueError) << "a JSON graph cannot contain an ffi.BigInt of more than "
                              << kMaxDigits << " decimal digits";
  }
}

String ToDecimal(const BigInt& value) {
  BigInt::ArrayView words = detail::BigIntUnsafe::GetArrayView(value);
  CheckLength((words.size() - 1) * 19);  // every word except the highest adds more than 19 digits
  std::string text = detail::int_ops::ToDecimal(words);
  CheckLength(text.size() - (text[0] == '-' ? 1 : 0));
  return text;
}

BigInt FromDecimal(const String& text) {
  std::string_view digits(text.data(), text.size());
  bool negative = !digits.empty() && digits[0] == '-';
  if (negative || (!digits.empty() && digits[0] == '+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    TVM_FFI_THROW(ValueError)
        << "expected `data` of an ffi.BigInt to be a string of decimal digits";
  }
  CheckLength(digits.size());
  return detail::BigIntUnsafe::FromMagnitude(detail::int_ops::MagnitudeFromDecimal(digits),
                                             negative);
}

}  // namespace

void extra::RegisterBigIntJson() {
  reflection::TypeAttrDef<detail::BigIntObj>()
      .def("__data_to_json__", &ToDecimal)
      .def("__data_from_json__", &FromDecimal);
}

}  // namespace tvm::ffi
