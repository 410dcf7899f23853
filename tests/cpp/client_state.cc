// SPDX-License-Identifier: Apache-2.0
// A library that uses all headers: test_client_state.py inspects its object file.  This code is not
// run.
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_key.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/native_function.h>
#include <tvm/ffi/reflection/overload.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

namespace client {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class NodeObj : public Object {
 public:
  int64_t value = 3;
  Any next;
  int64_t Twice() const { return 2 * value; }
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("client.Node", NodeObj, Object);
};
class LeafObj : public NodeObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("client.Leaf", LeafObj, NodeObj);
};
class Node : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Node, ObjectRef, NodeObj);
};
class ColorObj : public IntEnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("client.Color", ColorObj, IntEnumObj);
};
class ElsewhereObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("client.Elsewhere", 1);
};
class ClientModuleObj : public ModuleObj {
 public:
  const char* kind() const final { return "client"; }
  Optional<Function> GetFunction(const String&) final { return std::nullopt; }
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<NodeObj>(refl::init<>())
      .def_rw("value", &NodeObj::value, refl::DefaultValue(3))
      .def_rw("next", &NodeObj::next)
      .def("twice", &NodeObj::Twice)
      .def_type_attr("__client_level__", 4);
  refl::EnumDef<ColorObj>("RED", 1);
  refl::GlobalDef().def("client.node", [] { return Node(make_object<NodeObj>()); });
}

Any Containers(const Any& key) {
  Array<Any> array = {1, "two", 3.0, key};
  array.push_back(array);
  List<Any> list(array.begin(), array.end());
  Map<Any, Any> map = {{key, array}, {"list", list}};
  Dict<String, Tuple<int64_t, Any>> dict = {{"k", Tuple<int64_t, Any>(1, map)}};
  Shape shape({1, 2, 3});
  return Any(Variant<Dict<String, Tuple<int64_t, Any>>, Shape>(dict));
}

int64_t Errors(const Function& function) {
  try {
    TVM_FFI_ICHECK_EQ(1 + 1, 2) << "not so";
    if (function == nullptr) TVM_FFI_THROW(ValueError) << "no function";
    return function(1, "two").cast<int64_t>();
  } catch (const Error& error) {
    return static_cast<int64_t>(error.message().size());
  }
}

Any Content(const Any& root) {
  Any path = StructuralEqual::Equal(root, root) ? Any(StructuralKey(root)) : Any();
  int64_t count = 0;
  StructuralVisit(root, [&](const Node&, StructuralVisitorObj*) -> Optional<VisitInterrupt> {
    ++count;
    return std::nullopt;
  });
  Any mapped = StructuralMap<WalkOrder::kPostOrder>(root, [](const Node& node) { return node; });
  return Any(Array<Any>{path, count, mapped, AnyHash()(root) == 0, AnyEqual()(root, mapped)});
}

Any Reflection(const ObjectRef& object) {
  Map<String, Any> fields = {{"value", 1}};
  Any made = refl::ObjectCreator("client.Node")(fields);
  bool elsewhere = object.as<ElsewhereObj>() != nullptr || object.as<LeafObj>() != nullptr;
  return Any(Array<Any>{
      made, elsewhere, EnumObj::_GetByIntIndex<IntEnum>(1), refl::AccessPath::Root()->Attr("next"),
      Module(ObjectPtr<ModuleObj>(make_object<ClientModuleObj>())), std::vector<int64_t>{1, 2}});
}

TVM_FFI_EMBED_CUBIN(image);
CubinKernel Kernel() { return TVM_FFI_EMBED_CUBIN_GET_KERNEL(image, "kernel"); }

}  // namespace client

TVM_FFI_DLL_EXPORT_TYPED_FUNC(containers, client::Containers);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(errors, client::Errors);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(content, client::Content);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(reflection, client::Reflection);
