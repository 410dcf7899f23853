// SPDX-License-Identifier: Apache-2.0
// A small language whose types have every structural kind, for the tests of structural equality,
// hash and keys.  Type keys are part of hashes: the expected values in the tests depend on them.
// structural_ir.cc registers the types, once per program.
#ifndef TVM_FFI_TESTS_CPP_STRUCTURAL_IR_H_
#define TVM_FFI_TESTS_CPP_STRUCTURAL_IR_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace ir {

using namespace tvm::ffi;  // NOLINT(*)
namespace refl = tvm::ffi::reflection;

using Items = Array<Any>;
using Table = Map<Any, Any>;
using EqualChildren = TypedFunction<bool(AnyView, AnyView, int, AnyView)>;
using HashChild = TypedFunction<int64_t(AnyView, int64_t, int)>;

// A variable; the comparison excludes the field `name`.
class VarObj : public Object {
 public:
  String name;
  Any type;
  VarObj(String name, Any type) : name(std::move(name)), type(std::move(type)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO("test.structural.Var", VarObj, Object);
};

// A variable with a field of the same class.
class BufferObj : public VarObj {
 public:
  Any shape;
  BufferObj(String name, Any shape) : VarObj(std::move(name), Any()), shape(std::move(shape)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Buffer", BufferObj, VarObj);
};

class CallObj : public Object {
 public:
  Any op;
  Any args;
  int64_t span;  // excluded
  CallObj(Any op, Any args, int64_t span = 0)
      : op(std::move(op)), args(std::move(args)), span(span) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("test.structural.Call", CallObj, Object);
};

class AttrCallObj : public CallObj {
 public:
  Any attrs;
  AttrCallObj(Any op, Any args, Any attrs)
      : CallObj(std::move(op), std::move(args)), attrs(std::move(attrs)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.AttrCall", AttrCallObj, CallObj);
};

// Defines the variables in `params`, including those in their types.
class FuncObj : public Object {
 public:
  Any params;
  Any body;
  FuncObj(Any params, Any body) : params(std::move(params)), body(std::move(body)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Func", FuncObj, Object);
};

// Defines the variables in `vars`, but not the variables in their types.
class LoopObj : public Object {
 public:
  Any vars;
  Any body;
  LoopObj(Any vars, Any body) : vars(std::move(vars)), body(std::move(body)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Loop", LoopObj, Object);
};

// A shared subexpression.
class LetObj : public Object {
 public:
  Any value;
  explicit LetObj(Any value) : value(std::move(value)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindDAGNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Let", LetObj, Object);
};

class TypeObj : public Object {
 public:
  Any element;
  explicit TypeObj(Any element) : element(std::move(element)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindConstTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Type", TypeObj, Object);
};

class OperatorObj : public Object {
 public:
  String name;
  explicit OperatorObj(String name) : name(std::move(name)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Operator", OperatorObj, Object);
};

class UnsupportedObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Unsupported", UnsupportedObj, Object);
};

class UndescribedObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Undescribed", UndescribedObj, Object);
};

// Implementations of the hooks of a HookedObj, set by a test.
struct Hooks {
  TypedFunction<bool(ObjectRef, ObjectRef, EqualChildren)> equal;
  TypedFunction<int64_t(ObjectRef, int64_t, HashChild)> hash;
};
inline Hooks hooks;

class HookedObj : public Object {
 public:
  Any a;
  Any b;
  HookedObj(Any a, Any b) : a(std::move(a)), b(std::move(b)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.Hooked", HookedObj, Object);
};

// A variable and a shared subexpression whose hooks compare and hash `value`.
class HookedVarObj : public Object {
 public:
  Any value;
  explicit HookedVarObj(Any value) : value(std::move(value)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.HookedVar", HookedVarObj, Object);
};
class HookedLetObj : public Object {
 public:
  Any value;
  explicit HookedLetObj(Any value) : value(std::move(value)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindDAGNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.structural.HookedLet", HookedLetObj, Object);
};

template <typename T, typename... Args>
ObjectRef New(Args&&... args) {
  return ObjectRef(ObjectPtr<Object>(make_object<T>(std::forward<Args>(args)...)));
}
inline ObjectRef Var(const char* name, Any type = Any()) {
  return New<VarObj>(String(name), std::move(type));
}
inline ObjectRef Buffer(Any shape) { return New<BufferObj>(String("b"), std::move(shape)); }
inline ObjectRef Call(Any op, Any args, int64_t span = 0) {
  return New<CallObj>(std::move(op), std::move(args), span);
}
inline ObjectRef Func(Any params, Any body) {
  return New<FuncObj>(std::move(params), std::move(body));
}
inline ObjectRef Loop(Any vars, Any body) { return New<LoopObj>(std::move(vars), std::move(body)); }
inline ObjectRef Let(Any value) { return New<LetObj>(std::move(value)); }
inline ObjectRef Type(Any element) { return New<TypeObj>(std::move(element)); }
inline ObjectRef Hooked(Any a, Any b) { return New<HookedObj>(std::move(a), std::move(b)); }

// Returns bytes in the small inline form, as the C API creates it for up to 7 bytes.
inline Any SmallBytes(const char* text) {
  TVMFFIByteArray content{text, std::strlen(text)};
  TVMFFIAny value;
  TVMFFIBytesFromByteArray(&content, &value);
  return detail::AnyUnsafe::MoveTVMFFIAnyToAny(&value);
}
inline Any HeapBytes(std::string text) { return Bytes(std::move(text)); }

struct HeapAlloc {
  void AllocData(DLTensor* tensor) { tensor->data = std::calloc(1, GetDataSize(*tensor) + 1); }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};
// Returns a tensor whose bytes are 1, 8, 15, ...; for all devices the memory is CPU memory.
inline Tensor NewTensor(const Shape& shape, DLDataType dtype, DLDevice device = {kDLCPU, 0}) {
  Tensor tensor = Tensor::FromNDAlloc(HeapAlloc(), shape, dtype, device);
  auto* bytes = static_cast<uint8_t*>(tensor.data_ptr());
  for (size_t i = 0; i < GetDataSize(tensor); ++i) bytes[i] = static_cast<uint8_t>(7 * i + 1);
  return tensor;
}
inline constexpr DLDataType kFloat32{kDLFloat, 32, 1};
inline constexpr DLDataType kInt8{kDLInt, 8, 1};

// Nested lists. Their release uses the machine stack, unless the inner lists have other owners that
// are destroyed last.
class Tower {
 public:
  explicit Tower(size_t height) {
    while (floors_.size() < height) {
      List<Any> floor;
      if (!floors_.empty()) floor.push_back(floors_.back());
      floors_.push_back(floor);
    }
  }
  Tower(const Tower&) = delete;
  Tower& operator=(const Tower&) = delete;
  ~Tower() {
    while (!floors_.empty()) floors_.pop_back();
  }
  const List<Any>& top() const { return floors_.back(); }
  List<Any> ground() const { return floors_.front(); }

 private:
  std::vector<List<Any>> floors_;
};

}  // namespace ir

#endif  // TVM_FFI_TESTS_CPP_STRUCTURAL_IR_H_
