// SPDX-License-Identifier: Apache-2.0
// Check program: the checks of a signature as data, for arguments in the form of TVMFFIAny.
//
// `tvm_ffi.signature._check_program` writes check programs; CheckRun executes them.  A check
// program has one row of checks per parameter, then code: instructions for checks that need more
// than one argument.  The code has 64-bit registers and tensor slots.  An instruction is an
// operation and its operands.  Jumps go forward only, so every check program ends.  A check program
// may come from an untrusted file, so the reader checks every index.
//
// All numbers are little-endian words of 64 bits; a string is a number of bytes and the bytes.  An
// optional index is -1 if there is none.
//
//   version          1
//   sizes            number of parameters, number of further tensor slots
//   registers        number, then the initial value of each
//   messages         number, then each: kind (0 TypeError, 1 ValueError, 2 RuntimeError) and a
//                    string with placeholders such as {got}
//   dtype sets       number, then each: number of dtypes, then each: code | bits << 8 | lanes << 16
//   missing          number of message indices: the message for too few arguments, indexed by the
//                    number of arguments that were passed
//   too many         two message indices for too many arguments: one passed, several passed
//   arguments        one row per parameter:
//     kind           0 any value, 1 value of certain types, 2 number, 3 uint64, 4 tensor
//     omission       sum of flags: 1 the argument may be missing, 2 it may be None
//     type           two message indices: wrong type; integer of more than 64 bits
//     types          (kinds 1 and 2) set of type indices as bits: bit i for the type index i < 32,
//                    bit i - 32 for 64 <= i < 96
//     register       (kinds 1 to 3) optional register that receives the 64 bits of the value
//     number         (kind 2) form of the value in the register: 0 integer, 1 truth value,
//                    2 double, 3 double that must fit float32; smallest and largest integer;
//                    optional message index for the range
//     range          (kind 3) message index for negative integers; optional message index for
//                    integers from 2^63 on
//     name           (kinds 2 and 3) the extent name that an integer must equal, as in `extents`;
//                    1 if also the default of a missing argument must equal it
//     dimensions     (kind 4) number, or -1 - the smallest number; optional message index.  A row
//                    without the index has no such check; this is also true of the fields below
//     dtypes         optional dtype set; optional register that is 1 + the index of the dtype in
//                    the set, or 0 before the first tensor; message indices for the set, the
//                    register
//     device         device type, device id or -1, optional message index
//     negative       optional message index for a negative extent
//     layout         number of leading dimensions whose strides are free, optional message index;
//                    the others must be row-major without gaps.  A negative number -k means all
//                    dimensions but the last k
//     repeats        optional message index for a stride of 0
//     extents        number, then each: dimension, as from the last if negative; kind (0 constant,
//                    1 stores the value of a name, 2 equal to the value of a name, 3 one of both);
//                    constant or register of the value; register that is 1 if the name has a value
//                    (kind 3); message index
//     alignment      bytes, a power of two; optional message index
//     address        two optional message indices: NULL, alignment of the dtype
//   code             number of words, words
#ifndef TVM_FFI_RUNTIME_EXTRA_CHECKS_PROGRAM_H_
#define TVM_FFI_RUNTIME_EXTRA_CHECKS_PROGRAM_H_

#include <tvm/ffi/c_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "checks/failure.h"
#include "module/byte_reader.h"

