// SPDX-License-Identifier: Apache-2.0
// Library services based on registered fields: automatic constructors, objects by type key, types
// that a host language registers.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstddef>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class RecordObj : public Object {
 public:
  int64_t a = 1;
  String s = "x";
  int k = 0;
  Any o;
  double d = 2;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.services.Record", RecordObj, Object);
};
class ChildObj : public RecordObj {
 public:
  int64_t b = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.services.Child", ChildObj, RecordObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<RecordObj>()
      .def_rw("a", &RecordObj::a)
      .def_ro("s", &RecordObj::s, refl::DefaultValue("dflt"))
      .def_rw("k", &RecordObj::k, refl::kw_only(true))
      .def_rw("o", &RecordObj::o, refl::init(false), refl::DefaultValue(3))
      .def_ro("d", &RecordObj::d);
  refl::ObjectDef<ChildObj>().def_ro("b", &ChildObj::b);
}

Function InitOf(int32_t type_index) {
  return refl::TypeAttrColumn(type_attr::kInit)[type_index].cast<Function>();
}
Function Global(const char* name) { return Function::GetGlobalRequired(name); }
ObjectRef Kwargs() { return Global("ffi.GetKwargsObject")().cast<ObjectRef>(); }

std::string Show(const Any& value) {
  const auto* record = value.as<RecordObj>();
  return std::to_string(record->a) + " " + std::string(record->s) + " " +
         std::to_string(record->k) + " " + record->o.GetTypeKey() + " " + std::to_string(record->d);
}

TEST_CASE("automatic constructor") {
  Function init = InitOf(RecordObj::RuntimeTypeIndex());
  CHECK_EQ(Show(init(1, 2.5, Kwargs(), "k", 3)), "1 dflt 3 int 2.500000");
  CHECK_EQ(Show(init(1, 2.5, "s", Kwargs(), "k", 3)), "1 s 3 int 2.500000");
  CHECK_EQ(Show(init(Kwargs(), "k", 3, "a", 9, "d", 1)), "9 dflt 3 int 1.000000");
  Function child = InitOf(ChildObj::RuntimeTypeIndex());
  Any made = child(1, 2.5, 7, "s", Kwargs(), "k", 3);
  CHECK_EQ(Show(made), "1 s 3 int 2.500000");
  CHECK_EQ(made.as<ChildObj>()->b, 7);
}

TEST_CASE("automatic constructor rejects invalid arguments") {
  Function init = InitOf(RecordObj::RuntimeTypeIndex());
  const std::string prefix = "TypeError: test.services.Record.__ffi_init__() ";
  CHECK_EQ(Thrown([&] { init(); }), prefix + "missing required argument: 'a'");
  CHECK_EQ(Thrown([&] { init(1, 2.5); }), prefix + "missing required keyword-only argument: 'k'");
  CHECK_EQ(Thrown([&] { init(1, 2.5, "s", 4, 5); }),
           prefix + "takes at most 3 positional argument(s), but 5 were given");
  CHECK_EQ(Thrown([&] { init(1, 2.5, Kwargs(), "k", 3, "zz", 1); }),
           prefix + "got an unexpected keyword argument 'zz'");
  CHECK_EQ(Thrown([&] { init(1, 2.5, Kwargs(), "k", 3, "o", 1); }),
           prefix + "got an unexpected keyword argument 'o'");
  CHECK_EQ(Thrown([&] { init(1, 2.5, Kwargs(), "k", 3, "a", 1); }),
           prefix + "got multiple values for argument 'a'");
  CHECK_EQ(Thrown([&] { init(1, 2.5, Kwargs(), "k", 3, "k", 1); }),
           prefix + "got multiple values for argument 'k'");
  CHECK_EQ(Thrown([&] { init(1, 2.5, Kwargs(), "k"); }),
           prefix + "KWARGS requires an even number of key-value arguments");
  CHECK_EQ(Thrown([&] { init(1, 2.5, Kwargs(), 3, "k"); }),
           "TypeError: Cannot convert from type `int` to `str`");
}

TEST_CASE("an error of a setter is the cause") {
  try {
    InitOf(RecordObj::RuntimeTypeIndex())("x", 2.5, Kwargs(), "k", 1);
    CHECK((false && "reached"));
  } catch (const Error& error) {
    CHECK_EQ(error.message(),
             "test.services.Record.__ffi_init__() field 'a':\n"
             "  Cannot convert from type `const char*` to `int`");
    CHECK_EQ(error.cause_chain()->message(), "Cannot convert from type `const char*` to `int`");
  }
}

TEST_CASE("objects by type key") {
  Function make = Global("ffi.MakeObjectFromPackedArgs");
  CHECK_EQ(Show(make("test.services.Record", "a", 1, "d", 2, "k", 3)), "1 dflt 3 int 2.000000");
  CHECK_EQ(Show(make(RecordObj::RuntimeTypeIndex(), "a", 1, "d", 2, "k", 3, "o", 1.5)),
           "1 dflt 3 float 2.000000");
  CHECK_EQ(Thrown([&] { make("test.services.Record", "a", 1, "a", 2); }),
           "TypeError: Field `a` of type `test.services.Record` is given twice");
  CHECK_EQ(Thrown([&] { make("test.services.Record", "a", 1, "zz", 2, "d", 1, "k", 1); }),
           "TypeError: Type `test.services.Record` does not have field `zz`");
  CHECK_EQ(Thrown([&] { make(); }),
           "InternalError: Check failed: (args.size() % 2 == 1) is false: ");
}

