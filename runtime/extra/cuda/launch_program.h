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

// Returns a string with one letter for the kind of each operand, such as "VJ".
const char* OperandsOf(Operation operation);

constexpr uint32_t kNone = 0xffffffff;

// An error that a launch program can raise.
struct LaunchFailure {
  uint32_t kind;        // kind of the error: 0 TypeError, 1 ValueError, 2 RuntimeError
  std::string message;  // message with placeholders such as {got}
};

// A result tensor that a launch plan allocates and returns.
struct LaunchResult {
  std::vector<uint32_t> extent_registers;
  uint32_t dtype_set;  // index in LaunchProgram::dtype_sets
  // Register with the index of the dtype in the set; kNone if the set has one dtype.
  uint32_t dtype_register;
};

// ORDER launch-argument-kinds.
enum class LaunchArgumentKind : uint32_t { kRegister, kFloat32, kTensor, kWorkspace };

// An argument of a kernel: the tensor slot or register of the interpreter that has its value.
struct LaunchArgument {
  LaunchArgumentKind kind;
  uint32_t index;  // index of a tensor slot if `kind` is kTensor, else of a register
};

// A launch variant of a launch plan: a kernel, its device images, and the condition that selects
// the variant.  The kernel may be compiled for several dtypes.
struct LaunchVariant {
  std::vector<uint32_t> images;  // indices of the device images that contain the kernels; not empty
  // Names of the kernels in the image; several if the dtypes of the tensors select the kernel.
  std::vector<std::string> kernels;
  uint32_t kernel_register;  // register with the index in `kernels`; kNone if there is one kernel
  uint32_t condition;        // code address of the condition; kNone if the variant has no condition
  uint32_t condition_result;  // register with the result of the condition; 0 is false
  uint32_t fields_start;      // code address of the instructions that compute the launch fields
  std::array<uint32_t, kNumLaunchFields> field_registers;
  uint32_t flags;  // sum of flags: 1 cluster, 2 cooperative, 4 programmatic
  std::vector<LaunchArgument> arguments;
};

// A launch program in memory.  The struct is move-only, because the quick checks point to the dtype
// sets.
struct LaunchProgram {
  LaunchProgram() = default;
  LaunchProgram(LaunchProgram&&) = default;
  LaunchProgram& operator=(LaunchProgram&&) = default;

  uint32_t num_arguments, num_results, num_registers;
  std::vector<LaunchFailure> failures;
  std::vector<std::vector<DLDataType>> dtype_sets;  // accepted dtypes of tensors; no set is empty
  // Error messages that do not concern one argument, as indices in `failures`:
  std::vector<uint32_t> missing_failures;  // for too few arguments; index: number passed
  // The messages for too many arguments: if one argument was passed, and if several were passed.
  uint32_t too_many_singular, too_many_plural;
  // The message if no variant has a condition that holds; kNone if no_image_failure is used
  // instead.
  uint32_t no_variant_failure;
  uint32_t no_image_failure;
  // Index of the tensor argument on whose device the kernel runs; kNone for the current device.
  uint32_t first_tensor;
  std::vector<LaunchResult> results;
  std::vector<LaunchVariant> variants;  // the launch variants; at least one
  std::vector<int64_t> code;
  // The fields below are derived by BuildFastPath:
  static constexpr size_t kBlock = 4;  // registers and slots are cleared in blocks of this size
  std::vector<int64_t> initial;        // initial register values, padded to a multiple of kBlock
  QuickChecks quick;
  size_t max_kernel_arguments = 0;  // the largest number of kernel arguments of a launch variant
  // Number of 64-bit scratch words per call: registers, tensor slots, kernel arguments, and
  // addresses of the kernel arguments.
  size_t num_words = 0;

  uint32_t NumTensors() const { return num_arguments + num_results; }
};

// Reads and validates a launch program, and builds its fast path.
//
// Fails: ValueError "corrupt launch program at byte N of M: ...".  Uses memory in proportion to the
//        number of bytes.
LaunchProgram ReadLaunchProgram(std::string_view bytes, size_t num_images);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_
