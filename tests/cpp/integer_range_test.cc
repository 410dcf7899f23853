// SPDX-License-Identifier: Apache-2.0
// Conversions to integer and enum types that are narrower than the 64-bit Int.  Regression: a value
// that did not fit was truncated without an error.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/reflection/registry.h>

#include <limits>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

enum class Level : uint8_t { kLow = 1, kHigh = 200 };
enum class Flags : uint64_t { kNone = 0, kTop = uint64_t{1} << 63 };
enum Plain { kFirst, kSecond };

class RangesObj : public Object {
 public:
  int32_t i32 = 1;
  uint8_t u8 = 2;
  uint64_t u64 = 3;
  Level level = Level::kLow;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.IntegerRanges", RangesObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<RangesObj>()
      .def_rw("i32", &RangesObj::i32)
      .def_rw("u8", &RangesObj::u8)
      .def_rw("u64", &RangesObj::u64)
      .def_rw("level", &RangesObj::level);
}

template <typename T>
bool Fits(int64_t value) {
  CHECK_EQ(Any(value).as<T>().has_value(), Any(value).try_cast<T>().has_value());
  return Any(value).try_cast<T>().has_value();
}

template <typename T>
std::string CastError(int64_t value) {
  return Thrown([&] { Any(value).cast<T>(); });
}

TEST_CASE("the limits of each integer type convert, their neighbours do not") {
  CHECK((Fits<int8_t>(-128) && Fits<int8_t>(127)));
  CHECK((!Fits<int8_t>(-129) && !Fits<int8_t>(128)));
  CHECK((Fits<uint8_t>(0) && Fits<uint8_t>(255)));
  CHECK((!Fits<uint8_t>(-1) && !Fits<uint8_t>(256)));
  CHECK((Fits<int16_t>(-32768) && Fits<int16_t>(32767)));
  CHECK((!Fits<int16_t>(-32769) && !Fits<int16_t>(32768)));
  CHECK((Fits<uint16_t>(65535) && !Fits<uint16_t>(-1) && !Fits<uint16_t>(65536)));
  CHECK((Fits<int32_t>(INT32_MIN) && Fits<int32_t>(INT32_MAX)));
  CHECK((!Fits<int32_t>(int64_t{INT32_MIN} - 1) && !Fits<int32_t>(int64_t{INT32_MAX} + 1)));
  CHECK((Fits<uint32_t>(4294967295) && !Fits<uint32_t>(-1) && !Fits<uint32_t>(4294967296)));
  CHECK((Fits<int64_t>(INT64_MIN) && Fits<int64_t>(INT64_MAX)));
  CHECK((Fits<uint64_t>(INT64_MAX) && Fits<uint64_t>(0)));
  CHECK((!Fits<uint64_t>(-1) && !Fits<uint64_t>(INT64_MIN)));
  CHECK((!Fits<unsigned long long>(-1) && Fits<long long>(-1)));
}

TEST_CASE("errors contain the value and the C++ type") {
  CHECK_EQ(CastError<int8_t>(-129),
           "OverflowError: Cannot convert to `int`: -129 does not fit int8_t");
  CHECK_EQ(CastError<uint8_t>(300),
           "OverflowError: Cannot convert to `int`: 300 does not fit uint8_t");
  CHECK_EQ(CastError<int16_t>(40000),
           "OverflowError: Cannot convert to `int`: 40000 does not fit int16_t");
  CHECK_EQ(CastError<uint16_t>(-1),
           "OverflowError: Cannot convert to `int`: -1 does not fit uint16_t");
  CHECK_EQ(CastError<int32_t>(2147483653),
           "OverflowError: Cannot convert to `int`: 2147483653 does not fit int32_t");
  CHECK_EQ(CastError<uint32_t>(INT64_MIN),
           "OverflowError: Cannot convert to `int`: -9223372036854775808 does not fit uint32_t");
  CHECK_EQ(CastError<uint64_t>(-2),
           "OverflowError: Cannot convert to `int`: -2 does not fit uint64_t");
  CHECK_EQ(Thrown([] { Any(300).as_or_throw<int8_t>(); }),
           "OverflowError: Cannot convert to `int`: 300 does not fit int8_t");
  CHECK_EQ(Thrown([] { Expected<int64_t>(300).as_or_error<int8_t>().value(); }),
           "OverflowError: Cannot convert to `int`: 300 does not fit int8_t");
}

