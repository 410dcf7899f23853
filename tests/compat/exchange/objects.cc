// SPDX-License-Identifier: Apache-2.0
// Classes that both libraries define under the same type keys: one creates the objects, the other
// reads their fields, checks their class, holds weak references and releases them.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

// Destructors are code of this library, whichever library releases the last reference.
int64_t& LiveNodes() {
  static int64_t count = 0;
  return count;
}

// ---- A hierarchy: one child has a reserved index, the others do not
// ------------------------------

class NodeObj : public Object {
 public:
  int64_t number;
  explicit NodeObj(int64_t number) : number(number) { ++LiveNodes(); }
  ~NodeObj() { --LiveNodes(); }
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("exchange.Node", NodeObj, Object);
};
class BranchObj : public NodeObj {
 public:
  Array<ObjectRef> children;
  explicit BranchObj(int64_t number) : NodeObj(number) {}
  static constexpr uint32_t _type_child_slots = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("exchange.Branch", BranchObj, NodeObj);
};
class ForkObj : public BranchObj {
 public:
  explicit ForkObj(int64_t number) : BranchObj(number) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Fork", ForkObj, BranchObj);
};
class LeafObj : public NodeObj {
 public:
  String text;
  LeafObj(int64_t number, String text) : NodeObj(number), text(std::move(text)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Leaf", LeafObj, NodeObj);
};
class Node : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Node, ObjectRef, NodeObj);
};
class Leaf : public Node {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Leaf, Node, LeafObj);
};

// A fork with a leaf and a branch as children.
Node MakeTree(Any) {
  ObjectPtr<ForkObj> fork = make_object<ForkObj>(1);
  fork->children.push_back(Node(make_object<LeafObj>(2, "a leaf with some text")));
  fork->children.push_back(Node(make_object<BranchObj>(3)));
  return Node(fork);
}
Node CheckTree(Node tree) {
  const auto* fork = tree.as<ForkObj>();
  CHECK(fork != nullptr);
  CHECK(tree.as<BranchObj>() == fork);
  CHECK(tree.as<NodeObj>() == fork);
  CHECK(tree.as<LeafObj>() == nullptr);
  CHECK_EQ(tree.GetTypeKey(), "exchange.Fork");
  CHECK_EQ(tree.type_index(), ForkObj::RuntimeTypeIndex());
  CHECK_EQ(fork->number, 1);
  CHECK_EQ(fork->children.size(), size_t{2});
  Leaf leaf = fork->children[0].as<Leaf>().value();
  CHECK_EQ(leaf->number, 2);
  CHECK_EQ(leaf->text, "a leaf with some text");
  CHECK(fork->children[1].as<BranchObj>() != nullptr);
  CHECK(fork->children[1].as<ForkObj>() == nullptr);
  CHECK(!fork->children[1].as<Leaf>().has_value());
  return tree;
}
// Reserved slots directly follow the parent's index; all three classes get the same indices in both
// libraries.
Any CheckIndices(Any value) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(ForkObj::RuntimeTypeIndex());
  CHECK_EQ(info->type_depth, 3);
  CHECK_EQ(info->type_ancestors[2]->type_index, BranchObj::RuntimeTypeIndex());
  CHECK_EQ(info->type_ancestors[1]->type_index, NodeObj::RuntimeTypeIndex());
  CHECK(NodeObj::RuntimeTypeIndex() < BranchObj::RuntimeTypeIndex());
  CHECK_EQ(TypeKeyToIndex("exchange.Leaf"), LeafObj::RuntimeTypeIndex());
  CHECK_EQ(LeafObj::_type_index, LeafObj::RuntimeTypeIndex());
  return value;
}
int64_t IndexOfLeaf(Any) { return LeafObj::RuntimeTypeIndex(); }
void CheckIndexOfLeaf(int64_t index) { CHECK_EQ(LeafObj::RuntimeTypeIndex(), index); }

// Replaces a child, which releases the last reference to the other library's leaf.
Node PruneTree(Node tree) {
  auto* fork = const_cast<ForkObj*>(tree.as<ForkObj>());
  fork->children.Set(0, Node(make_object<LeafObj>(4, "grafted")));
  fork->number = 10;
  return tree;
}
void CheckPrunedTree(Node tree) {
  const auto* fork = tree.as<ForkObj>();
  CHECK_EQ(fork->number, 10);
  CHECK_EQ(fork->children[0].as<Leaf>().value()->text, "grafted");
}
Any CheckLiveNodes(Any value, int64_t count) {
  CHECK_EQ(LiveNodes(), count);
  return value;
}
// Typed parameters reject objects of other classes; the error names the class.
Function MakeTakesLeaf(Any) {
  return Function::FromTyped([](Leaf leaf) { return leaf->number; }, "takes_leaf");
}
void CheckTakesLeaf(Function takes_leaf) {
  CHECK_EQ(takes_leaf(Node(make_object<LeafObj>(7, ""))).cast<int64_t>(), 7);
  Expected<int64_t> refused = takes_leaf.CallExpected<int64_t>(Node(make_object<BranchObj>(8)));
  CHECK_EQ(refused.error().message(),
           "Mismatched type on argument #0 when calling: `takes_leaf(0: exchange.Leaf) -> int`. "
           "Expected `exchange.Leaf` but got `exchange.Branch`");
}

