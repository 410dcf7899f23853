// SPDX-License-Identifier: Apache-2.0
// Quick checks: tables that represent the first checks of a launch program (the bytecode that
// checks the arguments of a call).  The result of a quick check is pass or fail.
//
// A quick check also fails for some rare valid arguments.  After a failure, the launch program runs
// from its first instruction and either accepts the arguments or raises the error.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_QUICK_CHECKS_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_QUICK_CHECKS_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda/tensor_properties.h"

namespace tvm::ffi::extra::cuda {

// State of a call: its arguments, and the tensor slots and registers of the launch program's
// interpreter.
struct CallState {
  const TVMFFIAny* args;
  int32_t num_args;
  const DLTensor** tensors;
  int64_t* registers;
};

// How a call may omit an optional argument: by not passing it, or by passing None.
struct Omission {
  bool may_be_missing = false, may_be_none = false;

  bool IsOmitted(const CallState& call, uint32_t argument) const {
    if (argument >= static_cast<uint32_t>(call.num_args)) return may_be_missing;
    return may_be_none && call.args[argument].type_index == kTVMFFINone;
  }
};

struct TensorCheck {
  // Checks the extent of an axis against a constant or against the value of a register.  If the
  // register has no value yet, the extent is stored in the register and the check passes.
  struct Extent {
    int32_t axis;
    bool is_constant;  // true: compare the extent with `constant`; false: with `value_register`
    uint32_t value_register;  // index of the register that has the expected extent
    // Index of the register that is 1 if `value_register` has a value, else 0.
    uint32_t known_register;
    int64_t constant;
  };
  static constexpr int32_t kAny = -1;

  uint32_t argument;  // index of the argument in the call, and of its tensor slot
  Omission omission;
  int32_t ndim = kAny, device_type = kAny, device_id = kAny;
  bool is_compact = false;
  bool has_address = false;  // true if the data pointer must be non-null and aligned for the dtype
  uint64_t alignment = 1;    // required alignment of the data in bytes
  // Accepted dtypes, borrowed from the launch program; nullptr if any dtype is accepted.
  const DLDataType* dtypes = nullptr;
  size_t num_dtypes = 0;
  // True if all tensors with the same `dtype_register` must have one dtype.
  bool is_variable = false;
  // Index of the register that represents the shared dtype.  The register is 0 until the first
  // tensor is checked, then 1 + the index of the first tensor's dtype in `dtypes`.
  uint32_t dtype_register = 0;
  std::vector<Extent> extents;  // the field `axis` of every element is less than `ndim`

  bool Passes(const CallState& call) const {
    if (omission.IsOmitted(call, argument)) return true;
    if (argument >= static_cast<uint32_t>(call.num_args)) return false;
    const DLTensor* tensor = Read(call.args[argument]);
    if (tensor == nullptr || !HasType(*tensor, call.registers) || !HasMemory(*tensor)) return false;
    call.tensors[argument] = tensor;
    for (const Extent& extent : extents) {
      if (!HasExtent(*tensor, extent, call.registers)) return false;
    }
    return true;
  }

