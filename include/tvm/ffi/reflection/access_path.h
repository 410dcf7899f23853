// SPDX-License-Identifier: Apache-2.0
// AccessPath: the path from a root object to a value inside it, such as root.args[3]["name"].
//
// A path consists of its last step and a reference to its parent path, so paths share prefixes.
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

// Kind of an access step.  The Missing kinds name a field, index or key that exists in only one of
// two compared values.
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

// Object to which an AccessPath refers: a node of a linked list of steps, from the last step to the
// root.
class AccessPathObj : public Object {
 public:
  Optional<ObjectRef> parent;  // the AccessPath without the last step; empty at the root
  Optional<AccessStep> step;   // last step of the path; empty at the root
  int32_t depth = 0;           // number of steps from the root

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
  // Returns the steps, starting at the root.
  Array<AccessStep> ToSteps() const;
  bool PathEqual(const AccessPath& other) const;
  bool IsPrefixOf(const AccessPath& other) const;

  using NestsDeeply_ = void;  // a loop, not recursion: the number of steps is unlimited
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindConstTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.reflection.AccessPath", AccessPathObj, Object);

 private:
  // Returns the parent of a path that is not the root.  Checks the fields, because reflection, for
  // example FromJSONGraph, can create a path with any field values.  Fails: ValueError if the
  // parent or the step is missing, or the parent's depth is not one less.
  const AccessPathObj* ParentObj() const {
    const AccessPathObj* found = parent.has_value() ? (*parent).as<AccessPathObj>() : nullptr;
    if (found == nullptr || !step.has_value() || found->depth != depth - 1) ThrowInvalidPath();
    return found;
  }
  [[noreturn]] TVM_FFI_FAILURE_ static void ThrowInvalidPath() {
    TVM_FFI_THROW(ValueError)
        << "invalid AccessPath: expected a step, and a parent whose depth is one less";
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

// Pair of access paths to the first mismatch of two compared values: the path in the left value and
// the path in the right value.
using AccessPathPair = Tuple<AccessPath, AccessPath>;

static_assert(sizeof(void*) < 8 || (sizeof(AccessStepObj) == 48 && sizeof(AccessPathObj) == 48),
              "the layouts of access steps and paths are part of the binary contract");

inline Optional<AccessPath> AccessPathObj::GetParent() const {
  if (!parent.has_value()) return std::nullopt;
  return (*parent).as_or_throw<AccessPath>();
}

inline AccessPath AccessPathObj::Extend(AccessStep next) const {
  if (depth == INT32_MAX) ThrowInvalidPath();
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
    const AccessPathObj* parent_path = path->ParentObj();
    steps.push_back(*path->step);
    path = parent_path;
  }
  return Array<AccessStep>(steps.rbegin(), steps.rend());
}

// True if two paths of the same depth have equal steps.
inline bool AccessPathObj::AreEqual(const AccessPathObj* lhs, const AccessPathObj* rhs) {
  while (lhs != rhs && lhs->depth > 0) {
    const AccessPathObj* lhs_parent = lhs->ParentObj();
    const AccessPathObj* rhs_parent = rhs->ParentObj();
    if (!(*lhs->step)->StepEqual(*rhs->step)) return false;
    lhs = lhs_parent;
    rhs = rhs_parent;
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
