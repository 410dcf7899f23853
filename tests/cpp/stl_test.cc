// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/base_details.h>
#include <tvm/ffi/container/container_details.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/function_details.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

template <typename T>
std::string Failure(const Any& value) {
  return Thrown([&] { (void)value.cast<T>(); });
}

static_assert(!TypeTraits<std::vector<int>>::storage_enabled);
static_assert(!TypeTraits<std::array<int, 2>>::storage_enabled);
static_assert(!TypeTraits<std::tuple<int>>::storage_enabled);
static_assert(!TypeTraits<std::function<int()>>::storage_enabled);
static_assert(TypeTraits<std::optional<int>>::storage_enabled);
static_assert(TypeTraits<std::variant<int, String>>::storage_enabled);
static_assert(TypeTraits<std::vector<int>>::field_static_type_index == 71);
static_assert(TypeTraits<std::map<int, int>>::field_static_type_index == 72);
static_assert(!TypeTraits<std::unordered_map<int, int>>::storage_enabled);
static_assert(TypeTraits<std::function<int()>>::field_static_type_index == 68);
static_assert(TypeTraits<std::optional<int>>::field_static_type_index == -1);
static_assert(!TypeTraits<std::vector<std::nullopt_t*>>::convert_enabled);

// The object created for an argument is destroyed after the call; AddressSanitizer reports leaks.
TEST_CASE("arguments are owned by the call") {
  const std::vector<std::string> words = {"a text on the heap", "another one of them"};
  const std::optional<std::vector<std::string>> maybe = words;
  const std::function<int(int)> twice = [](int value) { return 2 * value; };
  Function use_counts = Function::FromTyped([](Any value, Any maybe, Function f) {
    return value.as<ObjectRef>()->use_count() * 100 + maybe.as<ObjectRef>()->use_count() * 10 +
           f(4).cast<int>();
  });
  // Counts references: of the call, of the parameter, and of the temporary that reads the count.
  int64_t counts = use_counts(words, maybe, twice).cast<int64_t>();
  CHECK_EQ(counts % 10, 8);
  Function count = Function::FromTyped([](Array<String> texts) { return texts.size(); });
  CHECK_EQ(count(words).cast<int64_t>(), 2);
  CHECK_EQ(count(std::vector<std::string>{"x"}).cast<int64_t>(), 1);
  CHECK_EQ(count.CallExpected<int64_t>(words).value(), 2);
}

TEST_CASE("vector conversions") {
  Any any = std::vector<int>{1, 2, 3};
  CHECK_EQ(any.GetTypeKey(), "ffi.Array");
  CHECK_EQ(any.cast<Array<int>>()[2], 3);
  CHECK(any.cast<std::vector<int>>() == (std::vector<int>{1, 2, 3}));
  CHECK(Any(List<int>{1, 0}).cast<std::vector<double>>() == (std::vector<double>{1.0, 0.0}));
  CHECK(any.cast<std::vector<bool>>() == (std::vector<bool>{true, true, true}));
  CHECK_EQ((Any(std::vector<bool>{true}).cast<Array<Any>>()[0].type_index()), kTVMFFIBool);
  Any nested = std::vector<std::vector<std::string>>{{"a"}, {}};
  CHECK_EQ((nested.cast<std::vector<std::vector<std::string>>>()[0][0]), "a");
  CHECK_EQ((any.cast<std::vector<Any>>()[0].cast<int>()), 1);
  CHECK_EQ(Failure<std::vector<int>>(Array<Any>{1, 1.5}),
           "TypeError: Cannot convert from type `Array[index 1: float]` to `std::vector<int>`");
  CHECK_EQ(Failure<std::vector<int>>(nullptr),
           "TypeError: Cannot convert from type `None` to `std::vector<int>`");
}

TEST_CASE("array conversions") {
  Any any = std::array<int, 2>{1, 2};
  CHECK_EQ(any.GetTypeKey(), "ffi.Array");
  CHECK((any.cast<std::array<int, 2>>()) == (std::array<int, 2>{1, 2}));
  CHECK((Any(std::array<int, 0>()).cast<std::array<int, 0>>()).empty());
  CHECK((Any(Array<Any>{Array<int>{3}}).cast<std::array<Array<int>, 1>>())[0][0] == 3);
  CHECK_EQ((Failure<std::array<int, 3>>(any)),
           "TypeError: Cannot convert from type `Array[size=2]` to `std::array<int, 3>`");
  CHECK_EQ((Failure<std::array<int, 1>>(List<int>{1})),
           "TypeError: Cannot convert from type `ffi.List` to `std::array<int, 1>`");
}