namespace tvm::ffi::extra::checks {

// Operations and the kinds of their operands: V register, T tensor, F message, N number, J jump
// target.  The first V of an arithmetic operation is its result.  The comment after an operation
// explains its N operands and names the failed condition for each F operand.  The operands of
// kSameDimensions are two tensors, each with its Gap, and messages for their count and an extent.
// ORDER check-operations.
#define TVM_FFI_CHECK_OPERATIONS(OPERATION)        \
  OPERATION(kEnd, "")                              \
  OPERATION(kJumpIfZero, "VJ")                     \
  OPERATION(kJumpIfNoTensor, "TJ")                 \
  OPERATION(kRange, "VNNF")                        \
  OPERATION(kExtentEquals, "TNVF") /* axis */      \
  OPERATION(kSameDevice, "TTF")                    \
  OPERATION(kOverlap, "TTF") /* written, other */  \
  OPERATION(kAdd, "VVVF")                          \
  OPERATION(kSubtract, "VVVF")                     \
  OPERATION(kMultiply, "VVVF")                     \
  OPERATION(kDivide, "VVVFF") /* zero, overflow */ \
  OPERATION(kDivideUp, "VVVFF")                    \
  OPERATION(kModulo, "VVVF") /* zero */            \
  OPERATION(kMinimum, "VVV")                       \
  OPERATION(kMaximum, "VVV")                       \
  OPERATION(kLess, "VVV")                          \
  OPERATION(kLessEqual, "VVV")                     \
  OPERATION(kEqual, "VVV")                         \
  OPERATION(kNotEqual, "VVV")                      \
  OPERATION(kSize, "VT")                           \
  OPERATION(kNumDims, "VT")                        \
  OPERATION(kDeviceNumber, "VT")                   \
  OPERATION(kExtent, "VTN") /* axis */             \
  OPERATION(kStride, "VTN")                        \
  OPERATION(kSameDimensions, "TNNTNNFF")           \
  OPERATION(kJumpIfNone, "TNJ") /* 1: a missing argument is None */

enum class Operation : int64_t {
#define TVM_FFI_CHECK_OPERATION_(name, operands) name,
  TVM_FFI_CHECK_OPERATIONS(TVM_FFI_CHECK_OPERATION_)
#undef TVM_FFI_CHECK_OPERATION_
};

// Returns a string with one letter for the kind of each operand, such as "VJ".
const char* OperandsOf(Operation operation);

constexpr uint32_t kNone = 0xffffffff;  // an optional index that is absent

// ORDER check-argument-kinds.
enum class ArgumentKind : uint8_t { kAny, kTypes, kNumber, kUnsigned, kTensor };
// ORDER check-number-forms.
enum class NumberForm : uint8_t { kInteger, kTruth, kDouble, kSingle };
// ORDER check-extent-kinds.
enum class ExtentKind : uint8_t { kConstant, kStore, kEqual, kStoreOrEqual };
// The strides that certainly pass: any; only compact ones; or it depends on further checks.
enum class Layout : uint8_t { kAny, kCompact, kOther };

// The dimensions of a tensor that an ellipsis in a shape matches: all dimensions from `first` on,
// except that the tensor has `num_others` dimensions before and after them.
struct Gap {
  int64_t first, num_others;
};

// Compares an extent, or an integer argument, with the value of a name or with a constant.  For
// each constant, the reader adds a register.
struct ExtentCheck {
  int32_t axis;
  ExtentKind kind;
  uint32_t failure;
  uint32_t value, known;  // registers of the expected value, and of the flag that the name has one
};

// The device, number of dimensions and dtype that a tensor must have, as the 16 bytes of these
// fields in a DLTensor, so that two comparisons check all of them.
struct TensorProperties {
  uint64_t masks[2], bits[2];  // the bits that are compared, and their values
  uint64_t has_more;           // 1 if the comparison does not decide, else 0

  // Returns 0 if the tensor agrees with the compared bits.
  uint64_t DifferencesFrom(const DLTensor& tensor) const {
    uint64_t words[2];
    static_assert(offsetof(DLTensor, shape) - offsetof(DLTensor, device) == sizeof(words),
                  "the fields are adjacent");
    std::memcpy(words, &tensor.device, sizeof(words));
    return ((words[0] ^ bits[0]) & masks[0]) | ((words[1] ^ bits[1]) & masks[1]);
  }
  // Returns true if the tensor certainly has the properties.
  bool IsTrueOf(const DLTensor& tensor) const { return (DifferencesFrom(tensor) | has_more) == 0; }
};

constexpr int64_t kUnknown = -1;  // the initial value of a name that an extent determines

// The registers of one extent of a tensor.  The extent must equal the register `value`.  If that is
// kUnknown, the extent is stored in the register `out`: the same one for a name, and an unused one
// for an extent that is not checked, whose `value` is always kUnknown.
struct AxisCheck {
  uint32_t out, value;
};

// The checks of one argument.  Indices are kNone if the check does not exist.
struct ArgumentCheck {
  ArgumentKind kind;
  // Derived by the reader: true if `properties`, `layout`, `axes` and `address_mask` contain all
  // checks of the tensor, so that a tensor that passes them needs no other check.
  bool is_direct;
  bool may_be_missing, may_be_none;
  // Derived by the reader: true if an int that is not negative passes all checks, and its value is
  // stored in the registers `value_register` and `name.value`.
  bool stores_int;
  // Derived by the reader: the type indices of values that need no further check, see TypeBit.
  uint64_t trivial_types;
  // Tensors.  The checks of a call begin with the fields up to `extents`.  The reader derives
  // `properties` and `address_mask` so that the comparison succeeds if the check does not exist,
  // and fails if the check needs more than the comparison.
  TensorProperties properties;
  uint64_t address_mask;  // bits of the address that are 0 if it has the largest alignment
  Layout layout;
  static constexpr int32_t kMaxAxes = 8;
  AxisCheck axes[kMaxAxes];  // derived by the reader, if is_direct is true
  std::vector<ExtentCheck> extents;
  int32_t least_ndim, most_ndim;
  uint32_t ndim_failure;
  uint32_t dtype_set, dtype_register, dtype_failure, variable_failure;
  DLDevice device;  // device_id is -1 for all devices of the type
  uint32_t device_failure;
  uint32_t negative_failure;
  int32_t free_dimensions;  // whose strides are free; -k for all dimensions but the last k
  uint32_t layout_failure, repeats_failure;
  uint64_t alignment;
  uint32_t alignment_failure, null_failure, address_failure;
  // All kinds but kAny:
  uint32_t type_failure, bigint_failure;
  // Values and numbers:
  uint64_t types;           // set of accepted type indices, see TypeBit
  uint32_t value_register;  // receives the value
  NumberForm form;
  int64_t least, most;
  uint32_t range_failure, extent_failure;
  bool has_name;       // the integer must equal `name`
  bool binds_default;  // also the default of a missing argument must equal `name`
  ExtentCheck name;

