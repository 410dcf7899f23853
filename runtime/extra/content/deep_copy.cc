// SPDX-License-Identifier: Apache-2.0
// DeepCopy, in two passes over the reachable objects that must not be shared:
//
// 1. Create a shallow copy of each object.  The copy has the children of the original.
// 2. In each copy, replace children that have copies by their copies.
//
// This preserves cycles and sharing, sets a field only to a value of the type it had, and, if pass
// 1 fails, leaves no copy that refers to another copy.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <vector>

#include "registration.h"
#include "walk/child_reader.h"
#include "walk/object_table.h"
#include "walk/snapshot.h"

namespace tvm::ffi::extra {
namespace {

[[noreturn]] void ThrowNotCopyable(int32_t type_index) {
  TVM_FFI_THROW(InternalError) << "Cannot deep copy object of type \""
                               << TypeIndexToTypeKey(type_index)
                               << "\" because it is not copy-constructible";
  TVM_FFI_UNREACHABLE();
}

// Returns true if the original and the copy may share the value: the value is immutable, or it is
// compared by identity, as enum members are.
bool IsShareable(const Any& value) {
  return ChildKindOf(value) == ChildKind::kNone || value.as<EnumObj>() != nullptr;
}

Any CopySequence(const Any& value) {
  const auto* array = value.as<ArrayObj>();
  if (array == nullptr) return CopyList(value);
  // Allocate room for at least 4 elements: client code that appends to an array relies on a nonzero
  // capacity.
  auto capacity = std::max<int64_t>(static_cast<int64_t>(array->size()), 4);
  return Array<Any>(ObjectPtr<Object>(ArrayObj::CopyFrom(capacity, array)));
}

Any CopyByHook(const Any& value) {
  static const reflection::TypeAttrColumn hooks(type_attr::kShallowCopy);
  auto hook = type_attr::kShallowCopy.ValueFrom(hooks[value.type_index()]);
  if (!hook.has_value()) ThrowNotCopyable(value.type_index());
  ObjectLock lock(ObjectOf(value));
  Any copy = (*hook)(ObjectOf(value));
  // The copy must have the type of the original, because its fields are written at the field
  // offsets of that type.
  if (copy.type_index() != value.type_index()) {
    TVM_FFI_THROW(TypeError) << "__ffi_shallow_copy__ of type `" << value.GetTypeKey()
                             << "` returned a value of type `" << copy.GetTypeKey() << "`";
  }
  return copy;
}

Any ShallowCopy(const Any& value) {
  switch (ChildKindOf(value)) {
    case ChildKind::kElements:
      return CopySequence(value);
    case ChildKind::kPairs:
      return CopyTable(value);
    default:
      return CopyByHook(value);
  }
}

SeqBaseObj* MutableSequence(const Any& copy) { return const_cast<SeqBaseObj*>(SequenceOf(copy)); }
MapBaseObj* MutableTable(const Any& copy) { return const_cast<MapBaseObj*>(TableOf(copy)); }

bool IsPlainField(const TVMFFIFieldInfo* field) {
  return field->field_static_type_index > kTVMFFINone &&
         field->field_static_type_index < kTVMFFIStaticObjectBegin;
}

class DeepCopier {
 public:
  Any Copy(const Any& root) {
    Discover(root);
    // DiscoverChildren appends to copies_, so check the size again after each step.
    for (size_t i = 0; i < copies_.size(); ++i) DiscoverChildren(i);
    try {
      for (const Entry& entry : copies_) ReplaceChildren(entry);
      for (const Any& table : tables_with_copied_keys_) ReplaceKeys(MutableTable(table));
    } catch (...) {
      for (const Entry& entry : copies_) UnlinkCopy(entry);
      throw;
    }
    const Any* copy = FindCopy(root);
    return copy != nullptr ? *copy : root;
  }

 private:
  struct Entry {
    Any original;
    Any copy;
  };

  void Discover(const Any& value) {
    if (IsShareable(value)) return;
    if (positions_.Find(ObjectOf(value)) != nullptr) return;
    positions_.Set(ObjectOf(value), copies_.size());
    copies_.push_back(Entry{value, Any()});
    copies_.back().copy = ShallowCopy(copies_.back().original);
  }

  void DiscoverChildren(size_t position) {
    if (IsOwnCopy(copies_[position])) return;
    ChildReader children(copies_[position].copy);
    while (const Any* child = children.Next()) Discover(*child);
  }