TEST_CASE("tuple conversions") {
  using Pair = std::tuple<int, std::string>;
  Any any = Pair(1, "a text on the heap");
  CHECK_EQ(any.GetTypeKey(), "ffi.Array");
  CHECK(any.cast<Pair>() == Pair(1, "a text on the heap"));
  CHECK(Any(std::tuple<>()).cast<std::tuple<>>() == std::tuple<>());
  CHECK_EQ(Failure<Pair>(Array<Any>{1}),
           "TypeError: Cannot convert from type `Array[size=1]` to `std::tuple<int, std::string>`");
  CHECK_EQ(Failure<Pair>(Array<Any>{1, 2}),
           "TypeError: Cannot convert from type `Array[index 1: int]` to "
           "`std::tuple<int, std::string>`");
  CHECK_EQ(Failure<Pair>(List<Any>{1, String("x")}),
           "TypeError: Cannot convert from type `ffi.List` to `std::tuple<int, std::string>`");
}

TEST_CASE("map conversions") {
  using Table = std::map<std::string, std::vector<int>>;
  Any any = Table{{"evens", {0, 2}}, {"a longer key", {}}};
  CHECK_EQ(any.GetTypeKey(), "ffi.Map");
  CHECK_EQ((any.cast<Map<String, Array<int>>>()["evens"][1]), 2);
  CHECK(any.cast<Table>() == (Table{{"evens", {0, 2}}, {"a longer key", {}}}));
  using Hashed = std::unordered_map<int64_t, String>;
  Any hashed = Hashed{{1, "one"}, {2, "two"}};
  CHECK_EQ(hashed.cast<Hashed>().at(2), "two");
  CHECK_EQ((hashed.cast<std::map<double, std::string>>().at(1.0)), "one");
  CHECK(Any(Hashed()).cast<Hashed>().empty());
  CHECK_EQ((Any(Map<Any, Any>{{1, 2}, {true, 3}}).cast<std::map<int, int>>().at(1)), 3);
  CHECK_EQ(Failure<Hashed>(Dict<int64_t, String>()),
           "TypeError: Cannot convert from type `ffi.Dict` to `std::unordered_map<int, str>`");
  CHECK_EQ(Failure<Table>(Map<Any, Any>{{"a", 1}}),
           "TypeError: Cannot convert from type `Map[K, some value is int]` to "
           "`std::map<std::string, std::vector<int>>`");
  CHECK_EQ((TypeTraits<std::map<int, double>>::TypeSchema()),
           "{\"type\":\"std::map\",\"args\":[{\"type\":\"int\"},{\"type\":\"float\"}]}");
  CHECK_EQ((TypeTraits<std::unordered_map<int, double>>::TypeSchema()),
           "{\"type\":\"std::unordered_map\",\"args\":[{\"type\":\"int\"},{\"type\":\"float\"}]}");
  // The map of an argument is owned by the call.
  Function size = Function::FromTyped([](Map<String, Any> map) { return map.size(); });
  CHECK_EQ(size(Table{{"x", {1}}}).cast<int64_t>(), 1);
}

TEST_CASE("optional conversions") {
  using Maybe = std::optional<int64_t>;
  CHECK(Any(Maybe()) == nullptr);
  CHECK_EQ(Any(Maybe(4)).cast<int64_t>(), 4);
  CHECK(Any(nullptr).cast<Maybe>() == Maybe());
  CHECK(Any(4).cast<Maybe>() == Maybe(4));
  CHECK(Any(true).cast<Maybe>() == Maybe(1));
  CHECK(!Any(true).as<Maybe>().has_value());
  CHECK(Any(nullptr).as<Maybe>().has_value());
  Any text = std::optional<String>("a text on the heap");
  CHECK(*std::move(text).as<std::optional<String>>().value() == "a text on the heap");
  CHECK_EQ((Any(Array<int>{7}).cast<std::optional<std::vector<int>>>()->at(0)), 7);
  CHECK_EQ(Failure<Maybe>(1.5),
           "TypeError: Cannot convert from type `float` to `std::optional<int>`");
}

