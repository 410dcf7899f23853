// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/registry.h>

#include "nesting.h"
#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

// Counts the live objects of its class.
class NodeObj : public Object {
 public:
  int64_t id = 0;
  Any left;
  Any right;

  NodeObj() { ++alive; }
  NodeObj(Any left, Any right) : left(std::move(left)), right(std::move(right)) { ++alive; }
  NodeObj(const NodeObj& other)
      : Object(other), id(other.id), left(other.left), right(other.right) {
    ++alive;
  }
  ~NodeObj() { --alive; }
  static int alive;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.copy.Node", NodeObj, Object);
};
int NodeObj::alive = 0;

class Node : public ObjectRef {
 public:
  Node(Any left, Any right)
      : ObjectRef(ObjectPtr<Object>(make_object<NodeObj>(std::move(left), std::move(right)))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Node, ObjectRef, NodeObj);
};

class ChildObj : public NodeObj {
 public:
  List<Any> items;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.Child", ChildObj, NodeObj);
};
// A class whose field accepts only nodes.
class FamilyObj : public Object {
 public:
  Array<Node> members;
  explicit FamilyObj(Array<Node> members) : members(std::move(members)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.Family", FamilyObj, Object);
};
class NotCopyableObj : public Object {
 public:
  NotCopyableObj() = default;
  NotCopyableObj(const NotCopyableObj&) = delete;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.NotCopyable", NotCopyableObj, Object);
};
// A class that is declared immutable.
class ConstantObj : public Object {
 public:
  List<Any> items;
  ConstantObj() = default;
  ConstantObj(const ConstantObj&) = delete;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.Constant", ConstantObj, Object);
};
// A class whose copy hook returns an object of another type.
class ImpostorObj : public Object {
 public:
  ImpostorObj() = default;
  ImpostorObj(const ImpostorObj&) = delete;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.Impostor", ImpostorObj, Object);
};
// A class whose setter fails while `refuse` is set.
class RefusingObj : public Object {
 public:
  Any part;
  static bool refuse;
  explicit RefusingObj(Any part) : part(std::move(part)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.Refusing", RefusingObj, Object);
};
bool RefusingObj::refuse = false;
class ReadOnlyObj : public Object {
 public:
  Any part;
  explicit ReadOnlyObj(Any part) : part(std::move(part)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.ReadOnly", ReadOnlyObj, Object);
};
class ColorObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.copy.Color", ColorObj, EnumObj);
};

int GetPart(void* field, TVMFFIAny* result) {
  return TVMFFIAnyViewToOwnedAny(static_cast<const TVMFFIAny*>(field), result);
}
int SetUnlessRefusing(void* field, const TVMFFIAny* value) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (RefusingObj::refuse) TVM_FFI_THROW(ValueError) << "refused";
  *static_cast<Any*>(field) = AnyView::CopyFromTVMFFIAny(*value);
  TVM_FFI_SAFE_CALL_END();
}

// A field that is registered without C++ templates, as C clients register it.
void DefinePart(int32_t type_index, int64_t offset, TVMFFIFieldSetter setter) {
  TVMFFIFieldInfo info{};
  info.name = refl::AsByteArray("part");
  info.size = sizeof(Any);
  info.alignment = alignof(Any);
  info.offset = offset;
  info.getter = &GetPart;
  info.setter = reinterpret_cast<void*>(setter);
  info.field_static_type_index = kTVMFFIAny;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterField(type_index, &info));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<NodeObj>()
      .def_ro("id", &NodeObj::id)
      .def_ro("left", &NodeObj::left)
      .def_rw("right", &NodeObj::right);
  refl::ObjectDef<ChildObj>().def_ro("items", &ChildObj::items);
  refl::ObjectDef<FamilyObj>(refl::init(false)).def_ro("members", &FamilyObj::members);
  refl::ObjectDef<NotCopyableObj>();
  refl::ObjectDef<ConstantObj>()
      .def_ro("items", &ConstantObj::items)
      .def_type_attr("__ffi_shallow_copy__",
                     [](const ConstantObj* self) { return GetRef<ObjectRef>(self); });
  refl::ObjectDef<ImpostorObj>().def_type_attr("__ffi_shallow_copy__", [](const ImpostorObj*) {
    return ObjectRef(ObjectPtr<Object>(make_object<ConstantObj>()));
  });
  refl::ObjectDef<RefusingObj>(refl::init(false));
  DefinePart(RefusingObj::_GetOrAllocRuntimeTypeIndex(),
             refl::GetFieldByteOffsetToObject(&RefusingObj::part), &SetUnlessRefusing);
  refl::ObjectDef<ReadOnlyObj>(refl::init(false));
  DefinePart(ReadOnlyObj::_GetOrAllocRuntimeTypeIndex(),
             refl::GetFieldByteOffsetToObject(&ReadOnlyObj::part), nullptr);
  refl::ObjectDef<ColorObj>(refl::init(false));
  refl::EnumDef<ColorObj>("red");
}

