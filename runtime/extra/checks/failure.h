// SPDX-License-Identifier: Apache-2.0
// Errors of failed checks: message templates, and the text of the values that fill them.
#ifndef TVM_FFI_RUNTIME_EXTRA_CHECKS_FAILURE_H_
#define TVM_FFI_RUNTIME_EXTRA_CHECKS_FAILURE_H_

#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <string>

namespace tvm::ffi::extra::checks {

// An error that a check program can raise.
struct Failure {
  uint32_t kind;        // 0 TypeError, 1 ValueError, 2 RuntimeError
  std::string message;  // message with placeholders such as {got}
};

// Values for the placeholders of an error message.  Each message uses only some of the values.
struct MessageValues {
  std::string got, expected, axis, index, device, gpu, architecture;
};

// Throws the error of a failed check.  Its message is the template with its placeholders replaced
// by the values.
[[noreturn]] TVM_FFI_COLD_CODE void Raise(const Failure& failure, const MessageValues& values);

// Returns the name of the type of an argument for messages, such as "int" or "Tensor".
std::string TypeNameOf(const TVMFFIAny& arg);
// Returns the type index of an argument.  For an argument that is passed as a moved object
// reference, this is the type index of the object.
int32_t TypeIndexOf(const TVMFFIAny& arg);
// Returns the name of a dtype, such as "float32".
std::string DtypeText(DLDataType dtype);
// Returns the strides of a tensor as a Python tuple; strides after the eighth are abbreviated.
std::string StridesText(const DLTensor& tensor);

}  // namespace tvm::ffi::extra::checks

#endif  // TVM_FFI_RUNTIME_EXTRA_CHECKS_FAILURE_H_
