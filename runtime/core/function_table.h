// SPDX-License-Identifier: Apache-2.0
// Global functions: the process-wide hash table from names to functions.
//
// The entries of the table are never freed and never move; removing a name sets the function of its
// entry to null.  A lookup therefore walks a bucket without a lock.  It takes only the spin lock of
// the entry while it adds its reference (atomic_ref.h).
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

  // Returns the function that is registered under the name, or null if the name is not registered.
  Ref<FunctionObject> Find(std::string_view name) const;
  // A name and the function that is registered under the name.  Callers may cache the address of an
  // entry, because entries are never moved or freed.
  struct Entry {
    std::string name;
    AtomicRef<FunctionObject> function;  // the function; null after the name was removed
    std::string metadata;                // mutex_ guards metadata, doc and flags
    std::string doc;
    int64_t flags = 0;
    // An address in the library that registered the function.
    const void* registrant = nullptr;
    std::atomic<FunctionObject*> pinned{nullptr};  // the pinned function; null if none is pinned
    Entry* next_in_bucket = nullptr;
  };
  // Returns the entry of a name, or null if the name was never registered.  Takes no lock.
  Entry* FindSlot(std::string_view name) const;
  // Pins the function of an entry and returns the address of the function, or null if the name was
  // removed.  A pinned function is never freed.
  FunctionObject* Pin(Entry* entry);
  // Returns the function of an entry if it is pinned, else null.  Takes no lock.
  static FunctionObject* PinnedIn(const Entry* entry) {
    FunctionObject* pinned = entry->pinned.load(std::memory_order_acquire);
    return pinned != nullptr && entry->function.Is(pinned) ? pinned : nullptr;
  }
  // Stores the metadata of a function in *metadata.  Returns false if the name is not registered.
  bool FindMetadata(std::string_view name, std::string* metadata) const;
  std::vector<std::string> Names() const;

  struct Registration {
    std::string_view name;
    Ref<FunctionObject> function;
    std::string_view metadata;
    std::string_view doc;
    int64_t flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
    const void* registrant = nullptr;  // an address in the library that registers the function
  };
  // Registers a function.  Raises ValueError if the name is not UTF-8.  Raises RuntimeError if the
  // name is registered and allow_override is false, unless the caller is a library that is being
  // loaded (duplicate_registration.h).
  void Set(const Registration& registration, bool allow_override);
  // Removes a name; returns false if the name is not registered.
  bool Remove(std::string_view name);

  // No lock of the table is taken in a child that is forked between Lock and UnlockInChild.
  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }
  void UnlockInChild() {
    for (Entry* entry : entries_) entry->function.ReleaseInChild();
    mutex_.unlock();
  }

 private:
  static constexpr size_t kBuckets = 4096;

  FunctionTable() = default;
  std::atomic<Entry*>& BucketOf(std::string_view name) const;
  Entry* FindEntry(std::string_view name) const;
  // Registers a function as Set does.  Returns false if the name is registered and allow_override
  // is false; then *registrant is an address in the library that registered the name first.
  bool TrySet(const Registration& registration, bool allow_override, const void** registrant);

  mutable std::mutex mutex_;
  std::vector<Entry*> entries_;              // in order of registration; guarded by mutex_
  std::vector<Ref<FunctionObject>> pinned_;  // all pinned functions; guarded by mutex_
  mutable std::array<std::atomic<Entry*>, kBuckets> buckets_{};
};

// Calls a global function with one borrowed argument; raises ValueError if the name is unknown.
Value CallGlobal(std::string_view name, const TVMFFIAny& arg);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_FUNCTION_TABLE_H_
