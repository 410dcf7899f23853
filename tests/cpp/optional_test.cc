// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

namespace {

using namespace tvm::ffi;

TEST_CASE("every representation is empty by default") {
  CHECK(!Optional<int>().has_value());
  CHECK(!Optional<String>(std::nullopt).has_value());
  CHECK(!Optional<Function>(nullptr).has_value());
  CHECK(!Optional<Function>(Function()).has_value());
  CHECK(!Optional<Array<int>>().has_value());
  CHECK(!Optional<TensorView>().has_value());
  CHECK(!Optional<ObjectPtr<Object>>().has_value());
}

TEST_CASE("values come back") {
  Optional<int64_t> number = 3;
  CHECK_EQ(number.value(), 3);
  CHECK_EQ(*number, 3);
  CHECK((number == 3 && number != 4 && number != std::nullopt));
  CHECK((number == Optional<int64_t>(3) && number != Optional<int64_t>()));
  number = std::nullopt;
  CHECK_EQ(number.value_or(9), 9);
  Optional<String> text = String("abc");
  CHECK(text == "abc");
  Optional<Array<int>> array = Array<int>{1, 2};
  CHECK_EQ(array.value().size(), 2u);
  CHECK_EQ(array->size(), 2u);
  Optional<float> real = 0.5;
  CHECK_EQ(real.value(), 0.5f);
}

TEST_CASE("empty access is a runtime error") {
  try {
    Optional<int>().value();
    CHECK(false);
  } catch (const Error& error) {
    CHECK_EQ(error.kind(), "RuntimeError");
    CHECK_EQ(error.message(), "Back optional access");
  }
}

TEST_CASE("none and value convert") {
  CHECK(!Any().cast<Optional<int>>().has_value());
  CHECK_EQ(Any(true).cast<Optional<int>>().value(), 1);
  CHECK(!Any("x").try_cast<Optional<int>>().has_value());
  CHECK_EQ(Any(Optional<int>()).type_index(), kTVMFFINone);
  CHECK_EQ(Any(Optional<int>(4)).type_index(), kTVMFFIInt);
  CHECK_EQ(TypeTraits<Optional<String>>::TypeStr(), "Optional<str>");
}

TEST_CASE("moved from reference is empty") {
  Optional<Array<int>> first = Array<int>{1};
  Optional<Array<int>> second = std::move(first);
  CHECK(!first.has_value());
  CHECK(second.has_value());
  Array<int> out = *std::move(second);
  CHECK(!second.has_value());
  CHECK_EQ(out.use_count(), 1);
}

}  // namespace
