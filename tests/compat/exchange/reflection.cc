// SPDX-License-Identifier: Apache-2.0
// Classes, functions and enums that one library registers and the other uses by name.
//
// Both libraries declare the classes here, but only the library of the step `register_...`
// registers them; the other one reads the type table and attributes.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/overload.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

// ---- A class with fields, methods and a constructor ---------------------------------------------

class PairObj : public Object {
 public:
  int64_t first = 0;
  String second;
  Optional<double> weight;
  Array<int64_t> history;

  PairObj() = default;
  PairObj(int64_t first, String second) : first(first), second(std::move(second)) {}
  int64_t Add(int64_t number) {
    history.push_back(number);
    return first += number;
  }
  String Text() const { return second + ":" + String(std::to_string(first)); }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("exchange.Pair", PairObj, Object);
};
class LabelledPairObj : public PairObj {
 public:
  String label = "none";
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.LabelledPair", LabelledPairObj, PairObj);
};

bool RegisterPairs() {
  refl::ObjectDef<PairObj>("A number and a text.")
      .def(refl::init<int64_t, String>())
      .def_rw("first", &PairObj::first, "The number.")
      .def_ro("second", &PairObj::second)
      .def_rw("weight", &PairObj::weight, refl::DefaultValue(nullptr))
      .def_ro("history", &PairObj::history)
      .def("add", &PairObj::Add, "Adds to the number.")
      .def("text", &PairObj::Text)
      .def_static("zero", []() { return ObjectRef(make_object<PairObj>(0, "zero")); });
  refl::ObjectDef<LabelledPairObj>(refl::init(false))
      .def_ro("label", &LabelledPairObj::label, refl::DefaultValue("none"));
  refl::GlobalDef().def("exchange.pair_number", [](const PairObj* pair) { return pair->first; });
  refl::TypeAttrDef<PairObj>().def("exchange.swap", [](const PairObj* pair) {
    return pair->second + String(std::to_string(pair->first + 1));
  });
  return true;
}
ObjectRef RegisterAndMakePair(Any) {
  [[maybe_unused]] static bool registered = RegisterPairs();
  return ObjectRef(make_object<PairObj>(3, "three, as a text on the heap"));
}

ObjectRef UsePair(ObjectRef pair) {
  const char* key = "exchange.Pair";
  CHECK_EQ(pair.GetTypeKey(), key);
  CHECK_EQ(refl::FieldGetter(key, "first")(pair).cast<int64_t>(), 3);
  CHECK_EQ(refl::FieldGetter(key, "second")(pair).cast<String>(), "three, as a text on the heap");
  CHECK(refl::FieldGetter(key, "weight")(pair) == nullptr);
  refl::FieldSetter(key, "weight")(pair, 0.5);
  CHECK_EQ(refl::FieldGetter(key, "weight")(pair).cast<double>(), 0.5);
  CHECK_EQ(refl::GetMethod(key, "add")(pair, 4).cast<int64_t>(), 7);
  CHECK_EQ(refl::FieldGetter(key, "history")(pair).cast<Array<int64_t>>()[0], 4);
  CHECK_EQ(refl::GetMethod(key, "text")(pair).cast<String>(), "three, as a text on the heap:7");
  CHECK_EQ(Function::GetGlobalRequired("exchange.pair_number")(pair).cast<int64_t>(), 7);
  Function swap = refl::TypeAttrColumn("exchange.swap")[pair.type_index()].cast<Function>();
  CHECK_EQ(swap(pair).cast<String>(), "three, as a text on the heap8");
  std::string mismatch;
  try {
    refl::GetMethod(key, "add")(pair, "text");
  } catch (const Error& error) {
    mismatch = error.message();
  }
  CHECK_EQ(mismatch,
           "Mismatched type on argument #1 when calling: `exchange.Pair.add(0: exchange.Pair, "
           "1: int) -> int`. Expected `int` but got `const char*`");
  return pair;
}
void CheckUsedPair(ObjectRef ref) {
  const auto* pair = ref.as<PairObj>();
  CHECK_EQ(pair->first, 7);
  CHECK_EQ(pair->weight.value(), 0.5);
  CHECK_EQ(pair->history.size(), size_t{1});
}
// Creates objects of the other library's class on four paths; the number in each object is 5.
Array<ObjectRef> CreatePairs(ObjectRef example) {
  const char* key = "exchange.Pair";
  Array<ObjectRef> pairs;
  Function init = refl::GetMethod(key, "__ffi_init__");
  pairs.push_back(init(5, "made by the constructor").cast<ObjectRef>());
  pairs.push_back(refl::ObjectCreator(key)(Map<String, Any>{{"first", 5},
                                                            {"second", "made from fields"},
                                                            {"history", Array<int64_t>()}})
                      .cast<ObjectRef>());
  pairs.push_back(refl::GetMethod(key, "zero")().cast<ObjectRef>());
  refl::FieldSetter(key, "first")(pairs[2], 5);
  Function copy =
      refl::TypeAttrColumn("__ffi_shallow_copy__")[example.type_index()].cast<Function>();
  pairs.push_back(copy(example).cast<ObjectRef>());
  CHECK(!pairs[3].same_as(example));
  refl::FieldSetter(key, "first")(pairs[3], 5);
  return pairs;
}
void CheckCreatedPairs(Array<ObjectRef> pairs) {
  const char* texts[] = {"made by the constructor", "made from fields", "zero",
                         "three, as a text on the heap"};
  CHECK_EQ(pairs.size(), size_t{4});
  for (int64_t i = 0; i < 4; ++i) {
    CHECK_EQ(pairs[i].as<PairObj>()->first, 5);
    CHECK_EQ(pairs[i].as<PairObj>()->second, texts[i]);
  }
}
Any CheckPairTable(Any value) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(TypeKeyToIndex("exchange.LabelledPair"));
  std::string names;
  refl::ForEachFieldInfo(info, [&](const TVMFFIFieldInfo* field) {
    names.append(field->name.data, field->name.size);
    names += (field->flags & kTVMFFIFieldFlagBitMaskWritable) != 0 ? " rw;" : " ro;";
  });
  CHECK_EQ(names, "first rw;second ro;weight rw;history ro;label ro;");
  const TVMFFIMethodInfo* add = refl::GetMethodInfo("exchange.Pair", "add");
  CHECK_EQ(std::string(add->doc.data, add->doc.size), "Adds to the number.");
  CHECK_EQ(std::string(add->metadata.data, add->metadata.size),
           "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":{\\\"return"
           "\\\":[{\\\"type\\\":\\\"int\\\"}],\\\"params\\\":[{\\\"type\\\":\\\"exchange.Pair\\\"},"
           "{\\\"type\\\":\\\"int\\\"}]}}\"}");
  CHECK_EQ(info->metadata->total_size, static_cast<int32_t>(sizeof(LabelledPairObj)));
  ObjectRef made = refl::ObjectCreator("exchange.LabelledPair")(
                       Map<String, Any>{{"first", 1}, {"second", ""}, {"history", Array<Any>()}})
                       .cast<ObjectRef>();
  CHECK_EQ(refl::FieldGetter("exchange.LabelledPair", "label")(made).cast<String>(), "none");
  return value;
}

