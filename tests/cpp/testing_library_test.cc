// SPDX-License-Identifier: Apache-2.0
// libtvm_ffi_testing in a program that loads it at run time and uses it by name.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/function.h>

#include <string>

#ifndef TESTING_LIBRARY
#define TESTING_LIBRARY "libtvm_ffi_testing.so"  // the build passes the path
#endif

namespace {

using namespace tvm::ffi;

// Loads the testing library once; its registrations persist.
Function Named(const char* name) {
  static void* const library = dlopen(TESTING_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) TVM_FFI_THROW(RuntimeError) << dlerror();
  return Function::GetGlobalRequired(name);
}

TEST_CASE("functions are found by name") {
  CHECK_EQ(Named("testing.add_one")(41).cast<int>(), 42);
  CHECK_EQ(Named("testing.echo")("text").cast<String>(), "text");
  Array<Any> numbers = {1, 2};
  CHECK_EQ(Named("testing.object_use_count")(numbers).cast<int>(), 1);
}

// Calls the exported function that the symbol names.
template <typename... Args>
Any CallSymbol(const char* symbol, Args&&... args) {
  void* library = dlopen(TESTING_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* found = dlsym(library, symbol);
  if (found == nullptr) TVM_FFI_THROW(RuntimeError) << dlerror();
  return Function::InvokeExternC(nullptr, reinterpret_cast<TVMFFISafeCallType>(found), args...);
}

TEST_CASE("functions are found by symbol, with their metadata") {
  CHECK_EQ(CallSymbol("__tvm_ffi_testing_dll_schema_id_int", 3).cast<int>(), 3);
  CHECK_EQ(CallSymbol("__tvm_ffi__metadata_testing_dll_schema_id_int").cast<std::string>(),
           R"({"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":)"
           R"(\"int\"}],\"params\":[{\"type\":\"int\"}]}}"})");
  CHECK_EQ(CallSymbol("__tvm_ffi_testing_dll_test_add_with_docstring", 1, 2).cast<int>(), 3);
  std::string text =
      CallSymbol("__tvm_ffi__doc_testing_dll_test_add_with_docstring").cast<std::string>();
  CHECK_EQ(text.find("Add two integers and return the sum."), 0u);
  void* library = dlopen(TESTING_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(dlsym(library, "TVMFFITestingDummyTarget") != nullptr);
}

TEST_CASE("symbols are callable") {
  auto add_one = reinterpret_cast<TVMFFISafeCallType>(
      Named("testing.get_add_one_c_symbol")().cast<intptr_t>());
  CHECK_EQ(Function::FromExternC(nullptr, add_one, nullptr)(1).cast<int>(), 2);

  using Packed = void (*)(void**);
  auto packed =
      reinterpret_cast<Packed>(Named("testing.get_mlir_add_one_c_symbol")().cast<intptr_t>());
  Any argument(1);
  Any result;
  void* handle = nullptr;
  const Any* arguments = &argument;
  int32_t num_arguments = 1;
  Any* result_address = &result;
  int status = -1;
  void* call[] = {&handle, &arguments, &num_arguments, &result_address, &status};
  packed(call);
  CHECK_EQ(status, 0);
  CHECK_EQ(result.cast<int>(), 2);
}

// Classes with automatic constructors, defaults and getters of all kinds.
TEST_CASE("objects are created and printed") {
  Function make = Named("ffi.MakeObjectFromPackedArgs");
  auto shown = [&](auto... args) { return ReprPrint(make(args...)); };
  CHECK_EQ(shown("testing.TestIntPair", "a", 1, "b", 2), "testing.TestIntPair(a=1, b=2)");
  CHECK_EQ(shown("testing.TestFrozenCxx", "value", 1), "testing.TestFrozenCxx(value=1, tag=\"\")");
  CHECK_EQ(shown("testing.TestCxxClassDerived", "v_i64", 1, "v_i32", 2, "v_f64", 3.0),
           "testing.TestCxxClassDerived(v_f64=3, v_f32=8)");
  CHECK_EQ(shown("testing.TestCxxClassPolymorphic", "v_i64", 1),
           "testing.TestCxxClassPolymorphic(v_i64=1)");
  CHECK_EQ(ReprPrint(Named("testing.make_unregistered_object")()),
           "testing.TestUnregisteredObject(v1=41, v2=42)");
  CHECK_EQ(ReprPrint(Named("testing.enum_variant_get")("Beta")), "testing.TestEnumVariant.Beta");
}

TEST_CASE("copies and hooks work") {
  Function make = Named("ffi.MakeObjectFromPackedArgs");
  Any first = make("testing.TestCustomCompare", "key", 1, "label", "a");
  Any second = make("testing.TestCustomCompare", "key", 1, "label", "b");
  CHECK(RecursiveEq(first, second));
  CHECK(RecursiveHash(first) == RecursiveHash(second));
  Any edges = make("testing.TestDeepCopyEdges", "v_any", first, "v_obj", first);
  CHECK(RecursiveEq(DeepCopy(edges), edges));
}

// The visited numbers in the order of the walk, each with the kind of its region.
std::string WalkedNumbers(const Any& root) {
  std::string text;
  StructuralWalk<WalkOrder::kPreOrder>(root, [&](int64_t number, TVMFFIDefRegionKind kind) {
    text += std::to_string(number) + "/" + std::to_string(kind) + " ";
    return WalkResult::Advance();
  });
  return text;
}

TEST_CASE("visits pass regions") {
  Function make = Named("testing.make_visit_region_graph");
  CHECK_EQ(WalkedNumbers(make(false)), "1/2 2/1 3/0 ");
  CHECK_EQ(WalkedNumbers(make(true)), "1/2 2/1 3/2 4/0 ");
}

}  // namespace