// ---- A class whose statics are private to each library
// -------------------------------------------

namespace {
class PrivateObj : public Object {
 public:
  int64_t number = 12;
  TVM_FFI_DECLARE_OBJECT_INFO("exchange.Private", PrivateObj, Object);
};
}  // namespace

ObjectRef MakePrivate(Any) { return ObjectRef(make_object<PrivateObj>()); }
void CheckPrivate(ObjectRef object) {
  CHECK(object.as<PrivateObj>() != nullptr);
  CHECK_EQ(object.as<PrivateObj>()->number, 12);
  CHECK(object.as<NodeObj>() == nullptr);
}

// ---- Threads ------------------------------------------------------------------------------------

// Takes a strong reference for the duration of the call, and a weak one.
Function MakeHolder(Any) {
  return Function::FromTyped([](Node node) {
    Node second = node;
    WeakObjectPtr<NodeObj> weak = GetObjectPtr<NodeObj>(const_cast<NodeObj*>(node.get()));
    return second->number + weak.lock()->number;
  });
}
void HoldFromThreads(Function hold) {
  Node node(make_object<NodeObj>(21));
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&]() {
      for (int j = 0; j < 2000; ++j) {
        if (hold(node).cast<int64_t>() != 42) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(wrong.load(), 0);
  CHECK(node.unique());
}

// ---- Weak references ----------------------------------------------------------------------------

WeakObjectPtr<NodeObj>& Watched() {
  static auto* watched = new WeakObjectPtr<NodeObj>();
  return *watched;
}
Node MakeNode(Any) { return Node(make_object<BranchObj>(5)); }
Node Watch(Node node) {
  Watched() = GetObjectPtr<NodeObj>(const_cast<NodeObj*>(node.get()));
  CHECK(!node.unique());
  CHECK(Watched().lock() != nullptr);
  CHECK_EQ(Watched().lock()->number, 5);
  return node;
}
Any CheckWatched(Any) {
  CHECK(Watched().expired());
  CHECK(Watched().lock() == nullptr);
  Watched().reset();
  return nullptr;
}
Any Forget(Any) { return nullptr; }

// ---- Fields of every type at the offsets that the other library's compiler chose ----------------

class RecordObj : public Object {
 public:
  bool flag = true;
  Any any = 1;
  Optional<int64_t> no_number;
  Optional<int64_t> number = 2;
  Optional<double> fraction = 0.5;
  Optional<String> text = String("optional text");
  Optional<Array<int64_t>> array = Array<int64_t>{3};
  Optional<Node> no_node;
  Optional<Tensor> no_tensor;
  Variant<int64_t, String> choice = String("v");
  Tuple<int64_t, String> pair{4, "four"};
  Map<String, Any> map{{"five", 5}};
  Dict<String, Any> dict{{"six", 6}};
  Shape shape{7, 8};
  Bytes bytes = Bytes("nine", 4);
  Function function = Function::FromTyped([]() { return 10; });
  TypedFunction<int64_t(int64_t)> typed_function = [](int64_t x) { return x + 1; };
  ObjectPtr<NodeObj> pointer = make_object<NodeObj>(11);
  DLDataType dtype{kDLInt, 12, 1};
  DLDevice device{kDLCPU, 13};
  int64_t last = 14;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Record", RecordObj, Object);
};
ObjectRef MakeRecord(Any) { return ObjectRef(make_object<RecordObj>()); }
ObjectRef CheckRecord(ObjectRef object) {
  const auto* record = object.as<RecordObj>();
  CHECK(record->flag);
  CHECK_EQ(record->any.cast<int64_t>(), 1);
  CHECK(!record->no_number.has_value());
  CHECK_EQ(record->number.value(), 2);
  CHECK_EQ(record->fraction.value(), 0.5);
  CHECK_EQ(record->text.value(), "optional text");
  CHECK_EQ(record->array.value()[0], 3);
  CHECK(!record->no_node.has_value());
  CHECK(!record->no_tensor.has_value());
  CHECK_EQ(record->choice.get<String>(), "v");
  CHECK_EQ(record->pair.get<1>(), "four");
  CHECK_EQ(record->map["five"].cast<int64_t>(), 5);
  CHECK_EQ(record->dict["six"].cast<int64_t>(), 6);
  CHECK_EQ(record->shape.Product(), 56);
  CHECK_EQ(std::string(record->bytes.data(), record->bytes.size()), "nine");
  CHECK_EQ(record->function().cast<int64_t>(), 10);
  CHECK_EQ(record->typed_function(1), 2);
  CHECK_EQ(record->pointer->number, 11);
  CHECK_EQ(record->dtype.bits, 12);
  CHECK_EQ(record->device.device_id, 13);
  CHECK_EQ(record->last, 14);
  return object;
}

// ---- Virtual functions: the vtable pointer precedes the header
// -----------------------------------

class AnimalObj : public Object {
 public:
  AnimalObj() { ++LiveNodes(); }
  virtual ~AnimalObj() { --LiveNodes(); }
  virtual String Sound() const = 0;
  TVM_FFI_DECLARE_OBJECT_INFO("exchange.Animal", AnimalObj, Object);
};
class CatObj : public AnimalObj {
 public:
  String Sound() const override { return "a meow of more than seven bytes"; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Cat", CatObj, AnimalObj);
};
ObjectRef MakeAnimal(Any) { return ObjectRef(make_object<CatObj>()); }
void HearAnimal(ObjectRef animal) {
  CHECK_EQ(animal.as<AnimalObj>()->Sound(), "a meow of more than seven bytes");
}

// ---- Keys with equality hooks -------------------------------------------------------------------

// Objects are equal when their numbers are equal modulo 10. The hooks of the first class are
// function objects, those of the second are function pointers; the library that loads first
// registers them for both.
class DigitObj : public Object {
 public:
  int64_t number;
  explicit DigitObj(int64_t number) : number(number) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Digit", DigitObj, Object);
};
class NativeDigitObj : public Object {
 public:
  int64_t number;
  explicit NativeDigitObj(int64_t number) : number(number) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.NativeDigit", NativeDigitObj, Object);
};

int64_t NativeDigit(const Any& any) { return any.as<NativeDigitObj>()->number % 10; }
TVMFFIAny HashNativeDigit(const Any& any) noexcept {
  return AnyView(NativeDigit(any)).CopyToTVMFFIAny();
}
TVMFFIAny EqualNativeDigits(const Any& a, const Any& b) noexcept {
  return AnyView(NativeDigit(a) == NativeDigit(b)).CopyToTVMFFIAny();
}

void RegisterHook(int32_t type_index, const char* name, AnyView hook) {
  TVMFFIByteArray bytes{name, std::char_traits<char>::length(name)};
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&bytes);
  CHECK(column != nullptr);
  if (type_index < column->size && column->data[type_index].type_index != kTVMFFINone) return;
  TVMFFIAny value = hook.CopyToTVMFFIAny();
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterAttr(type_index, &bytes, &value));
}
void RegisterHooks() {
  int32_t digit = DigitObj::RuntimeTypeIndex();
  RegisterHook(digit, "__any_hash__",
               Function::FromTyped([](const DigitObj* a) { return a->number % 10; }));
  RegisterHook(digit, "__any_equal__",
               Function::FromTyped([](const DigitObj* a, const DigitObj* b) {
                 return a->number % 10 == b->number % 10;
               }));
  int32_t native = NativeDigitObj::RuntimeTypeIndex();
  RegisterHook(native, "__any_hash__", reinterpret_cast<void*>(HashNativeDigit));
  RegisterHook(native, "__any_equal__", reinterpret_cast<void*>(EqualNativeDigits));
}
ObjectRef NewDigit(bool is_native, int64_t number) {
  if (is_native) return ObjectRef(make_object<NativeDigitObj>(number));
  return ObjectRef(make_object<DigitObj>(number));
}

