// SPDX-License-Identifier: Apache-2.0
// Function objects that run a check program: `pytvmffi.CheckFunction` and `pytvmffi.CheckedFunction`.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <string_view>
#include <utility>

#include "checks/program.h"
#include "checks/run.h"
#include "registration.h"

namespace tvm::ffi::extra::checks {
namespace {

CheckProgram Read(const Bytes& bytes) {
  ProgramReader reader(std::string_view(bytes.data(), bytes.size()), "check program");
  CheckProgram program = ReadCheckProgram(&reader);
  reader.RequireEnd();
  return program;
}

// A function that raises an error unless the program accepts the arguments, and returns None.
class CheckFunctionObj : public FunctionObj {
 public:
  explicit CheckFunctionObj(CheckProgram program) : program_(std::move(program)) {
    safe_call = Call;
  }

 protected:
  static void Check(void* self, const TVMFFIAny* args, int32_t num_args) {
    const CheckProgram& program = Of<CheckFunctionObj>(self)->program_;
    Scratch scratch(CheckRun::NumSlots(program));
    CheckRun(program, args, num_args, &scratch).Check();
  }
  template <typename T>
  static const T* Of(void* self) {
    return ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<T>(static_cast<TVMFFIObject*>(self));
  }

 private:
  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny*) {
    try {
      Check(self, args, num_args);
      return 0;
    } catch (...) {
      return ffi::detail::RaiseCurrentException();
    }
  }

  CheckProgram program_;
};

// A function that checks its arguments, then calls another function.
class CheckedFunctionObj : public CheckFunctionObj {
 public:
  CheckedFunctionObj(CheckProgram program, Function callee)
      : CheckFunctionObj(std::move(program)), callee_(std::move(callee)) {
    safe_call = Call;
  }

 private:
  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    try {
      Check(self, args, num_args);
    } catch (...) {
      return ffi::detail::RaiseCurrentException();
    }
    const FunctionObj* callee = Of<CheckedFunctionObj>(self)->callee_.get();
    return callee->safe_call(ffi::detail::ObjectUnsafe::GetHeader(callee), args, num_args, result);
  }

  Function callee_;
};

Function NewCheckFunction(const Bytes& bytes) {
  return Function(ObjectPtr<FunctionObj>(make_object<CheckFunctionObj>(Read(bytes))));
}

Function NewCheckedFunction(const Bytes& bytes, Function callee) {
  return Function(
      ObjectPtr<FunctionObj>(make_object<CheckedFunctionObj>(Read(bytes), std::move(callee))));
}

}  // namespace
}  // namespace tvm::ffi::extra::checks

namespace tvm::ffi::extra {

void RegisterCheckFunctions() {
  reflection::GlobalDef()
      .def("pytvmffi.CheckFunction", &checks::NewCheckFunction)
      .def("pytvmffi.CheckedFunction", &checks::NewCheckedFunction);
}

}  // namespace tvm::ffi::extra
