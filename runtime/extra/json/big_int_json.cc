// SPDX-License-Identifier: Apache-2.0
// A BigInt in a JSON graph is decimal text.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <string_view>

#include "registration.h"

namespace tvm::ffi {
namespace {

String ToDecimal(const BigInt& value) {
  return detail::int_ops::ToDecimal(detail::BigIntUnsafe::GetArrayView(value));
}

BigInt FromDecimal(const String& text) {
  std::string_view digits(text.data(), text.size());
  bool negative = !digits.empty() && digits[0] == '-';
  if (negative || (!digits.empty() && digits[0] == '+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    TVM_FFI_THROW(ValueError) << "Invalid decimal string for ffi.BigInt";
  }
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
