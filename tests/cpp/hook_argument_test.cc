// SPDX-License-Identifier: Apache-2.0
// The functions that hooks receive to continue the walk, called outside of their hook.
// AddressSanitizer detects dangling references.
#include <doctest/doctest.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

// Calls the function that a hook received, with two values.
using CallBack = std::function<void(const Function&, const Any&, const Any&)>;
// Runs in the hook of a HookedObj.
std::function<void(const Function&)> in_hook;
// Runs when a field of a GettingObj is read.
std::function<void()> in_getter;

class HookedObj : public Object {
 public:
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Hooked", HookedObj, Object);
};

class GettingObj : public Object {
 public:
  int64_t number = 1;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Getting", GettingObj, Object);
};

int ReadNumber(void* field, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (in_getter) in_getter();
  Any number = *static_cast<int64_t*>(field);
  *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(number));
  TVM_FFI_SAFE_CALL_END();
}

struct ReadByCall : refl::InfoTrait {
  void Apply(refl::FieldInfoBuilder* info) const { info->getter = &ReadNumber; }
};

void RegisterHook(const char* name, const Any& answer) {
  Function hook = Function::FromPacked([answer](PackedArgs args, Any* rv) {
    in_hook(args[args.size() - 1].cast<Function>());
    *rv = answer;
  });
  TVMFFIByteArray bytes{name, std::strlen(name)};
  TVMFFIAny raw = AnyView(hook).CopyToTVMFFIAny();
  REQUIRE_EQ(TVMFFITypeRegisterAttr(HookedObj::RuntimeTypeIndex(), &bytes, &raw), 0);
}

void RegisterOnce() {
  [[maybe_unused]] static const bool is_registered = [] {
    RegisterHook("__ffi_repr__", String("hooked"));
    RegisterHook("__ffi_hash__", 1);
    RegisterHook("__ffi_eq__", true);
    RegisterHook("__s_equal__", true);
    RegisterHook("__s_hash__", 1);
    refl::ObjectDef<HookedObj>(refl::init(false));
    refl::ObjectDef<GettingObj>(refl::init(false))
        .def_ro("number", &GettingObj::number, ReadByCall());
    return true;
  }();
}

// Deep enough to reallocate the stack of any walk.
Any Deep() {
  Any value = 1;
  for (int i = 0; i < 200; ++i) value = List<Any>{value};
  return value;
}

List<Any> Value() {
  auto getting = [] { return ObjectRef(make_object<GettingObj>()); };
  return {ObjectRef(make_object<HookedObj>()), getting(), List<Any>{List<Any>{getting()}}};
}

struct Service {
  const char* name;
  std::function<void(const Any&, const Any&)> walk;
  CallBack call_back;
};

const Service kServices[] = {
    {"repr", [](const Any& lhs, const Any&) { static_cast<void>(ReprPrint(lhs)); },
     [](const Function& f, const Any& lhs, const Any&) { f(lhs); }},
    {"hash", [](const Any& lhs, const Any&) { static_cast<void>(RecursiveHash(lhs)); },
     [](const Function& f, const Any& lhs, const Any&) { f(lhs); }},
    {"eq", [](const Any& lhs, const Any& rhs) { CHECK(RecursiveEq(lhs, rhs)); },
     [](const Function& f, const Any& lhs, const Any& rhs) { f(lhs, rhs); }},
    {"structural equal", [](const Any& lhs, const Any& rhs) { CHECK(StructuralEqual()(lhs, rhs)); },
     [](const Function& f, const Any& lhs, const Any& rhs) { f(lhs, rhs, 0, nullptr); }},
    {"structural hash",
     [](const Any& lhs, const Any&) { static_cast<void>(StructuralHash()(lhs)); },
     [](const Function& f, const Any& lhs, const Any&) { f(lhs, 1, 0); }},
};

const char* const kNotItsTurn =
    "RuntimeError: the function that was passed to a hook was called on another thread, or while "
    "the "
    "hook was not running";

// Cause: a call from a getter reallocated the walk's stack in the middle of a step.
TEST_CASE("getters cannot reenter the walk that reads them") {
  RegisterOnce();
  for (const Service& service : kServices) {
    CAPTURE(service.name);
    std::optional<Function> kept;
    int num_calls = 0;
    in_hook = [&](const Function& function) {
      service.call_back(function, Deep(), Deep());
      kept = function;
    };
    in_getter = [&] {
      if (!kept.has_value()) return;
      ++num_calls;
      CHECK_EQ(Thrown([&] { service.call_back(*kept, Deep(), Deep()); }), kNotItsTurn);
    };
    service.walk(Value(), Value());
    in_getter = nullptr;
    CHECK(num_calls >= 2);
    std::string is_over = Thrown([&] { service.call_back(*kept, Deep(), Deep()); });
    CHECK(is_over.find("was called after") != std::string::npos);
  }
}

// Cause: a walk is not thread-safe, and did not reject other threads.
TEST_CASE("other threads cannot enter the walk") {
  RegisterOnce();
  for (const Service& service : kServices) {
    CAPTURE(service.name);
    std::string thrown;
    in_hook = [&](const Function& function) {
      std::thread other(
          [&] { thrown = Thrown([&] { service.call_back(function, Deep(), Deep()); }); });
      other.join();
      service.call_back(function, Deep(), Deep());
    };
    service.walk(Value(), Value());
    CHECK_EQ(thrown, kNotItsTurn);
  }
}

TEST_CASE("after a nested hook the outer hook can continue the walk") {
  RegisterOnce();
  for (const Service& service : kServices) {
    CAPTURE(service.name);
    int depth = 0;
    in_hook = [&](const Function& function) {
      if (depth == 3) return;
      ++depth;
      for (int i = 0; i < 2; ++i) service.call_back(function, Value(), Value());
    };
    service.walk(Value(), Value());
    CHECK_EQ(depth, 3);
  }
}

}  // namespace
