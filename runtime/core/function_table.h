// SPDX-License-Identifier: Apache-2.0
// The process-wide table of named functions.
//
// Entries are never removed and never move: removal empties an entry.  So a lookup walks a bucket
// without a lock, and takes the entry's own to add its reference, see atomic_ref.h.
#ifndef TVM_FFI_RUNTIME_CORE_FUNCTION_TABLE_H_
#define TVM_FFI_RUNTIME_CORE_FUNCTION_TABLE_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atomic_ref.h"
#include "function.h"
#include "value.h"

namespace tvm::ffi::runtime {

class FunctionTable {
 public:
  static FunctionTable& Global();

  // Null when the name is not registered.
  Ref<FunctionObject> Find(std::string_view name) const;
  // What is registered under a name, for those who ask again and again: an entry never moves.
  struct Entry {
    std::string name;
    AtomicRef<FunctionObject> function;  // null: removed
    std::string metadata;                // guarded by mutex_, like the two below
    std::string doc;
    int64_t flags = 0;
    const void* registrant = nullptr;
    std::atomic<FunctionObject*> pinned{nullptr};  // one of pinned_
    Entry* next_in_bucket = nullptr;
  };
  // Null when nothing is registered under the name.  Takes no lock.
  Entry* FindSlot(std::string_view name) const;
  // The function of an entry, as an address that stays valid until the process ends: such functions
  // are never freed.  Null when it was removed.
  FunctionObject* Pin(Entry* entry);
  // The same for functions that were pinned before; null for others.  Takes no lock.
  static FunctionObject* PinnedIn(const Entry* entry) {
    FunctionObject* pinned = entry->pinned.load(std::memory_order_acquire);
    return pinned != nullptr && entry->function.Is(pinned) ? pinned : nullptr;
  }
  // Metadata text of a registered function; false when the name is not registered.
  bool FindMetadata(std::string_view name, std::string* metadata) const;
  std::vector<std::string> Names() const;

  struct Registration {
    std::string_view name;
    Ref<FunctionObject> function;
    std::string_view metadata;
    std::string_view doc;
    int64_t flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
    const void* registrant = nullptr;  // an address in the code that registers
  };
  // Raises RuntimeError when the name is taken and must not be overridden, unless a library that
  // is being loaded repeats it, see duplicate_registration.h.
  void Set(const Registration& registration, bool allow_override);
  // False when the name is not registered.
  bool Remove(std::string_view name);

 private:
  static constexpr size_t kBuckets = 4096;

  FunctionTable() = default;
  std::atomic<Entry*>& BucketOf(std::string_view name) const;
  Entry* FindEntry(std::string_view name) const;
  // False when the name is taken and must not be overridden; *registrant then tells by whom.
  bool TrySet(const Registration& registration, bool allow_override, const void** registrant);

  mutable std::mutex mutex_;
  std::vector<Entry*> entries_;              // in order of first registration; guarded by mutex_
  std::vector<Ref<FunctionObject>> pinned_;  // guarded by mutex_
  mutable std::array<std::atomic<Entry*>, kBuckets> buckets_{};
};

// Calls a global function with one borrowed argument; ValueError when there is none of that name.
Value CallGlobal(std::string_view name, const TVMFFIAny& arg);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_FUNCTION_TABLE_H_
