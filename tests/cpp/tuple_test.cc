// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/function.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

using IntText = Tuple<int64_t, String>;

static_assert(sizeof(IntText) == 8);
static_assert(std::tuple_size_v<IntText> == 2);
static_assert(std::is_same_v<std::tuple_element_t<1, IntText>, String>);
static_assert(type_subsumes_v<Tuple<Any, ObjectRef>, Tuple<int64_t, Array<int64_t>>>);
static_assert(!type_subsumes_v<Tuple<int64_t, double>, IntText>);
static_assert(!type_subsumes_v<Tuple<int64_t>, IntText>);
static_assert(!std::is_convertible_v<int64_t, Tuple<int64_t>>);
static_assert(!std::is_constructible_v<IntText, int64_t>);
static_assert(!std::is_constructible_v<IntText, String, String>);
static_assert(std::is_convertible_v<IntText, Tuple<Any, Any>>);
static_assert(!std::is_convertible_v<Tuple<Any, Any>, IntText>);
static_assert(std::is_same_v<decltype(Tuple(int64_t{1}, String("x"))), IntText>);
static_assert(std::is_same_v<decltype(Tuple(std::declval<IntText&>())), IntText>);
static_assert(TypeTraits<IntText>::field_static_type_index == 64);
static_assert(!IntText::_type_is_nullable);

TEST_CASE("construction") {
  Tuple<int64_t, String, Optional<String>> empty;
  CHECK_EQ(empty.get<0>(), 0);
  CHECK_EQ(empty.get<1>().size(), 0);
  CHECK(!empty.get<2>().has_value());
  IntText tuple(3, "abc");
  CHECK_EQ(tuple.get<0>(), 3);
  CHECK(tuple.get<1>() == "abc");
  CHECK_EQ(tuple->size(), 2);
  CHECK_EQ(tuple.type_index(), 71);
  Tuple<> nothing;
  CHECK_EQ(nothing->size(), 0);
  Tuple<Tuple<int64_t>> nested(Tuple<int64_t>(5));
  CHECK_EQ(nested.get<0>().get<0>(), 5);
  Tuple<Any> shared = Tuple<int64_t>(5);
  CHECK_EQ(shared.get<0>().cast<int64_t>(), 5);
}

TEST_CASE("sharing") {
  IntText tuple(3, "abc");
  Tuple<Any, Any> wide = tuple;
  CHECK(wide.same_as(tuple));
  IntText copy = tuple;
  copy.Set<0>(4);
  CHECK_EQ(tuple.get<0>(), 3);
  CHECK_EQ(copy.get<0>(), 4);
  const Object* before = copy.get();
  copy.Set<1>("xyz");
  CHECK(copy.get() == before);
  CHECK(copy.get<1>() == "xyz");
}

TEST_CASE("moves") {
  Array<int64_t> element{1, 2};
  Tuple<Array<int64_t>, int64_t> tuple(element, 2);
  CHECK_EQ(element.use_count(), 2);
  Array<int64_t> copied = tuple.get<0>();
  CHECK_EQ(element.use_count(), 3);
  Tuple<Array<int64_t>, int64_t> other = tuple;
  Array<int64_t> still_copied = std::move(other).get<0>();
  CHECK(tuple.get<0>().same_as(element));
  other = Tuple<Array<int64_t>, int64_t>(element, 0);
  int count = element.use_count();
  Array<int64_t> moved = get<0>(std::move(other));
  CHECK_EQ(element.use_count(), count);
}

TEST_CASE("structured bindings") {
  IntText tuple(3, "abc");
  auto [number, text] = tuple;
  CHECK_EQ(number, 3);
  CHECK(text == "abc");
  CHECK(tuple.get<1>() == "abc");
  CHECK(get<1>(tuple) == "abc");
}

TEST_CASE("strict conversions") {
  Any any = IntText(3, "abc");
  CHECK(any.as<IntText>().has_value());
  CHECK(any.as<Array<Any>>().has_value());
  CHECK(!(any.as<Tuple<int64_t, int64_t>>().has_value()));
  CHECK(!(any.as<Tuple<int64_t>>().has_value()));
  CHECK(!Any(nullptr).as<IntText>().has_value());
  CHECK(!(Any(List<Any>{1, String("x")}).as<IntText>().has_value()));
  CHECK(!(Any(Array<Any>{true, String("x")}).as<IntText>().has_value()));
  CHECK_EQ(Thrown([&] { (void)any.as_or_throw<Tuple<double, String>>(); }),
           "TypeError: Cannot treat type `ffi.Array` as type `Tuple<float, str>`");
}

TEST_CASE("casts") {
  Array<Any> array{true, String("x")};
  Any any = array;
  IntText cast = any.cast<IntText>();
  CHECK_EQ(cast.get<0>(), 1);
  CHECK(!cast.same_as(array));
  CHECK(array[0].type_index() == kTVMFFIBool);
  Any exact = IntText(1, "x");
  CHECK(exact.cast<IntText>().same_as(exact.cast<ObjectRef>()));
  auto text = [](const Any& value) { return Thrown([&] { (void)value.cast<IntText>(); }); };
  CHECK_EQ(text(List<Any>{1, String("x")}),
           "TypeError: Cannot convert from type `ffi.List` to `Tuple<int, str>`");
  CHECK_EQ(text(Array<Any>{1}),
           "TypeError: Cannot convert from type `Array[size=1]` to `Tuple<int, str>`");
  CHECK_EQ(text(Array<Any>{1, 2.5}),
           "TypeError: Cannot convert from type `Array[index 1: float]` to `Tuple<int, str>`");
  CHECK_EQ(text(Any(nullptr)), "TypeError: Cannot convert from type `None` to `Tuple<int, str>`");
  CHECK_EQ(Thrown([] { (void)Any(Array<Any>{Array<Any>{1.5}}).cast<Tuple<Array<int64_t>>>(); }),
           "TypeError: Cannot convert from type `Array[index 0: Array[index 0: float]]` to "
           "`Tuple<Array<int>>`");
}

TEST_CASE("type names") {
  CHECK_EQ(TypeTraits<IntText>::TypeStr(), "Tuple<int, str>");
  CHECK_EQ(TypeTraits<Tuple<>>::TypeStr(), "Tuple<>");
  CHECK_EQ((TypeTraits<Tuple<Any, double>>::TypeSchema()),
           "{\"type\":\"Tuple\",\"args\":[{\"type\":\"Any\"},{\"type\":\"float\"}]}");
}

TEST_CASE("parameters") {
  Function f = Function::FromTyped(
      [](Tuple<int64_t, double> x) { return Tuple<double, int64_t>(x.get<1>(), x.get<0>()); });
  Any result = f(Tuple<int64_t, int64_t>(1, 2));
  CHECK((result.as<Tuple<double, int64_t>>()->get<0>()) == 2.0);
  Optional<IntText> none;
  CHECK(!none.has_value());
}

}  // namespace
