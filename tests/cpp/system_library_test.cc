// SPDX-License-Identifier: Apache-2.0
// ffi.SystemLib: modules of symbols that are linked into the program.  The expected look-up order
// was observed on the incumbent.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>

#include <string>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

template <int kNumber>
int ReturnNumber(void* handle, const TVMFFIAny*, int32_t num_args, TVMFFIAny* result) {
  CHECK(handle == nullptr);
  CHECK_EQ(num_args, 0);
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = kNumber;
  return 0;
}

int ReturnText(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  TVMFFIByteArray text{"documented", 10};
  return TVMFFIStringFromByteArray(&text, result);
}

int ReturnFailure(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "no text today");
  return -1;
}

void Register(const char* name, void* symbol) {
  CHECK_EQ(TVMFFIEnvModRegisterSystemLibSymbol(name, symbol), 0);
}
void Register(const char* name, TVMFFISafeCallType function) {
  Register(name, reinterpret_cast<void*>(function));
}

Module SystemLib() { return Function::GetGlobalRequired("ffi.SystemLib")().cast<Module>(); }
Module SystemLib(const char* prefix) {
  return Function::GetGlobalRequired("ffi.SystemLib")(prefix).cast<Module>();
}

int64_t CallNumber(const Module& module, const char* name) {
  Optional<Function> function = module->GetFunction(name);
  return function.has_value() ? function.value()().cast<int64_t>() : -1;
}

}  // namespace

TEST_CASE("there is one module per prefix") {
  Module module = SystemLib();
  CHECK_EQ(std::string(module->kind()), "library");
  CHECK_EQ(module->GetPropertyMask(), 3);
  CHECK(SystemLib().same_as(module));
  CHECK(SystemLib("").same_as(module));
  Module prefixed = SystemLib("one_");
  CHECK(!prefixed.same_as(module));
  CHECK(SystemLib("one_").same_as(prefixed));
}

TEST_CASE("functions with the prefix hide those without") {
  Register("__tvm_ffi_f", &ReturnNumber<1>);
  Register("__tvm_ffi_p_f", &ReturnNumber<2>);
  Register("__tvm_ffi_p_g", &ReturnNumber<3>);
  Register("p___tvm_ffi_h", &ReturnNumber<4>);
  Register("plain", &ReturnNumber<5>);
  Module module = SystemLib(), prefixed = SystemLib("p_");
  CHECK_EQ(CallNumber(module, "f"), 1);
  CHECK_EQ(CallNumber(module, "p_f"), 2);
  CHECK_EQ(CallNumber(module, "g"), -1);
  CHECK_EQ(CallNumber(prefixed, "f"), 2);
  CHECK_EQ(CallNumber(prefixed, "g"), 3);
  CHECK_EQ(CallNumber(prefixed, "p_f"), 2);
  for (const char* name : {"h", "plain"}) {
    CHECK(!module->ImplementsFunction(name));
    CHECK(!prefixed->ImplementsFunction(name));
  }
}

TEST_CASE("symbols may be registered after the module is created") {
  Module module = SystemLib("late_");
  CHECK_EQ(CallNumber(module, "f2"), -1);
  Register("__tvm_ffi_late_f2", &ReturnNumber<6>);
  CHECK_EQ(CallNumber(module, "f2"), 6);
  Register("__tvm_ffi_late_f2", &ReturnNumber<7>);  // warns
  CHECK_EQ(CallNumber(module, "f2"), 7);
}

TEST_CASE("other symbols have the prefix first") {
  Register("__tvm_ffi__doc_a", &ReturnText);
  Register("d___tvm_ffi__doc_b", &ReturnText);
  Register("__tvm_ffi_d__doc_c", &ReturnText);
  Register("__tvm_ffi__metadata_a", &ReturnText);
  Register("__tvm_ffi__doc_number", &ReturnNumber<1>);
  Register("__tvm_ffi__doc_failing", &ReturnFailure);
  Module module = SystemLib(), prefixed = SystemLib("d_");
  CHECK_EQ(module->GetFunctionDoc("a").value(), "documented");
  CHECK_EQ(module->GetFunctionMetadata("a").value(), "documented");
  CHECK_EQ(prefixed->GetFunctionDoc("a").value(), "documented");
  CHECK_EQ(prefixed->GetFunctionDoc("b").value(), "documented");
  CHECK(!module->GetFunctionDoc("b").has_value());
  CHECK(!prefixed->GetFunctionDoc("c").has_value());
  CHECK_EQ(Thrown([&] { module->GetFunctionDoc("failing"); }), "ValueError: no text today");
  CHECK(Thrown([&] { module->GetFunctionDoc("number"); }).find("`int`") != std::string::npos);
}

TEST_CASE("context slots are filled when the module is created") {
  static void* context = nullptr;
  static void* slot = nullptr;
  static int target = 0;
  Register("ctx___tvm_ffi__library_ctx", &context);
  Register("ctx___test_system_slot", &slot);
  CHECK_EQ(TVMFFIEnvModRegisterContextSymbol("__test_system_slot", &target), 0);
  Module module = SystemLib("ctx_");
  CHECK_EQ(context, static_cast<void*>(module.get()));
  CHECK_EQ(slot, static_cast<void*>(&target));
  // After this call, generated code finds the functions of the module's imports.
  module->ImportModule(SystemLib("ctx_imported_"));
  Register("__tvm_ffi_ctx_imported_n", &ReturnNumber<9>);
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIEnvModLookupFromImports(context, "n", &function), 0);
  Any number;
  CHECK_EQ(TVMFFIFunctionCall(function, nullptr, 0, reinterpret_cast<TVMFFIAny*>(&number)), 0);
  CHECK_EQ(number.cast<int64_t>(), 9);
}

TEST_CASE("the prefix is a string and the only argument") {
  Function system_lib = Function::GetGlobalRequired("ffi.SystemLib");
  CHECK_EQ(Thrown([&] { system_lib(3); }).substr(0, 10), "TypeError:");
  CHECK_EQ(Thrown([&] { system_lib(nullptr); }).substr(0, 10), "TypeError:");
  CHECK_EQ(
      Thrown([&] { system_lib("a", "b"); }),
      "TypeError: ffi.SystemLib takes at most one argument, the symbol prefix, got 2 arguments");
}
