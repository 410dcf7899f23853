// SPDX-License-Identifier: Apache-2.0
// Registration of type members: fields, methods, metadata, attribute columns.
#include <doctest/doctest.h>

#include <string>

#include "child_process.h"
#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

constexpr int32_t kNoType = 1 << 20;  // no object of this type is allocated here

int32_t NewType(std::string_view key, int32_t depth = 1, int32_t parent = kTVMFFIObject) {
  TVMFFIByteArray bytes = Bytes(key);
  return TVMFFITypeGetOrAllocIndex(&bytes, -1, depth, 0, 1, parent);
}

int GetField(void*, TVMFFIAny*) { return -1; }
int SetField(void*, const TVMFFIAny*) { return -1; }
int Create(TVMFFIObjectHandle*) { return -1; }
int DoNothing(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return 0; }

TVMFFIObjectHandle NewFunction() {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, &DoNothing, nullptr, &function), 0);
  return function;
}

TVMFFIFieldInfo FieldInfo(std::string_view name, int64_t flags = 0) {
  TVMFFIFieldInfo info = {};
  info.name = Bytes(name);
  info.doc = Bytes("documentation of the field");
  info.metadata = Bytes("{}");
  info.flags = flags;
  info.size = 8;
  info.alignment = 8;
  info.offset = 24;
  info.getter = &GetField;
  info.setter = reinterpret_cast<void*>(&SetField);
  info.default_value_or_factory = None();
  info.field_static_type_index = kTVMFFIInt;
  return info;
}

int RegisterField(int32_t type, const TVMFFIFieldInfo& info) {
  return TVMFFITypeRegisterField(type, &info);
}

int RegisterAttr(int32_t type, std::string_view name, const TVMFFIAny& value) {
  TVMFFIByteArray bytes = Bytes(name);
  return TVMFFITypeRegisterAttr(type, &bytes, &value);
}

const TVMFFITypeAttrColumn* Column(std::string_view name) {
  TVMFFIByteArray bytes = Bytes(name);
  return TVMFFIGetTypeAttrColumn(&bytes);
}

}  // namespace

TEST_CASE("fields keep their order and own copies of their strings") {
  int32_t type = NewType("test.Fields");
  for (int i = 0; i < 20; ++i) {
    std::string name = "a_field_with_a_long_name_" + std::to_string(i);
    TVMFFIFieldInfo info = FieldInfo(name, kTVMFFIFieldFlagBitMaskWritable);
    info.offset = 24 + 8 * i;
    CHECK_EQ(RegisterField(type, info), 0);
  }
  const TVMFFITypeInfo* registered = TVMFFIGetTypeInfo(type);
  CHECK_EQ(registered->num_fields, 20);
  for (int i = 0; i < 20; ++i) {
    const TVMFFIFieldInfo& field = registered->fields[i];
    CHECK_EQ(Text(field.name), "a_field_with_a_long_name_" + std::to_string(i));
    CHECK_EQ(Text(field.doc), "documentation of the field");
    CHECK_EQ(field.offset, 24 + 8 * i);
    CHECK_EQ(field.flags, 1);
    CHECK_EQ(field.size, 8);
    CHECK((field.getter == &GetField));
    CHECK(field.setter == reinterpret_cast<void*>(&SetField));
    CHECK_EQ(field.field_static_type_index, 1);
  }
}

TEST_CASE("a field name is unique within its type") {
  int32_t type = NewType("test.TwoFields");
  CHECK_EQ(RegisterField(type, FieldInfo("x")), 0);
  CHECK_RAISES(RegisterField(type, FieldInfo("x")), "InternalError", "`x`");
  CHECK_EQ(TVMFFIGetTypeInfo(type)->num_fields, 1);
}

TEST_CASE("names of members are UTF-8") {
  int32_t type = NewType("test.MemberNames");
  CHECK_RAISES(RegisterField(type, FieldInfo("x\xff")), "ValueError", "field `x\\xff`: expected");
  TVMFFIMethodInfo method = {};
  method.name = Bytes("m\xc3");
  CHECK_RAISES(TVMFFITypeRegisterMethod(type, &method), "ValueError", "method `m\\xc3`: expected");
  CHECK_EQ(TVMFFIGetTypeInfo(type)->num_fields, 0);
  CHECK_EQ(TVMFFIGetTypeInfo(type)->num_methods, 0);
}

TEST_CASE("a field of an unknown type is rejected") {
  CHECK_RAISES(RegisterField(kNoType, FieldInfo("x")), "InternalError", "1048576");
  CHECK_RAISES(RegisterField(-1, FieldInfo("x")), "InternalError", "-1");
}

