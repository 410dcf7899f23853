// SPDX-License-Identifier: Apache-2.0
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#include <doctest/doctest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/rvalue_ref.h>

#include "thrown.h"

namespace kernels {

using namespace tvm::ffi;

int64_t Add(int64_t a, const int& b, double c) { return a + b + static_cast<int64_t>(c); }
void Nothing(Optional<TensorView>) {}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, kernels::Add);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(add, "Adds.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(nothing, &Nothing)

}  // namespace kernels

namespace {

using namespace tvm::ffi;

TEST_CASE("exports follow the C calling convention") {
  CHECK_EQ(Function::InvokeExternC(nullptr, kernels::__tvm_ffi_add, 1, true, 3).cast<int>(), 5);
  CHECK_EQ(Thrown([] { Function::InvokeExternC(nullptr, kernels::__tvm_ffi_add, 1, 2); }),
           "TypeError: Mismatched number of arguments when calling: `add(0: int, 1: int, 2: float)"
           " -> int`. Expected 3 but got 2 arguments");
  CHECK_EQ(Thrown([] { Function::InvokeExternC(nullptr, kernels::__tvm_ffi_add, 1, "x", 2.5); }),
           "TypeError: Mismatched type on argument #1 when calling: `add(0: int, 1: int, 2: float)"
           " -> int`. Expected `int` but got `const char*`");
  CHECK_EQ(Thrown([] {
             Function::InvokeExternC(nullptr, kernels::__tvm_ffi_nothing, 1);
           }).find("Optional<DLTensor*>`") != std::string::npos,
           true);
}

TEST_CASE("exports carry metadata and documentation") {
  CHECK_EQ(Function::InvokeExternC(nullptr, kernels::__tvm_ffi__doc_add).cast<String>(), "Adds.");
  CHECK_EQ(Function::InvokeExternC(nullptr, kernels::__tvm_ffi__metadata_add).cast<String>(),
           R"({"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":)"
           R"([{\"type\":\"int\"}],\"params\":[{\"type\":\"int\"},{\"type\":\"int\"},)"
           R"({\"type\":\"float\"}]}}"})");
}

TEST_CASE("packed and typed functions can be called") {
  Function packed([](PackedArgs args, Any* result) { *result = args.Slice(1).size(); });
  CHECK_EQ(packed(1, 2.0, "x", nullptr, packed).cast<int>(), 4);
  TypedFunction<String(String, Optional<int>)> typed = [](String s, Optional<int> x) {
    return s + (x.has_value() ? "1" : "0");
  };
  CHECK_EQ(typed("aa", std::nullopt), "aa0");
  CHECK_EQ(typed("aa", 4), "aa1");
  CHECK_EQ(TypeTraits<TypedFunction<int(Array<int>)>>::TypeStr(), "(0: Array<int>) -> int");
  Function any_arg =
      Function::FromTyped([](Any a, AnyView b) { return a.type_index() + b.type_index(); });
  CHECK_EQ(any_arg("text", "text").cast<int>(), kTVMFFISmallStr + kTVMFFIRawStr);
}

TEST_CASE("CallExpected returns errors as values") {
  Function fail = Function::FromTyped([](int x) -> Expected<int> {
    if (x == 0) return TVM_FFI_UNEXPECTED(ValueError) << "zero";
    return x;
  });
  CHECK_EQ(fail.CallExpected<int>(0).error().message(), "zero");
  CHECK_EQ(fail.CallExpected<int>(3).value(), 3);
  CHECK_EQ(fail(0).type_index(), kTVMFFIError);
  CHECK_EQ(fail.CallExpected<String>(3).error().message(),
           "CallExpected: result type mismatch, expected str, but got int");
  CHECK_EQ(fail.CallExpected("x").error().kind(), "TypeError");
}

TEST_CASE("C++ and C entries agree") {
  Function function = Function::FromTyped(kernels::Add, "add");
  TVMFFIAny args[3];
  for (int i = 0; i < 3; ++i) args[i] = AnyView(i).CopyToTVMFFIAny();
  TVMFFIAny result = AnyView().CopyToTVMFFIAny();
  CHECK_EQ(TVMFFIFunctionCall(const_cast<FunctionObj*>(function.get()), args, 3, &result), 0);
  CHECK_EQ(result.v_int64, 3);
  Any used(String("a result slot that holds an object"));
  CHECK_EQ(function.get()->CallSafely(nullptr, 0, &used), -1);
  CHECK_EQ(detail::MoveFromSafeCallRaised().kind(), "InternalError");
}

