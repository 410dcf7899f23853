// SPDX-License-Identifier: Apache-2.0
// Conversions to `float`, which is narrower than the 64-bit Float.  Regression: a finite value that
// did not fit became infinity without an error.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/reflection/registry.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// The least number that rounds to infinity, and the greatest number that rounds to FLT_MAX.
constexpr double kLeastTooLarge = 0x1.ffffffp127;
constexpr double kGreatestThatFits = 0x1.fffffefffffffp127;

class FloatRangesObj : public Object {
 public:
  float f32 = 1;
  double f64 = 2;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.FloatRanges", FloatRangesObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<FloatRangesObj>()
      .def_rw("f32", &FloatRangesObj::f32)
      .def_rw("f64", &FloatRangesObj::f64);
}

std::optional<float> Cast(double value) {
  CHECK_EQ(Any(value).as<float>().has_value(), Any(value).try_cast<float>().has_value());
  return Any(value).try_cast<float>();
}

TEST_CASE("values that round to a finite float convert, larger ones do not") {
  for (double sign : {1.0, -1.0}) {
    CHECK_EQ(Cast(sign * FLT_MAX), static_cast<float>(sign) * FLT_MAX);
    CHECK_EQ(Cast(sign * kGreatestThatFits), static_cast<float>(sign) * FLT_MAX);
    CHECK_EQ(Cast(sign * kLeastTooLarge), std::nullopt);
    CHECK_EQ(Cast(sign * 1e300), std::nullopt);
    CHECK_EQ(Cast(sign * DBL_MAX), std::nullopt);
    CHECK_EQ(Any(sign * DBL_MAX).cast<double>(), sign * DBL_MAX);
  }
  CHECK_EQ(Cast(1e-300), 0.0f);
  CHECK_EQ(Any(INT64_MIN).cast<float>(), -0x1p63f);
}

TEST_CASE("infinities and NaN convert") {
  CHECK_EQ(Cast(kInfinity), std::numeric_limits<float>::infinity());
  CHECK_EQ(Cast(-kInfinity), -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(*Cast(kNaN)));
  CHECK(std::isnan(*Cast(-kNaN)));
}

TEST_CASE("errors contain the value and the C++ type") {
  CHECK_EQ(Thrown([] { Any(1e300).cast<float>(); }),
           "OverflowError: Cannot convert to `float`: 1e+300 does not fit float");
  CHECK_EQ(Thrown([] { Any(-kLeastTooLarge).as_or_throw<float>(); }),
           "OverflowError: Cannot convert to `float`: -3.40282357e+38 does not fit float");
  CHECK_EQ(Thrown([] { Expected<double>(1e300).as_or_error<float>().value(); }),
           "OverflowError: Cannot convert to `float`: 1e+300 does not fit float");
  CHECK_EQ(Thrown([] { Any(String("1")).cast<float>(); }),
           "TypeError: Cannot convert from type `ffi.SmallStr` to `float`");
}

template <typename T, typename Arg>
std::string CallError(Arg argument) {
  Function function = Function::FromTyped([](T) {}, "f");
  return Thrown([&] { function(argument); });
}

TEST_CASE("errors of arguments name the function, the argument, the value and the C++ type") {
  CHECK_EQ(CallError<float>(1e300),
           "OverflowError: Number out of range on argument #0 when calling: `f(0: float) -> void`: "
           "1e+300 does not fit float");
  CHECK_EQ(CallError<Optional<float>>(-1e300),
           "OverflowError: Number out of range on argument #0 when calling: `f(0: Optional<float>) "
           "-> void`: -1e+300 does not fit float");
  CHECK_EQ(
      CallError<float>("text"),
      "TypeError: Mismatched type on argument #0 when calling: `f(0: float) -> void`. Expected "
      "`float` but got `const char*`");
  CHECK_EQ(CallError<double>(1e300), "");
  Function sum = Function::FromTyped([](float a, float b) { return a + b; }, "sum");
  CHECK_EQ(sum(1.5, true).cast<double>(), 2.5);
  CHECK_EQ(sum(kInfinity, 1.0).cast<double>(), kInfinity);
}

TEST_CASE("elements of containers are checked") {
  Any array = Array<double>({1, 1e300});
  auto error = [&](auto type) {
    return Thrown([&] { array.cast<typename decltype(type)::type>(); });
  };
  std::string at_one = "Array[index 1: 1e+300 does not fit float]";
  CHECK_EQ(error(std::common_type<Array<float>>()),
           "OverflowError: Cannot convert to `Array<float>`: " + at_one);
  CHECK_EQ(error(std::common_type<std::vector<float>>()),
           "OverflowError: Cannot convert to `std::vector<float>`: " + at_one);
  CHECK_EQ(error(std::common_type<Tuple<float, float>>()),
           "OverflowError: Cannot convert to `Tuple<float, float>`: " + at_one);
  Any map = Map<String, double>{{"a", 1e300}};
  CHECK_EQ(Thrown([&] { map.cast<Map<String, float>>(); }),
           "OverflowError: Cannot convert to `Map<str, float>`: Map[K, some value is 1e+300 does "
           "not fit float]");
  CHECK_EQ(Any(Array<double>({1, kInfinity})).cast<Array<float>>()[1], kInfinity);
}

TEST_CASE("alternatives are tried until the value fits") {
  CHECK_EQ((Any(1e300).cast<Variant<float, double>>().get<double>()), 1e300);
  CHECK_EQ((std::get<double>(Any(1e300).cast<std::variant<float, double>>())), 1e300);
  CHECK_EQ(Thrown([] { Any(1e300).cast<Variant<float, String>>(); }),
           "OverflowError: Cannot convert to `Variant<float, str>`: 1e+300 does not fit float");
}

TEST_CASE("results of callbacks are checked") {
  TypedFunction<float()> callback = Function::FromTyped([] { return 1e300; });
  CHECK_EQ(Thrown([&] { callback(); }),
           "OverflowError: Cannot convert to `float`: 1e+300 does not fit float");
}

TEST_CASE("fields are checked, and keep their value if the new value does not fit") {
  auto object = make_object<FloatRangesObj>();
  refl::FieldSetter f32("test.FloatRanges", "f32");
  refl::FieldSetter f64("test.FloatRanges", "f64");
  CHECK_EQ(Thrown([&] { f32(object.get(), 1e300); }),
           "OverflowError: Cannot convert to `float`: 1e+300 does not fit float");
  CHECK_EQ(object->f32, 1);
  f32(object.get(), -kInfinity);
  CHECK_EQ(object->f32, -kInfinity);
  f64(object.get(), 1e300);
  CHECK_EQ(object->f64, 1e300);
}

}  // namespace
