// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/function.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

using IntOrText = Variant<int64_t, String>;

static_assert(sizeof(IntOrText) == 16 && alignof(IntOrText) == 8);
static_assert(!std::is_default_constructible_v<IntOrText>);
static_assert(std::is_convertible_v<int64_t, IntOrText>);
static_assert(std::is_convertible_v<String, IntOrText>);
static_assert(!std::is_convertible_v<double, IntOrText>);
static_assert(IntOrText::variant_contains_v<String>);
static_assert(!IntOrText::variant_contains_v<double>);
static_assert(Variant<ObjectRef, double>::variant_contains_v<Array<int64_t>>);
static_assert(type_subsumes_v<IntOrText, String> && type_subsumes_v<IntOrText, IntOrText>);
static_assert(!type_subsumes_v<IntOrText, double> && !type_subsumes_v<String, IntOrText>);
static_assert(sizeof(Optional<IntOrText>) == 16);
static_assert(TypeTraits<IntOrText>::storage_enabled);
static_assert(TypeTraits<IntOrText>::field_static_type_index == -1);

TEST_CASE("values") {
  IntOrText value = int64_t{7};
  CHECK_EQ(value.GetTypeKey(), "int");
  CHECK_EQ(value.get<int64_t>(), 7);
  CHECK(!value.as<String>().has_value());
  value = String("a text on the heap");
  CHECK_EQ(value.GetTypeKey(), "ffi.String");
  CHECK(value.as<String>() == String("a text on the heap"));
  CHECK_EQ(Thrown([&] { (void)value.get<int64_t>(); }),
           "TypeError: Cannot convert from type `ffi.String` to `int`");
  CHECK(std::move(value).get<String>() == "a text on the heap");
}

TEST_CASE("objects") {
  Array<int64_t> array{1, 2};
  Variant<Array<int64_t>, double> value = array;
  CHECK(value.as<ArrayObj>() == array.get());
  CHECK(value.as<Object>() == array.get());
  CHECK_EQ(array.use_count(), 2);
  Variant<Array<int64_t>, double> copy = value;
  CHECK(copy.same_as(value));
  CHECK(ObjectPtrEqual()(copy, value));
  CHECK_EQ(ObjectPtrHash()(copy), reinterpret_cast<size_t>(array.get()));
  CHECK(!(Variant<Array<int64_t>, double>(1.0)).same_as(value));
  copy = 2.5;
  CHECK(copy.as<Object>() == nullptr);
  Array<int64_t> taken = std::move(value).get<Array<int64_t>>();
  CHECK(taken.same_as(array));
  CHECK_EQ(array.use_count(), 2);
}

TEST_CASE("strict conversions") {
  CHECK(Any(3).as<IntOrText>().has_value());
  CHECK(Any(String("x")).as<IntOrText>().has_value());
  CHECK(!Any(true).as<IntOrText>().has_value());
  CHECK(!Any(nullptr).as<IntOrText>().has_value());
  CHECK_EQ(Thrown([] { (void)Any(1.5).as_or_throw<IntOrText>(); }),
           "TypeError: Cannot treat type `float` as type `Variant<int, str>`");
}

TEST_CASE("casts") {
  // A value that already is an alternative is kept; otherwise the first alternative that accepts it
  // is used.
  using Numbers = Variant<bool, double, int64_t>;
  CHECK_EQ(Any(5).cast<Numbers>().GetTypeKey(), "int");
  CHECK_EQ((Any(5).cast<Variant<bool, double>>().GetTypeKey()), "bool");
  CHECK_EQ((Any(5).cast<Variant<double, bool>>().GetTypeKey()), "float");
  CHECK_EQ(AnyView("raw").cast<IntOrText>().GetTypeKey(), "ffi.SmallStr");
  CHECK_EQ(Any(true).cast<IntOrText>().get<int64_t>(), 1);
  CHECK_EQ(Thrown([] { (void)Any(1.5).cast<IntOrText>(); }),
           "TypeError: Cannot convert from type `float` to `Variant<int, str>`");
  // The error message does not describe which elements mismatch.
  CHECK_EQ(Thrown([] { (void)Any(Array<String>{"x"}).cast<Variant<Array<int64_t>, double>>(); }),
           "TypeError: Cannot convert from type `ffi.Array` to `Variant<Array<int>, float>`");
}

TEST_CASE("any alternative") {
  Variant<Any, int64_t> value = Any(String("x"));
  CHECK(value.get<String>() == "x");
  CHECK_EQ((Any(nullptr).cast<Variant<Any, int64_t>>().GetTypeKey()), "None");
}

TEST_CASE("containers") {
  Array<IntOrText> array{int64_t{1}, String("b")};
  CHECK(array[1].get<String>() == "b");
  Any any = array;
  CHECK(any.as<Array<IntOrText>>().has_value());
  Array<IntOrText> from_ints = Array<int64_t>{1, 2};
  CHECK_EQ(from_ints[1].get<int64_t>(), 2);
  Optional<IntOrText> none;
  CHECK(!none.has_value());
  none = IntOrText(int64_t{4});
  CHECK_EQ(none.value().get<int64_t>(), 4);
}

TEST_CASE("type names") {
  CHECK_EQ(TypeTraits<IntOrText>::TypeStr(), "Variant<int, str>");
  CHECK_EQ(TypeTraits<IntOrText>::TypeSchema(),
           "{\"type\":\"Variant\",\"args\":[{\"type\":\"int\"},{\"type\":\"ffi.String\"}]}");
}

TEST_CASE("parameters") {
  Function f = Function::FromTyped([](IntOrText x) { return x.GetTypeKey(); }, "f");
  CHECK_EQ(f(1).cast<std::string>(), "int");
  CHECK_EQ(f("long enough for the heap").cast<std::string>(), "ffi.String");
  CHECK_EQ(Thrown([&] { f(1.5); }),
           "TypeError: Mismatched type on argument #0 when calling: `f(0: Variant<int, str>) -> "
           "std::string`. Expected `Variant<int, str>` but got `float`");
}

}  // namespace
