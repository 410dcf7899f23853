// SPDX-License-Identifier: Apache-2.0
// AccessPath: how to get from a root object to a value inside it, as in root.args[3]["name"].
//
// A path is its last step and a reference to the path before it, so paths share their beginnings.
#ifndef TVM_FFI_REFLECTION_ACCESS_PATH_H_
#define TVM_FFI_REFLECTION_ACCESS_PATH_H_

#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace reflection {

// The Missing forms name what one of two compared values lacks.
enum class AccessKind : int32_t {
  kAttr = 0,
  kArrayItem = 1,
  kMapItem = 2,
  kAttrMissing = 3,
  kArrayItemMissing = 4,
  kMapItemMissing = 5,
};

class AccessStep;

// One step of an access path.
class AccessStepObj : public Object {
 public:
  AccessKind kind = AccessKind::kAttr;
  Any key;  // field name, index or map key

  AccessStepObj() = default;
  AccessStepObj(AccessKind kind, Any key) : kind(kind), key(std::move(key)) {}

  bool StepEqual(const AccessStep& other) const;

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindConstTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.reflection.AccessStep", AccessStepObj, Object);
};

// Reference to an AccessStepObj.
class AccessStep : public ObjectRef {
 public:
  AccessStep(AccessKind kind, Any key)
      : ObjectRef(ObjectPtr<Object>(make_object<AccessStepObj>(kind, std::move(key)))) {}

  static AccessStep Attr(String name) { return AccessStep(AccessKind::kAttr, std::move(name)); }
  static AccessStep AttrMissing(String name) {
    return AccessStep(AccessKind::kAttrMissing, std::move(name));
  }
  static AccessStep ArrayItem(int64_t index) { return AccessStep(AccessKind::kArrayItem, index); }
  static AccessStep ArrayItemMissing(int64_t index) {
    return AccessStep(AccessKind::kArrayItemMissing, index);
  }
  static AccessStep MapItem(Any key) { return AccessStep(AccessKind::kMapItem, std::move(key)); }
  static AccessStep MapItemMissing(Any key) {
    return AccessStep(AccessKind::kMapItemMissing, std::move(key));
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(AccessStep, ObjectRef, AccessStepObj);
};

inline bool AccessStepObj::StepEqual(const AccessStep& other) const {
  return kind == other->kind && AnyEqual()(key, other->key);
}

class AccessPath;

// The way from a root to a part of it; paths share their beginnings.
class AccessPathObj : public Object {
 public:
  Optional<ObjectRef> parent;  // an AccessPath; empty at the root
  Optional<AccessStep> step;   // from the parent to here; empty at the root
  int32_t depth = 0;           // steps from the root

  AccessPathObj() = default;
  AccessPathObj(Optional<ObjectRef> parent, Optional<AccessStep> step, int32_t depth)
      : parent(std::move(parent)), step(std::move(step)), depth(depth) {}

  Optional<AccessPath> GetParent() const;
  AccessPath Extend(AccessStep step) const;
  AccessPath Attr(String name) const;
  AccessPath AttrMissing(String name) const;
  AccessPath ArrayItem(int64_t index) const;
  AccessPath ArrayItemMissing(int64_t index) const;
  AccessPath MapItem(Any key) const;
  AccessPath MapItemMissing(Any key) const;
  // From the root on.
  Array<AccessStep> ToSteps() const;
  bool PathEqual(const AccessPath& other) const;
  bool IsPrefixOf(const AccessPath& other) const;

  using NestsDeeply_ = void;  // a path may have any number of steps
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindConstTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.reflection.AccessPath", AccessPathObj, Object);