 private:
  static const DLTensor* Read(const TVMFFIAny& arg) {
    if (arg.type_index == kTVMFFITensor) return reinterpret_cast<const DLTensor*>(arg.v_obj + 1);
    return arg.type_index == kTVMFFIDLTensorPtr ? static_cast<const DLTensor*>(arg.v_ptr) : nullptr;
  }
  bool HasType(const DLTensor& tensor, int64_t* registers) const {
    return (ndim == kAny || tensor.ndim == ndim) && HasDtype(tensor.dtype, registers) &&
           (device_type == kAny || tensor.device.device_type == device_type) &&
           (device_id == kAny || tensor.device.device_id == device_id);
  }
  bool HasDtype(DLDataType dtype, int64_t* registers) const {
    if (dtypes == nullptr) return true;
    size_t index = 0;
    while (!IsSame(dtypes[index], dtype)) {
      if (++index == num_dtypes) return false;
    }
    if (!is_variable) return true;
    int64_t &known = registers[dtype_register], got = static_cast<int64_t>(index) + 1;
    if (known == 0) known = got;
    return known == got;
  }
  bool HasMemory(const DLTensor& tensor) const {
    if (is_compact && !IsCompact(tensor)) return false;
    if (MisalignmentOf(tensor, alignment) != 0) return false;
    if (!has_address) return true;
    return tensor.data != nullptr && MisalignmentOf(tensor, AlignmentOf(tensor.dtype)) == 0;
  }
  static bool HasExtent(const DLTensor& tensor, const Extent& extent, int64_t* registers) {
    int64_t got = tensor.shape[extent.axis];
    if (extent.is_constant) return got == extent.constant;
    if (registers[extent.known_register] != 0) return got == registers[extent.value_register];
    registers[extent.value_register] = got;
    registers[extent.known_register] = 1;
    return true;
  }
};

// Checks an argument that is a number, and stores the number in a register.
struct NumberCheck {
  uint32_t argument;        // index of the argument in the call
  uint32_t register_index;  // index of the register that receives the number
  Omission omission;
  bool is_float = false;  // true if the number is stored as a double
  // True for each accepted type besides float; a float parameter converts the number.
  bool takes_int = false, takes_bool = false;
  bool is_truth = false;  // true if the truth value of the number is stored, as 0 or 1
  int64_t min = INT64_MIN, max = INT64_MAX;
  bool is_bound = false;        // true if the number must equal the value of a name, such as `n`
  uint32_t value_register = 0;  // index of the register that has the value of the name
  // Index of the register that is 1 if `value_register` has a value, else 0.
  uint32_t known_register = 0;

  bool Passes(const CallState& call) const {
    bool is_omitted = omission.IsOmitted(call, argument);
    if (!is_omitted && !Reads(call)) return false;
    if (!is_bound) return true;
    int64_t number = call.registers[register_index];
    if (call.registers[known_register] != 0) return call.registers[value_register] == number;
    call.registers[value_register] = number;
    call.registers[known_register] = 1;
    return true;
  }

 private:
  bool Reads(const CallState& call) const {
    if (argument >= static_cast<uint32_t>(call.num_args)) return false;
    const TVMFFIAny& arg = call.args[argument];
    int64_t& number = call.registers[register_index];
    number = arg.v_int64;  // the bit pattern of the double if the number is a float
    if (is_float && arg.type_index == kTVMFFIFloat) return true;
    bool is_bool = arg.type_index == kTVMFFIBool;
    if (!(takes_int && arg.type_index == kTVMFFIInt) && !(takes_bool && is_bool)) return false;
    if (number < min || number > max) return false;
    if (is_truth) number = number != 0;
    if (is_float) {
      double converted = static_cast<double>(number);
      std::memcpy(&number, &converted, sizeof(number));
    }
    return true;
  }
};

struct QuickChecks {
  // Two tensors that must be on the same device.  The check passes if one of the two is None.
  struct SameDevice {
    uint32_t first, second;  // indices of the two tensor slots
  };

  std::vector<TensorCheck> tensors;
  std::vector<NumberCheck> numbers;
  std::vector<SameDevice> same_devices;
  // Code address at which the launch program continues after all quick checks passed.
  uint32_t end = 0;
  bool is_complete = false;  // true if the launch program has no check at or after `end`

  bool Pass(const CallState& call) const {
    for (const TensorCheck& tensor : tensors) {
      if (!tensor.Passes(call)) return false;
    }
    for (const NumberCheck& number : numbers) {
      if (!number.Passes(call)) return false;
    }
    for (const SameDevice& pair : same_devices) {
      const DLTensor *first = call.tensors[pair.first], *second = call.tensors[pair.second];
      if (first == nullptr || second == nullptr) continue;
      if (first->device.device_id != second->device.device_id) return false;
    }
    return true;
  }
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_QUICK_CHECKS_H_
