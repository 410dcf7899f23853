// SPDX-License-Identifier: Apache-2.0
// Functions and callbacks that cross in both directions, through every call API.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/rvalue_ref.h>
#include <tvm/ffi/string.h>

#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

// ---- Creating and calling functions -------------------------------------------------------------

int64_t Add(int64_t a, int64_t b) { return a + b; }

int AddExternC(void* step, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  CHECK_EQ(num_args, 2);
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = args[0].v_int64 + args[1].v_int64 + *static_cast<int64_t*>(step);
  TVM_FFI_SAFE_CALL_END();
}

// Returns a function that adds two integers; `kind` selects how the function is created.
Function MakeAdder(Any, String kind) {
  if (kind == "typed") return Function::FromTyped(Add, "add");
  if (kind == "packed") {
    return Function::FromPacked([](PackedArgs args, Any* result) {
      CHECK_EQ(args.size(), 2);
      *result = args[0].cast<int64_t>() + args[1].cast<int64_t>();
    });
  }
  if (kind == "views") {
    return Function::FromPacked([](const AnyView* args, int32_t, Any* result) {
      *result = args[0].cast<int64_t>() + args[1].cast<int64_t>();
    });
  }
  return Function::FromExternC(new int64_t(0), AddExternC,
                               [](void* step) { delete static_cast<int64_t*>(step); });
}
Function CheckAdder(Function add) {
  CHECK_EQ(add(1, 2).cast<int64_t>(), 3);
  CHECK_EQ(add(INT64_MAX, -1).cast<int64_t>(), INT64_MAX - 1);
  CHECK_EQ(add.CallExpected<int64_t>(4, 5).value(), 9);
  TypedFunction<int64_t(int64_t, int64_t)> typed = add;
  CHECK_EQ(typed(6, 7), 13);
  AnyView args[2];
  PackedArgs::Fill(args, 8, 9);
  Any result;
  add.CallPacked(args, 2, &result);
  CHECK_EQ(result.cast<int64_t>(), 17);
  const auto* object = static_cast<const FunctionObj*>(add.get());
  TVMFFIAny safe_result = AnyView(nullptr).CopyToTVMFFIAny();
  CHECK_EQ(object->safe_call(const_cast<FunctionObj*>(object), reinterpret_cast<TVMFFIAny*>(args),
                             2, &safe_result),
           0);
  CHECK_EQ(safe_result.v_int64, 17);
  return add;
}
void CheckMismatch(Function add) {
  std::string messages[2];
  const AnyView bad[] = {AnyView(1), AnyView("text"), AnyView(2)};
  for (int i = 0; i < 2; ++i) {
    try {
      Any result;
      add.CallPacked(bad, i == 0 ? 3 : 2, &result);
    } catch (const Error& error) {
      messages[i] = error.kind() + ": " + error.message();
    }
  }
  CHECK_EQ(messages[0],
           "TypeError: Mismatched number of arguments when calling: `add(0: int, 1: int) -> int`. "
           "Expected 2 but got 3 arguments");
  CHECK_EQ(messages[1],
           "TypeError: Mismatched type on argument #1 when calling: `add(0: int, 1: int) -> int`. "
           "Expected `int` but got `const char*`");
}

// ---- State and lifetime -------------------------------------------------------------------------

int64_t& LiveCounters() {
  static int64_t count = 0;
  return count;
}
struct Counter {
  int64_t value = 0;
  Counter() { ++LiveCounters(); }
  Counter(const Counter& other) : value(other.value) { ++LiveCounters(); }
  ~Counter() { --LiveCounters(); }
  void operator()(const AnyView*, int32_t, Any* result) { *result = ++value; }
};
Function MakeCounter(Any) { return std::get<0>(Function::FromPackedInplace<Counter>()); }
Function CheckCounter(Function counter) {
  CHECK_EQ(counter().cast<int64_t>(), 1);
  Function alias = counter;
  CHECK_EQ(alias().cast<int64_t>(), 2);
  return counter;
}
Any CheckLiveCounters(Any value, int64_t count) {
  CHECK_EQ(LiveCounters(), count);
  return value;
}

// ---- Callbacks ----------------------------------------------------------------------------------

// A function that counts down; it calls the function passed to it for each step.
Function MakeCountdown(Any) {
  return Function::FromTyped([](int64_t n, Function other, Function self) -> int64_t {
    if (n == 0) return 0;
    return 1 + other(n - 1, self, other).cast<int64_t>();
  });
}
void RunCountdown(Function other) {
  Function own = MakeCountdown(nullptr);
  CHECK_EQ(own(200, other, own).cast<int64_t>(), 200);
}