// ---- Overloads ----------------------------------------------------------------------------------

class NumberObj : public Object {
 public:
  int64_t number;
  explicit NumberObj(int64_t number) : number(number) {}
  explicit NumberObj(const String& text) : number(static_cast<int64_t>(text.size())) {}
  int64_t PlusInt(int64_t other) const { return number + other; }
  String PlusText(const String& other) const { return String(std::to_string(number)) + other; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Number", NumberObj, Object);
};
bool RegisterNumber() {
  refl::OverloadObjectDef<NumberObj>()
      .def(refl::init<int64_t>())
      .def(refl::init<String>())
      .def("plus", &NumberObj::PlusInt)
      .def("plus", &NumberObj::PlusText);
  return true;
}
Any RegisterOverloads(Any) {
  [[maybe_unused]] static bool registered = RegisterNumber();
  return nullptr;
}
void UseOverloads(Any) {
  Function init = refl::GetMethod("exchange.Number", "__ffi_init__");
  Function plus = refl::GetMethod("exchange.Number", "plus");
  CHECK_EQ(plus(init(40), 2).cast<int64_t>(), 42);
  CHECK_EQ(plus(init("four"), "ty").cast<String>(), "4ty");
  CHECK_EQ(plus.CallExpected<Any>(init(1), nullptr).error().kind(), "TypeError");
}

// ---- Enums --------------------------------------------------------------------------------------

class ColourObj : public EnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Colour", ColourObj, EnumObj);
};
class Colour : public Enum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Colour, Enum, ColourObj);
};
bool RegisterColours() {
  refl::ObjectDef<ColourObj>(refl::init(false));
  refl::EnumDef<ColourObj>("RED").set_attr("exchange.wavelength", 700);
  refl::EnumDef<ColourObj>("BLUE").set_attr("exchange.wavelength", 450);
  return true;
}
ObjectRef RegisterEnum(Any) {
  [[maybe_unused]] static bool registered = RegisterColours();
  return EnumObj::_GetByStrIndex<ColourObj>("BLUE");
}
void UseEnum(Colour blue) {
  CHECK_EQ(blue->_int_index, 1);
  CHECK_EQ(blue->_str_index, "BLUE");
  CHECK(EnumObj::_GetByIntIndex<ColourObj>(1).same_as(blue));
  CHECK(!EnumObj::_GetByStrIndex<ColourObj>("RED").same_as(blue));
  CHECK(refl::EnumDef<ColourObj>::IsDefined("RED"));
  CHECK(!refl::EnumDef<ColourObj>::IsDefined("GREEN"));
}

// ---- Access paths, whose class the runtime registers
// ---------------------------------------------

refl::AccessPath MakePath(Any) {
  return refl::AccessPath::Root()->Attr("field")->ArrayItem(3)->MapItem("some longer key");
}
void CheckPath(refl::AccessPath path) {
  refl::AccessPath own = MakePath(nullptr);
  CHECK_EQ(path->depth, 3);
  CHECK(path->PathEqual(own));
  CHECK(refl::AccessPath::Root()->Attr("field")->IsPrefixOf(path));
  CHECK(!refl::AccessPath::Root()->Attr("other")->IsPrefixOf(path));
  Array<refl::AccessStep> steps = path->ToSteps();
  CHECK_EQ(steps.size(), size_t{3});
  CHECK_EQ(steps[1]->key.cast<int64_t>(), 3);
  CHECK_EQ(steps[2]->key.cast<String>(), "some longer key");
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(register_and_make_pair, exchange::RegisterAndMakePair)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_pair, exchange::UsePair)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_used_pair, exchange::CheckUsedPair)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(create_pairs, exchange::CreatePairs)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_created_pairs, exchange::CheckCreatedPairs)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_pair_table, exchange::CheckPairTable)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(register_overloads, exchange::RegisterOverloads)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_overloads, exchange::UseOverloads)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(register_enum, exchange::RegisterEnum)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_enum, exchange::UseEnum)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_path, exchange::MakePath)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_path, exchange::CheckPath)
