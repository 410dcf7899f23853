// SPDX-License-Identifier: Apache-2.0
// The process-wide table of types: index, key, ancestors, reflection, and attribute columns.
//
// Append-only and never destroyed: a TVMFFITypeInfo and a column never move, so readers hold raw
// pointers without a lock; the look-up by key or name that gives them takes one.  Arrays that grow
// are replaced and the old ones left in place, because a reader may still be in them; doubling
// bounds what that costs.
#ifndef TVM_FFI_RUNTIME_CORE_TYPE_TABLE_H_
#define TVM_FFI_RUNTIME_CORE_TYPE_TABLE_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
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
  int32_t static_index;  // negative: allocate
  int32_t depth;
  int32_t child_slots;
  bool children_may_overflow;
  int32_t parent_index;  // -1: none
};

class TypeTable {
 public:
  static TypeTable& Global();

  // The index of the key, which is registered with the other arguments when it is new.
  int32_t GetOrAllocIndex(const TypeRequest& request);
  // -1 when the key is unknown.
  int32_t FindIndex(std::string_view key);
  // Null when nothing is registered under the index.  Lock-free.
  const TVMFFITypeInfo* Find(int32_t index) const;
  // The key, or a placeholder for an index that has none.  For messages.
  std::string_view KeyOf(int32_t index) const;
  std::vector<std::string_view> Keys() const;  // in order of registration

  // What is registered twice is an error, unless a library that is being loaded repeats it, see
  // duplicate_registration.h.  A library whose metadata of a type is passed over has no say in its
  // fields, methods and attributes either.
  void RegisterField(int32_t index, const TVMFFIFieldInfo& info);
  void RegisterMethod(int32_t index, const TVMFFIMethodInfo& info);
  // `registrant` is an address in the code that registers.
  void RegisterMetadata(int32_t index, const TVMFFITypeMetadata& metadata, const void* registrant);

  // Index 0 only makes sure that the column exists.
  void RegisterAttr(int32_t index, std::string_view name, const TVMFFIAny& value);
  const TVMFFITypeAttrColumn* FindColumn(std::string_view name);

 private:
  // What the C struct does not hold.
  struct Entry {
    TVMFFITypeInfo info;
    int32_t slots;            // indices reserved for this type and its children
    int32_t allocated_slots;  // of these, how many are given out; the type itself is the first
    bool children_may_overflow;
    TVMFFITypeMetadata metadata;
    const void* registrant = nullptr;  // of the metadata
    // The library that is being loaded and has registered the type again; never reset, since other
    // threads load nothing meanwhile and later libraries are compared with it.
    std::atomic<const void*> passed_over{nullptr};
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
  static constexpr int32_t kMaxTypes = int32_t{kChunkSize * kMaxChunks};  // about four million
  using Chunk = std::array<std::atomic<Entry*>, kChunkSize>;

  TypeTable();
  // Makes a change to the table.  Nothing may be raised, and no foreign code run, under the lock.
  template <typename Change>
  auto WithLock(Change&& change);
  Entry* FindEntry(int32_t index) const;
  bool IsPassedOver(int32_t index) const;
  Entry& RegisteredEntry(int32_t index, const char* what);
  int32_t Add(const TypeRequest& request);
  int32_t FreeDynamicIndex(const TypeRequest& request, const Entry* parent) const;
  void TakeDynamicIndex(int32_t index, int32_t count, Entry* parent);
  std::atomic<Entry*>& SlotOf(int32_t index);
  void AddField(Entry* entry, const TVMFFIFieldInfo& info);
  static void AddAttr(Column* column, size_t position, Value owned);
  Column& GetOrAddColumn(std::string_view name);
  // A NUL-terminated copy that lives as long as the table.
  std::string_view Intern(std::string_view text) { return texts_.emplace_back(text); }
  TVMFFIByteArray Intern(const TVMFFIByteArray& text) { return Lend(Intern(View(text))); }

  mutable std::mutex mutex_;  // guards all writes, and the members below up to chunks_
  std::unordered_map<std::string_view, int32_t> index_by_key_;
  std::vector<std::string_view> keys_;
  std::unordered_map<std::string_view, std::unique_ptr<Column>> column_by_name_;
  std::deque<std::string> texts_;  // what keys, names and documentation point at
  int32_t next_dynamic_index_ = kTVMFFIDynObjectBegin;
  std::array<std::atomic<Chunk*>, kMaxChunks> chunks_{};
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_TYPE_TABLE_H_
