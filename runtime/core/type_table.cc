// SPDX-License-Identifier: Apache-2.0
// Type table: registration of types, fields, methods and attributes, and the C functions of types.
#include "type_table.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "../platform/platform.h"
#include "../platform/return_address.h"
#include "duplicate_registration.h"
#include "error.h"
#include "key_hooks.h"
#include "known_functions.h"
#include "nested_release.h"
#include "store_order.h"
#include "text.h"
#include "type_names.h"
#include "utf8.h"

namespace tvm::ffi::runtime {
namespace {

constexpr int32_t kQueryOnly = -2;  // value of parent_index: only look up the key

// A duplicate registration, with the data for the warning or the error.
struct Duplicate {
  const void* registrant;  // an address in the library that registered the entry first
  const char* entry_kind;  // "field", "type" or "type attribute"
  std::string name;
  const char* error_kind;
  std::string error_message;
};

// Ignores the duplicate with a warning if a library is being loaded, else raises an error.  Do not
// hold the table's lock during the call: the warning and the error wait for the loader, which may
// wait for an initialiser that registers a type.
void IgnoreOrRaise(Duplicate duplicate) {
  if (WarnIfLibraryIsLoading(duplicate.entry_kind, duplicate.name, duplicate.registrant)) return;
  RaiseMessage(duplicate.error_kind, std::move(duplicate.error_message));
}

// Returns the text of one warning per ancestor that has a field with this name; "" if no ancestor
// has such a field.
std::string WarnOfHiddenFields(const TVMFFITypeInfo& type, std::string_view field) {
  std::string warnings;
  for (int32_t depth = 0; depth < type.type_depth; ++depth) {
    const TVMFFITypeInfo* ancestor = type.type_ancestors[depth];
    for (int32_t i = 0; i < ancestor->num_fields; ++i) {
      if (View(ancestor->fields[i].name) != field) continue;
      warnings += Concat("warning: field `", field, "` of type `", View(type.type_key),
                         "` hides the field of its ancestor `", View(ancestor->type_key), "`\n");
    }
  }
  return warnings;
}

// Publishes an array for readers without the lock.  Stores the address before the count, because a
// reader that sees the new count must also see an array with that many elements.
template <typename T>
void PublishArray(const GrowingArray<T>& array, const T** data, int32_t* count) {
  auto size = static_cast<int32_t>(array.size());
  if (*data == array.data() && *count == size) return;
  __atomic_store_n(data, array.data(), __ATOMIC_RELEASE);
  SeparateStores();
  __atomic_store_n(count, size, __ATOMIC_RELEASE);
}

// The C++ exception for an error that occurs while the lock is held.  The FFI error is created
// after the lock is released, because creating its backtrace waits for the loader.
struct TableError {
  const char* kind;
  std::string message;
};

template <typename... Pieces>
[[noreturn]] void ThrowTableError(const char* kind, const Pieces&... pieces) {
  throw TableError{kind, Concat(pieces...)};
}

}  // namespace

template <typename Change>
auto TypeTable::WithLock(Change&& change) {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    return change();
  } catch (TableError& error) {
    RaiseMessage(error.kind, std::move(error.message));
  }
}

TypeTable& TypeTable::Global() {
  static auto* table = new TypeTable();
  return *table;
}

TypeTable::TypeTable() {
  for (const BuiltinType& type : kBuiltinTypes) {
    bool has_parent = type.index > kTVMFFIObject;
    // Among built-in types, only ffi.Object allows child types outside its own range.
    bool is_root = type.index == kTVMFFIObject;
    Add({type.key, type.index, has_parent ? 1 : 0, 0, is_root, has_parent ? kTVMFFIObject : -1});
  }
  for (std::string_view name : kTypeAttrNames) GetOrAddColumn(name);
  // The C++ headers look the function up under this name (release_detail.h).
  TVMFFIAny release_nested = NoneAny();
  release_nested.type_index = kTVMFFIOpaquePtr;
  release_nested.v_ptr = reinterpret_cast<void*>(&ReleaseNested);
  RegisterAttr(kTVMFFIObject, "__release_in_turn__", release_nested);
}

