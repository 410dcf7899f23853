// SPDX-License-Identifier: Apache-2.0
// What a launch plan is for the runtime: its checks and the numbers of its launches as a program
// for a small machine, which `tvm_ffi.codegen` writes (codegen/_check_program.py has the same table).
//
// The machine has a register of 64 bits for each number and a place for each tensor.  Instructions
// are an operation and its operands, all as 64-bit words; jumps go forward only, so a program ends.
// A program may come from a file: all that operands name is there, or it is not read.
//
// All numbers are little-endian; a text is a u64 length and bytes.
//
//   version u32 (1), number of arguments u32, of results u32, of registers u32
//   failures         u64 count, then each: kind u32 (0 TypeError, 1 ValueError, 2 RuntimeError)
//                    and a text with holes
//   sets of dtypes   u64 count, then each: u64 count and for each code u8, bits u8, lanes u16
//   missing          u64 count of failures u32: what is said when so many arguments are given
//   too many         failures u32: of 1 where none is taken, and of more
//   first tensor     u32 the argument on whose device the kernel runs, or 0xffffffff
//   no launch        failure u32 or 0xffffffff; no image: failure u32
//   results          u64 count, then each: u64 count of registers u32 with the extents; set of
//                    dtypes u32, register u32 of the place in it or 0xffffffff
//   launches         u64 count, then each:
//     images         u64 count of numbers u32 in the module
//     kernels        u64 count of texts; register u32 of the place in them or 0xffffffff
//     condition      u32 where it begins, or 0xffffffff; register u32 of what comes of it
//     numbers        u32 where they begin; 10 registers u32, ORDER launch-fields
//     flags          u32: 1 cluster, 2 cooperative, 4 programmatic
//     arguments      u64 count, then each: kind u32 (0 a register, 1 as float32, 2 tensor,
//                    3 workspace) and register or tensor u32
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

// Operations with their operands: V register, T tensor, A argument, F failure, D set of dtypes,
// N number, J where to go on.  The first V of those that calculate is the result.
// ORDER launch-operations.
#define TVM_FFI_LAUNCH_OPERATIONS(OPERATION)                       \
  OPERATION(kEnd, "")                                              \
  OPERATION(kJumpIfMissing, "AJ")                                  \
  OPERATION(kJumpIfNone, "AJ")                                     \
  OPERATION(kJumpIfZero, "VJ")                                     \
  OPERATION(kJumpIfNegative, "VJ")                                 \
  OPERATION(kJumpIfNoTensor, "TJ")                                 \
  OPERATION(kConstant, "VN")                                       \
  OPERATION(kTensor, "AFF")     /* type, big */                    \
  OPERATION(kInteger, "VANFF")  /* 1 int, 2 bool */                \
  OPERATION(kUnsigned, "VAFFF") /* type, big, range */             \
  OPERATION(kFloat, "VANFF")    /* 2 also bool */                  \
  OPERATION(kPointer, "VAFF")                                      \
  OPERATION(kTruth, "V")                                           \
  OPERATION(kRange, "VNNF")                                        \
  OPERATION(kNdim, "TNF")                                          \
  OPERATION(kNdimLeast, "TNF")                                     \
  OPERATION(kDtype, "TDF")                                         \
  OPERATION(kDtypeVariable, "TVDFF") /* dtype, variable */         \
  OPERATION(kDevice, "TNNF")         /* -1 for any number */       \
  OPERATION(kLayout, "TF")                                         \
  OPERATION(kExtentIs, "TNNF")                                     \
  OPERATION(kExtentBind, "TNVVF") /* value, whether it is known */ \
  OPERATION(kValueBind, "VVVF")                                    \
  OPERATION(kExtentEquals, "TNVF")                                 \
  OPERATION(kAddress, "TFF") /* null, alignment */                 \
  OPERATION(kSameDevice, "TTF")                                    \
  OPERATION(kAdd, "VVVF")                                          \
  OPERATION(kSubtract, "VVVF")                                     \
  OPERATION(kMultiply, "VVVF")                                     \
  OPERATION(kDivide, "VVVFF") /* zero, overflow */                 \
  OPERATION(kDivideUp, "VVVFF")                                    \
  OPERATION(kModulo, "VVVF") /* zero */                            \
  OPERATION(kMinimum, "VVV")                                       \
  OPERATION(kMaximum, "VVV")                                       \
  OPERATION(kLess, "VVV")                                          \
  OPERATION(kLessEqual, "VVV")                                     \
  OPERATION(kEqual, "VVV")                                         \
  OPERATION(kNotEqual, "VVV")                                      \
  OPERATION(kSize, "VT")                                           \
  OPERATION(kNumDims, "VT")                                        \
  OPERATION(kDeviceNumber, "VT")                                   \
  OPERATION(kExtent, "VTN")                                        \
  OPERATION(kStride, "VTN")                                        \
  OPERATION(kAlignment, "TNF") /* bytes, a power of two */

enum class Operation : int64_t {
#define TVM_FFI_LAUNCH_OPERATION_(name, operands) name,
  TVM_FFI_LAUNCH_OPERATIONS(TVM_FFI_LAUNCH_OPERATION_)
#undef TVM_FFI_LAUNCH_OPERATION_
};

// A letter for each operand.
const char* OperandsOf(Operation operation);

constexpr uint32_t kNone = 0xffffffff;

struct LaunchFailure {
  uint32_t kind;
  std::string text;
};

struct LaunchResult {
  std::vector<uint32_t> extents;  // registers
  uint32_t dtypes;
  uint32_t dtype_place;  // register, or kNone for the only one
};

// ORDER launch-argument-kinds.
enum class LaunchArgumentKind : uint32_t { kRegister, kFloat32, kTensor, kWorkspace };

struct LaunchArgument {
  LaunchArgumentKind kind;
  uint32_t place;
};

struct LaunchWay {
  std::vector<uint32_t> images;
  std::vector<std::string> kernels;
  uint32_t kernel_place;  // register, or kNone for the only one
  uint32_t condition;     // where it begins, or kNone
  uint32_t is_meant;      // register
  uint32_t numbers;       // where they begin
  std::array<uint32_t, kNumLaunchFields> fields;
  uint32_t flags;  // 1 cluster, 2 cooperative, 4 programmatic
  std::vector<LaunchArgument> arguments;
};

// Moved and not copied: quick checks point to the sets of dtypes.
struct LaunchProgram {
  LaunchProgram() = default;
  LaunchProgram(LaunchProgram&&) = default;
  LaunchProgram& operator=(LaunchProgram&&) = default;

  uint32_t num_arguments, num_results, num_registers;
  std::vector<LaunchFailure> failures;
  std::vector<std::vector<DLDataType>> dtypes;
  std::vector<uint32_t> missing;
  uint32_t too_many_one, too_many;
  uint32_t first_tensor;
  uint32_t no_launch, no_image;
  std::vector<LaunchResult> results;
  std::vector<LaunchWay> launches;
  std::vector<int64_t> code;
  // What is found when it is read, see launch_shortcuts.h.
  static constexpr size_t kBlock = 4;
  std::vector<int64_t> initial;  // what registers hold at first, in whole blocks
  QuickChecks quick;
  size_t most_arguments = 0;  // that a kernel takes
  size_t num_words = 0;       // for registers, tensors in whole blocks, arguments, their addresses

  uint32_t NumTensors() const { return num_arguments + num_results; }
};

// With its shortcuts.
//
// Fails: ValueError that says what is wrong; memory in proportion to the number of bytes.
LaunchProgram ReadLaunchProgram(std::string_view bytes, size_t num_images);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_