template <typename T, typename... Args>
Any Make(Args&&... args) {
  return ObjectRef(ObjectPtr<Object>(make_object<T>(std::forward<Args>(args)...)));
}
Any MakeNode(Any left, Any right) { return Node(std::move(left), std::move(right)); }
NodeObj* At(const Any& node) { return const_cast<NodeObj*>(node.as<NodeObj>()); }
List<Any> ListAt(const Any& value) { return value.as_or_throw<List<Any>>(); }
Array<Any> ArrayAt(const Any& value) { return value.as_or_throw<Array<Any>>(); }
std::string Repr(const Any& value) { return ReprPrint(value); }
bool IsShared(const Any& value) { return DeepCopy(value).same_as(value); }

TEST_CASE("immutable values are shared") {
  CHECK(IsShared(nullptr));
  CHECK(IsShared(1));
  CHECK(IsShared(true));
  CHECK(IsShared(1.5));
  CHECK(IsShared("short"));
  CHECK(IsShared("a long string on the heap"));
  CHECK(IsShared(Bytes("long bytes on the heap", 22)));
  CHECK(IsShared(Shape{1, 2}));
  CHECK(IsShared(BigInt(1) << 64));
  CHECK(IsShared(DLDataType{kDLFloat, 32, 1}));
  CHECK(IsShared(DLDevice{kDLCUDA, 1}));
  CHECK(IsShared(reinterpret_cast<void*>(1)));
  CHECK(IsShared(EnumObj::_GetByStrIndex<ColorObj>("red")));
}

TEST_CASE("containers are copied") {
  for (const Any& value : std::initializer_list<Any>{
           Array<Any>{}, Array<Any>{1, "a"}, List<Any>{}, List<Any>{1}, Map<Any, Any>{},
           Map<Any, Any>{{1, 2}}, Dict<Any, Any>{}, Dict<Any, Any>{{"k", 1}}}) {
    Any copy = DeepCopy(value);
    CHECK(!copy.same_as(value));
    CHECK_EQ(copy.type_index(), value.type_index());
    CHECK_EQ(Repr(copy), Repr(value));
  }
}

TEST_CASE("copies are independent") {
  List<Any> inner{1};
  Map<Any, Any> map{{"k", Array<Any>{inner}}};
  Any copy = DeepCopy(map);
  inner.Set(0, 2);
  CHECK_EQ(Repr(map), "{\"k\": ([2],)}");
  CHECK_EQ(Repr(copy), "{\"k\": ([1],)}");
}

TEST_CASE("copies of containers work") {
  Array<Any> empty = ArrayAt(DeepCopy(Array<Any>{}));
  for (int i = 0; i < 9; ++i) empty.push_back(i);
  CHECK_EQ(Repr(empty), "(0, 1, 2, 3, 4, 5, 6, 7, 8)");
  List<Any> list = ListAt(DeepCopy(List<Any>{}));
  for (int i = 0; i < 9; ++i) list.push_back(i);
  CHECK_EQ(Repr(list), "[0, 1, 2, 3, 4, 5, 6, 7, 8]");
  auto dict = DeepCopy(Dict<Any, Any>{{0, 0}}).as_or_throw<Dict<Any, Any>>();
  for (int i = 1; i < 9; ++i) dict.Set(i, i);
  CHECK_EQ(Repr(dict), "{0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8}");
}

