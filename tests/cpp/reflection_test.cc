// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class PointObj : public Object {
 public:
  int64_t x = 1;
  String label;
  Array<int> tags;
  Any extra;

  PointObj() = default;
  explicit PointObj(int64_t x) : x(x) {}
  int64_t Plus(int64_t other) const { return x + other; }
  void Move(int64_t by) { x += by; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.refl.Point", PointObj, Object);
};
class Point : public ObjectRef {
 public:
  int64_t Twice() const { return 2 * get()->x; }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Point, ObjectRef, PointObj);
};

// The vtable pointer precedes the header.
class VirtualObj final : public PointObj {
 public:
  int32_t own = 7;
  explicit VirtualObj(UnsafeInit) {}
  virtual int Answer() const { return 42; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.refl.Virtual", VirtualObj, PointObj);
};

class NoCreatorObj : public Object {
 public:
  int64_t value;
  explicit NoCreatorObj(int64_t value) : value(value) {}
  NoCreatorObj(const NoCreatorObj&) = delete;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.refl.NoCreator", NoCreatorObj, Object);
};

class PlainObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.refl.Plain", PlainObj, Object);
};

int Pick(int64_t, double) { return 1; }
int Pick(const String&) { return 2; }
struct Picky {
  int Of(int) { return 1; }
  int Of(int) const { return 2; }
  int Of(String, int) { return 3; }
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PointObj>("A point.")
      .def(refl::init<int64_t>(), "Makes a point.")
      .def_rw("x", &PointObj::x, "Abscissa.", refl::DefaultValue(5),
              refl::Metadata{{"big", int64_t{1} << 40}, {"strict", true}, {"unit", "m/s"}})
      .def_ro("label", &PointObj::label, refl::repr(false), refl::AttachFieldFlag::SEqHashIgnore())
      .def_rw("tags", &PointObj::tags, refl::kw_only(true), refl::hash(false), refl::compare(false),
              refl::DefaultFactory(Function::FromTyped([]() -> Array<int> { return {1, 2}; })))
      .def_ro("extra", &PointObj::extra, refl::init(false), refl::repr(true), refl::kw_only(false))
      .def("plus", &PointObj::Plus, "Adds.")
      .def("move", &PointObj::Move)
      .def("named", [](const PointObj* self, const String& name) { return name; })
      .def_static("zero", [] { return 0; })
      .def_type_attr("test.refl.level", 3)
      .def_type_attr("test.refl.describe", [](const PointObj* self) { return String("point"); })
      .def_convert<Point>();
  refl::ObjectDef<VirtualObj>(refl::init(false)).def_ro("own", &VirtualObj::own);
  refl::ObjectDef<NoCreatorObj>().def_ro("value", &NoCreatorObj::value);
  refl::GlobalDef()
      .def(
          "test.refl.add", [](int a, double b) { return a + b; }, "Adds.",
          refl::Metadata{{"pure", true}})
      .def_packed("test.refl.count", [](PackedArgs args, Any* rv) { *rv = args.size(); })
      .def_method("test.refl.plus", &PointObj::Plus)
      .def_method("test.refl.twice", &Point::Twice);
}

std::string Text(const TVMFFIByteArray& bytes) { return std::string(bytes.data, bytes.size); }

const TVMFFIFieldInfo* Field(const char* name) {
  return refl::GetFieldInfo("test.refl.Point", name);
}
const TVMFFIMethodInfo* Method(const char* name) {
  return refl::GetMethodInfo("test.refl.Point", name);
}

std::string GlobalMetadata(const char* name) {
  return Function::GetGlobalRequired("ffi.GetGlobalFuncMetadata")(name).cast<std::string>();
}

TEST_CASE("type metadata") {
  const TypeInfo* type = TVMFFIGetTypeInfo(PointObj::RuntimeTypeIndex());
  CHECK_EQ(Text(type->metadata->doc), "A point.");
  CHECK_EQ(type->metadata->total_size, 72);
  CHECK((type->metadata->creator != nullptr));
  CHECK((TVMFFIGetTypeInfo(NoCreatorObj::RuntimeTypeIndex())->metadata->creator == nullptr));
}