  // Returns true if the copy hook returned the original.  A hook does so to mark the object as
  // immutable.
  static bool IsOwnCopy(const Entry& entry) { return entry.original.same_as(entry.copy); }

  // Returns the copy of a value, or nullptr if the value has no children or may be shared.
  const Any* FindCopy(const Any& value) const {
    if (ChildKindOf(value) == ChildKind::kNone) return nullptr;
    const size_t* position = positions_.Find(ObjectOf(value));
    return position != nullptr ? &copies_[*position].copy : nullptr;
  }

  void ReplaceChildren(const Entry& entry) {
    if (IsOwnCopy(entry)) return;
    switch (ChildKindOf(entry.copy)) {
      case ChildKind::kElements:
        return ReplaceElements(MutableSequence(entry.copy));
      case ChildKind::kPairs:
        return ReplaceValues(entry.copy);
      default:
        return ReplaceFields(ObjectOf(entry.copy));
    }
  }

  void ReplaceElements(SeqBaseObj* sequence) const {
    for (size_t i = 0; i < sequence->size(); ++i) {
      const Any* copy = FindCopy(sequence->begin()[i]);
      if (copy != nullptr) sequence->SetItemAfterCheck(static_cast<int64_t>(i), *copy);
    }
  }

  void ReplaceValues(const Any& table) {
    bool has_copied_keys = false;
    for (auto& pair : *MutableTable(table)) {
      if (FindCopy(pair.first) != nullptr) has_copied_keys = true;
      if (const Any* copy = FindCopy(pair.second)) pair.second = *copy;
    }
    if (has_copied_keys) tables_with_copied_keys_.push_back(table);
  }

  // Replaces the keys of a copied map by their copies and inserts all pairs again.  The caller must
  // replace the children of the keys before, because the slot of a key depends on its hash.
  void ReplaceKeys(MapBaseObj* table) const {
    std::vector<MapBaseObj::KVType> pairs(table->begin(), table->end());
    table->clear();
    for (auto& pair : pairs) {
      if (const Any* copy = FindCopy(pair.first)) pair.first = *copy;
      detail::MapUnsafe::InsertInPlace(table, std::move(pair));
    }
  }

  void ReplaceFields(const Object* object) const {
    FieldCursor fields(TVMFFIGetTypeInfo(object->type_index()));
    while (const TVMFFIFieldInfo* field = fields.Next()) {
      if (IsPlainField(field)) continue;
      Any child = ReadField(object, field);
      if (const Any* copy = FindCopy(child)) SetField(object, field, *copy);
    }
  }

  static void SetField(const Object* object, const TVMFFIFieldInfo* field, const Any& value) {
    if (field->setter == nullptr) {
      TVM_FFI_THROW(TypeError) << "Cannot deep copy field `"
                               << std::string_view(field->name.data, field->name.size)
                               << "` of type `" << object->GetTypeKey()
                               << "` because it does not define a setter";
    }
    reflection::FieldSetter set(field);
    set(object, value);
  }

  // Removes the references between copies after an error, so that copies in a cycle are freed.
  void UnlinkCopy(const Entry& entry) const noexcept {
    if (IsOwnCopy(entry)) return;
    switch (ChildKindOf(entry.copy)) {
      case ChildKind::kElements:
        return MutableSequence(entry.copy)->clear();
      case ChildKind::kPairs:
        return MutableTable(entry.copy)->clear();
      default:
        break;
    }
    FieldCursor fields(TVMFFIGetTypeInfo(entry.copy.type_index()));
    while (const TVMFFIFieldInfo* field = fields.Next()) RestoreField(entry, field);
  }
  void RestoreField(const Entry& entry, const TVMFFIFieldInfo* field) const noexcept {
    if (IsPlainField(field)) return;
    try {
      Any original = ReadField(ObjectOf(entry.original), field);
      if (FindCopy(original) != nullptr) SetField(ObjectOf(entry.copy), field, original);
    } catch (...) {  // keep only the first error
    }
  }

  // All originals with their copies; parents are before their children.  In this order, the release
  // of a copy does not recurse, because the later entries still own the children of the copy.
  std::vector<Entry> copies_;
  ObjectTable<size_t> positions_;  // the index of each original in copies_
  std::vector<Any> tables_with_copied_keys_;
};

}  // namespace
}  // namespace tvm::ffi::extra

namespace tvm::ffi {

Any DeepCopy(const Any& value) { return extra::DeepCopier().Copy(value); }

void extra::RegisterDeepCopy() { reflection::GlobalDef().def("ffi.DeepCopy", &DeepCopy); }

}  // namespace tvm::ffi