TEST_CASE("global functions are found by name") {
  Function::SetGlobal("test.cpp.add", Function::FromTyped(kernels::Add), true);
  CHECK(Function::GetGlobal("test.cpp.add").has_value());
  CHECK(!Function::GetGlobal(std::string("test.cpp.none")).has_value());
  CHECK_EQ(Thrown([] { Function::GetGlobalRequired("test.cpp.none"); }),
           "ValueError: Function test.cpp.none not found");
  bool listed = false;
  for (const String& name : Function::ListGlobalNames()) listed |= name == "test.cpp.add";
  CHECK(listed);
  Function::RemoveGlobal("test.cpp.add");
  CHECK(!Function::GetGlobal(String("test.cpp.add")).has_value());
}

TEST_CASE("rvalue arguments are moved") {
  Function takes = Function::FromTyped([](RValueRef<Array<int>> ref) {
    Array<int> array = *std::move(ref);
    return array.use_count();
  });
  Array<int> array = {1, 2};
  CHECK_EQ(takes(array).cast<int>(), 2);
  CHECK_EQ(takes(RValueRef<Array<int>>(std::move(array))).cast<int>(), 1);
  CHECK(Thrown([&] { takes(1); }).find("Expected `RValueRef<Array<int>>` but got `int`") !=
        std::string::npos);
}

// Callers of packed functions may reuse the result variable, and may even pass it as an argument.
TEST_CASE("the result replaces the previous content of the slot") {
  Function concatenate = Function::FromTyped([](String a, String b) { return a + b; });
  Any slot(String("a text on the heap"));
  AnyView args[] = {slot, AnyView("!")};
  concatenate.CallPacked(args, 2, &slot);
  CHECK_EQ(slot.cast<String>(), "a text on the heap!");
  Function nothing = Function::FromTyped([] {});
  nothing.CallPacked(args, 0, &slot);
  CHECK_EQ(slot.cast<String>(), "a text on the heap!");
  Function fail = Function::FromTyped([]() -> String { TVM_FFI_THROW(ValueError) << "no"; });
  CHECK_EQ(Thrown([&] { fail.CallPacked(args, 0, &slot); }), "ValueError: no");
  CHECK_EQ(slot.cast<String>(), "a text on the heap!");
}

// The result is returned directly: otherwise GCC before 14 moves each result.
TEST_CASE("a result is constructed in the caller's variable") {
  static uintptr_t result_address;
  Function note = Function::FromPacked(
      [](PackedArgs, Any* rv) { result_address = reinterpret_cast<uintptr_t>(rv); });
  Any called = note(1);
  CHECK_EQ(result_address, reinterpret_cast<uintptr_t>(&called));
  TVMFFISafeCallType symbol = [](void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
    result_address = reinterpret_cast<uintptr_t>(result);
    return 0;
  };
  Any invoked = Function::InvokeExternC(nullptr, symbol, 1);
  CHECK_EQ(result_address, reinterpret_cast<uintptr_t>(&invoked));
}

TEST_CASE("unpack_call can be used directly") {
  AnyView args[] = {1, 2, 3};
  Any result;
  std::string name = "f";
  detail::unpack_call<int64_t>(std::make_index_sequence<3>(), &name, kernels::Add, args, 3,
                               &result);
  CHECK_EQ(result.cast<int>(), 6);
}

TEST_CASE("packed callables may change their own state") {
  Function counter = Function::FromPacked([n = 0](PackedArgs, Any* rv) mutable { *rv = ++n; });
  counter();
  CHECK_EQ(counter().cast<int>(), 2);
}

// A function that takes a callable and ignores the callable's result.
void Ignore(String, int) {}

TEST_CASE("typed functions without a result") {
  using Sink = TypedFunction<void(String, int)>;
  Sink plain = Ignore;
  Function packed = plain;
  CHECK(packed("a", 1) == nullptr);
  Sink wrapper = [plain](String text, int x) { return plain(text, x); };
  wrapper("a", 1);
  int seen = 0;
  Sink with_result = [&](String, int x) { return seen = x; };
  with_result("a", 7);
  CHECK_EQ(seen, 7);
  TypedFunction<Sink()> maker = [plain] { return plain; };
  maker()("a", 1);
  CHECK_EQ(TypeTraits<Sink>::TypeStr(), "(0: str, 1: int) -> void");
  CHECK_EQ(Thrown([&] { packed("a"); }),
           "TypeError: Mismatched number of arguments when calling: `(0: str, 1: int) -> void`. "
           "Expected 2 but got 1 arguments");
}

}  // namespace