TEST_CASE("fields") {
  CHECK_EQ(Field("x")->flags, kTVMFFIFieldFlagBitMaskWritable | kTVMFFIFieldFlagBitMaskHasDefault);
  CHECK_EQ(Field("x")->offset, 24);
  CHECK_EQ(Field("x")->size, 8);
  CHECK_EQ(Field("x")->field_static_type_index, kTVMFFIInt);
  CHECK_EQ(Text(Field("x")->doc), "Abscissa.");
  CHECK_EQ(
      Text(Field("x")->metadata),
      R"({"type_schema":"{\"type\":\"int\"}","big":1099511627776,"strict":true,"unit":"m\/s"})");
  CHECK_EQ(Field("label")->flags,
           kTVMFFIFieldFlagBitMaskReprOff | kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  CHECK_EQ(Field("label")->offset, 32);
  CHECK(Field("label")->setter != nullptr);
  CHECK_EQ(Field("tags")->flags,
           kTVMFFIFieldFlagBitMaskWritable | kTVMFFIFieldFlagBitMaskHasDefault |
               kTVMFFIFieldFlagBitMaskDefaultFromFactory | kTVMFFIFieldFlagBitMaskCompareOff |
               kTVMFFIFieldFlagBitMaskHashOff | kTVMFFIFieldFlagBitMaskKwOnly);
  CHECK_EQ(Field("tags")->field_static_type_index, kTVMFFIArray);
  CHECK_EQ(Field("extra")->flags, kTVMFFIFieldFlagBitMaskInitOff);
  CHECK_EQ(refl::GetFieldInfo("test.refl.Virtual", "own")->offset, 72);
}

TEST_CASE("missing members") {
  CHECK_EQ(Thrown([] { (void)refl::GetFieldInfo("test.refl.Point", "zz"); }),
           "RuntimeError: Cannot find field  `zz` in test.refl.Point");
  CHECK_EQ(Thrown([] { (void)refl::GetMethodInfo("test.refl.Virtual", "plus"); }),
           "RuntimeError: Cannot find method plus in test.refl.Virtual");
  CHECK_EQ(Thrown([] { (void)refl::TypeAttrColumn("test.refl.none"); }),
           "RuntimeError: Cannot find type attribute test.refl.none");
}

TEST_CASE("get and set") {
  Point point(make_object<PointObj>(7));
  CHECK_EQ(refl::FieldGetter("test.refl.Point", "x")(point).cast<int64_t>(), 7);
  refl::FieldSetter set_x("test.refl.Point", "x");
  set_x(point, true);
  CHECK_EQ(point->x, 1);
  CHECK_EQ(Thrown([&] { set_x(point, "text"); }),
           "TypeError: Cannot convert from type `const char*` to `int`");
  CHECK_EQ(point->x, 1);
  refl::FieldSetter set_tags("test.refl.Point", "tags");
  CHECK_EQ(Thrown([&] { set_tags(point, Array<Any>{1, "x"}); }),
           "TypeError: Cannot convert from type `Array[index 1: ffi.SmallStr]` to `Array<int>`");
  refl::FieldSetter set_extra("test.refl.Point", "extra");
  set_extra(point, "text");
  CHECK_EQ(refl::FieldGetter("test.refl.Point", "extra")(point).cast<std::string>(), "text");
  ObjectRef derived(ObjectPtr<Object>(make_object<VirtualObj>(UnsafeInit{})));
  CHECK_EQ(refl::FieldGetter("test.refl.Virtual", "own")(derived).cast<int>(), 7);
  CHECK_EQ(refl::FieldGetter("test.refl.Point", "x")(derived).cast<int>(), 1);
}

TEST_CASE("fields of ancestors come first") {
  std::string names;
  refl::ForEachFieldInfo(TVMFFIGetTypeInfo(VirtualObj::RuntimeTypeIndex()),
                         [&](const TVMFFIFieldInfo* field) { names += Text(field->name) + " "; });
  CHECK_EQ(names, "x label tags extra own ");
  names.clear();
  bool stopped = refl::ForEachFieldInfoWithEarlyStop(
      TVMFFIGetTypeInfo(PointObj::RuntimeTypeIndex()), [&](const TVMFFIFieldInfo* field) {
        names += Text(field->name) + " ";
        return Text(field->name) == "label";
      });
  CHECK(stopped);
  CHECK_EQ(names, "x label ");
}

TEST_CASE("methods") {
  CHECK_EQ(Text(Method("plus")->doc), "Adds.");
  CHECK_EQ(Method("plus")->flags, 0);
  CHECK_EQ(Method("zero")->flags, kTVMFFIFieldFlagBitMaskIsStaticMethod);
  CHECK_EQ(Method("__ffi_init__")->flags, kTVMFFIFieldFlagBitMaskIsStaticMethod);
  CHECK_EQ(Text(Method("plus")->metadata),
           R"({"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":)"
           R"(\"int\"}],\"params\":[{\"type\":\"test.refl.Point\"},{\"type\":\"int\"}]}}"})");
  CHECK_EQ(Text(Method("__ffi_init__")->metadata),
           R"({"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":)"
           R"(\"ffi.Object\"}],\"params\":[{\"type\":\"int\"}]}}"})");
  Point point(make_object<PointObj>(7));
  Function plus = refl::GetMethod("test.refl.Point", "plus");
  CHECK_EQ(plus(point, 3).cast<int64_t>(), 10);
  refl::GetMethod("test.refl.Point", "move")(point, 2);
  CHECK_EQ(point->x, 9);
  CHECK_EQ(refl::GetMethod("test.refl.Point", "__ffi_init__")(4).cast<Point>()->x, 4);
  CHECK_EQ(Thrown([&] { plus(point, "x"); }),
           "TypeError: Mismatched type on argument #1 when calling: `test.refl.Point.plus(0: "
           "test.refl.Point, 1: int) -> int`. Expected `int` but got `const char*`");
  CHECK_EQ(Thrown([&] { plus(point); }),
           "TypeError: Mismatched number of arguments when calling: `test.refl.Point.plus(0: "
           "test.refl.Point, 1: int) -> int`. Expected 2 but got 1 arguments");
}