TEST_CASE("variant conversions") {
  using Either = std::variant<int64_t, String>;
  CHECK_EQ(Any(Either(int64_t{4})).cast<int64_t>(), 4);
  CHECK_EQ(Any(Either(String("a text on the heap"))).GetTypeKey(), "ffi.String");
  CHECK_EQ(std::get<0>(Any(4).cast<Either>()), 4);
  CHECK(std::get<1>(AnyView("raw").cast<Either>()) == "raw");
  CHECK_EQ((Any(5).cast<std::variant<bool, int64_t>>().index()), 1);
  CHECK_EQ((Any(5).cast<std::variant<bool, double>>().index()), 0);
  CHECK_EQ((Any(Array<int>{5}).cast<std::variant<int, std::vector<int>>>().index()), 1);
  CHECK(!Any(1.5).as<Either>().has_value());
  CHECK(std::get<1>(*Any(String("a text on the heap")).as<Either>()) == "a text on the heap");
  CHECK_EQ(Failure<Either>(1.5),
           "TypeError: Cannot convert from type `float` to `std::variant<int, str>`");
}

TEST_CASE("function conversions") {
  using Callback = std::function<int64_t(int64_t)>;
  Any any = Callback([](int64_t x) { return x + 1; });
  CHECK_EQ(any.GetTypeKey(), "ffi.Function");
  CHECK_EQ(any.cast<Callback>()(2), 3);
  CHECK_EQ(any.cast<Function>()(2).cast<int64_t>(), 3);
  CHECK(Any(Callback()) == nullptr);
  CHECK(!Any(nullptr).cast<Callback>());
  std::function<void(String)> nothing = any.cast<std::function<void(String)>>();
  CHECK(static_cast<bool>(nothing));
  CHECK_EQ(Failure<Callback>(1.5),
           "TypeError: Cannot convert from type `float` to `std::function<(0: int) -> int>`");
}

TEST_CASE("type names") {
  CHECK_EQ((TypeTraits<std::array<int, 3>>::TypeSchema()),
           "{\"type\":\"std::array\",\"args\":[{\"type\":\"int\"},3]}");
  CHECK_EQ(TypeTraits<std::vector<Any>>::TypeSchema(),
           "{\"type\":\"std::vector\",\"args\":[{\"type\":\"Any\"}]}");
  CHECK_EQ((TypeTraits<std::tuple<int, double>>::TypeSchema()),
           "{\"type\":\"std::tuple\",\"args\":[{\"type\":\"int\"}, {\"type\":\"float\"}]}");
  CHECK_EQ((TypeTraits<std::variant<int, double>>::TypeSchema()),
           "{\"type\":\"std::variant\",\"args\":[{\"type\":\"int\"}, {\"type\":\"float\"}]}");
  CHECK_EQ(TypeTraits<std::optional<int>>::TypeSchema(),
           "{\"type\":\"std::optional\",\"args\":[{\"type\":\"int\"}]}");
  CHECK_EQ(TypeTraits<std::function<void(int)>>::TypeSchema(),
           "{\"type\":\"std::function\",\"named_args\":{\"return\":[{\"type\":\"None\"}],"
           "\"params\":[{\"type\":\"int\"}]}}");
}

TEST_CASE("parameters") {
  Function sum = Function::FromTyped(
      [](const std::vector<int64_t>& items) {
        int64_t total = 0;
        for (int64_t item : items) total += item;
        return std::make_tuple(total, static_cast<int64_t>(items.size()));
      },
      "sum");
  Any result = sum(Array<int64_t>{1, 2, 3});
  CHECK((result.cast<std::tuple<int64_t, int64_t>>()) == (std::tuple<int64_t, int64_t>(6, 3)));
  // The caller owns the object; the call borrows it.
  CHECK_EQ((sum(Any(std::vector<int>{1, 1})).cast<Array<int64_t>>()[0]), 2);
  CHECK_EQ(Thrown([&] { sum(1); }),
           "TypeError: Mismatched type on argument #0 when calling: `sum(0: std::vector<int>) -> "
           "std::tuple<int, int>`. Expected `std::vector<int>` but got `int`");
}

}  // namespace
