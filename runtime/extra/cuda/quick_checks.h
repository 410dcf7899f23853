// SPDX-License-Identifier: Apache-2.0
// What a launch program looks at first, in a form that is fast and only says yes or no.
//
// No is also the answer for what is rare.  The program itself, run from its beginning, says what is
// wrong, if anything is.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_QUICK_CHECKS_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_QUICK_CHECKS_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda/tensor_facts.h"

namespace tvm::ffi::extra::cuda {

// The arguments of a call, and where it puts what it reads and calculates.
struct CallState {
  const TVMFFIAny* args;
  int32_t num_args;
  const DLTensor** tensors;
  int64_t* registers;
};

// What a default stands for, or a None.
struct Omission {
  bool may_be_missing = false, may_be_none = false;

  bool IsLeftOut(const CallState& call, uint32_t argument) const {
    if (argument >= static_cast<uint32_t>(call.num_args)) return may_be_missing;
    return may_be_none && call.args[argument].type_index == kTVMFFINone;
  }
};

struct TensorCheck {
  // The extent of an axis is what a register holds, or becomes that where it is met first.
  struct Extent {
    int32_t axis;
    bool is_constant;  // else `value` and `is_known` are registers
    uint32_t value, is_known;
    int64_t constant;
  };
  static constexpr int32_t kAny = -1;

  uint32_t argument;  // and number of the tensor
  Omission omission;
  int32_t ndim = kAny, device_type = kAny, device_id = kAny;
  bool is_compact = false, has_address = false;  // one that is aligned, and is not null
  uint64_t alignment = 1;                        // bytes that it is a multiple of besides
  const DLDataType* dtypes = nullptr;            // a set of the program's; nullptr for any
  size_t num_dtypes = 0;
  bool is_variable = false;
  uint32_t variable = 0;        // register of one more than the place of the dtype, or of 0
  std::vector<Extent> extents;  // of axes that a tensor of `ndim` has

  bool Passes(const CallState& call) const {
    if (omission.IsLeftOut(call, argument)) return true;
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
    size_t place = 0;
    while (!IsSame(dtypes[place], dtype)) {
      if (++place == num_dtypes) return false;
    }
    if (!is_variable) return true;
    int64_t &known = registers[variable], got = static_cast<int64_t>(place) + 1;
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
    if (registers[extent.is_known] != 0) return got == registers[extent.value];
    registers[extent.value] = got;
    registers[extent.is_known] = 1;
    return true;
  }
};

// A number that goes into a register.
struct NumberCheck {
  uint32_t argument, place;
  Omission omission;
  bool is_float = false;                       // written as a double
  bool takes_int = false, takes_bool = false;  // a float also takes them
  bool is_truth = false;                       // written as 0 or 1
  int64_t least = INT64_MIN, most = INT64_MAX;
  bool is_bound = false;  // to a name: what has been met under it, if anything, is the same
  uint32_t value = 0, is_known = 0;

  bool Passes(const CallState& call) const {
    bool is_left_out = omission.IsLeftOut(call, argument);
    if (!is_left_out && !Reads(call)) return false;
    if (!is_bound) return true;
    if (call.registers[is_known] != 0) return call.registers[value] == call.registers[place];
    call.registers[value] = call.registers[place];
    call.registers[is_known] = 1;
    return true;
  }

 private:
  bool Reads(const CallState& call) const {
    if (argument >= static_cast<uint32_t>(call.num_args)) return false;
    const TVMFFIAny& arg = call.args[argument];
    int64_t& number = call.registers[place];
    number = arg.v_int64;  // of a float, its bits
    if (is_float && arg.type_index == kTVMFFIFloat) return true;
    bool is_bool = arg.type_index == kTVMFFIBool;
    if (!(takes_int && arg.type_index == kTVMFFIInt) && !(takes_bool && is_bool)) return false;
    if (number < least || number > most) return false;
    if (is_truth) number = number != 0;
    if (is_float) {
      double converted = static_cast<double>(number);
      std::memcpy(&number, &converted, sizeof(number));
    }
    return true;
  }
};

struct QuickChecks {
  // Tensors that are on the device of another one; where one is None there is nothing to compare.
  struct SameDevice {
    uint32_t one, other;
  };

  std::vector<TensorCheck> tensors;
  std::vector<NumberCheck> numbers;
  std::vector<SameDevice> same_devices;
  uint32_t end = 0;     // where the program goes on that has passed
  bool is_all = false;  // nothing is left of the checks there

  bool Pass(const CallState& call) const {
    for (const TensorCheck& tensor : tensors) {
      if (!tensor.Passes(call)) return false;
    }
    for (const NumberCheck& number : numbers) {
      if (!number.Passes(call)) return false;
    }
    for (const SameDevice& pair : same_devices) {
      const DLTensor *one = call.tensors[pair.one], *other = call.tensors[pair.other];
      if (one == nullptr || other == nullptr) continue;
      if (one->device.device_id != other->device.device_id) return false;
    }
    return true;
  }
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_QUICK_CHECKS_H_