TEST_CASE("a field that hides an ancestor's is kept with a warning") {
  ChildEnd end = RunInChild([] {
    int32_t parent = NewType("test.HidingParent");
    int32_t child = NewType("test.HidingChild", 2, parent);
    CHECK_EQ(RegisterField(parent, FieldInfo("hidden")), 0);
    CHECK_EQ(RegisterField(child, FieldInfo("hidden")), 0);
    CHECK_EQ(TVMFFIGetTypeInfo(child)->num_fields, 1);
  });
  CHECK_EQ(end.exit_status, 0);
  CHECK(end.stderr_text.find("warning") == 0);
  CHECK(end.stderr_text.find("hidden") != std::string::npos);
}

TEST_CASE("a default is retained only if the field has the flag") {
  int32_t type = NewType("test.Defaults");
  TVMFFIObjectHandle object = NewOpaque(nullptr, nullptr);
  TVMFFIFieldInfo info = FieldInfo("with", kTVMFFIFieldFlagBitMaskHasDefault);
  info.default_value_or_factory = ViewOf(object);
  CHECK_EQ(RegisterField(type, info), 0);
  CHECK_EQ(StrongCount(object), 2u);
  info = FieldInfo("without");
  info.default_value_or_factory = ViewOf(object);
  CHECK_EQ(RegisterField(type, info), 0);
  CHECK_EQ(StrongCount(object), 2u);
  const TVMFFIFieldInfo* fields = TVMFFIGetTypeInfo(type)->fields;
  CHECK(SameBytes(fields[0].default_value_or_factory, ViewOf(object)));
  CHECK(SameBytes(fields[1].default_value_or_factory, None()));
  TVMFFIObjectDecRef(object);
}

TEST_CASE("a function setter is retained") {
  int32_t type = NewType("test.FunctionSetter");
  TVMFFIObjectHandle setter = NewFunction();
  TVMFFIFieldInfo info = FieldInfo("x", kTVMFFIFieldFlagBitSetterIsFunctionObj);
  info.setter = setter;
  CHECK_EQ(RegisterField(type, info), 0);
  CHECK_EQ(StrongCount(setter), 2u);
  CHECK_RAISES(RegisterField(type, info), "InternalError", "`x`");
  CHECK_EQ(StrongCount(setter), 2u);
  info = FieldInfo("y", kTVMFFIFieldFlagBitSetterIsFunctionObj);
  info.setter = nullptr;  // read-only
  CHECK_EQ(RegisterField(type, info), 0);
  TVMFFIObjectDecRef(setter);
}