TEST_CASE("values of other types are still type errors") {
  CHECK_EQ(Thrown([] { Any(1e300).cast<int8_t>(); }),
           "TypeError: Cannot convert from type `float` to `int`");
  CHECK_EQ(Thrown([] { Any(true).as_or_throw<int8_t>(); }),
           "TypeError: Cannot treat type `bool` as type `int`");
  CHECK_EQ(Any(true).cast<uint8_t>(), 1);
}

TEST_CASE("bool, characters and enums") {
  CHECK_EQ(Any(256).cast<bool>(), true);
  CHECK_EQ(Any(65).cast<char>(), 'A');
  CHECK_EQ(CastError<char>(1000), "OverflowError: Cannot convert to `int`: 1000 does not fit char");
  CHECK_EQ(Any(200).cast<Level>(), Level::kHigh);
  CHECK_EQ(Any(7).cast<Level>(), static_cast<Level>(7));  // not an enumerator
  CHECK_EQ(CastError<Level>(456),
           "OverflowError: Cannot convert to `int`: 456 does not fit uint8_t");
  CHECK_EQ(CastError<Plain>(-1),
           "OverflowError: Cannot convert to `int`: -1 does not fit uint32_t");
  // A 64-bit enum represents each of the 2**64 patterns; the top bit is the sign of the Int.
  CHECK_EQ(Any(Flags::kTop).cast<int64_t>(), INT64_MIN);
  CHECK_EQ(Any(INT64_MIN).cast<Flags>(), Flags::kTop);
}

TEST_CASE("unsigned 64-bit integers of both C++ types are checked when they become an Int") {
  CHECK_EQ(Any(static_cast<unsigned long long>(INT64_MAX)).cast<int64_t>(), INT64_MAX);
  CHECK_EQ(Thrown([] { Any(uint64_t{1} << 63); }),
           "OverflowError: Integer value 9223372036854775808 is too large to fit in int64_t. "
           "Consider explicitly casting to int64_t first if this is intentional.");
  auto largest = std::numeric_limits<unsigned long>::max();
  if (largest == UINT64_MAX)
    CHECK_EQ(Thrown([] { Any(1ull << 63); }), Thrown([&] { Any{largest - largest / 2}; }));
}

template <typename T, typename Arg>
std::string CallError(Arg argument) {
  Function function = Function::FromTyped([](T) {}, "f");
  return Thrown([&] { function(argument); });
}

TEST_CASE("errors of arguments name the function, the argument, the value and the C++ type") {
  CHECK_EQ(CallError<int32_t>(int64_t{2147483653}),
           "OverflowError: Number out of range on argument #0 when calling: `f(0: int) -> void`: "
           "2147483653 does not fit int32_t");
  CHECK_EQ(CallError<uint64_t>(-1),
           "OverflowError: Number out of range on argument #0 when calling: `f(0: int) -> void`: "
           "-1 does not fit uint64_t");
  CHECK_EQ(CallError<Level>(256),
           "OverflowError: Number out of range on argument #0 when calling: `f(0: int) -> void`: "
           "256 does not fit uint8_t");
  CHECK_EQ(CallError<Optional<int8_t>>(200),
           "OverflowError: Number out of range on argument #0 when calling: `f(0: Optional<int>) "
           "-> void`: 200 does not fit int8_t");
  CHECK_EQ(CallError<int32_t>(1.5),
           "TypeError: Mismatched type on argument #0 when calling: `f(0: int) -> void`. Expected "
           "`int` but got `float`");
  Function second = Function::FromTyped([](int64_t, int8_t b) { return b; }, "second");
  CHECK_EQ(second(INT64_MAX, -128).cast<int64_t>(), -128);
  CHECK_EQ(Thrown([&] { second(1, 128); }),
           "OverflowError: Number out of range on argument #1 when calling: `second(0: int, 1: "
           "int) -> int`: 128 does not fit int8_t");
}

