// SPDX-License-Identifier: Apache-2.0
// Visitors as objects: layout, user-defined visitors, values that change or nest, and the global
// functions for other languages.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/structural_visit.h>

#include <cstring>
#include <thread>

#include "nesting.h"
#include "structural_text.h"
#include "thrown.h"

namespace {

using namespace ir;

using Outcome = Optional<VisitInterrupt>;

WalkResult Go(AnyView) { return WalkResult::Advance(); }

// ---- Layout -----------------------------------------------------------------------------------

TVMFFIAny VisitAndLog(StructuralVisitorObj* self, AnyView value) noexcept;

// Visits every value, including None.
class LogVisitorObj : public StructuralVisitorObj {
 public:
  std::string log;
  LogVisitorObj() : StructuralVisitorObj(VTable()) {}
  static const StructuralVisitorVTable* VTable() {
    static constexpr StructuralVisitorVTable vtable{&VisitAndLog};
    return &vtable;
  }
};

TVMFFIAny VisitAndLog(StructuralVisitorObj* self, AnyView value) noexcept {
  static_cast<LogVisitorObj*>(self)->log += Show(value) + ";";
  return detail::ExpectedUnsafe::MoveToTVMFFIAny(self->DefaultVisitExpected(value));
}

template <typename T>
T ReadAt(const Object* object, size_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(object) + offset, sizeof(T));
  return value;
}

TEST_CASE("visitor layout") {
  auto visitor = make_object<LogVisitorObj>();
  CHECK(ReadAt<const StructuralVisitorVTable*>(visitor.get(), 24) == LogVisitorObj::VTable());
  CHECK_EQ(ReadAt<int32_t>(visitor.get(), 32), 0);
  visitor->WithDefRegionKind(kTVMFFIDefRegionKindSimple,
                             [&] { CHECK_EQ(ReadAt<int32_t>(visitor.get(), 32), 2); });
  CHECK_EQ(sizeof(StructuralVisitorVTable), size_t{8});
  CHECK_EQ(sizeof(VisitInterruptObj), size_t{40});
  VisitInterrupt interrupt(7);
  CHECK_EQ(ReadAt<int64_t>(interrupt.get(), 32), 7);
  CHECK(!VisitInterrupt::_type_is_nullable);
  CHECK(!StructuralVisitor::_type_is_nullable);
}

TEST_CASE("types") {
  const TypeInfo* interrupt = TVMFFIGetTypeInfo(kTVMFFIVisitInterrupt);
  CHECK_EQ(interrupt->metadata->total_size, 40);
  CHECK((interrupt->metadata->creator != nullptr));
  const TVMFFIFieldInfo* value = refl::GetFieldInfo("ffi.VisitInterrupt", "value");
  CHECK_EQ(value->offset, 24);
  CHECK_EQ(value->flags, kTVMFFIFieldFlagBitMaskHasDefault);
  const TypeInfo* visitor = TVMFFIGetTypeInfo(StructuralVisitorObj::RuntimeTypeIndex());
  CHECK_EQ(visitor->metadata->total_size, 40);
  CHECK((visitor->metadata->creator == nullptr));
  CHECK_EQ(visitor->num_fields, 0);
  refl::TypeAttrColumn column(type_attr::kStructuralVisit);
  for (int32_t index : {kTVMFFIArray, kTVMFFIMap, kTVMFFIList, kTVMFFIDict}) {
    CHECK_EQ(column[index].type_index(), kTVMFFIOpaquePtr);
  }
  CHECK(column[kTVMFFIStr] == nullptr);
  CHECK(column[kTVMFFIVisitInterrupt] == nullptr);
}

// An engine is larger than the size of its type.
TEST_CASE("visitors are not copied") {
  refl::TypeAttrColumn column(type_attr::kShallowCopy);
  Function copy = column[StructuralVisitorObj::RuntimeTypeIndex()].cast<Function>();
  StructuralVisitor visitor(make_object<LogVisitorObj>());
  CHECK_EQ(Thrown([&] { copy(visitor); }),
           "TypeError: Type `ffi.StructuralVisitor` does not support copy");
}

