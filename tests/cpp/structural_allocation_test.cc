// SPDX-License-Identifier: Apache-2.0
// Every memory request of a structural visit or mutation fails once: the failure is reported,
// nothing leaks, and values with other owners are unchanged.
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/reflection/registry.h>

#include "every_request.h"
#include "structural_text.h"

namespace {

using namespace ir;

class CountedObj : public Object {
 public:
  Any value;
  explicit CountedObj(Any value) : value(std::move(value)) { ++alive; }
  CountedObj(const CountedObj& other) : Object(other), value(other.value) { ++alive; }
  ~CountedObj() { --alive; }
  static int alive;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.allocation.Counted", CountedObj, Object);
};
int CountedObj::alive = 0;

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<CountedObj>(refl::init(false)).def_ro("value", &CountedObj::value);
}

ObjectRef Counted(Any value) { return New<CountedObj>(std::move(value)); }

Any Sample() {
  Dict<Any, Any> dict{{1, Counted(1)}, {2, Items{Counted(2)}}};
  return List<Any>{Counted(dict), Table{{"k", Let(Counted(3))}}, Func(Var("x", 4), 5)};
}

// Callbacks and visits report a failed allocation as a MemoryError.
template <typename Call>
void CheckEveryRequest(const char* label, Call call) {
  CheckEveryRequest(label, &CountedObj::alive, [&] {
    try {
      return call();
    } catch (const Error& error) {
      if (error.kind() == "MemoryError") throw std::bad_alloc();
      throw;
    }
  });
}

int64_t Increment(int64_t value) { return value + 1; }

const char* const kSample =
    "<Counted({1:Counted(1) 2:[Counted(2)]}) {'k':Let(Counted(3))} Func(x, 5)>";
const char* const kIncremented =
    "<Counted({1:Counted(2) 2:[Counted(3)]}) {'k':Let(Counted(4))} Func(x, 6)>";

TEST_CASE("walk") {
  Any sample = Sample();
  CheckEveryRequest("walk", [&] {
    int64_t sum = 0;
    StructuralWalk<WalkOrder::kPostOrder>(sample, [&](int64_t value) {
      sum += value;
      return WalkResult::Advance();
    });
    return sum == 15;
  });
}

TEST_CASE("global walk") {
  Any sample = Sample();
  Function walk = Function::GetGlobalRequired("ffi.StructuralWalk");
  Items callbacks{Items{kTVMFFIInt, Function::FromTyped([](int64_t) { return 0; })}};
  CheckEveryRequest("global walk", [&] { return walk(sample, callbacks, Items{}, 0) == nullptr; });
}

TEST_CASE("map") {
  Any sample = Sample();
  CheckEveryRequest("map", [&] {
    Any result = StructuralMap<WalkOrder::kPostOrder>(sample, Increment);
    return result.as<ListObj>()->size() == 3 && !result.same_as(sample);
  });
  CHECK_EQ(Show(sample), kSample);
  CHECK_EQ(Show(StructuralMap<WalkOrder::kPostOrder>(sample, Increment)), kIncremented);
}

TEST_CASE("map in place") {
  CheckEveryRequest("map in place", [&] {
    Any sample = Sample();
    const Object* address = sample.as<Object>();
    return StructuralMap<WalkOrder::kPreOrder>(std::move(sample), Increment).as<Object>() ==
           address;
  });
}

// If a write fails, every element stays at its position.
TEST_CASE("nothing leaks in place") {
  auto wrap = [](int64_t value, StructuralMutatorObj*) { return Counted(value); };
  using Engine = StructuralMutateEngine<StructuralMapEngineBase, decltype(wrap)>;
  auto engine = make_object<Engine>(wrap);
  for (int n = 0;; ++n) {
    List<Any> list{1, Items{2}, Dict<Any, Any>{{1, 3}}};
    requests_until_failure = n;
    stays_exhausted = true;
    has_failed = false;
    Expected<UnchangedOr<Any>> outcome = engine->MutateExpected(list, InplaceMode::kAllow);
    requests_until_failure = kNever;
    CHECK_EQ(outcome.is_err(), has_failed);
    if (!has_failed) {
      CHECK_EQ(Show(list), "<Counted(1) [Counted(2)] {1:Counted(3)}>");
      break;
    }
    CHECK((Show(list[0]) == "1" || Show(list[0]) == "Counted(1)"));
    CHECK((Show(list[1]) == "[2]" || Show(list[1]) == "[Counted(2)]"));
    CHECK((Show(list[2]) == "{1:3}" || Show(list[2]) == "{1:Counted(3)}"));
  }
}

// The error of the callback is passed on, even without memory to record its position.
TEST_CASE("errors pass without a context") {
  Any sample = Items{Let(Let(1))};
  auto fail = [](int64_t) -> Expected<WalkResult> { throw 1; };
  using Engine = StructuralWalkEngine<StructuralVisitorObj, WalkOrder::kPreOrder, decltype(fail)>;
  auto engine = make_object<Engine>(fail);
  bool has_memory = false;
  for (int n = 0; !has_memory; ++n) {
    requests_until_failure = n;
    stays_exhausted = true;
    has_failed = false;
    Expected<Optional<VisitInterrupt>> outcome = engine->VisitExpected(sample);
    requests_until_failure = kNever;
    has_memory = !has_failed;
    std::string kind = outcome.error().kind();
    CHECK((kind == "InternalError" || kind == "MemoryError"));
    CHECK((kind == "InternalError" || !outcome.error().extra_context().has_value()));
    if (has_memory) CHECK_EQ(Frames(outcome.error()), "Let(1) | Let(Let(1)) | [Let(Let(1))]");
  }
}

}  // namespace
