// SPDX-License-Identifier: Apache-2.0
// Launch program: bytecode of a launch plan, which checks arguments and computes the launch grid.
//
// `tvm_ffi.codegen` writes launch programs (codegen/_check_program.py has the same table of
// operations); LaunchCall interprets them.  The interpreter has 64-bit registers and tensor slots.
// An instruction is an operation and its operands, all 64-bit words.  Jumps go forward only, so
// every launch program ends.  A launch program may come from an untrusted file, so the reader
// checks every index.
//
// All numbers are little-endian; a string is a u64 length and bytes.
//
//   version u32 (1), number of arguments u32, of results u32, of registers u32
//   messages         u64 count, then each: kind u32 (0 TypeError, 1 ValueError, 2 RuntimeError)
//                    and a string with placeholders such as {got}
//   dtype sets       u64 count, then each: u64 count and for each code u8, bits u8, lanes u16
//   missing          u64 count of message indices u32: the message for too few arguments, indexed
//                    by the number of arguments that were passed
//   too many         two message indices u32 for too many arguments: one passed, several passed
//   first tensor     u32 index of the argument on whose device the kernel runs, or 0xffffffff
//   no variant       message index u32, or 0xffffffff, if no variant's condition holds; message
//                    index u32 if no image fits the device
//   results          u64 count, then each: u64 count of extent registers u32; dtype set u32;
//                    register u32 with the index in the set, or 0xffffffff
//   variants         u64 count, then each:
//     images         u64 count of image indices u32 of the module
//     kernels        u64 count of names; register u32 with the index of the kernel or 0xffffffff
//     condition      u32 code address or 0xffffffff; register u32 of its result
//     fields         u32 code address; 10 registers u32, ORDER launch-fields
//     flags          u32: 1 cluster, 2 cooperative, 4 programmatic
//     arguments      u64 count, then each: kind u32 (0 register, 1 register as float32, 2 tensor,
//                    3 workspace) and index u32 of the register or tensor
//   code             u64 count of words, words u64
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/quick_checks.h"
#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

// Operations and the kinds of their operands: V register, T tensor, A argument, F message, D dtype
// set, N number, J jump target.  The first V of an arithmetic operation is its result.  The comment
// after an operation explains its N operands and names the failed condition for each F operand.
// ORDER launch-operations.
#define TVM_FFI_LAUNCH_OPERATIONS(OPERATION)                     \
  OPERATION(kEnd, "")                                            \
  OPERATION(kJumpIfMissing, "AJ")                                \
  OPERATION(kJumpIfNone, "AJ")                                   \
  OPERATION(kJumpIfZero, "VJ")                                   \
  OPERATION(kJumpIfNegative, "VJ")                               \
  OPERATION(kJumpIfNoTensor, "TJ")                               \
  OPERATION(kConstant, "VN")                                     \
  OPERATION(kTensor, "AFF")     /* type, bigint */               \
  OPERATION(kInteger, "VANFF")  /* 1 int, 2 bool */              \
  OPERATION(kUnsigned, "VAFFF") /* type, bigint, range */        \
  OPERATION(kFloat, "VANFF")    /* 2 also bool */                \
  OPERATION(kPointer, "VAFF")                                    \
  OPERATION(kTruth, "V")                                         \
  OPERATION(kRange, "VNNF")                                      \
  OPERATION(kNdim, "TNF")                                        \
  OPERATION(kNdimLeast, "TNF")                                   \
  OPERATION(kDtype, "TDF")                                       \
  OPERATION(kDtypeVariable, "TVDFF") /* dtype, variable */       \
  OPERATION(kDevice, "TNNF")         /* device type; id or -1 */ \
  OPERATION(kLayout, "TF")                                       \
  OPERATION(kExtentIs, "TNNF")                                   \
  OPERATION(kExtentBind, "TNVVF") /* axis; value, is known */    \
  OPERATION(kValueBind, "VVVF")                                  \
  OPERATION(kExtentEquals, "TNVF")                               \
  OPERATION(kAddress, "TFF") /* null, alignment */               \
  OPERATION(kSameDevice, "TTF")                                  \
  OPERATION(kAdd, "VVVF")                                        \
  OPERATION(kSubtract, "VVVF")                                   \
  OPERATION(kMultiply, "VVVF")                                   \
  OPERATION(kDivide, "VVVFF") /* zero, overflow */               \
  OPERATION(kDivideUp, "VVVFF")                                  \
  OPERATION(kModulo, "VVVF") /* zero */                          \
  OPERATION(kMinimum, "VVV")                                     \
  OPERATION(kMaximum, "VVV")                                     \
  OPERATION(kLess, "VVV")                                        \
  OPERATION(kLessEqual, "VVV")                                   \
  OPERATION(kEqual, "VVV")                                       \
  OPERATION(kNotEqual, "VVV")                                    \
  OPERATION(kSize, "VT")                                         \
  OPERATION(kNumDims, "VT")                                      \
  OPERATION(kDeviceNumber, "VT")                                 \
  OPERATION(kExtent, "VTN")                                      \
  OPERATION(kStride, "VTN")                                      \
  OPERATION(kAlignment, "TNF") /* bytes, a power of two */

