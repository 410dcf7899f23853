// SPDX-License-Identifier: Apache-2.0
// Telling the modules of one class from all others.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_MODULE_CLASS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_MODULE_CLASS_H_

#include <tvm/ffi/extra/module.h>

#include <atomic>
#include <cstring>

namespace tvm::ffi::extra {

// What the modules of the class T, which is final, have in common.  Modules come from libraries
// without type information and from other languages as well, so a class is told by its virtual
// functions.
template <typename T>
class ModuleClass {
 public:
  // Called by the constructor of T.
  static void Learn(const T* module) {
    TableOfAll().store(TableOf(module), std::memory_order_relaxed);
  }
  // The module when it is of this class, else nullptr.
  static T* From(const Module& module) {
    void* all = TableOfAll().load(std::memory_order_relaxed);
    if (all == nullptr || TableOf(module.get()) != all) return nullptr;
    return static_cast<T*>(module.get());
  }

 private:
  static std::atomic<void*>& TableOfAll() {
    static std::atomic<void*> table{nullptr};
    return table;
  }
  static void* TableOf(const ModuleObj* module) {
    void* table;
    std::memcpy(&table, static_cast<const void*>(module), sizeof(table));
    return table;
  }
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_MODULE_CLASS_H_
