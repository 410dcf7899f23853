// SPDX-License-Identifier: Apache-2.0
#include "module/attached_metadata.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace tvm::ffi::extra {
namespace {

// The attached metadata of all modules, by module address.  Each entry has a weak reference to its
// module.  The weak reference keeps the memory of a destroyed module allocated, so no other module
// can have the address until the entry is removed.
class Table {
 public:
  static Table& Global() {
    static auto* table = new Table();
    return *table;
  }

  void Set(const Module& module, const String& name, AttachedMetadata metadata) {
    // `dead` is declared before the lock, so that the removed entries are destroyed after the mutex
    // is unlocked.
    std::unordered_map<const ModuleObj*, Entry> dead;
    std::lock_guard<std::mutex> lock(mutex_);
    is_used_.store(true, std::memory_order_relaxed);
    // Remove the entries of destroyed modules only when the first function of a module gets
    // metadata, because the search for such entries is slow.
    if (entries_.count(module.get()) == 0) MoveDeadTo(&dead);
    Entry& entry = entries_[module.get()];
    entry.module = ffi::detail::ObjectUnsafe::ObjectPtrFromObjectRef<ModuleObj>(module);
    std::swap(entry.functions[std::string(name)], metadata);
  }

  AttachedMetadata Find(const ModuleObj* module, const String& name) {
    if (!is_used_.load(std::memory_order_relaxed)) return {};
    std::lock_guard<std::mutex> lock(mutex_);
    auto entry = entries_.find(module);
    if (entry == entries_.end()) return {};
    auto found = entry->second.functions.find(std::string(name));
    return found == entry->second.functions.end() ? AttachedMetadata() : found->second;
  }

 private:
  struct Entry {
    WeakObjectPtr<ModuleObj> module;
    std::map<std::string, AttachedMetadata> functions;
  };

  void MoveDeadTo(std::unordered_map<const ModuleObj*, Entry>* dead) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      auto next = std::next(entry);
      if (entry->second.module.expired()) dead->insert(entries_.extract(entry));
      entry = next;
    }
  }

  std::atomic<bool> is_used_{false};
  std::mutex mutex_;
  std::unordered_map<const ModuleObj*, Entry> entries_;
};

}  // namespace

void AttachMetadata(const Module& module, const String& name, AttachedMetadata metadata) {
  Table::Global().Set(module, name, std::move(metadata));
}

AttachedMetadata FindAttachedMetadata(const ModuleObj* module, const String& name) {
  return Table::Global().Find(module, name);
}

}  // namespace tvm::ffi::extra