// ---- Types registered by a host language -------------------------------------------------------

// The memory of an object with the fields registered below.
struct Described {
  TVMFFIObject header;
  TVMFFIAny any;
  TVMFFIObject* object;
  int64_t number;
};

int Unchanged(void*, const TVMFFIAny* value, TVMFFIAny* out) {
  return TVMFFIAnyViewToOwnedAny(value, out);
}

void DefineField(int32_t type_index, const char* name, int32_t field_index, size_t offset,
                 size_t size) {
  Function setter =
      Global("ffi.MakeFieldSetter")(field_index, 0, reinterpret_cast<int64_t>(&Unchanged))
          .cast<Function>();
  TVMFFIFieldInfo info{};
  info.name = refl::AsByteArray(name);
  info.flags = kTVMFFIFieldFlagBitSetterIsFunctionObj | kTVMFFIFieldFlagBitMaskWritable;
  info.size = static_cast<int64_t>(size);
  info.alignment = 8;
  info.offset = static_cast<int64_t>(offset);
  info.getter = reinterpret_cast<TVMFFIFieldGetter>(
      Global("ffi.MakeFieldGetter")(field_index).cast<int64_t>());
  info.setter = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(setter);
  info.field_static_type_index = field_index;
  CHECK_EQ(TVMFFITypeRegisterField(type_index, &info), 0);
}

int32_t DescribeType() {
  TVMFFIByteArray key = refl::AsByteArray("test.services.Described");
  int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  DefineField(index, "any", kTVMFFIAny, offsetof(Described, any), sizeof(TVMFFIAny));
  DefineField(index, "object", kTVMFFIArray, offsetof(Described, object), sizeof(void*));
  DefineField(index, "number", kTVMFFIInt, offsetof(Described, number), sizeof(int64_t));
  Global("ffi._PyClassRegisterTypeAttrColumns")(index, static_cast<int64_t>(sizeof(Described)));
  return index;
}

TEST_CASE("types registered by a host language") {
  int32_t index = DescribeType();
  Array<int> shared = {1, 2};
  String text = "a text that lives on the heap";
  {
    ObjectRef made = InitOf(index)(text, shared, 5).cast<ObjectRef>();
    CHECK_EQ(made.type_index(), index);
    refl::FieldGetter any("test.services.Described", "any");
    refl::FieldGetter object("test.services.Described", "object");
    CHECK_EQ(any(made).cast<std::string>(), std::string(text));
    CHECK(object(made).cast<ObjectRef>().same_as(shared));
    CHECK_EQ(refl::FieldGetter("test.services.Described", "number")(made).cast<int>(), 5);
    CHECK_EQ(shared.use_count(), 2);
    auto copy = refl::TypeAttrColumn(type_attr::kShallowCopy)[index].cast<Function>();
    ObjectRef other = copy(made).cast<ObjectRef>();
    CHECK_EQ(shared.use_count(), 3);
    refl::FieldSetter("test.services.Described", "object")(other, nullptr);
    CHECK_EQ(shared.use_count(), 2);
    CHECK(object(other) == nullptr);
    CHECK_EQ(any(other).cast<std::string>(), std::string(text));
    CHECK_EQ(Thrown([&] { refl::FieldSetter("test.services.Described", "number")(other, "x"); }),
             "TypeError: Cannot convert from type `ffi.SmallStr` to `int`");
  }
  CHECK_EQ(shared.use_count(), 1);
}

TEST_CASE("unsupported fields") {
  CHECK_EQ(Thrown([] { Global("ffi.MakeFieldGetter")(kTVMFFIDLTensorPtr); }),
           "ValueError: cannot create a getter for fields of type index 7");
  CHECK_EQ(Thrown([] { Global("ffi.MakeFieldSetter")(-2, 0, 0); }),
           "ValueError: cannot create a setter for fields of type index -2");
  CHECK_EQ(Thrown([] { Global("ffi.MakeFieldSetter")(1, 0, 0); }),
           "ValueError: cannot create a setter: the conversion function is NULL");
  CHECK_EQ(Thrown([] { Global("ffi._PyClassRegisterTypeAttrColumns")(kTVMFFIObject, 8); }),
           "ValueError: the size of an object of type `ffi.Object` must be from 24 to 2147483647 "
           "bytes, got 8");
}

// ---- Conversions -------------------------------------------------------------------------------

TEST_CASE("conversions") {
  refl::TypeAttrColumn convert(type_attr::kConvert);
  auto to = [&](int32_t index) { return convert[index].cast<Function>(); };
  CHECK_EQ(to(kTVMFFIStr)("ab").cast<std::string>(), "ab");
  CHECK_EQ(to(kTVMFFIArray)(List<int>{1, 2}).GetTypeKey(), "ffi.Array");
  CHECK_EQ(to(kTVMFFIShape)(Array<int>{1, 2}).GetTypeKey(), "ffi.Shape");
  CHECK(to(kTVMFFITensor)(nullptr) == nullptr);
  CHECK_EQ(Thrown([&] { to(kTVMFFIMap)(1); }),
           "TypeError: Cannot cast from `int` to `Map<Any, Any>`");
}

}  // namespace
