// SPDX-License-Identifier: Apache-2.0
// Object types with two fields, whose hooks run operations chosen by the input, like hostile
// classes.
#ifndef TVM_FFI_TESTS_FUZZ_FUZZ_NODE_H_
#define TVM_FFI_TESTS_FUZZ_FUZZ_NODE_H_

#include <tvm/ffi/reflection/registry.h>

#include <initializer_list>

#include "c_api_values.h"

namespace fuzz {

// The function that all functions and hooks of this program call.
struct Hooks {
  virtual ~Hooks() { current = nullptr; }
  virtual int OnCall(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) = 0;
  static inline Hooks* current = nullptr;
};

inline int CallHooks(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  if (Hooks::current != nullptr) return Hooks::current->OnCall(args, num_args, result);
  *result = PlainValue(kTVMFFINone, 0);
  return 0;
}

#define FUZZ_NODE(Name, kind)                                                           \
  class Name : public Object {                                                          \
   public:                                                                              \
    Any first, second;                                                                  \
    static constexpr bool _type_mutable = true;                                         \
    static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKind##kind; \
    TVM_FFI_DECLARE_OBJECT_INFO("fuzz." #Name, Name, Object);                           \
  }

FUZZ_NODE(Tree, TreeNode);
FUZZ_NODE(Key, UniqueInstance);     // hooks of map keys
FUZZ_NODE(Structural, TreeNode);    // hooks of structural equality, hash, visits and mutations
FUZZ_NODE(Content, ConstTreeNode);  // hooks of copies, comparison, text and JSON
FUZZ_NODE(Variable, FreeVar);
FUZZ_NODE(Graph, DAGNode);
constexpr uint32_t kNumNodeTypes = 6;

template <typename Node>
void RegisterNode(std::initializer_list<const char*> hooks) {
  reflection::ObjectDef<Node>().def_rw("first", &Node::first).def_rw("second", &Node::second);
  TVMFFIObjectHandle function = nullptr;
  FUZZ_REQUIRE(TVMFFIFunctionCreate(nullptr, &CallHooks, nullptr, &function) == 0);
  TVMFFIAny value = PointerValue(kTVMFFIFunction, function);
  for (const char* hook : hooks) {
    TVMFFIByteArray name = Bytes(hook);
    FUZZ_REQUIRE(TVMFFITypeRegisterAttr(Node::RuntimeTypeIndex(), &name, &value) == 0);
  }
  TVMFFIObjectDecRef(function);
}

inline void RegisterNodes() {
  static bool is_done = false;
  if (is_done) return;
  is_done = true;
  RegisterNode<Tree>({});
  RegisterNode<Key>({"__any_hash__", "__any_equal__"});
  RegisterNode<Structural>({"__s_hash__", "__s_equal__", "__s_visit__", "__s_mutate__"});
  RegisterNode<Content>({"__ffi_repr__", "__ffi_hash__", "__ffi_eq__", "__ffi_compare__",
                         "__data_to_json__", "__data_from_json__"});
  RegisterNode<Variable>({});
  RegisterNode<Graph>({"__ffi_convert__"});
}

template <typename Node>
Any NewNodeOf(const Any& first, const Any& second) {
  ObjectPtr<Node> node = make_object<Node>();
  node->first = first;
  node->second = second;
  return ObjectRef(std::move(node));
}

inline Any NewNode(uint32_t which, const Any& first, const Any& second) {
  constexpr Any (*kMakers[kNumNodeTypes])(const Any&, const Any&) = {
      NewNodeOf<Tree>,    NewNodeOf<Key>,      NewNodeOf<Structural>,
      NewNodeOf<Content>, NewNodeOf<Variable>, NewNodeOf<Graph>};
  return kMakers[which](first, second);
}

// Appends the fields of the value if the value is a Node.
template <typename Node>
void AppendFieldsOf(const Any& value, std::vector<Any>* out) {
  if (const Node* node = value.as<Node>()) out->insert(out->end(), {node->first, node->second});
}

inline void AppendFields(const Any& value, std::vector<Any>* out) {
  constexpr void (*kAppenders[kNumNodeTypes])(const Any&, std::vector<Any>*) = {
      AppendFieldsOf<Tree>,    AppendFieldsOf<Key>,      AppendFieldsOf<Structural>,
      AppendFieldsOf<Content>, AppendFieldsOf<Variable>, AppendFieldsOf<Graph>};
  for (auto append : kAppenders) append(value, out);
}

}  // namespace fuzz

#endif  // TVM_FFI_TESTS_FUZZ_FUZZ_NODE_H_
