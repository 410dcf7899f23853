// SPDX-License-Identifier: Apache-2.0
// Failed checks of an exchange library as exceptions, which reach the runner of the step. Three
// control steps violate a rule on purpose, to test that the runner reports violations.
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <cstdlib>

#include "check.h"

namespace check {

void Fail(const char* file, int line, const std::string& text) {
  std::string path(file);
  TVM_FFI_THROW(AssertionError) << path.substr(path.rfind('/') + 1) << ":" << line << ": " << text;
}

}  // namespace check

namespace exchange {

void FailOnPurpose(tvm::ffi::Any) { CHECK_EQ(1, 2); }
void LeakOnPurpose(tvm::ffi::Any) {
  static void* volatile leaked = nullptr;
  leaked = std::malloc(50000);  // more than unrelated deallocations free during the test
  CHECK(leaked != nullptr);
}
void CrashOnPurpose(tvm::ffi::Any) { std::abort(); }

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail_on_purpose, exchange::FailOnPurpose)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(leak_on_purpose, exchange::LeakOnPurpose)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(crash_on_purpose, exchange::CrashOnPurpose)
