// SPDX-License-Identifier: Apache-2.0
// Global functions: the table and its C functions.
#include "function_table.h"

#include <cstdio>
#include <functional>
#include <memory>

#include "../platform/return_address.h"
#include "duplicate_registration.h"
#include "error.h"
#include "extra_registration.h"
#include "known_functions.h"
#include "text.h"
#include "utf8.h"

namespace tvm::ffi::runtime {
namespace {

// Registers the extra layer by an explicit call: a static link would drop object files of the extra
// layer that are referenced only by their own static initialisers.
__attribute__((constructor)) void RegisterExtraLayer() { RegisterExtra(); }

}  // namespace

FunctionTable& FunctionTable::Global() {
  static auto* table = new FunctionTable();
  return *table;
}

std::atomic<FunctionTable::Entry*>& FunctionTable::BucketOf(std::string_view name) const {
  return buckets_[std::hash<std::string_view>()(name) % kBuckets];
}

FunctionTable::Entry* FunctionTable::FindEntry(std::string_view name) const {
  Entry* entry = BucketOf(name).load(std::memory_order_acquire);
  while (entry != nullptr && entry->name != name) entry = entry->next_in_bucket;
  return entry;
}

Ref<FunctionObject> FunctionTable::Find(std::string_view name) const {
  const Entry* entry = FindEntry(name);
  return entry == nullptr ? Ref<FunctionObject>() : entry->function.Load();
}

FunctionTable::Entry* FunctionTable::FindSlot(std::string_view name) const {
  Entry* entry = FindEntry(name);
  return entry == nullptr || entry->function.IsNull() ? nullptr : entry;
}

FunctionObject* FunctionTable::Pin(Entry* entry) {
  Ref<FunctionObject> current = entry->function.Load();
  if (!current) return nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  pinned_.push_back(current);
  entry->pinned.store(current.get(), std::memory_order_release);
  return current.get();
}

bool FunctionTable::FindMetadata(std::string_view name, std::string* metadata) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Entry* entry = FindEntry(name);
  if (entry == nullptr || entry->function.IsNull()) return false;
  *metadata = entry->metadata;
  return true;
}

std::vector<std::string> FunctionTable::Names() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const Entry* entry : entries_) {
    if (!entry->function.IsNull()) names.push_back(entry->name);
  }
  return names;
}

void FunctionTable::Set(const Registration& registration, bool allow_override) {
  CheckNameIsUtf8("global function", registration.name);
  const void* registrant = nullptr;
  if (TrySet(registration, allow_override, &registrant)) {
    return ShowToObservers(registration.function.header(), registration.name);
  }
  // mutex_ is not held here: the warning and the backtrace of the error wait for the loader, and
  // the loader may wait for an initialiser that registers a function.
  if (WarnIfLibraryIsLoading("global function", registration.name, registrant)) return;
  Raise("RuntimeError", "Global Function `", registration.name,
        "` is already registered, possible causes:\n"
        "- two registrations of this name, in one library or in two\n"
        "- the same library, loaded from two files\n"
        "Remove one registration, or register one function under another name.");
}

bool FunctionTable::TrySet(const Registration& registration, bool allow_override,
                           const void** registrant) {
  // `previous` is destroyed after the lock is released: the deleter of a function may call the
  // table.
  Ref<FunctionObject> previous;
  std::lock_guard<std::mutex> lock(mutex_);
  Entry* entry = FindEntry(registration.name);
  if (entry != nullptr && !allow_override && !entry->function.IsNull()) {
    *registrant = entry->registrant;
    return false;
  }
  // Allocate first: a registration that runs out of memory must not change the table.
  std::string metadata(registration.metadata), doc(registration.doc);
  bool is_new = entry == nullptr;
  if (is_new) {
    auto added = std::make_unique<Entry>();
    added->name = registration.name;
    entries_.push_back(added.get());
    entry = added.release();
  }
  entry->metadata.swap(metadata);
  entry->doc.swap(doc);
  entry->flags = registration.flags;
  entry->registrant = registration.registrant;
  previous = entry->function.Exchange(registration.function);
  if (is_new) {
    std::atomic<Entry*>& bucket = BucketOf(entry->name);
    entry->next_in_bucket = bucket.load(std::memory_order_relaxed);
    bucket.store(entry, std::memory_order_release);
  }
  return true;
}

bool FunctionTable::Remove(std::string_view name) {
  Ref<FunctionObject> previous;  // the function is destroyed after the lock is released
  std::lock_guard<std::mutex> lock(mutex_);
  Entry* entry = FindEntry(name);
  if (entry == nullptr) return false;
  previous = entry->function.Exchange(nullptr);
  return static_cast<bool>(previous);
}

Value CallGlobal(std::string_view name, const TVMFFIAny& arg) {
  Ref<FunctionObject> function = FunctionTable::Global().Find(name);
  if (!function) Raise("ValueError", "Function ", name, " not found");
  return Call(function, &arg, 1);
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

// An unregistered name is not an error: the call succeeds and *out is NULL.
int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out) {
  return GuardBoundary([&] { *out = FunctionTable::Global().Find(View(*name)).release(); });
}

int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle f, int allow_override) {
  const void* caller = TVM_FFI_RETURN_ADDRESS();
  return GuardBoundary([&] {
    FunctionTable::Registration registration{View(*name), Ref<FunctionObject>::Share(f), {}, {}};
    registration.registrant = caller;
    FunctionTable::Global().Set(registration, allow_override != 0);
  });
}

int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* method_info, int allow_override) {
  const void* caller = TVM_FFI_RETURN_ADDRESS();
  return GuardBoundary([&] {
    if (method_info->method.type_index != kTVMFFIFunction) {
      Raise("TypeError", "global function `", View(method_info->name),
            "`: the method is not a function");
    }
    FunctionTable::Registration registration{
        View(method_info->name),     Ref<FunctionObject>::Share(method_info->method.v_obj),
        View(method_info->metadata), View(method_info->doc),
        method_info->flags,          caller};
    try {
      FunctionTable::Global().Set(registration, allow_override != 0);
    } catch (const Raised& raised) {
      // Libraries call this from static initialisers, which ignore the return code.
      std::fprintf(stderr, "%s\n", raised.what());
      throw;
    }
  });
}
