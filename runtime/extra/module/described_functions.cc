// SPDX-License-Identifier: Apache-2.0
#include "module/described_functions.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace tvm::ffi::extra {
namespace {

// By address of the module.  The weak reference keeps the memory of a module that has died, so no
// other one gets its address before the entry is gone.
class Table {
 public:
  static Table& Global() {
    static auto* table = new Table();
    return *table;
  }

  void Set(const Module& module, const String& name, FunctionDescription description) {
    // Those that are dropped go last, without the lock.
    std::unordered_map<const ModuleObj*, Entry> dead;
    std::lock_guard<std::mutex> lock(mutex_);
    is_used_.store(true, std::memory_order_relaxed);
    if (entries_.count(module.get()) == 0) MoveDeadTo(&dead);  // not for each of its functions
    Entry& entry = entries_[module.get()];
    entry.module = ffi::detail::ObjectUnsafe::ObjectPtrFromObjectRef<ModuleObj>(module);
    std::swap(entry.functions[std::string(name)], description);
  }

  FunctionDescription Find(const ModuleObj* module, const String& name) {
    if (!is_used_.load(std::memory_order_relaxed)) return {};
    std::lock_guard<std::mutex> lock(mutex_);
    auto entry = entries_.find(module);
    if (entry == entries_.end()) return {};
    auto found = entry->second.functions.find(std::string(name));
    return found == entry->second.functions.end() ? FunctionDescription() : found->second;
  }

 private:
  struct Entry {
    WeakObjectPtr<ModuleObj> module;
    std::map<std::string, FunctionDescription> functions;
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

void DescribeFunction(const Module& module, const String& name, FunctionDescription description) {
  Table::Global().Set(module, name, std::move(description));
}

FunctionDescription DescriptionOf(const ModuleObj* module, const String& name) {
  return Table::Global().Find(module, name);
}

}  // namespace tvm::ffi::extra