TEST_CASE("walk results") {
  CHECK_EQ(Any(WalkResult::Advance()).cast<int>(), 0);
  CHECK_EQ(Any(WalkResult::Skip()).cast<int>(), 1);
  CHECK_EQ(Any(WalkResult::Interrupt()).type_index(), kTVMFFIVisitInterrupt);
  CHECK_EQ(WalkResult::Skip().as<int>().value(), 1);
  CHECK(WalkResult::Interrupt().as<VisitInterruptObj>() != nullptr);
  CHECK_EQ(Any().cast<WalkResult>().as<int>().value(), 0);
  CHECK_EQ(Any(true).cast<WalkResult>().as<int>().value(), 1);
  CHECK_EQ(Thrown([] { Any(true).as_or_throw<WalkResult>(); }),
           "TypeError: Cannot treat type `bool` as type `WalkResult`");
  CHECK_EQ(Thrown([] { Any(1.5).cast<WalkResult>(); }),
           "TypeError: Cannot convert from type `float` to `WalkResult`");
  CHECK_EQ(detail::TypeSchema<WalkResult>::v(),
           R"({"type":"Variant","args":[{"type":"ffi.VisitInterrupt"},{"type":"int"}]})");
}

// ---- User-defined visitors --------------------------------------------------------------------

TEST_CASE("user-defined visitor") {
  auto visitor = make_object<LogVisitorObj>();
  visitor->VisitExpected(Items{nullptr, Call(1, nullptr)});
  CHECK_EQ(visitor->log, "[None Call(1, None)];None;Call(1, None);1;None;");
  visitor->log.clear();
  visitor->DefaultVisitExpected(Let(1));
  visitor->DefaultVisitExpected(nullptr);
  CHECK_EQ(visitor->log, "1;");
}

// An intermediate base class with state for callbacks.
class CountingObj : public StructuralVisitorObj {
 public:
  explicit CountingObj(const StructuralVisitorVTable* vtable) : StructuralVisitorObj(vtable) {}
  int count = 0;
};

TEST_CASE("engine over another base class") {
  auto callback = [](int64_t, CountingObj* counting) -> Outcome {
    ++counting->count;
    return std::nullopt;
  };
  auto engine = make_object<StructuralVisitEngine<CountingObj, decltype(callback)>>(callback);
  engine->Visit(Call(1, 2));
  CHECK_EQ(engine->count, 2);
  using Walk = StructuralWalkEngine<CountingObj, WalkOrder::kPreOrder, decltype(&Go)>;
  CHECK(!make_object<Walk>(&Go)->Visit(Let(1)).has_value());
}

// ---- Values that change or nest ----------------------------------------------------------------

TEST_CASE("callbacks may drop the root") {
  Any root = Items{Let(1), Let(2)};
  int count = 0;
  StructuralWalk<WalkOrder::kPreOrder>(root, [&](const LetObj*) {
    root = nullptr;
    ++count;
    return WalkResult::Advance();
  });
  CHECK_EQ(count, 2);
}

// A visitor borrows the visited values, so only the callback's variable owns the container.
TEST_CASE("callbacks may change the only reference to an array or map") {
  Items items{1, 2};
  Table table{{1, 1}, {2, 2}};
  int64_t sum = 0;
  auto change = [&](int64_t value, StructuralVisitorObj*) -> Outcome {
    sum += value;
    items.Set(1, 0);
    items.push_back(0);
    table.Set(2, 0);
    for (int i = 10; i < 30; ++i) table.Set(i, 0);
    return std::nullopt;
  };
  auto visitor = make_object<StructuralVisitEngine<StructuralVisitorObj, decltype(change)>>(change);
  visitor->Visit(items);
  CHECK_EQ(sum, 3);
  sum = 0;
  table = Table{{1, 1}, {2, 2}};
  visitor->Visit(table);
  CHECK_EQ(sum, 3);
}

TEST_CASE("callbacks may change lists and dicts") {
  List<Any> list;
  for (int i = 0; i < 100; ++i) list.push_back(Let(i));
  int count = 0;
  StructuralWalk<WalkOrder::kPreOrder>(list, [&](const LetObj* let) {
    list.clear();
    CHECK_EQ(let->value.cast<int>(), 0);
    ++count;
    return WalkResult::Skip();
  });
  CHECK_EQ(count, 1);
  Dict<Any, Any> dict;
  for (int i = 0; i < 10; ++i) dict.Set(i, Let(i));
  int64_t sum = 0;
  StructuralWalk<WalkOrder::kPreOrder>(dict, [&](const LetObj* let) {
    sum += let->value.cast<int64_t>();
    if (!dict.empty()) dict.clear();
    for (int i = 0; i < 50; ++i) dict.Set(1000 + i, i);
    return WalkResult::Skip();
  });
  CHECK_EQ(sum, 45);
}

