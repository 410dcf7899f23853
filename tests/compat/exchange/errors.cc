// SPDX-License-Identifier: Apache-2.0
// Errors: thrown through C++ and through C, with cause, context and a backtrace that grows.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <stdexcept>
#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

// ---- Error objects ------------------------------------------------------------------------------

Error MakeError(Any) {
  Error cause("KeyError", "the cause", "");
  return Error("ValueError", "the message", "  File \"made.cc\", line 1, in Make\n", cause,
               Array<int64_t>{1, 2, 3});
}
Error CheckError(Error error) {
  CHECK_EQ(error.kind(), "ValueError");
  CHECK_EQ(error.message(), "the message");
  CHECK_EQ(std::string(error.what()), "the message");
  CHECK_EQ(error.backtrace(), "  File \"made.cc\", line 1, in Make\n");
  CHECK_EQ(error.cause_chain().value().kind(), "KeyError");
  CHECK(!error.cause_chain().value().cause_chain().has_value());
  CHECK_EQ(error.extra_context().value().as<Array<int64_t>>().value().size(), size_t{3});
  CHECK_EQ(error.FullMessage(),
           "Traceback (most recent call last):\n  File \"made.cc\", line 1, in Make\n"
           "ValueError: the message\n");
  return error;
}
// Updates the backtrace through the function pointer that the creating library stored.
Error GrowBacktrace(Error error) {
  const std::string line = "  File \"grown.cc\", line 2, in Grow\n";
  TVMFFIByteArray bytes{line.data(), line.size()};
  error.UpdateBacktrace(&bytes, kTVMFFIBacktraceUpdateModeAppend);
  return error;
}
Error CheckGrownBacktrace(Error error) {
  CHECK_EQ(error.backtrace(),
           "  File \"made.cc\", line 1, in Make\n  File \"grown.cc\", line 2, in Grow\n");
  CHECK_EQ(error.TracebackMostRecentCallLast(),
           "  File \"grown.cc\", line 2, in Grow\n  File \"made.cc\", line 1, in Make\n");
  TVMFFIByteArray none{"", 0};
  error.UpdateBacktrace(&none, kTVMFFIBacktraceUpdateModeReplace);
  CHECK_EQ(error.backtrace(), "");
  return error;
}

// ---- Thrown to the caller of an exported function -----------------------------------------------

void ThrowToC(Any, int64_t number) { TVM_FFI_THROW(ValueError) << "number " << number; }
void CheckThrown(Error error, int64_t number) {
  CHECK_EQ(error.kind(), "ValueError");
  CHECK_EQ(error.message(), "number " + std::to_string(number));
  CHECK(error.backtrace().find("errors.cc") != std::string::npos);
  CHECK(error.backtrace().find("ThrowToC") != std::string::npos);
}
void ThrowStd(Any) { throw std::runtime_error("a standard exception"); }
void CheckThrownStd(Error error) {
  CHECK_EQ(error.kind(), "InternalError");
  CHECK_EQ(error.message(), "a standard exception");
}
void FailCheck(Any, int64_t number) { TVM_FFI_ICHECK_EQ(number, 3) << "that is all"; }
void CheckFailedCheck(Error error, int64_t number) {
  CHECK_EQ(error.kind(), "InternalError");
  CHECK_EQ(error.message(),
           "Check failed: number == 3 (" + std::to_string(number) + " vs. 3) : that is all");
}

// ---- Thrown through function objects ------------------------------------------------------------

Function MakeThrower(Any) {
  return Function::FromTyped(
      [](String kind) -> int64_t {
        if (kind == "standard") throw std::out_of_range("out of range");
        if (kind == "environment") throw EnvErrorAlreadySet();
        TVM_FFI_THROW(IndexError) << "thrown for " << kind;
      },
      "thrower");
}
// C++ exceptions pass through cpp_call unchanged.
void CatchThrower(Function thrower) {
  int caught = 0;
  try {
    thrower("a caller");
  } catch (const Error& error) {
    ++caught;
    CHECK_EQ(error.kind(), "IndexError");
    CHECK_EQ(error.message(), "thrown for a caller");
    CHECK(error.backtrace().find("errors.cc") != std::string::npos);
  }
  try {
    thrower("any caller");
  } catch (const std::exception& error) {
    ++caught;
    CHECK_EQ(std::string(error.what()), "thrown for any caller");
  }
  try {
    thrower("environment");
  } catch (const Error& error) {
    ++caught;
    CHECK_EQ(error.kind(), "EnvErrorAlreadySet");
  }
  CHECK_EQ(caught, 3);
  // std::exception types are identical in both libraries, so their handlers match.
  try {
    thrower("standard");
  } catch (const std::out_of_range& error) {
    ++caught;
    CHECK_EQ(std::string(error.what()), "out of range");
  } catch (const Error&) {
    check::Fail(__FILE__, __LINE__, "a standard exception became an Error");
  }
  CHECK_EQ(caught, 4);
  CHECK_EQ(thrower.CallExpected<int64_t>("C").error().message(), "thrown for C");
  CHECK_EQ(thrower.CallExpected<int64_t>("standard").error().kind(), "InternalError");
}
// Calls a callback; its error passes through both libraries and gets a cause.
Function MakeWrapper(Any) {
  return Function::FromTyped(
      [](Function callback) -> Any {
        try {
          return callback();
        } catch (const Error& error) {
          throw Error("RuntimeError", "wrapped", "", error, std::nullopt);
        }
      },
      "wrapper");
}
void CheckWrapper(Function wrapper) {
  Function callback = Function::FromTyped(
      []() { TVM_FFI_THROW(TypeError) << "a message that is longer than a cell"; });
  bool caught = false;
  try {
    wrapper(callback);
  } catch (const Error& error) {
    caught = true;
    CHECK_EQ(error.kind(), "RuntimeError");
    CHECK_EQ(error.cause_chain().value().kind(), "TypeError");
    CHECK_EQ(error.cause_chain().value().message(), "a message that is longer than a cell");
  }
  CHECK(caught);
  CHECK_EQ(wrapper(Function::FromTyped([]() { return 5; })).cast<int64_t>(), 5);
}
// Calls alternate between the libraries; the innermost one throws and all frames unwind.
Function MakeDescent(Any) {
  return Function::FromTyped([](int64_t n, Function other, Function self) -> int64_t {
    String local = "a local that has to be released at level " + std::to_string(n);
    if (n == 0) TVM_FFI_THROW(ValueError) << "bottom";
    return other(n - 1, self, other).cast<int64_t>() + static_cast<int64_t>(local.size());
  });
}
void RunDescent(Function other) {
  Function own = MakeDescent(nullptr);
  CHECK_EQ(own.CallExpected<int64_t>(100, other, own).error().message(), "bottom");
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_error, exchange::MakeError)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_error, exchange::CheckError)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(grow_backtrace, exchange::GrowBacktrace)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_grown_backtrace, exchange::CheckGrownBacktrace)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_to_c, exchange::ThrowToC)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_thrown, exchange::CheckThrown)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_std, exchange::ThrowStd)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_thrown_std, exchange::CheckThrownStd)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail_check, exchange::FailCheck)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_failed_check, exchange::CheckFailedCheck)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_thrower, exchange::MakeThrower)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(catch_thrower, exchange::CatchThrower)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_wrapper, exchange::MakeWrapper)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_wrapper, exchange::CheckWrapper)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_descent, exchange::MakeDescent)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_descent, exchange::RunDescent)