  // Returns true if the value is stored and needs no further check.  A negative value of a name
  // would be mistaken for kUnknown.
  bool Stores(const TVMFFIAny& arg) const {
    return stores_int && arg.type_index == kTVMFFIInt && arg.v_int64 >= 0;
  }
};

// Returns the bit of a type index in ArgumentCheck::types; 0 for other type indices.
inline uint64_t TypeBit(int32_t type_index) {
  auto index = static_cast<uint32_t>(type_index);
  if (index < 32) return uint64_t{1} << index;
  return index - 64 < 32 ? uint64_t{1} << (index - 32) : 0;
}

// A check program in memory.
struct CheckProgram {
  uint32_t num_parameters, num_tensors;
  uint32_t num_registers;              // the unused register, kUnknown and the constants follow
  static constexpr size_t kBlock = 4;  // number of registers that are initialised together
  // Initial values of all registers, padded to a multiple of kBlock.
  std::vector<int64_t> initial;
  std::vector<Failure> failures;
  std::vector<std::vector<DLDataType>> dtype_sets;  // no set is empty
  // Indices in `failures` for too few arguments, indexed by the number of arguments passed.
  std::vector<uint32_t> missing_failures;
  uint32_t num_required;  // number of elements of missing_failures
  // For too many arguments: the message if one was passed, the message if several were passed.
  uint32_t too_many_singular, too_many_plural;
  std::vector<ArgumentCheck> arguments;
  std::vector<int64_t> code;  // the checks start at 0
  bool has_code;              // the code contains checks
  bool is_direct;  // each argument has only direct checks, has trivial types, or is a stored int
  bool has_further_tensors;              // there are more tensor slots than parameters
  std::vector<bool> begins_instruction;  // per word of the code
};

// Reads the words of a program.  Each error message contains the byte offset of the invalid field.
class ProgramReader {
 public:
  // name: name of the program for messages, such as "check program"
  ProgramReader(std::string_view bytes, const char* name) : bytes_(bytes), name_(name) {}

  size_t position() const { return bytes_.position(); }
  size_t size() const { return bytes_.size(); }
  [[noreturn]] void Fail(size_t position, const std::string& defect) const;
  int64_t Word(const char* field);
  // Reads an integer that must be from `least` to `most`.
  int64_t Between(int64_t least, int64_t most, const char* field);
  // Reads the number of the elements that follow.  Each element has at least `min_bytes` bytes.
  // Fails before memory for the elements is allocated if fewer bytes remain.
  size_t Count(size_t min_bytes, const char* elements);
  size_t NonzeroCount(size_t min_bytes, const char* elements);
  std::string Text(const char* elements);
  uint32_t Index(size_t count, const char* field);
  uint32_t IndexOrNone(size_t count, const char* field);  // kNone for -1
  std::vector<uint32_t> Indices(size_t count, const char* elements, const char* field);
  void RequireEnd() const;

 private:
  ByteReader bytes_;
  const char* name_;
};

// Reads and validates a check program.  Uses memory in proportion to the number of bytes.
//
// Fails: ValueError "corrupt check program at byte N of M: ...".
CheckProgram ReadCheckProgram(ProgramReader* reader);

}  // namespace tvm::ffi::extra::checks

#endif  // TVM_FFI_RUNTIME_EXTRA_CHECKS_PROGRAM_H_