 private:
  // Whoever makes an object from its fields, as readers of JSON graphs do, says what they are: a
  // path is one step longer than its parent, or is refused.
  const AccessPathObj* ParentObj() const {
    const AccessPathObj* found = parent.has_value() ? (*parent).as<AccessPathObj>() : nullptr;
    if (found == nullptr || !step.has_value() || found->depth != depth - 1) ThrowNoPath();
    return found;
  }
  [[noreturn]] TVM_FFI_FAILURE_ static void ThrowNoPath() {
    TVM_FFI_THROW(ValueError) << "an access path needs a step, and a parent with one step less";
  }
  static bool AreEqual(const AccessPathObj* lhs, const AccessPathObj* rhs);
};

// Reference to an AccessPathObj.
class AccessPath : public ObjectRef {
 public:
  static AccessPath Root() { return AccessPath(ObjectPtr<Object>(make_object<AccessPathObj>())); }
  template <typename Iter>
  static AccessPath FromSteps(Iter begin, Iter end) {
    AccessPath path = Root();
    for (Iter it = begin; it != end; ++it) path = path->Extend(*it);
    return path;
  }
  static AccessPath FromSteps(const Array<AccessStep>& steps) {
    return FromSteps(steps.begin(), steps.end());
  }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(AccessPath, ObjectRef, AccessPathObj);

 private:
  explicit AccessPath(ObjectPtr<Object> path) : ObjectRef(std::move(path)) {}
  friend class AccessPathObj;
};

// What differs on the left, and on the right.
using AccessPathPair = Tuple<AccessPath, AccessPath>;

static_assert(sizeof(AccessStepObj) == 48 && sizeof(AccessPathObj) == 48,
              "read by other libraries");

inline Optional<AccessPath> AccessPathObj::GetParent() const {
  if (!parent.has_value()) return std::nullopt;
  return (*parent).as_or_throw<AccessPath>();
}

inline AccessPath AccessPathObj::Extend(AccessStep next) const {
  if (depth == INT32_MAX) ThrowNoPath();
  return AccessPath(ObjectPtr<Object>(
      make_object<AccessPathObj>(GetRef<ObjectRef>(this), std::move(next), depth + 1)));
}

inline AccessPath AccessPathObj::Attr(String name) const {
  return Extend(AccessStep::Attr(std::move(name)));
}
inline AccessPath AccessPathObj::AttrMissing(String name) const {
  return Extend(AccessStep::AttrMissing(std::move(name)));
}
inline AccessPath AccessPathObj::ArrayItem(int64_t index) const {
  return Extend(AccessStep::ArrayItem(index));
}
inline AccessPath AccessPathObj::ArrayItemMissing(int64_t index) const {
  return Extend(AccessStep::ArrayItemMissing(index));
}
inline AccessPath AccessPathObj::MapItem(Any key) const {
  return Extend(AccessStep::MapItem(std::move(key)));
}
inline AccessPath AccessPathObj::MapItemMissing(Any key) const {
  return Extend(AccessStep::MapItemMissing(std::move(key)));
}

inline Array<AccessStep> AccessPathObj::ToSteps() const {
  std::vector<AccessStep> steps;
  for (const AccessPathObj* path = this; path->depth > 0;) {
    const AccessPathObj* before = path->ParentObj();
    steps.push_back(*path->step);
    path = before;
  }
  return Array<AccessStep>(steps.rbegin(), steps.rend());
}

// Both have the same depth.
inline bool AccessPathObj::AreEqual(const AccessPathObj* lhs, const AccessPathObj* rhs) {
  while (lhs != rhs && lhs->depth > 0) {
    const AccessPathObj* lhs_before = lhs->ParentObj();
    const AccessPathObj* rhs_before = rhs->ParentObj();
    if (!(*lhs->step)->StepEqual(*rhs->step)) return false;
    lhs = lhs_before;
    rhs = rhs_before;
  }
  return true;
}

inline bool AccessPathObj::PathEqual(const AccessPath& other) const {
  return depth == other->depth && AreEqual(this, other.get());
}

inline bool AccessPathObj::IsPrefixOf(const AccessPath& other) const {
  const AccessPathObj* path = other.get();
  if (depth > path->depth) return false;
  while (path->depth > depth) path = path->ParentObj();
  return AreEqual(this, path);
}

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_ACCESS_PATH_H_
