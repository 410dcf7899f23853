// SPDX-License-Identifier: Apache-2.0
// Dispatch program: a check program with the conditions and candidates of a dispatch, which is one
// function with several implementations.
//
// `tvm_ffi.dispatches` writes dispatch programs (dispatches/_program.py).  Numbers have the form
// that checks/program.h describes; so does the first part, the check program of the arguments,
// whose code also contains the conditions.
//
//   version          1
//   name             string: name of the function for messages
//   checks           check program
//   device           number of parameter indices, and the indices: the device of a call is that of
//                    the first of these tensors that is not None; without one, the CPU
//   result           register that receives 1 or 0 from a condition; -1 without conditions
//   conditions       number, then each: text; code address; number of named values, then each:
//   name;
//                    register; optional dtype set, if the register has 1 + the index of a dtype in
//                    this set
//   candidates       number, then each, in the order in which a call tries them: name; DLPack
//   device
//                    type or -1; architecture or an empty string; reason why no call may use the
//                    candidate, or an empty string; number and indices of its conditions
#ifndef TVM_FFI_RUNTIME_EXTRA_DISPATCH_DISPATCH_PROGRAM_H_
#define TVM_FFI_RUNTIME_EXTRA_DISPATCH_DISPATCH_PROGRAM_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checks/program.h"
#include "cuda/architecture.h"

namespace tvm::ffi::extra::dispatch {

using checks::kNone;

// A value that a message shows beside a false condition, such as the extent `d`.
struct NamedValue {
  std::string name;
  uint32_t register_index;
  uint32_t dtype_set;  // the register has 1 + an index in this set; kNone: it has an integer
};

// A comparison that several candidates may share.
struct Condition {
  std::string text;
  uint32_t start;  // code address
  std::vector<NamedValue> values;
};

struct Candidate {
  std::string name;
  int32_t device_type;  // DLDeviceType, or -1 for all devices
  std::string
      architecture_text;  // lowest GPU architecture, such as "sm_90"; empty if there is none
  cuda::Architecture architecture;
  std::string unavailable;  // reason why no call may use the candidate; empty if calls may
  std::vector<uint32_t> conditions;
};

struct DispatchProgram {
  std::string name;
  checks::CheckProgram checks;
  std::vector<uint32_t> device_tensors;
  uint32_t result;  // register that receives 1 or 0 from a condition; kNone without conditions
  std::vector<Condition> conditions;
  std::vector<Candidate> candidates;
};

// Reads and validates a dispatch program.
//
// Fails: ValueError "corrupt dispatch program at byte N of M: ...".  Uses memory in proportion to
//        the number of bytes.
DispatchProgram ReadDispatchProgram(std::string_view bytes);

}  // namespace tvm::ffi::extra::dispatch

#endif  // TVM_FFI_RUNTIME_EXTRA_DISPATCH_DISPATCH_PROGRAM_H_