TEST_CASE("global functions") {
  CHECK_EQ(Function::GetGlobalRequired("test.refl.add")(1, 2).cast<double>(), 3.0);
  CHECK_EQ(Function::GetGlobalRequired("test.refl.count")(1, 2).cast<int>(), 2);
  Point point(make_object<PointObj>(7));
  CHECK_EQ(Function::GetGlobalRequired("test.refl.plus")(point, 1).cast<int>(), 8);
  CHECK_EQ(Function::GetGlobalRequired("test.refl.twice")(point).cast<int>(), 14);
  CHECK_EQ(GlobalMetadata("test.refl.add"),
           R"({"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":)"
           R"(\"float\"}],\"params\":[{\"type\":\"int\"},{\"type\":\"float\"}]}}","pure":true})");
  CHECK_EQ(GlobalMetadata("test.refl.count"), R"({"type_schema":"{\"type\":\"ffi.Function\"}"})");
  CHECK(Thrown([] { refl::GlobalDef().def("test.refl.add", [] {}); })
            .find("RuntimeError: Global Function `test.refl.add` is already registered, possible "
                  "causes:\n") == 0);
  CHECK_EQ(
      Thrown([] { refl::GlobalDef().def("test.refl.bad", [] {}, refl::Metadata{{"f", 1.5}}); }),
      "TypeError: Metadata can be only int, bool or string, but on key `f`, the type is float");
  CHECK(!Function::GetGlobal("test.refl.bad").has_value());
}