TypeTable::Entry* TypeTable::FindEntry(int32_t index) const {
  auto position = static_cast<size_t>(index);
  if (index < 0 || index >= kMaxTypes) return nullptr;
  const Chunk* chunk = chunks_[position >> kChunkBits].load(std::memory_order_acquire);
  if (chunk == nullptr) return nullptr;
  return (*chunk)[position & (kChunkSize - 1)].load(std::memory_order_acquire);
}

TypeTable::Entry& TypeTable::RegisteredEntry(int32_t index, const char* member) {
  Entry* entry = FindEntry(index);
  if (entry == nullptr) {
    ThrowTableError("InternalError", "cannot register ", member, ": no type has index ", index);
  }
  return *entry;
}

const TVMFFITypeInfo* TypeTable::Find(int32_t index) const {
  const Entry* entry = FindEntry(index);
  return entry == nullptr ? nullptr : &entry->info;
}

const TVMFFITypeInfo& TypeTable::FindOrPlaceholder(int32_t index) {
  if (const TVMFFITypeInfo* info = Find(index)) return *info;
  std::lock_guard<std::mutex> lock(mutex_);
  return Placeholder(index);
}

const TVMFFITypeInfo& TypeTable::Placeholder(int32_t index) {
  auto found = placeholders_.find(index);
  if (found != placeholders_.end()) return found->second;
  bool is_shared = placeholders_.size() >= kMaxPlaceholders;
  static const TVMFFITypeInfo shared = [] {
    TVMFFITypeInfo info{};
    info.type_index = kTVMFFIAny;
    info.type_key = BorrowBytes("<unregistered type>");
    return info;
  }();
  if (is_shared) return shared;
  TVMFFITypeInfo info{};
  info.type_index = index;
  info.type_key = BorrowBytes(Intern(Concat("<unregistered type ", index, ">")));
  return placeholders_.emplace(index, info).first->second;
}

std::vector<std::string_view> TypeTable::Keys() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return keys_;
}

int32_t TypeTable::FindIndex(std::string_view key) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = index_by_key_.find(key);
  return found == index_by_key_.end() ? -1 : found->second;
}

int32_t TypeTable::GetOrAllocIndex(const TypeRequest& request) {
  return WithLock([&] {
    auto found = index_by_key_.find(request.key);
    if (found != index_by_key_.end()) return found->second;
    if (request.parent_index == kQueryOnly) return kQueryOnly;
    return Add(request);
  });
}

