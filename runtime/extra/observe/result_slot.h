// SPDX-License-Identifier: Apache-2.0
// Result slots of calls under a debug context: fill pattern, checks and repair.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_RESULT_SLOT_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_RESULT_SLOT_H_

#include <tvm/ffi/c_api.h>

#include <string>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {

// Pairs of a rule and a message.
using ResultFaults = std::vector<std::pair<const char*, std::string>>;

// Returns the type key of a type index; any value may be passed.
std::string TypeName(int32_t type_index);

// Fills the unused bytes of a slot that contains None.
void FillSlot(TVMFFIAny* slot);

// Returns the faults of a result.  is_filled: FillSlot was called before the function.
// needs_result: a result of None is wrong.
ResultFaults CheckSlot(const TVMFFIAny& result, bool is_filled, bool needs_result);

// Clears bytes of a slot that the function did not write, and makes a wrong result usable, so that
// the program goes on.
void RepairSlot(TVMFFIAny* slot);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_RESULT_SLOT_H_