TEST_CASE("the context of a deeply nested error is complete") {
  Nested deep(1000, 1, InList);
  Expected<Outcome> outcome = StructuralWalkExpected<WalkOrder::kPostOrder>(
      deep.value(), [](int64_t) -> WalkResult { throw Error("ValueError", "leaf", ""); });
  VisitErrorContext context = VisitErrorContext::TryGetFromError(outcome.error()).value();
  CHECK_EQ(context->reverse_visit_pattern.size(), size_t{1000});
  CHECK(context->reverse_visit_pattern[999].same_as(deep.value().cast<ObjectRef>()));
}

TEST_CASE("threads visit the same value") {
  Items root;
  for (int i = 0; i < 200; ++i) root.push_back(Call(i, Var("x")));
  std::thread threads[4];
  int64_t sums[4] = {};
  for (int t = 0; t < 4; ++t) {
    threads[t] = std::thread([&, t] {
      StructuralWalk<WalkOrder::kPreOrder>(root, [&](int64_t value) {
        sums[t] += value;
        return WalkResult::Advance();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int64_t sum : sums) CHECK_EQ(sum, 19900);
}

// ---- Global functions -------------------------------------------------------------------------

Function Global(const char* name) { return Function::GetGlobalRequired(name); }

using Callbacks = Items;

template <typename F>
Any Callback(int32_t type_index, F&& function) {
  return Items{type_index, Function::FromTyped(std::forward<F>(function))};
}

TEST_CASE("global walk") {
  Function walk = Global("ffi.StructuralWalk");
  ObjectRef x = Var("x");
  ObjectRef root = Func(Items{x, Buffer("s")}, Call(x, 1));
  std::string text;
  auto log = [&](const Any& value) -> Any {
    text += Show(value) + ";";
    return nullptr;
  };
  auto log_region = [&](const Any& value, int kind) {
    text += Show(value) + "/" + std::to_string(kind) + ";";
    return 0;
  };
  int32_t var = VarObj::RuntimeTypeIndex();
  int32_t buffer = BufferObj::RuntimeTypeIndex();
  // The first list precedes the second; subclasses match; small strings are strings.
  walk(root, Callbacks{Callback(kTVMFFIInt, log)},
       Callbacks{Callback(var, log_region), Callback(kTVMFFIStr, log_region)}, 0);
  CHECK_EQ(text, "x/1;b/1;'s'/1;x/0;1;");
  text.clear();
  walk(root, Callbacks{Callback(var, log), Callback(buffer, log_region)}, Callbacks{}, 1);
  CHECK_EQ(text, "x;b;x;");
  text.clear();
  walk(root, Callbacks{Callback(CallObj::RuntimeTypeIndex(), [](AnyView) { return true; })},
       Callbacks{Callback(kTVMFFIAny, log_region)}, 0);
  CHECK_EQ(text, "Func([x b], Call(x, 1))/0;[x b]/1;x/1;b/1;'s'/1;");
  Any outcome = walk(root, Callbacks{Callback(var, [](const Any& v) { return VisitInterrupt(v); })},
                     Callbacks{}, 0);
  CHECK(outcome.cast<VisitInterrupt>()->value.same_as(x));
  CHECK(walk(root, Callbacks{}, Callbacks{}, 0) == nullptr);
  // Unregistered type indices match nothing.
  walk(root, Callbacks{Callback(100, log), Callback(-7, log), Callback(1 << 30, log)}, Callbacks{},
       0);
  CHECK_EQ(text, "Func([x b], Call(x, 1))/0;[x b]/1;x/1;b/1;'s'/1;");
}

TEST_CASE("failures of the global walk") {
  Function walk = Global("ffi.StructuralWalk");
  Callbacks fine{Callback(kTVMFFIAny, [](AnyView) -> Any { return nullptr; })};
  CHECK_EQ(Thrown([&] { walk(1, fine, Callbacks{}, 2); }),
           "ValueError: the traversal order must be 0 (pre-order) or 1 (post-order), got 2");
  CHECK_EQ(Thrown([&] { walk(1, fine, Callbacks{Items{kTVMFFIInt, nullptr}}, 0); }),
           "ValueError: expected a function as callback 1, got None");
  Callbacks wrong{Callback(kTVMFFIInt, [](AnyView) { return "text"; })};
  CHECK_EQ(Thrown([&] { walk(1, wrong, Callbacks{}, 0); }),
           "TypeError: CallExpected: result type mismatch, expected WalkResult, but got "
           "ffi.SmallStr");
  CHECK_EQ(Thrown([&] { walk(1, Callbacks{Items{1}}, Callbacks{}, 0); }),
           "TypeError: Mismatched type on argument #1 when calling: `ffi.StructuralWalk(0: "
           "AnyView, 1: Array<Tuple<int, ffi.Function>>, 2: Array<Tuple<int, ffi.Function>>, 3: "
           "int) -> Optional<ffi.VisitInterrupt>`. Expected `Array<Tuple<int, ffi.Function>>` but "
           "got `Array[index 0: Array[size=1]]`");
}

TEST_CASE("global visit") {
  Function visit = Global("ffi.StructuralVisit");
  Function descend = Global("ffi.StructuralVisitorDefaultVisit");
  Function kind_of = Global("ffi.StructuralVisitorDefRegionKind");
  ObjectRef x = Var("x");
  ObjectRef root = Func(Items{x}, Call(x, 1));
  std::string text;
  Any kept;
  auto visit_call = [&](const Any& value, const Any& visitor) {
    text += "(";
    Any outcome = descend(visitor, value);
    text += ")";
    kept = visitor;
    return outcome;
  };
  auto visit_var = [&](const Any& value, const Any& visitor) -> Any {
    text += Show(value) + std::to_string(kind_of(visitor).cast<int>());
    return nullptr;
  };
  Callbacks callbacks{Callback(CallObj::RuntimeTypeIndex(), visit_call),
                      Callback(VarObj::RuntimeTypeIndex(), visit_var)};
  CHECK(visit(root, callbacks) == nullptr);
  CHECK_EQ(text, "x1(x0)");
  // A visitor that is kept remains usable.
  callbacks.clear();
  text.clear();
  CHECK_EQ(kept.GetTypeKey(), "ffi.StructuralVisitor");
  Global("ffi.StructuralVisitorVisit")(kept, root);
  CHECK_EQ(text, "x1(x0)");
  kept = nullptr;
  Callbacks wrong{Callback(kTVMFFIInt, [](AnyView, AnyView) { return 0; })};
  CHECK_EQ(Thrown([&] { visit(1, wrong); }),
           "TypeError: CallExpected: result type mismatch, expected "
           "Optional<ffi.VisitInterrupt>, but got int");
}

TEST_CASE("global regions") {
  Function with = Global("ffi.StructuralVisitorWithDefRegionKind");
  Function kind_of = Global("ffi.StructuralVisitorDefRegionKind");
  StructuralVisitor visitor(make_object<LogVisitorObj>());
  auto read = Function::FromTyped([&] { return kind_of(visitor).cast<int>(); });
  CHECK_EQ(with(visitor, 1, read).cast<int>(), 1);
  CHECK_EQ(with(visitor, 2, read).cast<int>(), 2);
  auto fail = Function::FromTyped([]() -> int { throw Error("KeyError", "inside", ""); });
  CHECK_EQ(Thrown([&] { with(visitor, 1, fail); }), "KeyError: inside");
  CHECK_EQ(kind_of(visitor).cast<int>(), 0);
  CHECK_EQ(Thrown([&] { with(visitor, 3, read); }),
           "ValueError: the definition region kind must be 0, 1 or 2, got 3");
  CHECK_EQ(Thrown([&] { with(visitor, 1, nullptr); }),
           "ValueError: expected a function to call in the definition region, got None");
  CHECK_EQ(Global("ffi.VisitInterrupt")(5).cast<VisitInterrupt>()->value.cast<int>(), 5);
}

}  // namespace