Array<Any> MapElements(Array<Any> elements, TypedFunction<Any(Any)> change) {
  Array<Any> changed;
  for (const Any& element : elements) changed.push_back(change(element));
  return changed;
}
Function MakeMapElements(Any) { return Function::FromTyped(MapElements, "map_elements"); }
void CheckMapElements(Function map_elements) {
  int64_t calls = 0;
  TypedFunction<Any(Any)> twice = [&calls](Any value) -> Any {
    ++calls;
    if (std::optional<int64_t> number = value.as<int64_t>()) return *number * 2;
    return value.cast<String>() + value.cast<String>();
  };
  Array<Any> changed =
      map_elements(Array<Any>{21, String("ab"), String("long text")}, twice).cast<Array<Any>>();
  CHECK_EQ(calls, 3);
  CHECK_EQ(changed[0].cast<int64_t>(), 42);
  CHECK_EQ(changed[1].cast<String>(), "abab");
  CHECK_EQ(changed[2].cast<String>(), "long textlong text");
}

// Returns the type of its argument as received; tests which types arrive without a conversion.
Function MakeTypeIndexOf(Any) {
  return Function::FromPacked(
      [](PackedArgs args, Any* result) { *result = static_cast<int64_t>(args[0].type_index()); });
}
void CheckTypeIndices(Function type_index_of) {
  auto index_of = [&](auto&& argument) {
    return type_index_of(std::forward<decltype(argument)>(argument)).template cast<int64_t>();
  };
  TVMFFIByteArray bytes{"x", 1};
  CHECK_EQ(index_of("literal"), kTVMFFIRawStr);
  CHECK_EQ(index_of(std::string("text")), kTVMFFIRawStr);
  CHECK_EQ(index_of(&bytes), kTVMFFIByteArrayPtr);
  CHECK_EQ(index_of(String("short")), kTVMFFISmallStr);
  CHECK_EQ(index_of(String("eight888")), kTVMFFIStr);
  CHECK_EQ(index_of(Function(nullptr)), kTVMFFINone);
  CHECK_EQ(index_of(nullptr), kTVMFFINone);
  CHECK_EQ(index_of(RValueRef<Array<int64_t>>(Array<int64_t>{1})), kTVMFFIObjectRValueRef);
}

// Takes ownership of the array; if the caller gave up the only reference, it appends in place.
Function MakeAppender(Any) {
  return Function::FromTyped(
      [](RValueRef<Array<int64_t>> moved, int64_t value) {
        Array<int64_t> array = *std::move(moved);
        array.push_back(value);
        return array;
      },
      "append");
}
void CheckAppender(Function append) {
  Array<int64_t> array{1, 2};
  array.reserve(8);
  const Object* before = array.get();
  array = append(RValueRef<Array<int64_t>>(std::move(array)), 3).cast<Array<int64_t>>();
  CHECK(array.get() == before);
  Array<int64_t> appended = append(array, 4).cast<Array<int64_t>>();
  CHECK_EQ(array.size(), size_t{3});
  CHECK_EQ(appended.size(), size_t{4});
  CHECK_EQ(appended[3], 4);
}

// ---- Global functions ---------------------------------------------------------------------------

Any RegisterGlobal(Any) {
  Function::SetGlobal("exchange.add", Function::FromTyped(Add, "exchange.add"), true);
  return nullptr;
}
Any UseGlobal(Any) {
  CHECK_EQ(Function::GetGlobalRequired("exchange.add")(2, 3).cast<int64_t>(), 5);
  bool is_listed = false;
  for (const String& name : Function::ListGlobalNames()) is_listed |= name == "exchange.add";
  CHECK(is_listed);
  Function::RemoveGlobal("exchange.add");
  return nullptr;
}
void CheckGlobalIsGone(Any) { CHECK(!Function::GetGlobal("exchange.add").has_value()); }

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_adder, exchange::MakeAdder)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_adder, exchange::CheckAdder)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_mismatch, exchange::CheckMismatch)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_counter, exchange::MakeCounter)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_counter, exchange::CheckCounter)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_live_counters, exchange::CheckLiveCounters)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_countdown, exchange::MakeCountdown)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_countdown, exchange::RunCountdown)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_map_elements, exchange::MakeMapElements)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_map_elements, exchange::CheckMapElements)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_type_index_of, exchange::MakeTypeIndexOf)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_type_indices, exchange::CheckTypeIndices)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_appender, exchange::MakeAppender)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_appender, exchange::CheckAppender)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(register_global, exchange::RegisterGlobal)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_global, exchange::UseGlobal)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_global_is_gone, exchange::CheckGlobalIsGone)