TEST_CASE("methods are appended and retained") {
  int32_t type = NewType("test.Methods");
  TVMFFIObjectHandle function = NewFunction();
  TVMFFIMethodInfo info = {};
  info.name = Bytes("run");
  info.doc = Bytes("runs");
  info.metadata = Bytes("{}");
  info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  info.method = ViewOf(function);
  for (int i = 0; i < 9; ++i) CHECK_EQ(TVMFFITypeRegisterMethod(type, &info), 0);
  CHECK_EQ(StrongCount(function), 10u);
  const TVMFFITypeInfo* registered = TVMFFIGetTypeInfo(type);
  CHECK_EQ(registered->num_methods, 9);
  CHECK_EQ(Text(registered->methods[8].name), "run");
  CHECK_EQ(registered->methods[8].flags, 4);
  CHECK(SameBytes(registered->methods[8].method, ViewOf(function)));
  CHECK_RAISES(TVMFFITypeRegisterMethod(kNoType, &info), "InternalError", "1048576");
  CHECK_EQ(StrongCount(function), 10u);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("metadata is copied and set once") {
  int32_t type = NewType("test.Metadata");
  std::string doc = "documentation of the type";
  TVMFFITypeMetadata metadata = {};
  metadata.doc = Bytes(doc);
  metadata.creator = &Create;
  metadata.total_size = 48;
  metadata.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  CHECK_EQ(TVMFFITypeRegisterMetadata(type, &metadata), 0);
  doc.assign(doc.size(), '?');
  metadata.total_size = 1;
  const TVMFFITypeMetadata* registered = TVMFFIGetTypeInfo(type)->metadata;
  CHECK_EQ(Text(registered->doc), "documentation of the type");
  CHECK((registered->creator == &Create));
  CHECK_EQ(registered->total_size, 48);
  CHECK_EQ(registered->structural_eq_hash_kind, 1);
  CHECK_RAISES(TVMFFITypeRegisterMetadata(type, &metadata), "RuntimeError", "test.Metadata");
  CHECK_EQ(TVMFFIGetTypeInfo(type)->metadata->total_size, 48);
  CHECK_RAISES(TVMFFITypeRegisterMetadata(kNoType, &metadata), "InternalError", "1048576");
}

TEST_CASE("well-known columns exist from the start") {
  for (const char* name : {"__ffi_new__", "__ffi_init__", "__ffi_convert__", "__ffi_shallow_copy__",
                           "__ffi_type_final__", "__any_hash__", "__any_equal__", "__ffi_repr__",
                           "__ffi_hash__", "__ffi_eq__", "__ffi_compare__", "__data_to_json__",
                           "__data_from_json__", "__s_equal__", "__s_hash__", "__ffi_enum__",
                           "__s_visit__", "__s_mutate__", "__s_maybe_inplace_mutate__"}) {
    CHECK(Column(name) != nullptr);
    CHECK_EQ(Column(name)->begin_index, 0);
  }
  CHECK(Column("__ffi_convert_type_schema__") == nullptr);
}

TEST_CASE("index zero only creates the column") {
  CHECK(Column("test.column") == nullptr);
  CHECK_EQ(RegisterAttr(kTVMFFINone, "test.column", Int(1)), 0);
  const TVMFFITypeAttrColumn* column = Column("test.column");
  CHECK(column != nullptr);
  CHECK_EQ(column->size, 0);
  CHECK_EQ(RegisterAttr(kTVMFFINone, "test.column", Int(1)), 0);
  CHECK_EQ(Column("test.column"), column);
}

TEST_CASE("a column grows in place and fills gaps with None") {
  CHECK_EQ(RegisterAttr(70, "test.growing", Int(70)), 0);
  const TVMFFITypeAttrColumn* column = Column("test.growing");
  CHECK_EQ(column->size, 71);
  CHECK_EQ(RegisterAttr(5000, "test.growing", Bool(true)), 0);  // no type has this index
  CHECK_EQ(RegisterAttr(3, "test.growing", Int(3)), 0);
  CHECK_EQ(Column("test.growing"), column);
  CHECK_EQ(column->size, 5001);
  CHECK_EQ(column->begin_index, 0);
  CHECK(SameBytes(column->data[3], Int(3)));
  CHECK(SameBytes(column->data[70], Int(70)));
  CHECK(SameBytes(column->data[5000], Bool(true)));
  CHECK(SameBytes(column->data[0], None()));
  CHECK(SameBytes(column->data[4999], None()));
}

TEST_CASE("an attribute is set once per type") {
  CHECK_EQ(RegisterAttr(70, "test.once", Int(1)), 0);
  CHECK_RAISES(RegisterAttr(70, "test.once", Int(2)), "RuntimeError",
               "TypeAttr `test.once` is already registered for type index 70");
  CHECK(SameBytes(Column("test.once")->data[70], Int(1)));
  CHECK_EQ(RegisterAttr(71, "test.once", Int(3)), 0);
  CHECK_EQ(RegisterAttr(4999, "test.once", Int(4)), 0);  // no type has this index
  CHECK_RAISES(RegisterAttr(4999, "test.once", Int(5)), "RuntimeError",
               "already registered for type index 4999 (`<unregistered type 4999>`)");
}

TEST_CASE("an attribute is kept as an owned value") {
  TVMFFIObjectHandle object = NewOpaque(nullptr, nullptr);
  CHECK_EQ(RegisterAttr(70, "test.owned", ViewOf(object)), 0);
  CHECK_EQ(StrongCount(object), 2u);
  CHECK_RAISES(RegisterAttr(70, "test.owned", ViewOf(object)), "RuntimeError", "test.owned");
  CHECK_EQ(StrongCount(object), 2u);
  TVMFFIObjectDecRef(object);
  std::string text = "text that is longer than seven bytes";
  CHECK_EQ(RegisterAttr(71, "test.owned", RawStr(text.c_str())), 0);
  text.assign(text.size(), '?');
  CHECK_EQ(TextOf(Column("test.owned")->data[71]), "text that is longer than seven bytes");
}

TEST_CASE("an attribute index out of range is a value error") {
  for (int32_t index : {-1, INT32_MIN, INT32_MAX}) {
    CHECK_RAISES(RegisterAttr(index, "test.range", Int(1)), "ValueError",
                 "type index must be in 0..4194303, got ");
  }
}

TEST_CASE("threads read columns while others are registered") {
  CHECK_EQ(RegisterAttr(70, "test.read", Int(7)), 0);
  RunTogether(4, [](int i) {
    for (int round = 0; round < 50; ++round) {
      std::string own = "test.thread." + std::to_string(i) + "." + std::to_string(round);
      CHECK_EQ(RegisterAttr(70, own, Int(i)), 0);
      CHECK(SameBytes(Column("test.read")->data[70], Int(7)));
      CHECK(SameBytes(Column(own)->data[70], Int(i)));
    }
  });
}
