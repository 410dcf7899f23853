// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/function.h>

#include <ostream>

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

TEST_CASE("values are read back") {
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

TEST_CASE("access to an empty optional is a runtime error") {
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

TEST_CASE("a moved-from reference is empty") {
  Optional<Array<int>> first = Array<int>{1};
  Optional<Array<int>> second = std::move(first);
  CHECK(!first.has_value());
  CHECK(second.has_value());
  Array<int> out = *std::move(second);
  CHECK(!second.has_value());
  CHECK_EQ(out.use_count(), 1);
}

TEST_CASE("optionals accept assignments of their value type") {
  Optional<String> text;
  text = "abc";
  CHECK(text == "abc");
  text = std::string("xyz");
  CHECK(text == std::string("xyz"));
  text = std::optional<String>("w");
  CHECK(text == String("w"));
  text = {};
  CHECK(!text.has_value());
  Optional<Bytes> bytes;
  bytes = "abc";
  CHECK_EQ(bytes.value().size(), 3u);
  bytes = std::string("ab");
  CHECK_EQ(bytes.value().size(), 2u);
  Optional<Array<int64_t>> array;
  array = std::vector<int64_t>{1, 2};
  CHECK_EQ(array.value().size(), 2u);
  array = {3};
  CHECK_EQ(array.value()[0], 3);
  Optional<Map<String, Any>> map;
  map = Map<String, int64_t>{{"a", 1}};
  CHECK_EQ(map.value().size(), 1u);
  Optional<Function> function;
  function = TypedFunction<int(int)>([](int x) { return x + 1; });
  CHECK_EQ(function.value()(1).cast<int>(), 2);
  Optional<Variant<int64_t, String>> variant;
  variant = int64_t{3};
  CHECK_EQ(variant.value().get<int64_t>(), 3);
  variant = String("a");
  CHECK_EQ(variant.value().get<String>(), "a");
  Optional<int> number = 5;
  number = 0;
  CHECK(number == 0);
  number = {};
  CHECK(number == nullptr);
  Optional<double> real;
  real = 1;
  CHECK(real == 1.0);
  Optional<Any> any;
  any = 5;
  CHECK_EQ(any.value().cast<int>(), 5);
}

TEST_CASE("optionals compare in both orders") {
  Optional<String> text = "a";
  CHECK(("a" == text && String("a") == text && std::string("b") != text));
  CHECK((text != nullptr && nullptr != text && std::nullopt != text));
  CHECK((text == Optional<String>("a") && std::optional<String>("a") == text));
  text = nullptr;
  CHECK((text == nullptr && nullptr == text && std::nullopt == text && "a" != text));
  Optional<int64_t> number = 3;
  CHECK((3 == number && number == int16_t{3} && 4 != number && nullptr != number));
  // By identity.
  Array<int> items = {1};
  Optional<Array<int>> array = items;
  CHECK((array == items && items == array && array != Array<int>{1} && Array<int>{1} != array));
  CHECK((array != nullptr && Optional<Array<int>>() == nullptr));
  Optional<DLDevice> device = DLDevice{kDLCUDA, 1};
  CHECK((device == DLDevice{kDLCUDA, 1} && device != DLDevice{kDLCUDA, 0}));
}

TEST_CASE("an optional pointer is read as a pointer to another class") {
  Optional<ObjectPtr<ShapeObj>> pointer;
  CHECK(pointer.as<ShapeObj>() == nullptr);
  static_assert(std::is_same_v<decltype(pointer)::ContainerType, ShapeObj>);
  Shape shape = {1, 2};
  pointer = GetObjectPtr<ShapeObj>(const_cast<ShapeObj*>(shape.as<ShapeObj>()));
  CHECK(pointer.as<ShapeObj>() == shape.as<ShapeObj>());
  CHECK(pointer.as<ErrorObj>() == nullptr);
  CHECK(pointer.as_or_throw<Shape>().same_as(shape));
}

// Returns whether an Optional keeps its value if the value is taken out of an rvalue.
template <typename T, typename F>
bool KeepsValue(Optional<T> source, F take) {
  take(std::move(source));
  return source.has_value();
}

TEST_CASE("taking the value out of an rvalue moves it") {
  // Regression: values of pointers and all results of as_or_throw were copied.
  auto dereference = [](auto&& optional) { auto taken = *std::move(optional); };
  auto value = [](auto&& optional) { auto taken = std::move(optional).value(); };
  Shape shape = {1, 2};
  Arc<ShapeObj> arc = AnyView(shape).cast<Arc<ShapeObj>>();
  auto as_shape = [](auto&& optional) { std::move(optional).template as_or_throw<Shape>(); };
  auto check = [&](auto optional, auto as_or_throw) {
    CHECK(!KeepsValue(optional, dereference));
    CHECK(!KeepsValue(optional, value));
    CHECK(!KeepsValue(optional, as_or_throw));
  };
  check(Optional<ObjectPtr<ShapeObj>>(arc), as_shape);
  check(Optional<Arc<ShapeObj>>(arc), as_shape);
  check(Optional<Shape>(shape), as_shape);
  check(Optional<String>("ab"),
        [](auto&& text) { std::move(text).template as_or_throw<String>(); });
  const Optional<String> constant = String("ab");
  CHECK_EQ(constant.as_or_throw<String>(), "ab");
  CHECK(constant.has_value());
}

template <typename T>
constexpr bool kIsExact = T::_type_container_is_exact;
static_assert(!kIsExact<Array<int>> && !kIsExact<Optional<Array<int>>> && !kIsExact<Optional<int>>);
static_assert(!kIsExact<Variant<int, String>> && kIsExact<Function>);
static_assert(object_ref_contains_v<Function, FunctionObj> &&
              !object_ref_contains_v<Array<int>, ArrayObj> &&
              !object_ref_contains_v<int, ArrayObj> &&
              !object_ref_contains_v<Variant<int, Function>, FunctionObj>);

// A reference class that checks its elements; the specialization below names the elements that
// need no check.
template <typename T>
class Checked : public ObjectRef {
 public:
  static constexpr bool _type_container_is_exact = false;
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Checked, ObjectRef, ShapeObj);
};

}  // namespace

template <typename T, typename ObjectType>
inline constexpr bool tvm::ffi::object_ref_contains_v<
    Checked<T>, ObjectType, std::enable_if_t<std::is_base_of_v<ShapeObj, ObjectType>>> = true;

TEST_CASE("object_ref_contains_v has partial specializations for some object classes") {
  static_assert(object_ref_contains_v<Checked<int>, ShapeObj> &&
                !object_ref_contains_v<Checked<int>, ErrorObj>);
  Shape shape = {1, 2};
  CHECK(GetRef<Checked<int>>(shape.as<ShapeObj>()).same_as(shape));
}
