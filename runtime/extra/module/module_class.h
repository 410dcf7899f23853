// SPDX-License-Identifier: Apache-2.0
// Module downcast: recognises the modules of one C++ class by their virtual table.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_MODULE_CLASS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_MODULE_CLASS_H_

#include <tvm/ffi/extra/module.h>

#include <atomic>
#include <cstring>

namespace tvm::ffi::extra {

// Downcasts modules to the final class T.  Modules may come from libraries without RTTI and from
// other languages, so the virtual table pointer identifies the class.
template <typename T>
class ModuleClass {
 public:
  // Stores the address of the virtual table of T.  The constructor of T calls this function.
  static void Learn(const T* module) {
    ClassTable().store(VirtualTableOf(module), std::memory_order_relaxed);
  }
  // Returns the module as a T; nullptr if the module is of another class.
  static T* From(const Module& module) {
    void* known = ClassTable().load(std::memory_order_relaxed);
    if (known == nullptr || VirtualTableOf(module.get()) != known) return nullptr;
    return static_cast<T*>(module.get());
  }

 private:
  static std::atomic<void*>& ClassTable() {
    static std::atomic<void*> table{nullptr};
    return table;
  }
  static void* VirtualTableOf(const ModuleObj* module) {
    void* table;
    std::memcpy(&table, static_cast<const void*>(module), sizeof(table));
    return table;
  }
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_MODULE_CLASS_H_
