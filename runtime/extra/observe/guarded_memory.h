// SPDX-License-Identifier: Apache-2.0
// Guarded memory: whole pages of tensors that are protected from writes during a call.
//
// A write to such a page enters a signal handler, which keeps the content of the page and the stack
// of the writer, makes the page writable, and repeats the write.  The program goes on as without
// the protection.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_GUARDED_MEMORY_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tvm::ffi::extra {

// While an instance exists, invalid accesses in observed calls are handled: writes to guarded
// memory, and other accesses, for which `describe` prints the call.  `describe` runs in a signal
// handler.
class AccessHandling {
 public:
  explicit AccessHandling(void (*describe)(uintptr_t address) noexcept);
  ~AccessHandling();
  AccessHandling(const AccessHandling&) = delete;
  AccessHandling& operator=(const AccessHandling&) = delete;
};

// Returns the size of a page; 0 if pages cannot be guarded.
size_t GuardPageSize();

// Protects the pages [first, last) until ReleasePages.  Returns the number of the range, or -1 if
// it cannot be protected: the system cannot, another call protects one of the pages, or too many
// ranges are protected.
int GuardPages(uintptr_t first, uintptr_t last);

struct GuardedChange {
  uintptr_t address;     // the first byte that has changed in a page
  uintptr_t page;        // the address of the page
  std::string old_page;  // its content before the write
  std::string stack;     // of the writer
};
// Ends the protection, and returns the change that a thread made first, if any.
std::optional<GuardedChange> ReleasePages(int range);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_GUARDED_MEMORY_H_