int32_t TypeTable::Add(const TypeRequest& request) {
  Entry* parent = request.parent_index < 0 ? nullptr : FindEntry(request.parent_index);
  if (request.parent_index >= 0 && parent == nullptr) {
    ThrowTableError("InternalError", "type `", request.key, "`: no type has the parent index ",
                    request.parent_index);
  }
  int32_t parent_depth = parent == nullptr ? -1 : parent->info.type_depth;
  if (request.depth != parent_depth + 1) {
    ThrowTableError("InternalError", "type `", request.key, "`: expected depth ", parent_depth + 1,
                    ", one more than the depth of the parent type (0 without a parent), got ",
                    request.depth);
  }
  if (request.child_slots < 0 || request.child_slots >= kMaxTypes) {
    ThrowTableError("InternalError", "type `", request.key, "`: child_slots must be in 0..",
                    kMaxTypes - 1, ", got ", request.child_slots);
  }
  bool is_dynamic = request.static_index < 0;
  int32_t index = is_dynamic ? FreeDynamicIndex(request, parent) : request.static_index;
  if (!is_dynamic && (index >= kTVMFFIDynObjectBegin || FindEntry(index) != nullptr)) {
    ThrowTableError("InternalError", "type `", request.key, "`: the static index ", index,
                    " is used by another type or outside 0..", kTVMFFIDynObjectBegin - 1);
  }
  // Dynamic types with an index in the range of the child slots would be treated as child types.
  if (!is_dynamic && request.child_slots >= kTVMFFIDynObjectBegin - index) {
    ThrowTableError("InternalError", "type `", request.key, "`: ", request.child_slots,
                    " child slots after the static index ", index,
                    " extend beyond the last static index, ", kTVMFFIDynObjectBegin - 1);
  }
  if (parent != nullptr && index <= parent->info.type_index) {
    ThrowTableError("InternalError", "type `", request.key, "`: index ", index,
                    " must be greater than the index of the parent type, ",
                    parent->info.type_index);
  }

  // Allocate first: a registration that runs out of memory must not change the table.
  auto entry = std::make_unique<Entry>();
  auto ancestors =
      std::make_unique<const TVMFFITypeInfo*[]>(static_cast<size_t>(request.depth) + 1);
  std::atomic<Entry*>& slot = SlotOf(index);
  if (keys_.size() == keys_.capacity()) keys_.reserve(2 * keys_.size() + 1);
  std::string_view key = Intern(request.key);
  index_by_key_.emplace(key, index);
  keys_.push_back(key);
  if (is_dynamic) TakeDynamicIndex(index, request.child_slots + 1, parent);

  TVMFFITypeInfo& info = entry->info;
  info.type_index = index;
  info.type_depth = request.depth;
  info.type_key = BorrowBytes(key);
  info.type_key_hash =
      std::hash<std::string_view>()(request.key);  // the ABI requires std::hash of libstdc++
  if (parent != nullptr) {
    std::copy_n(parent->info.type_ancestors, parent_depth, ancestors.get());
    ancestors[static_cast<size_t>(parent_depth)] = &parent->info;
  }
  info.type_ancestors = ancestors.release();
  entry->slots = request.child_slots + 1;
  entry->allocated_slots = 1;
  entry->children_may_overflow =
      request.children_may_overflow && (parent == nullptr || parent->children_may_overflow);
  slot.store(entry.release(), std::memory_order_release);
  return index;
}

// Returns the first index of a free range: inside the parent's range if possible, else at the end
// of the table.
int32_t TypeTable::FreeDynamicIndex(const TypeRequest& request, const Entry* parent) const {
  if (parent == nullptr) {
    ThrowTableError("InternalError", "type `", request.key, "`: a dynamic type needs a parent");
  }
  int32_t needed = request.child_slots + 1;
  int32_t first = parent->info.type_index + parent->allocated_slots;
  int32_t end = parent->info.type_index + parent->slots;
  // Move the range after any type that was registered with a static index inside it.
  for (int32_t index = first; index < std::min(first + needed, end); ++index) {
    if (FindEntry(index) != nullptr) first = index + 1;
  }
  if (first + needed <= end) return first;
  if (!parent->children_may_overflow) {
    ThrowTableError("TypeError", "type `", request.key, "` cannot derive from `",
                    View(parent->info.type_key),
                    "`, whose class has no slot left for derived types: ", needed, " wanted, ",
                    parent->slots - parent->allocated_slots, " of ", parent->slots - 1, " left");
  }
  if (needed > kMaxTypes - next_dynamic_index_) {
    ThrowTableError("InternalError", "type `", request.key, "`: the type table is full");
  }
  return next_dynamic_index_;
}

// Marks the range that FreeDynamicIndex returned as used: the type and its child slots.
void TypeTable::TakeDynamicIndex(int32_t index, int32_t count, Entry* parent) {
  if (index == next_dynamic_index_) {
    next_dynamic_index_ += count;
  } else {
    parent->allocated_slots = index + count - parent->info.type_index;
  }
}

std::atomic<TypeTable::Entry*>& TypeTable::SlotOf(int32_t index) {
  std::atomic<Chunk*>& chunk_slot = chunks_[static_cast<size_t>(index) >> kChunkBits];
  Chunk* chunk = chunk_slot.load(std::memory_order_relaxed);
  if (chunk == nullptr) {
    chunk = new Chunk();
    chunk_slot.store(chunk, std::memory_order_release);
  }
  return (*chunk)[static_cast<size_t>(index) & (kChunkSize - 1)];
}

