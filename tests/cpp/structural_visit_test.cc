// SPDX-License-Identifier: Apache-2.0
// Results of structural visits: fields, containers, regions, hooks, callbacks and errors.
#include <tvm/ffi/extra/structural_visit.h>

#include <stdexcept>

#include "structural_mismatch.h"
#include "structural_text.h"
#include "thrown.h"

namespace {

using namespace ir;

using Outcome = Optional<VisitInterrupt>;

// ---- Types of this test -------------------------------------------------------------------------

// A class with a field that has the flags of both region kinds.
class BothObj : public Object {
 public:
  Any content;
  explicit BothObj(Any content) : content(std::move(content)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.visit.Both", BothObj, Object);
};

#define DEFINE_HOOKED(Name)                                                  \
  class Name##Obj : public Object {                                          \
   public:                                                                   \
    Any content;                                                             \
    explicit Name##Obj(Any content) : content(std::move(content)) {}         \
    TVM_FFI_DECLARE_OBJECT_INFO("test.visit." #Name, Name##Obj, Object);     \
  };                                                                         \
  ObjectRef Name(Any content) { return New<Name##Obj>(std::move(content)); } \
  static_assert(true, "")

DEFINE_HOOKED(Twice);         // native hook that may throw
DEFINE_HOOKED(Quiet);         // native hook that returns an Expected
DEFINE_HOOKED(Packed);        // a Function
DEFINE_HOOKED(WrongHook);     // neither
DEFINE_HOOKED(WrongResult);   // a Function that returns a value of a wrong type
DEFINE_HOOKED(WrongPointer);  // a pointer to a function with a wrong result
DEFINE_HOOKED(Throwing);      // native hook that throws an exception other than Error
class HeirObj : public TwiceObj {
 public:
  explicit HeirObj(Any content) : TwiceObj(std::move(content)) {}
  TVM_FFI_DECLARE_OBJECT_INFO("test.visit.Heir", HeirObj, TwiceObj);
};

Outcome VisitTwice(StructuralVisitorObj* visitor, AnyView value) {
  const Any& content = value.as<TwiceObj>()->content;
  Outcome first = visitor->Visit(content);
  return first.has_value() ? first : visitor->Visit(content);
}
Expected<Outcome> VisitQuietly(StructuralVisitorObj* visitor, AnyView value) noexcept {
  return visitor->VisitExpected(value.as<QuietObj>()->content);
}
TVMFFIAny ReturnNumber(StructuralVisitorObj*, AnyView) noexcept {
  return AnyView(5).CopyToTVMFFIAny();
}
Outcome ThrowOther(StructuralVisitorObj*, AnyView) { throw std::runtime_error("other"); }

template <typename T>
refl::TypeAttrDef<T> Define() {
  refl::ObjectDef<T>(refl::init(false)).def_ro("content", &T::content);
  return refl::TypeAttrDef<T>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  using Flag = refl::AttachFieldFlag;
  refl::ObjectDef<BothObj>(refl::init(false))
      .def_ro("content", &BothObj::content, Flag::SEqHashDefPattern(), Flag::SEqHashDefSimple());
  Define<TwiceObj>().native_fn_attr<&VisitTwice>(type_attr::kStructuralVisit);
  refl::ObjectDef<HeirObj>(refl::init(false));
  Define<QuietObj>().native_fn_attr<&VisitQuietly>(type_attr::kStructuralVisit);
  Define<PackedObj>().def("__s_visit__", [](StructuralVisitor visitor, const PackedObj* object) {
    return visitor->Visit(object->content);
  });
  Define<WrongHookObj>().attr("__s_visit__", 3);
  Define<WrongResultObj>().def("__s_visit__", [](AnyView, AnyView) { return 3; });
  Define<WrongPointerObj>().attr("__s_visit__", reinterpret_cast<void*>(&ReturnNumber));
  Define<ThrowingObj>().native_fn_attr<&ThrowOther>(type_attr::kStructuralVisit);
}

// ---- Text of results ----------------------------------------------------------------------------

// The visited values in order; each with the kind of its region, unless the kind is None.
template <WalkOrder order>
std::string Walked(const Any& root) {
  std::string text;
  Outcome outcome = StructuralWalk<order>(root, [&](AnyView value, TVMFFIDefRegionKind kind) {
    text += (text.empty() ? "" : " ") + Show(value);
    if (kind != kTVMFFIDefRegionKindNone) text += kind == 1 ? "/P" : "/S";
    return WalkResult::Advance();
  });
  CHECK(!outcome.has_value());
  return text;
}
std::string PreOrder(const Any& root) { return Walked<WalkOrder::kPreOrder>(root); }
std::string PostOrder(const Any& root) { return Walked<WalkOrder::kPostOrder>(root); }

template <typename... Callbacks>
std::string WalkFailure(const Any& root, Callbacks&&... callbacks) {
  return Failure(StructuralWalkExpected<WalkOrder::kPreOrder>(root, callbacks...));
}

WalkResult Go(AnyView) { return WalkResult::Advance(); }

// ---- Walk ---------------------------------------------------------------------------------------

TEST_CASE("fields are visited in order") {
  ObjectRef root = Call(Var("x"), Call(1, Var("y", 2), /*span=*/7));
  CHECK_EQ(PreOrder(root), "Call(x, Call(1, y)) x Call(1, y) 1 y 2");
  CHECK_EQ(PostOrder(root), "x 1 2 y Call(1, y) Call(x, Call(1, y))");
  // The fields of the base class are visited first.
  CHECK_EQ(PreOrder(New<AttrCallObj>(1, 2, 3)), "AttrCall(1, 2, 3) 1 2 3");
}

TEST_CASE("containers") {
  CHECK_EQ(PreOrder(Items{1, nullptr, Items{"a"}}), "[1 None ['a']] 1 ['a'] 'a'");
  CHECK_EQ(PostOrder(List<Any>{2, 3}), "2 3 <2 3>");
  // The values of a map are visited, not its keys.
  CHECK_EQ(PreOrder(Table{{Var("x"), 1}, {"k", 2}}), "{x:1 'k':2} 1 2");
  Dict<Any, Any> dict;
  for (int i = 0; i < 6; ++i) dict.Set(i, 10 * i);
  CHECK_EQ(PostOrder(dict), "0 10 20 30 40 50 {0:0 1:10 2:20 3:30 4:40 5:50}");
  CHECK_EQ(PreOrder(Items{}), "[]");
  CHECK_EQ(PreOrder(Table{}), "{}");
}

TEST_CASE("leaves and none") {
  CHECK_EQ(PreOrder(3), "3");
  CHECK_EQ(PreOrder("abc"), "'abc'");
  CHECK_EQ(PreOrder(String("longer than a small string")), "'longer than a small string'");
  CHECK_EQ(PreOrder(nullptr), "");
  CHECK_EQ(PreOrder(Call(nullptr, nullptr)), "Call(None, None)");
  CHECK_EQ(PreOrder(Items{Error("ValueError", "a value", ""), 1}), "[ffi.Error 1] ffi.Error 1");
  // An interrupt inside a container is an ordinary value.
  CHECK_EQ(PreOrder(Items{VisitInterrupt(7), 1}), "[ffi.VisitInterrupt 1] ffi.VisitInterrupt 7 1");
  CHECK_EQ(PreOrder(New<UndescribedObj>()), "Undescribed()");
}

TEST_CASE("shared objects are visited each time") {
  for (const ObjectRef& shared : {Call(1, 2), Let(Items{1, 2}), Type(Items{1, 2})}) {
    std::string text = Show(shared);
    std::string parts = shared.as<CallObj>() != nullptr ? " 1 2" : " [1 2] 1 2";
    CHECK_EQ(PreOrder(Items{shared, shared}),
             "[" + text + " " + text + "] " + text + parts + " " + text + parts);
  }
}

// ---- Definition regions -------------------------------------------------------------------------

TEST_CASE("regions of fields") {
  CHECK_EQ(PreOrder(Func(1, 2)), "Func(1, 2) 1/P 2");
  CHECK_EQ(PostOrder(Func(1, 2)), "1/P 2 Func(1, 2)");
  CHECK_EQ(PreOrder(Loop(1, 2)), "Loop(1, 2) 1/S 2");
  CHECK_EQ(PreOrder(New<BothObj>(1)), "Both(1) 1/S");
}

TEST_CASE("a pattern region absorbs nested regions") {
  CHECK_EQ(PreOrder(Func(Items{Var("v", Loop(1, 2))}, 3)),
           "Func([v], 3) [v]/P v/P Loop(1, 2)/P 1/P 2/P 3");
}

TEST_CASE("simple region") {
  // Inside an object that is not a variable, all fields are in the region; another region may begin
  // there.
  CHECK_EQ(PreOrder(Loop(Let(Func(1, 2)), 3)),
           "Loop(Let(Func(1, 2)), 3) Let(Func(1, 2))/S Func(1, 2)/S 1/P 2/S 3");
  // The fields of a variable are outside the region; regions may begin in these fields, too.
  CHECK_EQ(PreOrder(Loop(Var("v", Var("u")), 1)), "Loop(v, 1) v/S u 1");
  CHECK_EQ(PreOrder(Loop(Var("v", Func(Var("p"), 1)), 2)), "Loop(v, 2) v/S Func(p, 1) p/P 1 2");
}

TEST_CASE("with def region kind") {
  std::string kinds;
  auto callback = [&](int64_t, StructuralVisitorObj* visitor) -> Outcome {
    auto note = [&] { kinds += std::to_string(visitor->def_region_kind()); };
    auto pattern = [&] {
      note();
      visitor->WithDefRegionKind(kTVMFFIDefRegionKindSimple, note);
      visitor->WithDefRegionKind(kTVMFFIDefRegionKindNone, note);
    };
    auto simple = [&] {
      note();
      visitor->WithDefRegionKind(kTVMFFIDefRegionKindPattern, pattern);
      visitor->WithDefRegionKind(kTVMFFIDefRegionKindNone, note);
      note();
    };
    note();
    visitor->WithDefRegionKind(kTVMFFIDefRegionKindSimple, simple);
    try {
      visitor->WithDefRegionKind(kTVMFFIDefRegionKindPattern, [] { throw 1; });
    } catch (int) {
    }
    note();
    CHECK_EQ(visitor->WithDefRegionKind(kTVMFFIDefRegionKindSimple, [] { return 42; }), 42);
    return std::nullopt;
  };
  StructuralVisit(1, callback);
  CHECK_EQ(kinds, "02111020");
}

// ---- Callbacks ----------------------------------------------------------------------------------

TEST_CASE("skip prunes in pre order") {
  std::string text;
  auto callback = [&](const ObjectRef& object) {
    text += Show(object) + " ";
    return object.as<CallObj>() != nullptr ? WalkResult::Skip() : WalkResult::Advance();
  };
  ObjectRef root = Func(nullptr, Call(Type(1), Type(2)));
  StructuralWalk<WalkOrder::kPreOrder>(root, callback);
  CHECK_EQ(text, "Func(None, Call(Type(1), Type(2))) Call(Type(1), Type(2)) ");
  text.clear();
  StructuralWalk<WalkOrder::kPostOrder>(root, callback);
  CHECK_EQ(text, "Type(1) Type(2) Call(Type(1), Type(2)) Func(None, Call(Type(1), Type(2))) ");
}

TEST_CASE("interrupt ends the walk") {
  ObjectRef root = Call(Var("x"), Call(1, Type(2)));
  int count = 0;
  auto callback = [&](int64_t value) {
    ++count;
    return WalkResult::Interrupt(VisitInterrupt(value * 10));
  };
  Outcome pre = StructuralWalk<WalkOrder::kPreOrder>(root, callback);
  CHECK_EQ(pre.value()->value.cast<int>(), 10);
  Outcome post = StructuralWalk<WalkOrder::kPostOrder>(root, callback);
  CHECK_EQ(post.value()->value.cast<int>(), 10);
  CHECK_EQ(count, 2);
  CHECK(VisitInterrupt()->value == nullptr);
}

TEST_CASE("the first callback that accepts the value is called") {
  std::string text;
  auto note = [&](const char* name) {
    text += name;
    return WalkResult::Advance();
  };
  Items root{Buffer(1), Var("x"), "text"};
  StructuralWalk<WalkOrder::kPreOrder>(
      root, [&](const BufferObj*) { return note("buffer "); },
      [&](const VarObj*) { return note("var "); }, [&](Optional<String>) { return note("text "); },
      [&](ObjectRef) { return note("object "); }, [&](int) { return note("int "); });
  CHECK_EQ(text, "object buffer int var text ");
  text.clear();
  StructuralWalk<WalkOrder::kPreOrder>(
      root, [&](const VarObj*) { return note("var "); },
      [&](const BufferObj*) { return note("buffer "); });
  CHECK_EQ(text, "var var ");
  // Callbacks match without conversions: true is not an int.
  text.clear();
  StructuralWalk<WalkOrder::kPreOrder>(
      Items{true, 1, 2.5}, [&](int) { return note("int "); }, [&](bool) { return note("bool "); },
      [&](double) { return note("float "); }, [&](Array<int>) { return note("ints "); },
      [&](const Items&) { return note("any "); });
  CHECK_EQ(text, "any bool int float ");
}

TEST_CASE("callback signatures") {
  Items root{1, 2};
  struct Counter {
    int* count;
    WalkResult operator()(int64_t) {
      ++*count;
      return WalkResult::Advance();
    }
  };
  int count = 0;
  StructuralWalk<WalkOrder::kPreOrder>(root, Counter{&count});
  StructuralWalk<WalkOrder::kPreOrder>(root, [&count](int64_t, int kind) mutable {
    count += 10 + kind;
    return WalkResult::Advance();
  });
  CHECK_EQ(count, 22);
  StructuralWalk<WalkOrder::kPreOrder>(root, Go);
  StructuralWalk<WalkOrder::kPreOrder>(root, &Go);
  TypedFunction<WalkResult(int)> typed([&](int value) {
    count += 100 * value;
    return WalkResult::Advance();
  });
  StructuralWalk<WalkOrder::kPreOrder>(root, typed);
  CHECK_EQ(count, 322);
  // The first callback accepts the Array as well, and fails.
  CHECK_EQ(
      WalkFailure(
          root, [](Any value) -> Expected<WalkResult> { return value.as_or_throw<WalkResult>(); }),
      "TypeError: Cannot treat type `ffi.Array` as type `WalkResult`; [1 2]");
}

TEST_CASE("visit callbacks walk the children") {
  std::string text;
  ObjectRef root = Call(1, Call(2, Var("y")));
  auto visit_call = [&](const CallObj* call, StructuralVisitorObj* visitor) -> Expected<Outcome> {
    text += "(";
    TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(visitor->VisitExpected(call->args));
    TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(visitor->Visit(call->op));
    text += ")";
    return Outcome();
  };
  StructuralVisit(root, visit_call, [&](int64_t value, StructuralVisitorObj*) -> Outcome {
    text += std::to_string(value);
    return std::nullopt;
  });
  CHECK_EQ(text, "((2)1)");
  text.clear();
  Outcome outcome = StructuralVisit(root, visit_call, [&](int64_t value, StructuralVisitorObj*) {
    text += std::to_string(value);
    return VisitInterrupt(value);
  });
  CHECK_EQ(outcome.value()->value.cast<int>(), 2);
  CHECK_EQ(text, "((2");
  // The callback requests the default walk.
  int calls = 0;
  StructuralVisit(root, [&](const CallObj* call, StructuralVisitorObj* visitor) {
    ++calls;
    return visitor->DefaultVisitExpected(call);
  });
  CHECK_EQ(calls, 2);
}

// ---- Hooks --------------------------------------------------------------------------------------

TEST_CASE("hooks walk the children") {
  CHECK_EQ(PreOrder(Twice(1)), "Twice(1) 1 1");
  CHECK_EQ(PostOrder(Quiet(1)), "1 Quiet(1)");
  CHECK_EQ(PreOrder(Packed(Quiet(1))), "Packed(Quiet(1)) Quiet(1) 1");
  // A hook applies to exactly the type that registers it, not to derived types.
  CHECK_EQ(PreOrder(New<HeirObj>(1)), "Heir(1) 1");
  Outcome outcome = StructuralWalk<WalkOrder::kPreOrder>(
      Packed(Twice(3)), [](int64_t value) { return WalkResult::Interrupt(VisitInterrupt(value)); });
  CHECK_EQ(outcome.value()->value.cast<int>(), 3);
}

TEST_CASE("invalid hooks") {
  CHECK_EQ(WalkFailure(Let(WrongHook(1)), Go),
           "TypeError: __s_visit__ must be an opaque function pointer or ffi.Function; "
           "WrongHook(1) | Let(WrongHook(1))");
  CHECK_EQ(WalkFailure(WrongResult(1), Go),
           "TypeError: CallExpected: result type mismatch, expected Optional<ffi.VisitInterrupt>, "
           "but got int; WrongResult(1)");
  CHECK_EQ(WalkFailure(WrongPointer(1), Go),
           "TypeError: a visit function returned `int`, which is neither None nor "
           "ffi.VisitInterrupt; WrongPointer(1)");
  CHECK_EQ(WalkFailure(Throwing(1), Go), "InternalError: other; Throwing(1)");
}

// ---- Errors -------------------------------------------------------------------------------------

TEST_CASE("errors carry their path") {
  ObjectRef x = Var("x");
  ObjectRef root = Func(x, Call(x, Let(Table{{"k", Items{1, Type(3)}}})));
  auto fail_at_type = [](const TypeObj* type) -> WalkResult {
    TVM_FFI_THROW(ValueError) << "type of " << type->element.cast<int>();
    TVM_FFI_UNREACHABLE();
  };
  const char* expected =
      "ValueError: type of 3; Type(3) | [1 Type(3)] | {'k':[1 Type(3)]} | "
      "Let({'k':[1 Type(3)]}) | Call(x, Let({'k':[1 Type(3)]})) | "
      "Func(x, Call(x, Let({'k':[1 Type(3)]})))";
  Expected<Outcome> pre = StructuralWalkExpected<WalkOrder::kPreOrder>(root, fail_at_type);
  CHECK_EQ(Failure(pre), expected);
  CHECK_EQ(Failure(StructuralWalkExpected<WalkOrder::kPostOrder>(root, fail_at_type)), expected);
  VisitErrorContext context = VisitErrorContext::TryGetFromError(pre.error()).value();
  auto paths = VisitErrorContext::FindAccessPaths(root, context);
  CHECK_EQ(paths.size(), size_t{1});
  CHECK_EQ(TextOf(paths[0]), ".body.args.value{k}[1]");
  // The function that throws reports the same error.
  CHECK_EQ(Thrown([&] { StructuralWalk<WalkOrder::kPreOrder>(root, fail_at_type); }),
           "ValueError: type of 3");
}

TEST_CASE("errors of every kind") {
  ObjectRef root = Let(Type(1));
  CHECK_EQ(WalkFailure(root,
                       [](const TypeObj*) -> Expected<WalkResult> {
                         return TVM_FFI_UNEXPECTED(KeyError) << "returned";
                       }),
           "KeyError: returned; Type(1) | Let(Type(1))");
  CHECK_EQ(WalkFailure(root, [](const TypeObj*) -> WalkResult { throw std::bad_alloc(); }),
           "MemoryError: out of memory; no context");
  CHECK_EQ(WalkFailure(root, [](const TypeObj*) -> WalkResult { throw 1; }),
           "InternalError: C++ exception of unknown type; Type(1) | Let(Type(1))");
  // Only objects are recorded in the context.
  auto fail_at_int = [](int64_t) -> WalkResult { throw Error("ValueError", "int", ""); };
  CHECK_EQ(WalkFailure(root, fail_at_int), "ValueError: int; Type(1) | Let(Type(1))");
  CHECK_EQ(WalkFailure(5, fail_at_int), "ValueError: int; no context");
}

TEST_CASE("each object is recorded once") {
  ObjectRef root = Let(Type(1));
  auto fail = [](const TypeObj* type, StructuralVisitorObj*) -> Outcome {
    TVM_FFI_VISIT_THROW(ValueError, GetRef<ObjectRef>(type)) << "here";
    return std::nullopt;
  };
  auto descend = [](const LetObj* let, StructuralVisitorObj* visitor) -> Expected<Outcome> {
    TVM_FFI_VISIT_BEGIN();
    return visitor->Visit(let->value);
    TVM_FFI_VISIT_END_RETURN_EXPECTED(GetRef<ObjectRef>(let));
  };
  CHECK_EQ(Failure(StructuralVisitExpected(root, fail, descend)),
           "ValueError: here; Type(1) | Let(Type(1))");
}

// After a failed walk, only its result holds references to the value's children.
TEST_CASE("failed walks keep no references") {
  ObjectRef inner = Type(1);
  ObjectRef root = Let(List<Any>{inner, Dict<Any, Any>{{1, inner}}});
  for (int round = 0; round < 3; ++round) {
    Expected<Outcome> outcome = StructuralWalkExpected<WalkOrder::kPostOrder>(
        root, [](const DictObj*) -> WalkResult { throw Error("ValueError", "half-way", ""); });
    CHECK(outcome.is_err());
  }
  CHECK_EQ(inner.use_count(), 3);
  CHECK_EQ(root.use_count(), 1);
}

// A visitor whose callbacks get two additional arguments.
class CountingObj : public StructuralVisitorObj {
 public:
  using StateTupleType = std::tuple<int&, const String&>;
  int count = 0;
  String mark = "#";

 protected:
  using StructuralVisitorObj::StructuralVisitorObj;
  StateTupleType StateTuple() noexcept { return StateTupleType(count, mark); }
};

TEST_CASE("callbacks get the states of the visitor, then the region") {
  ObjectRef function = Func(Items{Var("x")}, Call(Var("y"), 1));
  std::string seen;
  auto all = [&](const ObjectRef& value, int& count, const String& mark,
                 TVMFFIDefRegionKind region) -> WalkResult {
    if (const auto* var = value.as<VarObj>()) {
      seen += std::string(mark) + std::string(var->name) + std::to_string(count++) +
              (region == kTVMFFIDefRegionKindNone ? "" : "!");
    }
    return WalkResult::Advance();
  };
  using All = StructuralWalkEngine<CountingObj, WalkOrder::kPreOrder, decltype(all)>;
  static_assert(std::is_same_v<All::StateTupleType, CountingObj::StateTupleType>);
  auto visitor = make_object<All>(all);
  visitor->Visit(function);
  CHECK_EQ(seen, "#x0!#y1");
  CHECK_EQ(visitor->count, 2);

  auto without_region = [&](const ObjectRef&, int& count, const String&) -> WalkResult {
    ++count;
    return WalkResult::Skip();
  };
  using Fewer = StructuralWalkEngine<CountingObj, WalkOrder::kPreOrder, decltype(without_region)>;
  auto skipping = make_object<Fewer>(without_region);
  skipping->Visit(function);
  CHECK_EQ(skipping->count, 1);
}

TEST_CASE("a visitor reads its region, and walk results their values") {
  struct Looking : StructuralVisitorObj {
    static TVMFFIAny Look(StructuralVisitorObj* self, AnyView) noexcept {
      static_cast<Looking*>(self)->seen = static_cast<Looking*>(self)->def_region_mode_;
      return AnyView().CopyToTVMFFIAny();
    }
    static const StructuralVisitorVTable* VTable() {
      static constexpr StructuralVisitorVTable vtable{&Look};
      return &vtable;
    }
    Looking() : StructuralVisitorObj(VTable()) {}
    TVMFFIDefRegionKind seen = kTVMFFIDefRegionKindNone;
  };
  auto visitor = make_object<Looking>();
  visitor->WithDefRegionKind(kTVMFFIDefRegionKindSimple, [&] { visitor->Visit(1); });
  CHECK_EQ(visitor->seen, kTVMFFIDefRegionKindSimple);
  static_assert(std::is_same_v<WalkResult::Storage, Variant<VisitInterrupt, int>>);
  static_assert(WalkResult::kAdvanceTag == 0 && WalkResult::kSkipTag == 1);
  static_assert(std::is_same_v<FStructuralVisit, decltype(type_attr::kStructuralVisit)::ValueType>);
}

}  // namespace
