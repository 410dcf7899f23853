// SPDX-License-Identifier: Apache-2.0
// ffi.VisitErrorContext, and the search for the access paths to the object where a visit failed.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/registry.h>

#include <vector>

#include "registration.h"
#include "structural/rules.h"
#include "walk/object_table.h"
#include "walk/value_access.h"

namespace tvm::ffi {
namespace {

using reflection::AccessKind;
using reflection::AccessPath;
using reflection::AccessStep;

// The largest number of access paths to return.  The number of paths to an object can be
// exponential in the depth of shared objects.
constexpr size_t kMaxPaths = 4096;

// Depth-first search with an explicit stack for paths that contain the objects of the pattern in
// order.
//
// 1. If an object on the path is the next object of the pattern, the pattern advances.
//    Other objects between two objects of the pattern are ignored.
// 2. A path ends with the last object of the pattern.
// 3. If the rest of the pattern was not found below an object, the object is not searched
//    again for the same or a longer rest, so shared objects cost no extra time.
//    Objects that are on the path already are skipped.
class PathSearch {
 public:
  PathSearch(const List<ObjectRef>& reverse_pattern, bool allow_prefix)
      : allow_prefix_(allow_prefix) {
    for (auto i = static_cast<int64_t>(reverse_pattern.size()) - 1; i >= 0; --i) {
      const Object* object = reverse_pattern[i].get();
      if (object == nullptr) continue;
      if (pattern_.empty() || pattern_.back() != object) pattern_.push_back(object);
    }
  }

  Array<AccessPath> Run(const ObjectRef& root) {
    if (root.defined() && !pattern_.empty()) Enter(root, 0, std::nullopt);
    while (!path_.empty()) {
      Node& node = path_.back();
      if (node.next_child == node.children.size() || found_.size() >= kMaxPaths) {
        Leave();
        continue;
      }
      Child child = std::move(node.children[node.next_child++]);
      Enter(std::move(child.object), node.matched, AccessStep(child.kind, std::move(child.key)));
    }
    return found_;
  }

 private:
  struct Child {
    AccessKind kind;
    Any key;
    ObjectRef object;
  };
  // An entry of the explicit stack: an object on the current path from the root.
  struct Node {
    ObjectRef object;
    Optional<AccessStep> step;      // access step from the previous node; empty at the root
    Optional<AccessPath> path;      // access path from the root; computed on demand
    size_t matched;                 // number of pattern objects on the path up to this node
    std::vector<Child> children{};  // only objects
    size_t next_child = 0;
    bool has_found = false;  // true if a path through this node was found
  };

  void Enter(ObjectRef object, size_t matched, Optional<AccessStep> step) {
    const Object* address = object.get();
    if (on_path_.Contains(address)) return;
    if (address == pattern_[matched]) ++matched;
    const size_t* failed = failed_.Find(address);
    if (failed != nullptr && *failed >= matched) return;
    path_.push_back(Node{std::move(object), std::move(step), std::nullopt, matched});
    on_path_.Insert(address);
    if (matched == pattern_.size()) {
      AddFound();
    } else {
      ListChildren(&path_.back());
    }
  }

  void Leave() {
    Node& node = path_.back();
    bool is_prefix = node.matched > 0 && node.matched < pattern_.size();
    if (allow_prefix_ && is_prefix && !node.has_found && path_.size() > 1 && HasFields(node) &&
        found_.size() < kMaxPaths) {
      AddFound();
    }
    const Object* address = node.object.get();
    bool has_found = node.has_found;
    if (!has_found) RememberFailure(address, node.matched);
    on_path_.Erase(address);
    path_.pop_back();
    if (has_found && !path_.empty()) path_.back().has_found = true;
  }

  void RememberFailure(const Object* object, size_t matched) {
    const size_t* failed = failed_.Find(object);
    if (failed == nullptr || matched > *failed) failed_.Set(object, matched);
  }

  void AddFound() {
    if (path_.size() - 1 > extra::kMaxPathLength) {
      TVM_FFI_THROW(ValueError) << "the visit failed at a depth of more than "
                                << extra::kMaxPathLength
                                << " levels, the maximum length of an access path";
    }
    path_.front().path = AccessPath::Root();
    for (size_t i = 1; i < path_.size(); ++i) {
      if (path_[i].path.has_value()) continue;
      path_[i].path = path_[i - 1].path.value()->Extend(path_[i].step.value());
    }
    path_.back().has_found = true;
    found_.push_back(path_.back().path.value());
  }

  // Returns true for objects with fields, as opposed to containers and other built-in types.
  static bool HasFields(const Node& node) {
    if (node.object.type_index() >= kTVMFFIDynObjectBegin) return true;
    return reflection::detail::FieldsOf(TVMFFIGetTypeInfo(node.object.type_index())).count > 0;
  }

  static void AddChild(Node* node, AccessKind kind, Any key, const Any& value) {
    if (value.type_index() < kTVMFFIStaticObjectBegin) return;
    node->children.push_back(Child{kind, std::move(key), value.cast<ObjectRef>()});
  }
  static void ListChildren(Node* node) {
    const ObjectRef& object = node->object;
    if (const auto* array = object.as<ArrayObj>()) {
      ListElements(node, array);
    } else if (const auto* list = object.as<ListObj>()) {
      ListElements(node, list);
    } else if (const auto* map = object.as<MapObj>()) {
      ListValues(node, map);
    } else if (const auto* dict = object.as<DictObj>()) {
      ListValues(node, dict);
    } else {
      reflection::ForEachFieldInfo(TVMFFIGetTypeInfo(object.type_index()),
                                   [&](const TVMFFIFieldInfo* field) {
                                     Any value = extra::ReadField(object.get(), field);
                                     AddChild(node, AccessKind::kAttr, String(field->name), value);
                                   });
    }
  }
  static void ListElements(Node* node, const SeqBaseObj* sequence) {
    extra::ObjectLock lock(sequence);
    int64_t i = 0;
    for (const Any& element : *sequence) AddChild(node, AccessKind::kArrayItem, i++, element);
  }
  static void ListValues(Node* node, const MapBaseObj* table) {
    extra::ObjectLock lock(table);
    for (const auto& [key, value] : *table) AddChild(node, AccessKind::kMapItem, key, value);
  }

  bool allow_prefix_;
  std::vector<const Object*> pattern_;  // the objects to find on a path, in the order from the root
  std::vector<Node> path_;
  extra::ObjectSet on_path_;
  // For each object below which no path was found: the largest Node::matched with which the search
  // entered the object.
  extra::ObjectTable<size_t> failed_;
  Array<AccessPath> found_;
};

}  // namespace

Array<AccessPath> VisitErrorContext::FindAccessPaths(const ObjectRef& root,
                                                     const VisitErrorContext& context,
                                                     bool allow_prefix) {
  return PathSearch(context->reverse_visit_pattern, allow_prefix).Run(root);
}

void extra::RegisterVisitErrorContext() {
  reflection::ObjectDef<VisitErrorContextObj>(reflection::init(false))
      .def_ro("reverse_visit_pattern", &VisitErrorContextObj::reverse_visit_pattern)
      .def_ro("prev_error_context", &VisitErrorContextObj::prev_error_context);
  reflection::GlobalDef().def("ffi.VisitErrorContext.FindAccessPaths",
                              &VisitErrorContext::FindAccessPaths);
}

}  // namespace tvm::ffi