// The end of the error message of a cast, after "Cannot convert to `...`: ".
template <typename T>
std::string CastMismatch(const Any& value) {
  std::string text = Thrown([&] { value.cast<T>(); });
  CHECK_EQ(text.substr(0, 14), "OverflowError:");
  return text.substr(text.find("`: ") + 3);
}

TEST_CASE("elements of containers are checked") {
  Any array = Array<int64_t>({1, 300});
  std::string at_one = "Array[index 1: 300 does not fit uint8_t]";
  CHECK_EQ(CastMismatch<Array<uint8_t>>(array), at_one);
  CHECK_EQ(CastMismatch<std::vector<uint8_t>>(array), at_one);
  CHECK_EQ((CastMismatch<std::array<uint8_t, 2>>(array)), at_one);
  CHECK_EQ((CastMismatch<Tuple<uint8_t, uint8_t>>(array)), at_one);
  CHECK_EQ((CastMismatch<std::tuple<uint8_t, uint8_t>>(array)), at_one);
  CHECK_EQ(CastMismatch<std::optional<int8_t>>(300), "300 does not fit int8_t");
  Any map = Map<String, Array<int64_t>>{{"a", {300}}};
  std::string in_map = "Map[K, some value is Array[index 0: 300 does not fit uint8_t]]";
  CHECK_EQ((CastMismatch<Map<String, Array<uint8_t>>>(map)), in_map);
  CHECK_EQ((CastMismatch<std::map<std::string, std::vector<uint8_t>>>(map)), in_map);
  Any keys = Map<int64_t, int64_t>{{300, 1}};
  CHECK_EQ((CastMismatch<Map<uint8_t, int64_t>>(keys)),
           "Map[some key is 300 does not fit uint8_t, V]");
  CHECK_EQ((CastMismatch<std::unordered_map<uint8_t, int64_t>>(keys)),
           "Map[some key is 300 does not fit uint8_t, V]");
  CHECK_EQ(Any(Array<int64_t>({1, 2})).cast<Array<uint8_t>>()[1], 2);
}

TEST_CASE("alternatives are tried until the value fits") {
  CHECK_EQ((Any(300).cast<Variant<int8_t, int64_t>>().get<int64_t>()), 300);
  CHECK_EQ((std::get<int64_t>(Any(300).cast<std::variant<int8_t, int64_t>>())), 300);
  CHECK_EQ((CastMismatch<Variant<int8_t, String>>(300)), "300 does not fit int8_t");
  CHECK_EQ((CastMismatch<std::variant<String, int8_t>>(300)), "300 does not fit int8_t");
}

TEST_CASE("results of callbacks are checked") {
  TypedFunction<int32_t()> callback = Function::FromTyped([] { return int64_t{2147483653}; });
  CHECK_EQ(Thrown([&] { callback(); }),
           "OverflowError: Cannot convert to `int`: 2147483653 does not fit int32_t");
}

TEST_CASE("fields are checked, and keep their value if the new value does not fit") {
  auto object = make_object<RangesObj>();
  auto set = [&](const char* name, int64_t value) {
    refl::FieldSetter setter("test.IntegerRanges", name);
    return Thrown([&] { setter(object.get(), value); });
  };
  CHECK_EQ(set("i32", 2147483653),
           "OverflowError: Cannot convert to `int`: 2147483653 does not fit int32_t");
  CHECK_EQ(set("u8", -1), "OverflowError: Cannot convert to `int`: -1 does not fit uint8_t");
  CHECK_EQ(set("u64", -1), "OverflowError: Cannot convert to `int`: -1 does not fit uint64_t");
  CHECK_EQ(set("level", 300), "OverflowError: Cannot convert to `int`: 300 does not fit uint8_t");
  CHECK_EQ(set("u8", 255), "");
  CHECK_EQ(object->i32, 1);
  CHECK_EQ(object->u8, 255);
  CHECK_EQ(object->u64, 3);
  CHECK_EQ(object->level, Level::kLow);
}

}  // namespace