TEST_CASE("overload cast") {
  CHECK_EQ(refl::overload_cast<int64_t>(&Pick)(1, 0.0), 1);
  CHECK_EQ(refl::overload_cast<const String&>(&Pick)(""), 2);
  Picky picky;
  CHECK_EQ((picky.*refl::overload_cast<int>(&Picky::Of))(0), 1);
  CHECK_EQ((picky.*refl::overload_cast<int>(&Picky::Of, refl::const_))(0), 2);
  CHECK_EQ((picky.*refl::overload_cast<String>(&Picky::Of))("", 0), 3);
  constexpr auto kPick = refl::overload_cast<int64_t>(&Pick);
  CHECK_EQ(kPick(1, 0.0), 1);
}

TEST_CASE("type attributes") {
  int32_t index = PointObj::RuntimeTypeIndex();
  CHECK_EQ(refl::TypeAttrColumn("test.refl.level")[index].cast<int>(), 3);
  CHECK(refl::TypeAttrColumn("test.refl.level")[index + 100000] == nullptr);
  Point point(make_object<PointObj>(7));
  auto describe = refl::TypeAttrColumn("test.refl.describe")[index].cast<Function>();
  CHECK_EQ(describe(point).cast<std::string>(), "point");
  auto copy = refl::TypeAttrColumn(type_attr::kShallowCopy)[index].cast<Function>();
  Point other = copy(point).cast<Point>();
  CHECK(!other.same_as(point));
  CHECK_EQ(other->x, 7);
  auto make = *type_attr::kNew.ValueFrom(refl::TypeAttrColumn(type_attr::kNew)[index]);
  CHECK_EQ(make().as<PointObj>()->x, 1);
  CHECK_EQ(*type_attr::kTypeFinal.ValueFrom(refl::TypeAttrColumn(type_attr::kTypeFinal)[index]),
           false);
  CHECK(!type_attr::kNew.ValueFrom(AnyView()).has_value());
  auto convert = refl::TypeAttrColumn(type_attr::kConvert)[index].cast<Function>();
  CHECK(convert(point).cast<Point>().same_as(point));
  CHECK_EQ(Thrown([&] { convert(1); }), "TypeError: Cannot cast from `int` to `test.refl.Point`");
  CHECK(refl::TypeAttrColumn(type_attr::kNew)[NoCreatorObj::RuntimeTypeIndex()] == nullptr);
  CHECK(refl::TypeAttrColumn(type_attr::kShallowCopy)[NoCreatorObj::RuntimeTypeIndex()] == nullptr);
  refl::TypeAttrDef<PlainObj>().def("test.refl.level", 4).attr("test.refl.extent", 1.5);
  CHECK_EQ(refl::TypeAttrColumn("test.refl.level")[PlainObj::RuntimeTypeIndex()].cast<int>(), 4);
  CHECK(Thrown([] {
          refl::TypeAttrDef<PlainObj>().def("test.refl.level", 5);
        }).find("RuntimeError: TypeAttr `test.refl.level` is already registered") == 0);
}

TEST_CASE("creation") {
  refl::ObjectCreator create("test.refl.Point");
  Point point = create(Map<String, Any>{{"label", "here"}, {"extra", 1}}).cast<Point>();
  CHECK_EQ(point->x, 5);
  CHECK_EQ(point->tags.size(), size_t{2});
  CHECK_EQ(std::string(point->label), "here");
  CHECK_EQ(Thrown([&] { create(Map<String, Any>{{"label", "here"}}); }),
           "TypeError: Required field `extra` not set in type `test.refl.Point`");
  CHECK_EQ(Thrown([&] { create(Map<String, Any>{{"label", ""}, {"extra", 1}, {"zz", 1}}); }),
           "TypeError: Type `test.refl.Point` does not have field `zz`");
  CHECK_EQ(Thrown([&] { create(Map<String, Any>{{"label", 1}, {"extra", 1}}); }),
           "TypeError: Cannot convert from type `int` to `str`");
  CHECK_EQ(Thrown([] { refl::ObjectCreator("test.refl.NoCreator"); }),
           "RuntimeError: Type `test.refl.NoCreator` does not support default constructor, as a "
           "result cannot be created via reflection");
  CHECK_EQ(
      Thrown([] { (void)CreateEmptyObject(TVMFFIGetTypeInfo(NoCreatorObj::RuntimeTypeIndex())); }),
      "RuntimeError: Type `test.refl.NoCreator` does not support reflection creation (no "
      "native creator or __ffi_new__ type attr)");
  CHECK(HasCreator(TVMFFIGetTypeInfo(PointObj::RuntimeTypeIndex())));
}