TEST_CASE("tables keep their order") {
  Map<Any, Any> map;
  for (int i = 0; i < 7; ++i) map.Set(6 - i, List<Any>{i});
  Any copy = DeepCopy(map);
  CHECK_EQ(Repr(copy), "{6: [0], 5: [1], 4: [2], 3: [3], 2: [4], 1: [5], 0: [6]}");
  CHECK_EQ(Repr(copy.as_or_throw<Map<Any, Any>>()[2]), "[4]");
}

// Objects as map keys are found by their address.
TEST_CASE("keys are copied too") {
  for (int size : {1, 7}) {
    Dict<Any, Any> dict;
    List<Any> keys;
    for (int i = 0; i < size; ++i) {
      keys.push_back(Array<Any>{i});
      dict.Set(keys[i], i);
    }
    Array<Any> copy = ArrayAt(DeepCopy(Array<Any>{keys, dict}));
    auto copied = copy[1].as_or_throw<Dict<Any, Any>>();
    CHECK_EQ(copied.size(), static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) {
      CHECK_EQ(copied.count(keys[i]), size_t{0});
      CHECK_EQ(copied[ListAt(copy[0])[i]].cast<int>(), i);
    }
  }
}

TEST_CASE("objects are copied with all fields") {
  auto child = make_object<ChildObj>();
  child->id = 5;
  child->left = List<Any>{1};
  child->right = "text";
  child->items = List<Any>{2};
  Any original = ObjectRef(ObjectPtr<Object>(child));
  Any copy = DeepCopy(original);
  CHECK_EQ(copy.type_index(), ChildObj::RuntimeTypeIndex());
  CHECK_EQ(Repr(copy), "test.copy.Child(id=5, left=[1], right=\"text\", items=[2])");
  CHECK(!copy.same_as(original));
  CHECK(!At(copy)->left.same_as(child->left));
  CHECK(!copy.as<ChildObj>()->items.same_as(child->items));
}

TEST_CASE("sharing is preserved") {
  List<Any> shared{1};
  Any copy = DeepCopy(Array<Any>{shared, MakeNode(shared, shared)});
  Any first = ArrayAt(copy)[0];
  Any node = ArrayAt(copy)[1];
  CHECK(!first.same_as(shared));
  CHECK(At(node)->left.same_as(first));
  CHECK(At(node)->right.same_as(first));
}

TEST_CASE("shared children are copied once") {
  Any leaf = MakeNode(nullptr, nullptr);
  int before = NodeObj::alive;
  Any copy = DeepCopy(Doubled(60, leaf));
  CHECK_EQ(NodeObj::alive, before + 1);
}

TEST_CASE("cycles are preserved") {
  List<Any> list{1};
  list.push_back(list);
  List<Any> copied_list = ListAt(DeepCopy(list));
  CHECK(copied_list[1].same_as(copied_list));
  CHECK(!copied_list.same_as(list));
  list.clear();
  copied_list.clear();

  Any node = MakeNode(nullptr, nullptr);
  At(node)->left = node;
  Any copied_node = DeepCopy(node);
  CHECK(At(copied_node)->left.same_as(copied_node));
  CHECK(!copied_node.same_as(node));
  At(node)->left = nullptr;
  At(copied_node)->left = nullptr;
}

TEST_CASE("cycles through immutable containers are preserved") {
  Any node = MakeNode(nullptr, nullptr);
  Array<Any> array{node};
  At(node)->left = array;
  Any copied_array = DeepCopy(array);
  Any copied_node = ArrayAt(copied_array)[0];
  CHECK(At(copied_node)->left.same_as(copied_array));
  CHECK(!copied_node.same_as(node));
  At(copied_node)->left = nullptr;

  Map<Any, Any> map{{node, 1}, {"k", node}};
  At(node)->left = map;
  auto copied_map = DeepCopy(map).as_or_throw<Map<Any, Any>>();
  Any key = copied_map["k"];
  CHECK_EQ(copied_map[key].cast<int>(), 1);
  CHECK_EQ(copied_map.count(node), size_t{0});
  CHECK(At(key)->left.same_as(copied_map));
  At(key)->left = nullptr;
  At(node)->left = nullptr;
}