Map<Any, Any> MakeDigitMap(Any, bool is_native) {
  RegisterHooks();
  Map<Any, Any> map;
  for (int64_t i = 0; i < 30; ++i) map.Set(NewDigit(is_native, i), i);
  return map;
}
Map<Any, Any> CheckDigitMap(Map<Any, Any> map, bool is_native) {
  CHECK_EQ(map.size(), size_t{10});
  for (int64_t i = 0; i < 10; ++i) {
    CHECK_EQ(map[NewDigit(is_native, 100 + i)].cast<int64_t>(), 20 + i);
  }
  return map;
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_tree, exchange::MakeTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_tree, exchange::CheckTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_indices, exchange::CheckIndices)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(index_of_leaf, exchange::IndexOfLeaf)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_index_of_leaf, exchange::CheckIndexOfLeaf)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(prune_tree, exchange::PruneTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_pruned_tree, exchange::CheckPrunedTree)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_live_nodes, exchange::CheckLiveNodes)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_takes_leaf, exchange::MakeTakesLeaf)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_takes_leaf, exchange::CheckTakesLeaf)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_private, exchange::MakePrivate)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_private, exchange::CheckPrivate)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_holder, exchange::MakeHolder)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(hold_from_threads, exchange::HoldFromThreads)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_node, exchange::MakeNode)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(watch, exchange::Watch)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_watched, exchange::CheckWatched)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(forget, exchange::Forget)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_record, exchange::MakeRecord)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_record, exchange::CheckRecord)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_animal, exchange::MakeAnimal)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(hear_animal, exchange::HearAnimal)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_digit_map, exchange::MakeDigitMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_digit_map, exchange::CheckDigitMap)