enum class Operation : int64_t {
#define TVM_FFI_LAUNCH_OPERATION_(name, operands) name,
  TVM_FFI_LAUNCH_OPERATIONS(TVM_FFI_LAUNCH_OPERATION_)
#undef TVM_FFI_LAUNCH_OPERATION_
};

// Returns one letter per operand.
const char* OperandsOf(Operation operation);

constexpr uint32_t kNone = 0xffffffff;

// An error that a launch program can raise.
struct LaunchFailure {
  uint32_t kind;        // 0 TypeError, 1 ValueError, 2 RuntimeError
  std::string message;  // with placeholders such as {got}
};

// A result tensor that a launch plan allocates and returns.
struct LaunchResult {
  std::vector<uint32_t> extent_registers;
  uint32_t dtype_set;       // index in LaunchProgram::dtype_sets
  uint32_t dtype_register;  // holds the dtype's index in the set; kNone for a set of one dtype
};

// ORDER launch-argument-kinds.
enum class LaunchArgumentKind : uint32_t { kRegister, kFloat32, kTensor, kWorkspace };

// An argument of a kernel, and the slot of the interpreter that has its value.
struct LaunchArgument {
  LaunchArgumentKind kind;
  uint32_t index;  // index of a tensor for kTensor, else of a register
};

// A launch variant: one kernel of a launch plan, which may be compiled for several dtypes, and the
// condition that selects the variant.
struct LaunchVariant {
  std::vector<uint32_t> images;      // indices of the images that contain the kernels; not empty
  std::vector<std::string> kernels;  // symbols; several if the dtypes of tensors select one
  uint32_t kernel_register;          // register with the index of the kernel; kNone for one kernel
  uint32_t condition;                // code address of the condition; kNone if there is none
  uint32_t condition_result;         // register with the result; 0 is false
  uint32_t fields_start;             // code address of the computation of the launch fields
  std::array<uint32_t, kNumLaunchFields> field_registers;
  uint32_t flags;  // 1 cluster, 2 cooperative, 4 programmatic
  std::vector<LaunchArgument> arguments;
};

// A launch program in memory.  It is move-only, because its quick checks point to its dtype sets.
struct LaunchProgram {
  LaunchProgram() = default;
  LaunchProgram(LaunchProgram&&) = default;
  LaunchProgram& operator=(LaunchProgram&&) = default;

  uint32_t num_arguments, num_results, num_registers;
  std::vector<LaunchFailure> failures;
  std::vector<std::vector<DLDataType>> dtype_sets;  // no set is empty
  // The error messages of the call itself, as indices in `failures`:
  std::vector<uint32_t> missing_failures;       // indexed by the number of arguments passed
  uint32_t too_many_singular, too_many_plural;  // for one argument passed, for several
  uint32_t no_variant_failure;                  // if no condition holds; kNone: no_image_failure
  uint32_t no_image_failure;
  uint32_t first_tensor;  // the launch uses this argument's device; kNone: the current device
  std::vector<LaunchResult> results;
  std::vector<LaunchVariant> variants;  // at least one
  std::vector<int64_t> code;
  // Derived by BuildFastPath:
  static constexpr size_t kBlock = 4;  // registers and tensors are cleared in blocks
  std::vector<int64_t> initial;        // initial register values, padded to whole blocks
  QuickChecks quick;
  size_t max_kernel_arguments = 0;  // maximum over all launch variants
  size_t num_words = 0;  // scratch words per call: registers, tensors, argument slots and addresses

  uint32_t NumTensors() const { return num_arguments + num_results; }
};

// Reads and validates a launch program, and builds its fast path.
//
// Fails: ValueError "corrupt launch program at byte N of M: ...".  Uses memory in proportion to the
//        number of bytes.
LaunchProgram ReadLaunchProgram(std::string_view bytes, size_t num_images);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_
