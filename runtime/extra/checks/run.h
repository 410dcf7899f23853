// SPDX-License-Identifier: Apache-2.0
// CheckRun: one execution of a check program for the arguments of a call; Scratch: its memory.
#ifndef TVM_FFI_RUNTIME_EXTRA_CHECKS_RUN_H_
#define TVM_FFI_RUNTIME_EXTRA_CHECKS_RUN_H_

#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/shape.h>

#include <memory>

#include "checks/program.h"

namespace tvm::ffi::extra::checks {

// Uninitialised 64-bit words for one call.  They are inline for most programs, and on the heap for
// large ones.
class Scratch {
 public:
  explicit Scratch(size_t num_words) {
    if (TVM_FFI_PREDICT_FALSE(num_words > kInline)) heap_.reset(new int64_t[num_words]);
  }
  template <typename T>
  T* at(size_t word) {
    static_assert(sizeof(T) <= sizeof(int64_t), "a value fits into a word");
    return reinterpret_cast<T*>((heap_ ? heap_.get() : inline_) + word);
  }

 private:
  static constexpr size_t kInline = 96;
  std::unique_ptr<int64_t[]> heap_;
  int64_t inline_[kInline];
};

class CheckRun {
 public:
  // Returns the number of scratch words that a program needs: its registers, then its tensor slots.
  static size_t NumSlots(const CheckProgram& program) {
    return program.initial.size() + program.num_tensors;
  }

  // words: uninitialised memory for NumSlots(program) words
  CheckRun(const CheckProgram& program, const TVMFFIAny* args, int32_t num_args, int64_t* words)
      : program_(program),
        args_(args),
        num_args_(static_cast<uint32_t>(num_args)),
        registers_(words),
        tensors_(reinterpret_cast<const DLTensor**>(words + program.initial.size())) {}

  // Checks all arguments, which are borrowed.  Then the registers have the values of numbers and
  // extents, and the tensor slots the addresses of the tensors, NULL for an omitted tensor.
  //
  // Fails: with the error that the check program contains for the failed check.
  void Check();
  // Executes the instructions from the code address `start` to the next kEnd.
  void Execute(size_t start);

  int64_t value(uint32_t index) const { return registers_[index]; }
  void* address_of_value(uint32_t index) const { return &registers_[index]; }
  const DLTensor* tensor(uint32_t index) const { return tensors_[index]; }
  // Returns the extents of a gap in the shape of a tensor; throws if the tensor does not exist or
  // has too few dimensions.
  ShapeView ExtentsIn(Gap gap, const DLTensor* tensor) const;
  void set_tensor(uint32_t index, const DLTensor* tensor) { tensors_[index] = tensor; }

  [[noreturn]] TVM_FFI_COLD_CODE void Fail(uint32_t failure, const MessageValues& values) const;

 private:
  friend class CheckFunctionObj;
  void CheckAll();  // same as Check(), inline
  // Returns a copy, with the same registers and tensor slots.  The frequent checks call the other
  // functions on a copy, so that the compiler keeps the fields of this object in CPU registers.
  CheckRun Copy() const { return *this; }
  bool PassesDirectly() const;
  static bool PassesDirectly(const CheckProgram& program, const TVMFFIAny* args, int64_t* registers,
                             const DLTensor** slots);
  static bool IsAccepted(const ArgumentCheck& check, const DLTensor& tensor, int64_t* registers);
  void CheckArguments();
  void CheckTensor(const ArgumentCheck& check, const DLTensor& tensor);
  void CheckCount() const;
  void CheckMissing();
  void CheckNumber(const ArgumentCheck& check, const TVMFFIAny& arg);
  void CheckUnsigned(const ArgumentCheck& check, const TVMFFIAny& arg);
  const DLTensor* ReadTensor(const ArgumentCheck& check, const TVMFFIAny& arg) const;
  void CheckValue(const ArgumentCheck& check, const TVMFFIAny& arg);
  void CheckProperties(const ArgumentCheck& check, const DLTensor& tensor);
  static bool HasUsualDimensions(const ArgumentCheck& check, const DLTensor& tensor);
  void CheckDimensions(const ArgumentCheck& check, const DLTensor& tensor) const;
  void CheckDtype(const ArgumentCheck& check, DLDataType dtype);
  void CheckExtent(const ExtentCheck& check, int64_t got, int32_t axis);
  void CheckAddress(const ArgumentCheck& check, const DLTensor& tensor) const;
  void CheckSameDimensions(const int64_t* operands) const;
  int32_t AxisOf(const DLTensor& tensor, int64_t axis) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailType(const ArgumentCheck& check,
                                               const TVMFFIAny& arg) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailDevice(uint32_t failure, DLDevice got) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailDtype(uint32_t failure, DLDataType got,
                                                const DLDataType* expected) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailStrides(uint32_t failure, const DLTensor& tensor) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailNumber(int64_t failure, int64_t got, int64_t expected = 0,
                                                 int64_t axis = 0) const;

  const CheckProgram& program_;
  const TVMFFIAny* args_;
  uint32_t num_args_;
  int64_t* registers_;
  const DLTensor** tensors_;
};

// Returns true if the arguments, one per parameter of a direct program, have trivial types or are
// ints that are stored, so that they certainly pass the checks of arguments.  Stores nothing.
TVM_FFI_INLINE bool ValuesPassDirectly(const CheckProgram& program, const TVMFFIAny* args,
                                       int32_t num_args) {
  if (TVM_FFI_PREDICT_FALSE(static_cast<uint32_t>(num_args) != program.num_parameters)) {
    return false;
  }
  const TVMFFIAny* end = args + num_args;
  const ArgumentCheck* check = program.arguments.data();
  for (const TVMFFIAny* arg = args; arg != end; ++arg, ++check) {
    if ((TypeBit(arg->type_index) & check->trivial_types) == 0 && !check->Stores(*arg)) {
      return false;
    }
  }
  return true;
}

}  // namespace tvm::ffi::extra::checks

#endif  // TVM_FFI_RUNTIME_EXTRA_CHECKS_RUN_H_
