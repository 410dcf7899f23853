// SPDX-License-Identifier: Apache-2.0
// Type table: index, key, ancestors, fields, methods and attribute columns of all types.
//
// The table is process-wide, append-only and never destroyed.  A TVMFFITypeInfo and a column never
// move, so readers use raw pointers without a lock; only the lookup by key or name takes the lock.
// An array that grows is copied and the old block is kept, because a reader may still use it; the
// capacity doubles, so the old blocks together are no larger than the current one.
#ifndef TVM_FFI_RUNTIME_CORE_TYPE_TABLE_H_
#define TVM_FFI_RUNTIME_CORE_TYPE_TABLE_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "growing_array.h"
#include "text.h"
#include "value.h"

namespace tvm::ffi::runtime {

// Arguments of TVMFFITypeGetOrAllocIndex.
struct TypeRequest {
  std::string_view key;
  int32_t static_index;  // the index of the new type; negative to let the table choose an index
  int32_t depth;
  int32_t child_slots;
  bool children_may_overflow;
  int32_t parent_index;  // type index of the parent; -1 without a parent
};

class TypeTable {
 public:
  static TypeTable& Global();

  // Returns the index of the type with this key.  Registers the type if the key is not registered.
  int32_t GetOrAllocIndex(const TypeRequest& request);
  // Returns the index of the type with this key, or -1 if the key is not registered.
  int32_t FindIndex(std::string_view key);
  // Returns the type with this index, or null if no type has the index.  Takes no lock.
  const TVMFFITypeInfo* Find(int32_t index) const;
  // Returns the type with this index.  If no type has the index, returns a placeholder with the key
  // "<unregistered type N>" and without fields: values from other runtimes, or damaged values, may
  // have any type index, and error messages name the type of a value.  The placeholders are valid
  // until the process ends; few indices have their own, the others share one without the number.
  const TVMFFITypeInfo& FindOrPlaceholder(int32_t index);
  std::string_view KeyOf(int32_t index) { return View(FindOrPlaceholder(index).type_key); }
  std::vector<std::string_view> Keys() const;  // all keys, in order of registration

  // No lock of the table is taken in a child that is forked between Lock and Unlock.
  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

  // A duplicate registration is an error unless the caller is a library that is being loaded
  // (duplicate_registration.h).  If the type metadata of such a library is ignored as a duplicate,
  // its fields, methods and attributes of the type are ignored as well.
  void RegisterField(int32_t index, const TVMFFIFieldInfo& info);
  void RegisterMethod(int32_t index, const TVMFFIMethodInfo& info);
  // Registers the metadata of a type.  registrant: an address in the library that registers the
  // type; identifies the library.
  void RegisterMetadata(int32_t index, const TVMFFITypeMetadata& metadata, const void* registrant);

  // Stores a value in the attribute column `name`.  With type index 0, only creates the column.
  void RegisterAttr(int32_t index, std::string_view name, const TVMFFIAny& value);
  const TVMFFITypeAttrColumn* FindColumn(std::string_view name);

 private:
  // A registered type: the TVMFFITypeInfo and the state of its registration.
  struct Entry {
    TVMFFITypeInfo info;
    int32_t slots;            // number of indices reserved for this type and its child types
    int32_t allocated_slots;  // number of indices in use, at least 1 for the type itself
    bool children_may_overflow;
    TVMFFITypeMetadata metadata;
    const void* registrant = nullptr;  // an address in the library that registered the type
    // The last library whose registration of the type was ignored as a duplicate.  Never reset,
    // because the loader loads one library at a time and the field is only compared with the
    // library that is being loaded.
    std::atomic<const void*> ignored_library{nullptr};
    GrowingArray<TVMFFIFieldInfo> fields;
    GrowingArray<TVMFFIMethodInfo> methods;
  };
  struct Column {
    TVMFFITypeAttrColumn view;
    GrowingArray<TVMFFIAny> values;
  };

  static constexpr size_t kChunkBits = 10;
  static constexpr size_t kChunkSize = size_t{1} << kChunkBits;
  static constexpr size_t kMaxChunks = 4096;
  static constexpr int32_t kMaxTypes = int32_t{kChunkSize * kMaxChunks};  // 4,194,304
  using Chunk = std::array<std::atomic<Entry*>, kChunkSize>;

  TypeTable();
  // Calls `change` under the lock of the table.  `change` must throw TableError instead of raising
  // an error, and must not run third-party code.
  template <typename Change>
  auto WithLock(Change&& change);
  Entry* FindEntry(int32_t index) const;
  // Returns true if the library being loaded has registered the type as a duplicate.
  bool IsIgnored(int32_t index) const;
  Entry& RegisteredEntry(int32_t index, const char* member);
  int32_t Add(const TypeRequest& request);
  int32_t FreeDynamicIndex(const TypeRequest& request, const Entry* parent) const;
  void TakeDynamicIndex(int32_t index, int32_t count, Entry* parent);
  std::atomic<Entry*>& SlotOf(int32_t index);
  void AddField(Entry* entry, const TVMFFIFieldInfo& info);
  static void AddAttr(Column* column, size_t position, Value owned);
  const TVMFFITypeInfo& Placeholder(int32_t index);  // under the lock; see FindOrPlaceholder
  Column& GetOrAddColumn(std::string_view name);
  // Returns a NUL-terminated copy of the text that lives as long as the table.
  std::string_view Intern(std::string_view text) { return strings_.emplace_back(text); }
  TVMFFIByteArray Intern(const TVMFFIByteArray& text) { return BorrowBytes(Intern(View(text))); }
  static constexpr size_t kMaxPlaceholders = 256;

  mutable std::mutex mutex_;  // guards all writes, and the members below up to chunks_
  std::unordered_map<std::string_view, int32_t> index_by_key_;
  std::vector<std::string_view> keys_;
  std::unordered_map<std::string_view, std::unique_ptr<Column>> column_by_name_;
  std::deque<std::string> strings_;                 // interned keys, names and documentation
  std::map<int32_t, TVMFFITypeInfo> placeholders_;  // of unregistered types
  int32_t next_dynamic_index_ = kTVMFFIDynObjectBegin;
  std::array<std::atomic<Chunk*>, kMaxChunks> chunks_{};
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_TYPE_TABLE_H_