TEST_CASE("function setters") {
  TVMFFIFieldInfo field = *Field("x");
  Function setter = Function::FromTyped([](void* address, int64_t value) {
    if (value < 0) TVM_FFI_THROW(ValueError) << "negative";
    *static_cast<int64_t*>(address) = 2 * value;
  });
  field.setter = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(setter);
  field.flags |= kTVMFFIFieldFlagBitSetterIsFunctionObj;
  Point point(make_object<PointObj>(7));
  refl::FieldSetter set(&field);
  set(point, 4);
  CHECK_EQ(point->x, 8);
  CHECK_EQ(Thrown([&] { set(point, -1); }), "ValueError: negative");
  refl::SetFieldToDefault(&field, &point.get()->x);
  CHECK_EQ(point->x, 10);
}

TEST_CASE("second definition of a type") {
  CHECK(Thrown([] { refl::ObjectDef<PointObj>(); }).find("RuntimeError: ") == 0);
}

// ---- Hooks ------------------------------------------------------------------------------------

int64_t SizeOf(const Any& value) { return value.type_index() == kTVMFFIInt ? 8 : 0; }
Expected<int64_t> CheckedSizeOf(const Any& value) noexcept {
  if (value == nullptr) return TVM_FFI_UNEXPECTED(ValueError) << "nothing";
  return SizeOf(value);
}
int64_t ThrowingSizeOf(const Any& value) {
  if (value == nullptr) throw std::runtime_error("foreign");
  return SizeOf(value);
}
using SizeView = refl::NativeFunctionView<int64_t(const Any&)>;

TEST_CASE("native functions") {
  static_assert(sizeof(SizeView) == 16, "an Any");
  CHECK_EQ(SizeView::FromNative<&SizeOf>()(Any(1)), 8);
  SizeView checked = SizeView::FromNative<&CheckedSizeOf>();
  CHECK_EQ(checked(Any(1)), 8);
  CHECK_EQ(Thrown([&] { checked(Any()); }), "ValueError: nothing");
  CHECK_EQ(checked.CallExpected(Any()).error().kind(), "ValueError");
  SizeView throwing = SizeView::FromNative<&ThrowingSizeOf>();
  CHECK_EQ(Thrown([&] { throwing(Any()); }), "InternalError: foreign");
  TypedFunction<int64_t(const Any&)> typed = [](const Any& value) -> int64_t { return 5; };
  SizeView from_function = typed;
  CHECK_EQ(from_function(Any()), 5);
  TypedFunction<int64_t(const Any&)> null;
  CHECK_EQ(Thrown([&] { (void)SizeView(null); }),
           "ValueError: NativeFunctionView requires a non-null typed function");
  TypedFunction<int64_t(const Any&)> wrong = Function::FromTyped([](const Any&) { return "x"; });
  CHECK_EQ(Thrown([&] {
             SizeView view = wrong;
             view(Any());
           }),
           "TypeError: a hook function returned a value that is not of its declared result type");
  refl::NativeFunction<int64_t(const Any&)> owned = typed;
  typed = nullptr;
  CHECK_EQ(owned(Any()), 5);
  Any stored = owned;
  CHECK_EQ(stored.type_index(), kTVMFFIFunction);
  CHECK_EQ(stored.cast<refl::NativeFunction<int64_t(const Any&)>>()(Any()), 5);
  CHECK_EQ(Thrown([] { (void)Any(1).cast<refl::NativeFunction<int64_t(const Any&)>>(); }),
           "TypeError: Cannot convert from type `int` to `Variant<void*, (0: Any) -> int>`");
}