bool TypeTable::IsIgnored(int32_t index) const {
  const Entry* entry = FindEntry(index);
  if (entry == nullptr) return false;
  const void* library = entry->ignored_library.load(std::memory_order_acquire);
  return library != nullptr && library == platform::LibraryBeingInitialised();
}

void TypeTable::RegisterField(int32_t index, const TVMFFIFieldInfo& info) {
  if (IsIgnored(index)) return;
  CheckNameIsUtf8("field", View(info.name));
  std::string warnings;
  std::optional<Duplicate> duplicate = WithLock([&]() -> std::optional<Duplicate> {
    Entry& entry = RegisteredEntry(index, "a field");
    std::string_view name = View(info.name), key = View(entry.info.type_key);
    for (size_t i = 0; i < entry.fields.size(); ++i) {
      if (View(entry.fields.data()[i].name) != name) continue;
      return Duplicate{entry.registrant, "field", Concat(key, ".", name), "InternalError",
                       Concat("type `", key, "` already has a field `", name, "`")};
    }
    warnings = WarnOfHiddenFields(entry.info, name);
    AddField(&entry, info);
    return std::nullopt;
  });
  if (!warnings.empty()) std::fputs(warnings.c_str(), stderr);
  if (duplicate) IgnoreOrRaise(*std::move(duplicate));
}

void TypeTable::AddField(Entry* entry, const TVMFFIFieldInfo& info) {
  TVMFFIFieldInfo field = info;
  field.name = Intern(info.name);
  field.doc = Intern(info.doc);
  field.metadata = Intern(info.metadata);
  Ref<TVMFFIObject> setter;
  if (info.flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) {
    setter = Ref<TVMFFIObject>::Share(static_cast<TVMFFIObject*>(info.setter));
  }
  Value default_value;
  if (info.flags & kTVMFFIFieldFlagBitMaskHasDefault) {
    default_value = Value::FromView(info.default_value_or_factory);
  }
  field.default_value_or_factory = default_value.raw();
  entry->fields.Append(field);
  setter.release();  // the table owns the setter and the default now
  default_value.Release();
  PublishArray(entry->fields, &entry->info.fields, &entry->info.num_fields);
}

void TypeTable::RegisterMethod(int32_t index, const TVMFFIMethodInfo& info) {
  if (IsIgnored(index)) return;
  CheckNameIsUtf8("method", View(info.name));
  WithLock([&] {
    Entry& entry = RegisteredEntry(index, "a method");
    TVMFFIMethodInfo method = info;
    method.name = Intern(info.name);
    method.doc = Intern(info.doc);
    method.metadata = Intern(info.metadata);
    Value function = Value::FromView(info.method);
    method.method = function.raw();
    entry.methods.Append(method);
    function.Release();  // the table owns the function now
    PublishArray(entry.methods, &entry.info.methods, &entry.info.num_methods);
  });
  if (info.method.type_index != kTVMFFIFunction || !HasObservers()) return;
  ShowToObservers(info.method.v_obj, Concat(KeyOf(index), ".", View(info.name)));
}

void TypeTable::RegisterMetadata(int32_t index, const TVMFFITypeMetadata& metadata,
                                 const void* registrant) {
  Entry* registered = nullptr;
  std::optional<Duplicate> duplicate = WithLock([&]() -> std::optional<Duplicate> {
    Entry& entry = RegisteredEntry(index, "metadata");
    registered = &entry;
    if (entry.info.metadata != nullptr) {
      std::string_view key = View(entry.info.type_key);
      return Duplicate{entry.registrant, "type", std::string(key), "RuntimeError",
                       Concat("type `", key, "` already has metadata")};
    }
    entry.registrant = registrant;
    entry.metadata = metadata;
    entry.metadata.doc = Intern(metadata.doc);
    __atomic_store_n(&entry.info.metadata, &entry.metadata, __ATOMIC_RELEASE);
    return std::nullopt;
  });
  if (!duplicate) return;
  IgnoreOrRaise(*std::move(duplicate));
  registered->ignored_library.store(platform::LibraryBeingInitialised(), std::memory_order_release);
}

