// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/function.h>

#include <iomanip>
#include <ostream>
#include <stdexcept>

struct Point {
  int x, y;
};
std::ostream& operator<<(std::ostream& out, const Point& p) {
  return out << "(" << p.x << ", " << p.y << ")";
}

namespace {

using namespace tvm::ffi;

template <typename F>
Error Thrown(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return Error("None", "nothing was thrown", "");
}

enum Plain { kTwo = 2 };

TEST_CASE("throw carries kind message and place") {
  Error error = Thrown([] { TVM_FFI_THROW(ValueError) << "a" << 1 << ' ' << 2.5 << " " << true; });
  CHECK_EQ(error.kind(), "ValueError");
  CHECK_EQ(error.message(), "a1 2.5 1");
  CHECK_EQ(std::string(error.what()), "a1 2.5 1");
  CHECK(error.backtrace().find("error_test.cc\", line ") != std::string::npos);
  CHECK(error.FullMessage().rfind("Traceback (most recent call last):\n", 0) == 0);
}

TEST_CASE("messages take what an ostream takes") {
  Error error = Thrown([] {
    const char* null = nullptr;
    int* pointer = nullptr;
    TVM_FFI_THROW(E) << std::string("s") << kTwo << kDLCUDA << nullptr << pointer << null
                     << DLDataType{kDLFloat, 32, 1} << String("str") << int64_t{-5} << uint8_t{65};
  });
  CHECK_EQ(error.message(), "s22nullptr0(null)float32str-5A");
  error = Thrown([] {
    TVM_FFI_THROW(E) << "p" << Point{1, 2} << std::hex << 255 << std::setw(4) << 1 << std::endl
                     << "end" << 1.5;
  });
  CHECK_EQ(error.message(), "p(1, 2)ff   1\nend1.5");
}

TEST_CASE("check texts are exact") {
  CHECK_EQ(Thrown([] { TVM_FFI_CHECK(1 == 2, ValueError) << "tail"; }).message(),
           "Check failed: (1 == 2) is false: tail");
  CHECK_EQ(Thrown([] { TVM_FFI_ICHECK(false); }).message(), "Check failed: (false) is false: ");
  Error error = Thrown([] { TVM_FFI_ICHECK_EQ(1, 2u) << "t"; });
  CHECK_EQ(error.kind(), "InternalError");
  CHECK_EQ(error.message(), "Check failed: 1 == 2u (1 vs. 2) : t");
  CHECK_EQ(Thrown([] {
             TVM_FFI_CHECK_LT(3, 2, IndexError)
             "literal";
           }).message(),
           "Check failed: 3 < 2 (3 vs. 2) : literal");
  int* pointer = nullptr;
  CHECK_EQ(Thrown([&] { TVM_FFI_ICHECK_NOTNULL(pointer); }).message(), "Check not null: pointer ");
  int value = 0;
  CHECK_EQ(TVM_FFI_CHECK_NOTNULL(&value, ValueError), &value);
}

TEST_CASE("checks evaluate once and nest in if else") {
  int count = 0;
  TVM_FFI_CHECK_EQ(++count, 1, ValueError);
  CHECK_EQ(count, 1);
  bool reached = false;
  if (count == 1)
    TVM_FFI_ICHECK(true);
  else
    reached = true;
  if (count == 2)
    TVM_FFI_ICHECK_EQ(count, 2);
  else
    reached = !reached;
  CHECK(reached);
}

TEST_CASE("throwing operand is not a fatal error") {
  auto fail = []() -> int { throw std::runtime_error("operand"); };
  bool caught = false;
  try {
    TVM_FFI_THROW(ValueError) << fail();
  } catch (const std::runtime_error&) {
    caught = true;
  }
  CHECK(caught);
}

TEST_CASE("errors keep cause and context") {
  Error cause("A", "cause", "");
  Error error("B", "b", "", std::optional<Error>(cause), std::optional<ObjectRef>());
  CHECK(error.cause_chain().has_value());
  CHECK_EQ(error.cause_chain()->message(), "cause");
  CHECK(!error.extra_context().has_value());
}

TEST_CASE("traceback is reversed") {
  Error error("K", "m", "one\n\ntwo\nunfinished");
  CHECK_EQ(error.TracebackMostRecentCallLast(), "two\none\n");
  CHECK_EQ(error.FullMessage(), "Traceback (most recent call last):\ntwo\none\nK: m\n");
  TVMFFIByteArray more{"x\n", 2};
  error.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeReplace);
  CHECK_EQ(error.backtrace(), "x\n");
}

template <typename F>
Error Raised(F body) {
  auto call = [&]() -> int {
    TVM_FFI_SAFE_CALL_BEGIN();
    body();
    TVM_FFI_SAFE_CALL_END();
  };
  CHECK_EQ(call(), -1);
  return detail::MoveFromSafeCallRaised();
}

TEST_CASE("every exception becomes an error") {
  CHECK_EQ(Raised([] { TVM_FFI_THROW(KeyError) << "k"; }).kind(), "KeyError");
  Error error = Raised([] { throw std::out_of_range("range"); });
  CHECK_EQ(error.kind(), "InternalError");
  CHECK_EQ(error.message(), "range");
  CHECK_EQ(Raised([] { throw 5; }).kind(), "InternalError");
}

Expected<int> Half(int x) {
  TVM_FFI_RET_CHECK(x >= 0, ValueError) << "negative";
  TVM_FFI_RET_CHECK_EQ(x % 2, 0, ValueError);
  return x / 2;
}

TEST_CASE("expected holds value or error") {
  CHECK_EQ(Half(4).value(), 2);
  CHECK_EQ(Half(-2).error().message(), "Check failed: (x >= 0) is false: negative");
  CHECK_EQ(Half(3).error().message(), "Check failed: x % 2 == 0 (1 vs. 0) : ");
  CHECK_EQ(Half(3).value_or(9), 9);
  CHECK_EQ(Thrown([] { Half(3).value(); }).kind(), "ValueError");
  CHECK_EQ(Thrown([] { Half(2).error(); }).message(),
           "Bad expected access: contains value, not error");
  CHECK(Half(4).as_or_error<String>().is_err());
}

}  // namespace