// Values of the type compare by `x`, also as Map keys.
int64_t HashPoint(const Any& value) { return value.as<PlainObj>() != nullptr ? 11 : 0; }
bool EqualPoints(const Any& lhs, const Any& rhs) {
  return lhs.as<PlainObj>() && rhs.as<PlainObj>();
}

TEST_CASE("native attributes") {
  refl::TypeAttrDef<PlainObj>()
      .native_fn_attr<&HashPoint>(type_attr::kAnyHash)
      .native_fn_attr<&EqualPoints>(type_attr::kAnyEqual);
  Any first = ObjectRef(ObjectPtr<Object>(make_object<PlainObj>()));
  Any second = ObjectRef(ObjectPtr<Object>(make_object<PlainObj>()));
  CHECK_EQ(AnyHash()(first), AnyHash()(second));
  CHECK(AnyEqual()(first, second));
  CHECK_EQ((Map<Any, int>{{first, 1}, {second, 2}}.size()), size_t{1});
}

struct Overloaded {
  int Of(int) { return 1; }
  int Of(double) const { return 2; }
  int Of() const { return 3; }
};
int Single(double) { return 1; }
int Single() { return 2; }
int Single(int, int) { return 3; }

TEST_CASE("overload_cast selects the function with exactly these parameters") {
  Overloaded mine;
  const Overloaded fixed;
  CHECK_EQ((mine.*refl::overload_cast<int>(&Overloaded::Of))(0), 1);
  CHECK_EQ((fixed.*refl::overload_cast<double>(&Overloaded::Of))(0), 2);
  CHECK_EQ((fixed.*refl::overload_cast<double>(&Overloaded::Of, refl::const_))(0), 2);
  CHECK_EQ((fixed.*refl::overload_cast<>(&Overloaded::Of))(), 3);
  CHECK_EQ((fixed.*refl::overload_cast<>(&Overloaded::Of, refl::const_))(), 3);
  CHECK_EQ(refl::overload_cast<>(&Single)(), 2);
  CHECK_EQ(refl::overload_cast<int, int>(&Single)(0, 0), 3);
  CHECK_EQ(refl::overload_cast<double>(&Single)(0), 1);
}

TEST_CASE("native functions can be moved out of an Any") {
  static_assert(std::is_same_v<SizeView::ABIType, TVMFFIAny (*)(const Any&) noexcept>);
  using Owned = refl::NativeFunction<int64_t(const Any&)>;
  static_assert(std::is_same_v<Owned::View, SizeView>);
  Any any = SizeView::FromNative<&SizeOf>();
  SizeView view = std::move(any).cast<SizeView>();
  CHECK_EQ(view(Any(1)), 8);
  using Hook = Variant<SizeView, String>;
  Hook hook = view;
  CHECK_EQ((*hook.as<SizeView>())(Any(1)), 8);
  CHECK_EQ(std::move(hook).get<SizeView>()(Any(1)), 8);
  CHECK_EQ(TypeTraits<refl::NativeFunctionView<int(int)>>::TypeStr(),
           "Variant<void*, (0: int) -> int>");
  CHECK_EQ(Owned::From(view)(Any(1)), 8);
  // A view of the function borrows from the Any.
  TypedFunction<int64_t(const Any&)> typed = [](const Any&) -> int64_t { return 5; };
  Any owner = SizeView(typed);
  typed = nullptr;
  CHECK_EQ(std::move(owner).as<SizeView>().value()(Any()), 5);
}

TEST_CASE("attributes are converted to the type of their key") {
  refl::TypeAttrDef<PointObj>()
      .attr(refl::AttrKey<double>{"__test_weight__"}, 2)
      .attr(refl::AttrKey<String>{"__test_text__"}, "text");
  int32_t index = PointObj::RuntimeTypeIndex();
  CHECK_EQ(refl::TypeAttrColumn("__test_weight__")[index].as<double>().value(), 2.0);
  CHECK_EQ(refl::TypeAttrColumn("__test_text__")[index].as<String>().value(), "text");
}

}  // namespace