TypeTable::Column& TypeTable::GetOrAddColumn(std::string_view name) {
  auto found = column_by_name_.find(name);
  if (found != column_by_name_.end()) return *found->second;
  auto column = std::make_unique<Column>();
  return *column_by_name_.emplace(Intern(name), std::move(column)).first->second;
}

void TypeTable::RegisterAttr(int32_t index, std::string_view name, const TVMFFIAny& value) {
  if (index != kTVMFFINone && IsIgnored(index)) return;
  std::optional<Duplicate> duplicate = WithLock([&]() -> std::optional<Duplicate> {
    Column& column = GetOrAddColumn(name);
    if (index == kTVMFFINone) return std::nullopt;
    if (index < 0 || index >= kMaxTypes) {
      ThrowTableError("ValueError", "type attribute `", name, "`: type index must be in 0..",
                      kMaxTypes - 1, ", got ", index);
    }
    auto position = static_cast<size_t>(index);
    bool is_taken =
        position < column.values.size() && column.values.data()[position].type_index != kTVMFFINone;
    if (is_taken) {
      const Entry* entry = FindEntry(index);
      std::string_view key =
          View(entry == nullptr ? Placeholder(index).type_key : entry->info.type_key);
      return Duplicate{entry == nullptr ? nullptr : entry->registrant, "type attribute",
                       Concat(key, ".", name), "RuntimeError",
                       Concat("TypeAttr `", name, "` is already registered for type index ", index,
                              " (`", key, "`)")};
    }
    AddAttr(&column, position, AttrToStore(name, value));
    return std::nullopt;
  });
  if (duplicate) IgnoreOrRaise(*std::move(duplicate));
}

void TypeTable::AddAttr(Column* column, size_t position, Value owned) {
  column->values.ExtendTo(position + 1, NoneAny());
  TVMFFIAny* slot = column->values.data() + position;
  TVMFFIAny raw = owned.Release();
  // Store the payload before the type index, because readers load the type index first.
  __atomic_store_n(&slot->v_uint64, raw.v_uint64, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->zero_padding, raw.zero_padding, __ATOMIC_RELAXED);
  SeparateStores();
  __atomic_store_n(&slot->type_index, raw.type_index, __ATOMIC_RELEASE);
  PublishArray(column->values, &column->view.data, &column->view.size);
}

const TVMFFITypeAttrColumn* TypeTable::FindColumn(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = column_by_name_.find(name);
  return found == column_by_name_.end() ? nullptr : &found->second->view;
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex) {
  return GuardBoundary([&] {
    int32_t index = TypeTable::Global().FindIndex(View(*type_key));
    if (index < 0) Raise("InternalError", "Cannot find type `", View(*type_key), "`");
    *out_tindex = index;
  });
}

int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key, int32_t static_type_index,
                                  int32_t type_depth, int32_t num_child_slots,
                                  int32_t child_slots_can_overflow, int32_t parent_type_index) {
  return GuardOrExit("TVMFFITypeGetOrAllocIndex", [&] {
    return TypeTable::Global().GetOrAllocIndex({View(*type_key), static_type_index, type_depth,
                                                num_child_slots, child_slots_can_overflow != 0,
                                                parent_type_index});
  });
}

const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index) {
  return GuardOrExit("TVMFFIGetTypeInfo",
                     [&] { return &TypeTable::Global().FindOrPlaceholder(type_index); });
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info) {
  return GuardBoundary([&] { TypeTable::Global().RegisterField(type_index, *info); });
}

int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info) {
  return GuardBoundary([&] { TypeTable::Global().RegisterMethod(type_index, *info); });
}

int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata) {
  const void* caller = TVM_FFI_RETURN_ADDRESS();
  return GuardBoundary(
      [&] { TypeTable::Global().RegisterMetadata(type_index, *metadata, caller); });
}

int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* attr_name,
                           const TVMFFIAny* attr_value) {
  return GuardBoundary(
      [&] { TypeTable::Global().RegisterAttr(type_index, View(*attr_name), *attr_value); });
}

const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name) {
  return GuardOrExit("TVMFFIGetTypeAttrColumn",
                     [&] { return TypeTable::Global().FindColumn(View(*attr_name)); });
}
