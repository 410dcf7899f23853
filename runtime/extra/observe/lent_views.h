// SPDX-License-Identifier: Apache-2.0
// Lent views: arguments without an owner (DLTensor*, strings, byte arrays), in pages that are
// inaccessible after the call.
//
// A later access enters a signal handler, which notes the function that kept the view and the stack
// of the access, makes the page accessible, and repeats the access: it reads the old values.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_LENT_VIEWS_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_LENT_VIEWS_H_

#include <tvm/ffi/extra/c_observe.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "observe/access_stack.h"

namespace tvm::ffi::extra {

// True for arguments without an owner.
inline bool IsView(const TVMFFIAny& value) {
  return value.type_index == kTVMFFIDLTensorPtr || value.type_index == kTVMFFIRawStr ||
         value.type_index == kTVMFFIByteArrayPtr;
}

// Copies the arguments of a call, and the views among the first `num_views` of them, into a page.
// Returns the copy of the arguments; null if they have no view, do not fit into a page, or no page
// is free.  The data of tensors is not copied.
const TVMFFIAny* LendViews(const TVMFFIObservedCall& call, int32_t num_views);

// Ends the use of the page of a copy.  `is_kept`: the page stays accessible.
void ReturnViews(const TVMFFIAny* copy, bool is_kept);

// Makes all pages accessible.
void AllowLentViews();

// True if the address is in the page of a call that has ended, which is then accessible.  Runs in
// a signal handler.
bool HandleLentAccess(uintptr_t address) noexcept;

// The first access to a page after the call.
struct KeptView {
  const char* name;  // of the function, never freed; "" if it has none
  const void* function;
  int32_t argument;  // -1: the array of the arguments
  AccessStack stack;
};
inline std::atomic<size_t> num_kept_views{0};
// Returns the kept view with the number *next, and increments *next; null if there is none.
const KeptView* NextKeptView(std::atomic<size_t>* next);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_LENT_VIEWS_H_
