// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/function.h>

#include <iomanip>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <vector>

struct Point {
  int x, y;
};
std::ostream& operator<<(std::ostream& out, const Point& p) {
  return out << "(" << p.x << ", " << p.y << ")";
}

// A stream operator that is visible only at the throw: argument-dependent lookup searches only
// namespace std.
std::ostream& operator<<(std::ostream& out, const std::vector<int>& items) {
  return out << items.size() << " items";
}
std::ostream& operator<<(std::ostream& out, const DLDevice& device) {
  return out << "device " << device.device_id;
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

TEST_CASE("throw records kind, message and location") {
  Error error = Thrown([] { TVM_FFI_THROW(ValueError) << "a" << 1 << ' ' << 2.5 << " " << true; });
  CHECK_EQ(error.kind(), "ValueError");
  CHECK_EQ(error.message(), "a1 2.5 1");
  CHECK_EQ(std::string(error.what()), "a1 2.5 1");
  CHECK(error.backtrace().find("error_test.cc\", line ") != std::string::npos);
  CHECK(error.FullMessage().rfind("Traceback (most recent call last):\n", 0) == 0);
}

TEST_CASE("messages accept every ostream operand") {
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

TEST_CASE("check macros have exact messages") {
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

TEST_CASE("check macros evaluate their operands once and nest in if else") {
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

TEST_CASE("an operand that throws is not a fatal error") {
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

// Only values convert: an Expected<void> has none.
static_assert(!std::is_convertible_v<Expected<void>, Expected<Any>> &&
              !std::is_convertible_v<Expected<Any>, Expected<void>> &&
              !std::is_convertible_v<Expected<int>, Expected<void>> &&
              !std::is_convertible_v<Expected<void>, Expected<int>> &&
              std::is_convertible_v<Expected<int>, Expected<Any>>);

Expected<int> Half(int x) {
  TVM_FFI_RET_CHECK(x >= 0, ValueError) << "negative";
  TVM_FFI_RET_CHECK_EQ(x % 2, 0, ValueError);
  return x / 2;
}

TEST_CASE("expected holds a value or an error") {
  CHECK_EQ(Half(4).value(), 2);
  CHECK_EQ(Half(-2).error().message(), "Check failed: (x >= 0) is false: negative");
  CHECK_EQ(Half(3).error().message(), "Check failed: x % 2 == 0 (1 vs. 0) : ");
  CHECK_EQ(Half(3).value_or(9), 9);
  CHECK_EQ(Thrown([] { Half(3).value(); }).kind(), "ValueError");
  CHECK_EQ(Thrown([] { Half(2).error(); }).message(),
           "Bad expected access: contains value, not error");
  CHECK(Half(4).as_or_error<String>().is_err());
}

// A macro that passes its argument on, like macros of other libraries.
#define PASS_ON(statement) statement
void WriteTo(std::ostream& out) {
  out << "number " << std::hex << 255;
  out.write("text", 2);
}

TEST_CASE("stream operators visible only at the throw are found") {
  Error error = Thrown([] {
    TVM_FFI_THROW(E) << "<" << std::vector<int>{1, 2} << DLDevice{kDLCPU, 4} << 1.5 << ">";
  });
  CHECK_EQ(error.message(), "<2 itemsdevice 41.5>");
  error = Thrown([] { TVM_FFI_CHECK_EQ(1, 2, E) << std::vector<int>{1}; });
  CHECK_EQ(error.message(), "Check failed: 1 == 2 (1 vs. 2) : 1 items");
  Expected<int> result = []() -> Expected<int> {
    return TVM_FFI_UNEXPECTED(E) << std::vector<int>{1} << "!";
  }();
  CHECK_EQ(result.error().message(), "1 items!");
}

TEST_CASE("manipulators act as on an ostream") {
  Error error = Thrown([] {
    TVM_FFI_THROW(E) << std::boolalpha << true << std::hex << 255 << " " << -1 << " "
                     << static_cast<short>(-2) << " " << -3LL << std::dec << std::setw(4)
                     << std::setfill('0') << 7 << std::fixed << std::setprecision(2) << 3.14159;
  });
  CHECK_EQ(error.message(), "trueff ffffffff fffe fffffffffffffffd00073.14");
}

TEST_CASE("a stream buffer is streamed by its content") {
  std::stringstream content("content");
  CHECK_EQ(Thrown([&] { TVM_FFI_THROW(E) << content.rdbuf() << 1; }).message(), "content1");
}

TEST_CASE("the macros can be one argument of another macro") {
  int* null = nullptr;
  CHECK_EQ(Thrown([] { PASS_ON(TVM_FFI_THROW(E) << "m"); }).message(), "m");
  CHECK_EQ(Thrown([] { PASS_ON(TVM_FFI_CHECK(false, E) << "m"); }).message(),
           "Check failed: (false) is false: m");
  CHECK_EQ(Thrown([] { PASS_ON(TVM_FFI_ICHECK_EQ(1, 2) << "m"); }).message(),
           "Check failed: 1 == 2 (1 vs. 2) : m");
  CHECK_EQ(Thrown([&] { PASS_ON(TVM_FFI_ICHECK_NOTNULL(null)); }).message(),
           "Check not null: null ");
  auto unexpected = [] { PASS_ON(return TVM_FFI_UNEXPECTED(E) << "m"); };
  CHECK_EQ(unexpected().error().message(), "m");
}

TEST_CASE("the stream of an error builder is an ostream") {
  TVMFFIByteArray backtrace{"place\n", 6};
  Error error = Thrown([&] { WriteTo(detail::ErrorBuilder("E", &backtrace, false).stream()); });
  CHECK_EQ(error.message(), "number ffte");
  CHECK_EQ(error.backtrace(), "place\n");
  error = Thrown([] {
    detail::ErrorBuilder builder("E", std::string("place\n"), false);
    std::ostream& out = builder.stream();
    out << "one" << std::setw(4) << 2;
    builder.stream().write("three", 2).put('!').flush() << builder.stream().str().size();
  });
  CHECK_EQ(error.message(), "one   2th!10");
  error = Thrown([&] {
    detail::ErrorBuilder builder("E", &backtrace, false, Error("Cause", "cause", ""), std::nullopt);
    builder.stream() << "m";
  });
  CHECK_EQ(error.cause_chain()->message(), "cause");
}

TEST_CASE("an unexpected value is built step by step") {
  Expected<int> result = detail::UnexpectedBuilder("E", "file.cc", 7, "f")
                         << "a" << 1 << std::hex << 255;
  CHECK_EQ(result.error().kind(), "E");
  CHECK_EQ(result.error().message(), "a1ff");
  CHECK_EQ(result.error().backtrace(), "  File \"file.cc\", line 7, in f\n");
  Unexpected<Error> unexpected = detail::UnexpectedBuilder("E", "file.cc", 7, "f") << "b";
  CHECK_EQ(unexpected.error().message(), "b");
}

}  // namespace