// A copy never sets typed fields to a partially copied container.
TEST_CASE("cycles through typed fields are preserved") {
  Any node = MakeNode(nullptr, nullptr);
  Any family = Make<FamilyObj>(Array<Node>{node.as_or_throw<Node>()});
  At(node)->left = family;
  Any root = family.as<FamilyObj>()->members;
  Any copy = DeepCopy(root);
  Any copied_node = ArrayAt(copy)[0];
  CHECK(At(copied_node)->left.as<FamilyObj>()->members.same_as(copy.as_or_throw<ObjectRef>()));
  At(node)->left = nullptr;
  At(copied_node)->left = nullptr;
}

TEST_CASE("objects that cannot be copied are errors") {
  auto text = [](const char* type) {
    return "InternalError: Cannot deep copy object of type \"" + std::string(type) +
           "\" because it is not copy-constructible";
  };
  CHECK_EQ(Thrown([] { DeepCopy(Make<NotCopyableObj>()); }), text("test.copy.NotCopyable"));
  CHECK_EQ(Thrown([] { DeepCopy(Array<Any>{1, Make<NotCopyableObj>()}); }),
           text("test.copy.NotCopyable"));
  CHECK_EQ(Thrown([] { DeepCopy(Function::FromTyped([] {})); }), text("ffi.Function"));
  CHECK_EQ(Thrown([] { DeepCopy(Error("ValueError", "x", "")); }), text("ffi.Error"));
}

TEST_CASE("an object that returns itself is shared") {
  Any constant = Make<ConstantObj>();
  List<Any> items = constant.as<ConstantObj>()->items;
  List<Any> copy = ListAt(DeepCopy(List<Any>{constant, items}));
  CHECK(copy[0].same_as(constant));
  CHECK(constant.as<ConstantObj>()->items.same_as(items));
  CHECK(!copy[1].same_as(items));
}

TEST_CASE("a copy of another type is refused") {
  CHECK_EQ(Thrown([] { DeepCopy(Make<ImpostorObj>()); }),
           "TypeError: __ffi_shallow_copy__ of type `test.copy.Impostor` returned a value of type "
           "`test.copy.Constant`");
}

TEST_CASE("a field without setter is an error if its value must change") {
  Any copy = DeepCopy(Make<ReadOnlyObj>(7));
  CHECK_EQ(copy.as<ReadOnlyObj>()->part.cast<int>(), 7);
  CHECK_EQ(Thrown([] { DeepCopy(Make<ReadOnlyObj>(List<Any>{})); }),
           "TypeError: Cannot deep copy field `part` of type `test.copy.ReadOnly` because it does "
           "not define a setter");
}

// A cycle of copies would keep itself alive.
TEST_CASE("a failed copy leaks nothing") {
  for (const Any& last : {Make<RefusingObj>(List<Any>{}), Make<NotCopyableObj>()}) {
    Any node = MakeNode(nullptr, nullptr);
    Dict<Any, Any> dict{{"node", node}, {node, node}};
    At(node)->left = List<Any>{node, dict};
    At(node)->right = node;
    int before = NodeObj::alive;
    RefusingObj::refuse = true;
    CHECK(Thrown([&] { DeepCopy(Array<Any>{node, last}); }) != "");
    RefusingObj::refuse = false;
    CHECK_EQ(NodeObj::alive, before);
    At(node)->left = nullptr;
    At(node)->right = nullptr;
    dict.clear();
  }
  CHECK_EQ(NodeObj::alive, 0);
}

TEST_CASE("the first error is reported") {
  RefusingObj::refuse = true;
  Any refusing = Make<RefusingObj>(Make<RefusingObj>(List<Any>{}));
  CHECK_EQ(Thrown([&] { DeepCopy(refusing); }), "ValueError: refused");
  RefusingObj::refuse = false;
}

TEST_CASE("deep nesting needs no machine stack") {
  Nested nested(200000, 1, [](const Any& part) { return MakeNode(part, nullptr); });
  Any copy = DeepCopy(nested.value());
  CHECK_EQ(NodeObj::alive, 400000);
  while (copy.as<NodeObj>() != nullptr) {
    Any inner = std::move(At(copy)->left);
    copy = inner;
  }
  CHECK_EQ(copy.cast<int>(), 1);
  CHECK_EQ(NodeObj::alive, 200000);
}

TEST_CASE("global function") {
  List<Any> list{1};
  Any copy = Function::GetGlobalRequired("ffi.DeepCopy")(list);
  CHECK(!copy.same_as(list));
  CHECK_EQ(Repr(copy), "[1]");
}

}  // namespace
