// SPDX-License-Identifier: Apache-2.0
// Function objects that run a check program: `pytvmffi.CheckFunction`.
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <string_view>
#include <utility>
#include <vector>

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

// A function that raises an error unless the program accepts the arguments.  Then it calls another
// function, or returns None if there is no other function.
class CheckFunctionObj : public FunctionObj {
 public:
  CheckFunctionObj(CheckProgram program, Optional<Function> callee)
      : program_(std::move(program)), callee_(std::move(callee)) {
    bool is_small = CheckRun::NumSlots(program_) <= kNumStackWords;
    safe_call = is_small ? CallWithStack : CallWithHeap;
  }

 private:
  static constexpr size_t kNumStackWords = 64;

  static int CallWithStack(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    int64_t words[kNumStackWords];
    return Call(self, args, num_args, result, [&](size_t) { return words; });
  }
  static int CallWithHeap(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    std::vector<int64_t> words;
    return Call(self, args, num_args, result, [&](size_t size) {
      words.resize(size);
      return words.data();
    });
  }
  template <typename Allocate>
  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result,
                  Allocate&& allocate) {
    auto* function = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<CheckFunctionObj>(
        static_cast<TVMFFIObject*>(self));
    const CheckProgram& program = function->program_;
    try {
      CheckRun(program, args, num_args, allocate(CheckRun::NumSlots(program))).Check();
    } catch (...) {
      return ffi::detail::RaiseCurrentException();
    }
    if (!function->callee_.has_value()) return 0;
    const FunctionObj* callee = function->callee_.value().get();
    return callee->safe_call(ffi::detail::ObjectUnsafe::GetHeader(callee), args, num_args, result);
  }

  CheckProgram program_;
  Optional<Function> callee_;
};

Function NewCheckFunction(const Bytes& bytes, Optional<Function> callee) {
  return Function(
      ObjectPtr<FunctionObj>(make_object<CheckFunctionObj>(Read(bytes), std::move(callee))));
}

}  // namespace
}  // namespace tvm::ffi::extra::checks

namespace tvm::ffi::extra {

void RegisterCheckFunctions() {
  reflection::GlobalDef().def("pytvmffi.CheckFunction", &checks::NewCheckFunction);
}

}  // namespace tvm::ffi::extra
