// SPDX-License-Identifier: Apache-2.0
// Results of structural mutations: fields, containers, variables, hooks and errors.
#include <tvm/ffi/extra/structural_mutate.h>

#include <stdexcept>

#include "structural_mismatch.h"
#include "structural_text.h"
#include "thrown.h"

namespace {

using namespace ir;

using Changed = UnchangedOr<Any>;

// ---- Types of this test -------------------------------------------------------------------------

#define DEFINE_TYPE(Name, Field)                                               \
  class Name##Obj : public Object {                                            \
   public:                                                                     \
    Field content;                                                             \
    explicit Name##Obj(Field content) : content(std::move(content)) {}         \
    TVM_FFI_DECLARE_OBJECT_INFO("test.mutate." #Name, Name##Obj, Object);      \
  };                                                                           \
  ObjectRef Name(Field content) { return New<Name##Obj>(std::move(content)); } \
  static_assert(true, "")

DEFINE_TYPE(Typed, Array<String>);
DEFINE_TYPE(Native, Any);     // a native hook that may throw, and a native hook that writes
DEFINE_TYPE(Packed, Any);     // a Function
DEFINE_TYPE(WrongHook, Any);  // neither
DEFINE_TYPE(Throwing, Any);   // native hook that throws an exception other than Error
DEFINE_TYPE(WithoutSetter, Any);
class WithoutCopyObj : public Object {
 public:
  Any content;
  explicit WithoutCopyObj(Any content) : content(std::move(content)) {}
  WithoutCopyObj(const WithoutCopyObj&) = delete;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.mutate.WithoutCopy", WithoutCopyObj, Object);
};
// An object whose copy has another type.
class WrongCopyObj : public Object {
 public:
  Any content;
  explicit WrongCopyObj(Any content) : content(std::move(content)) {}
  WrongCopyObj(const WrongCopyObj&) = delete;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.mutate.WrongCopy", WrongCopyObj, Object);
};

Changed MutateNative(StructuralMutatorObj* mutator, AnyView value) {
  Changed content = mutator->Mutate(value.as<NativeObj>()->content);
  if (content.IsUnchanged()) return Unchanged();
  return Native(std::move(content).ValueUnchecked());
}
Changed MutateNativeInPlace(StructuralMutatorObj* mutator, AnyView value) {
  auto* native = const_cast<NativeObj*>(value.as<NativeObj>());
  Changed content = mutator->Mutate(native->content, InplaceMode::kAllow);
  native->content = std::move(content).ValueOrUnchanged(native->content);
  return Unchanged();
}
Changed ThrowOther(StructuralMutatorObj*, AnyView) { throw std::runtime_error("other"); }

template <typename T>
refl::TypeAttrDef<T> Define() {
  refl::ObjectDef<T>(refl::init(false)).def_ro("content", &T::content);
  return refl::TypeAttrDef<T>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  Define<TypedObj>();
  Define<NativeObj>()
      .native_fn_attr<&MutateNative>(type_attr::kStructuralMutate)
      .native_fn_attr<&MutateNativeInPlace>(type_attr::kStructuralMaybeInplaceMutate);
  Define<PackedObj>().def("__s_mutate__", [](StructuralMutator mutator, const PackedObj* object) {
    return Packed(mutator->Mutate(object->content).ValueOrUnchanged(object->content));
  });
  Define<WrongHookObj>().attr("__s_mutate__", 3);
  Define<ThrowingObj>().native_fn_attr<&ThrowOther>(type_attr::kStructuralMutate);
  Define<WithoutCopyObj>();
  Define<WrongCopyObj>().def("__ffi_shallow_copy__", [](AnyView) { return Type(1); });
  refl::ObjectDef<WithoutSetterObj>(refl::init(false));
  TVMFFIFieldInfo field = *refl::GetFieldInfo("test.mutate.Native", "content");
  field.setter = nullptr;
  TVMFFITypeRegisterField(WithoutSetterObj::_GetOrAllocRuntimeTypeIndex(), &field);
}

// ---- Text of results ----------------------------------------------------------------------------

int64_t Increment(int64_t value) { return value + 1; }

template <typename... Callbacks>
Any PreOrder(Any root, Callbacks... callbacks) {
  return StructuralMap<WalkOrder::kPreOrder>(std::move(root), callbacks...);
}
template <typename... Callbacks>
Any PostOrder(Any root, Callbacks... callbacks) {
  return StructuralMap<WalkOrder::kPostOrder>(std::move(root), callbacks...);
}

// Increments the ints of the value; the original is unchanged.
std::string Incremented(const Any& root) {
  std::string before = Show(root);
  std::string pre = Show(PreOrder(root, Increment));
  CHECK_EQ(Show(PostOrder(root, Increment)), pre);
  CHECK_EQ(Show(root), before);
  return pre;
}

template <typename... Callbacks>
std::string MapFailure(const Any& root, Callbacks... callbacks) {
  std::string before = Show(root);
  std::string failure = Failure(StructuralMapExpected<WalkOrder::kPostOrder>(root, callbacks...));
  CHECK_EQ(Show(root), before);
  return failure;
}

// ---- Walk ---------------------------------------------------------------------------------------

TEST_CASE("children are replaced") {
  CHECK_EQ(Incremented(3), "4");
  CHECK_EQ(Incremented(nullptr), "None");
  CHECK_EQ(Incremented(Call(1, Call(2, Var("x", 3)))), "Call(2, Call(3, x))");
  CHECK_EQ(Incremented(New<AttrCallObj>(1, 2, 3)), "AttrCall(2, 3, 4)");
  CHECK_EQ(Incremented(Items{1, nullptr, Items{"a", 2}}), "[2 None ['a' 3]]");
  CHECK_EQ(Incremented(List<Any>{1, List<Any>{2}}), "<2 <3>>");
  // The values of a map are mutated, not its keys.
  CHECK_EQ(Incremented(Table{{1, 1}, {"k", Items{2}}, {2, "a"}}), "{1:2 'k':[3] 2:'a'}");
  Dict<Any, Any> dict;
  for (int i = 0; i < 6; ++i) dict.Set(i, 10 * i);
  CHECK_EQ(Incremented(dict), "{0:1 1:11 2:21 3:31 4:41 5:51}");
}

TEST_CASE("values other than ints are unchanged") {
  CHECK_EQ(Incremented("text"), "'text'");
  CHECK_EQ(Incremented(String("longer than a small string")), "'longer than a small string'");
  CHECK_EQ(Incremented(Items{}), "[]");
  CHECK_EQ(Incremented(Items{Shape({1, 2})}), "[ffi.Shape]");
  CHECK_EQ(Incremented(Items{Error("ValueError", "a value", ""), 1}), "[ffi.Error 2]");
}

TEST_CASE("unchanged values stay shared") {
  ObjectRef left = Call("a", "b"), right = Call(1, "c");
  Table table{{1, left}};
  ObjectRef root = Call(table, Items{left, right});
  Any result = PostOrder(root, Increment);
  CHECK_EQ(Show(result), "Call({1:Call('a', 'b')}, [Call('a', 'b') Call(2, 'c')])");
  CHECK(result.as<CallObj>()->op.same_as(table));
  CHECK(result.as<CallObj>()->args.cast<Items>()[0].same_as(left));
  // Callbacks can report an unchanged result in each of these forms.
  auto check_same = [&](const Any& value) { CHECK(value.same_as(root)); };
  check_same(PostOrder(root, [](double value) { return value + 1; }));
  check_same(PostOrder(root, [](int64_t value) { return value; }));
  check_same(PostOrder(root, [](const CallObj* call) { return GetRef<ObjectRef>(call); }));
  check_same(PreOrder(root, [](const Any& value) { return value; }));
  check_same(PreOrder(root, [](const Any&) { return Unchanged(); }));
  check_same(PreOrder(root, [](const Any&) { return Any(Unchanged()); }));
  check_same(PreOrder(root, [](int64_t) -> UnchangedOr<int64_t> { return Unchanged(); }));
}

TEST_CASE("excluded fields are not mutated") {
  Any result = PostOrder(Call(1, 2, /*span=*/7), Increment);
  CHECK_EQ(Show(result), "Call(2, 3)");
  CHECK_EQ(result.as<CallObj>()->span, 7);
}

TEST_CASE("order of callbacks") {
  std::string log;
  auto note = [&](const CallObj* call) {
    log += Show(call) + ";";
    return Unchanged();
  };
  PreOrder(Call(1, Call(2, 3)), note, Increment);
  CHECK_EQ(log, "Call(1, Call(2, 3));Call(2, 3);");
  log.clear();
  PostOrder(Call(1, Call(2, 3)), note, Increment);
  CHECK_EQ(log, "Call(3, 4);Call(2, Call(3, 4));");
}

TEST_CASE("pre order walks into replacements") {
  auto grow = [](const TypeObj* type) -> Any {
    int depth = type->element.cast<int>();
    if (depth == 3) return Unchanged();
    return Let(Type(depth + 1));
  };
  CHECK_EQ(Show(PreOrder(Items{Type(1)}, grow)), "[Let(Let(Type(3)))]");
  CHECK_EQ(Show(PostOrder(Items{Type(1)}, grow)), "[Let(Type(2))]");
}

TEST_CASE("anything may replace anything") {
  auto none = [](int64_t) { return nullptr; };
  CHECK_EQ(Show(PostOrder(Items{1, 2}, none)), "[None None]");
  CHECK_EQ(Show(PostOrder(Call(1, Let(2)), none)), "Call(None, Let(None))");
  CHECK_EQ(Show(PostOrder(nullptr, [](const Any&) { return 1; })), "1");
  CHECK_EQ(Show(PreOrder(Call(1, 2), [](const CallObj*) { return 5; }, Increment)), "5");
  CHECK_EQ(Show(PostOrder(Items{"a"}, [](const String& text) { return text + "!"; })), "['a!']");
}

TEST_CASE("the first callback that accepts the value is called") {
  Items root{true, 1, 2.5, Buffer("s")};
  Any result = PostOrder(
      root, [](int64_t) { return "int"; }, [](bool) { return "bool"; },
      [](const VarObj*) { return "var"; }, [](const BufferObj*) { return "buffer"; },
      [](double, TVMFFIDefRegionKind) { return "float"; }, [](const Any&) { return Unchanged(); });
  CHECK_EQ(Show(result), "['bool' 'int' 'float' 'var']");
}

TEST_CASE("regions") {
  auto show_region = [](int64_t value, TVMFFIDefRegionKind kind) { return value * 10 + kind; };
  CHECK_EQ(Show(PostOrder(Func(1, Loop(2, 3)), show_region)), "Func(11, Loop(22, 30))");
  CHECK_EQ(Show(PreOrder(Func(Loop(2, 3), 4), show_region)), "Func(Loop(21, 31), 40)");
  CHECK_EQ(Show(PreOrder(Loop(Let(Func(1, 2)), 3), show_region)), "Loop(Let(Func(11, 22)), 30)");
}

// ---- Variables and shared nodes -----------------------------------------------------------------

TEST_CASE("a variable that is replaced at its definition is replaced at its uses") {
  ObjectRef x = Var("x", 1), y = Var("y", 1);
  Any result = PostOrder(Func(Items{x}, Call(x, Call(x, y))), Increment);
  const auto* func = result.as<FuncObj>();
  Any new_x = func->params.cast<Items>()[0];
  const auto* body = func->body.as<CallObj>();
  CHECK(!new_x.same_as(x));
  CHECK_EQ(new_x.as<VarObj>()->type.cast<int>(), 2);
  CHECK(body->op.same_as(new_x));
  CHECK(body->args.as<CallObj>()->op.same_as(new_x));
  // A variable that is defined outside the value is unchanged.
  CHECK(body->args.as<CallObj>()->args.same_as(y));
}

TEST_CASE("a replacement of a variable by a callback applies to one use only") {
  ObjectRef x = Var("x");
  auto rename_definitions = [](const VarObj* var, TVMFFIDefRegionKind kind) -> Any {
    if (kind == kTVMFFIDefRegionKindNone) return Unchanged();
    return Var((var->name + "_new").c_str());
  };
  CHECK_EQ(Show(PostOrder(Func(x, Call(x, x)), rename_definitions)), "Func(x_new, Call(x, x))");
  int count = 0;
  auto number = [&](const VarObj*) { return ++count; };
  CHECK_EQ(Show(PreOrder(Call(x, Call(x, x)), number)), "Call(1, Call(2, 3))");
}

TEST_CASE("shared nodes stay shared") {
  int count = 0;
  auto number = [&](int64_t) { return ++count; };
  ObjectRef let = Let(0), call = Call(0, 0);
  Any lets = PostOrder(Items{let, let}, number);
  CHECK_EQ(Show(lets), "[Let(1) Let(1)]");
  CHECK(lets.cast<Items>()[0].same_as(lets.cast<Items>()[1]));
  // Objects that are not variables or shared nodes are mutated at each occurrence.
  count = 0;
  CHECK_EQ(Show(PostOrder(Items{call, call}, number)), "[Call(1, 2) Call(3, 4)]");
}

TEST_CASE("var remap") {
  ObjectRef x = Var("x"), y = Var("y"), let = Let(x);
  auto remap = [&](const CallObj* call, StructuralMutatorObj* mutator) {
    CHECK(mutator->VarRemapGetExpected(x).value() == nullptr);
    mutator->VarRemapSetExpected(x, 7).value();
    mutator->VarRemapSetExpected(let, y).value();
    CHECK_EQ(mutator->VarRemapGetExpected(x).value().cast<int>(), 7);
    return mutator->DefaultMutateExpected(call);
  };
  CHECK_EQ(Show(StructuralMutate(Call(x, Items{let, y}), remap)), "Call(7, [y y])");
  auto keep = [&](const CallObj* call, StructuralMutatorObj* mutator) {
    mutator->VarRemapSetExpected(let, Any(Unchanged())).value();
    mutator->VarRemapSetExpected(x, nullptr).value();
    return mutator->DefaultMutateExpected(call);
  };
  ObjectRef root = Call(x, let);
  CHECK(StructuralMutate(root, keep).same_as(root));
  auto wrong = [&](const CallObj*, StructuralMutatorObj* mutator) -> Any {
    mutator->VarRemapSetExpected(1, 2).value();
    return nullptr;
  };
  CHECK_EQ(Failure(StructuralMutateExpected(root, wrong)),
           "TypeError: variable replacement: expected an object as the variable, got `int`; "
           "Call(x, Let(x))");
}

// ---- Callbacks that walk the children -----------------------------------------------------------

TEST_CASE("mutate callbacks walk the children") {
  auto swap = [](const CallObj* call, StructuralMutatorObj* mutator) -> Any {
    Any op = mutator->Mutate(call->op).ValueOrUnchanged(call->op);
    return Call(mutator->Mutate(call->args).ValueOrUnchanged(call->args), op);
  };
  auto increment = [](int64_t value, StructuralMutatorObj*) { return value + 1; };
  CHECK_EQ(Show(StructuralMutate(Call(1, Call("a", 2)), swap, increment)), "Call(Call(3, 'a'), 2)");
  // If the callback does not walk the children, they are unchanged.
  auto stop = [](const CallObj*, StructuralMutatorObj*) { return Unchanged(); };
  CHECK_EQ(Show(StructuralMutate(Items{1, Call(1, 2)}, stop, increment)), "[2 Call(1, 2)]");
}

// ---- Hooks --------------------------------------------------------------------------------------

TEST_CASE("hooks walk the children") {
  CHECK_EQ(Incremented(Native(1)), "Native(2)");
  CHECK_EQ(Incremented(Packed(Native(Items{1}))), "Packed(Native([2]))");
  ObjectRef native = Native("a");
  CHECK(PostOrder(native, Increment).same_as(native));
  // The hook that writes is called for an object without other owners.
  Any unique = Native(Items{1});
  const Object* address = unique.as<Object>();
  Any result = PostOrder(std::move(unique), Increment);
  CHECK_EQ(Show(result), "Native([2])");
  CHECK(result.as<Object>() == address);
}

TEST_CASE("wrong types") {
  CHECK_EQ(MapFailure(Let(WrongHook(1)), Increment),
           "TypeError: __s_mutate__ must be an opaque function pointer or ffi.Function; "
           "WrongHook(1) | Let(WrongHook(1))");
  CHECK_EQ(MapFailure(Throwing(1), Increment), "InternalError: other; Throwing(1)");
  auto to_int = [](const String&) { return 1; };
  CHECK_EQ(MapFailure(Let(Typed({"a", "b"})), to_int),
           "TypeError: Cannot convert from type `Array[index 0: int]` to `Array<str>`; "
           "Typed(['a' 'b']) | Let(Typed(['a' 'b']))");
  CHECK_EQ(MapFailure(WithoutSetter(1), Increment),
           "TypeError: Cannot structurally mutate field `content` of type "
           "`test.mutate.WithoutSetter` because it does not define a setter; WithoutSetter(1)");
  CHECK_EQ(MapFailure(New<WithoutCopyObj>(1), Increment),
           "TypeError: __ffi_shallow_copy__ must be an ffi.Function; WithoutCopy(1)");
  CHECK_EQ(MapFailure(New<WrongCopyObj>(1), Increment),
           "TypeError: __ffi_shallow_copy__ must return a new object of the same type; "
           "WrongCopy(1)");
  // The wrong type of the copy is irrelevant as long as nothing changes.
  for (ObjectRef object : {WithoutSetter("a"), New<WithoutCopyObj>("a"), New<WrongCopyObj>("a")}) {
    CHECK(PostOrder(object, Increment).same_as(object));
  }
}

// ---- Errors -------------------------------------------------------------------------------------

// A callback that fails at the second int.
struct FailSecond {
  int count = 0;
  int64_t operator()(int64_t value) {
    if (++count == 2) TVM_FFI_THROW(ValueError) << "at " << value;
    return value + 1;
  }
};

TEST_CASE("errors carry their path") {
  ObjectRef root = Func(1, Call(Table{{"k", Items{0, Type(5)}}}, 2));
  auto fail = [](const TypeObj*) -> Any { throw Error("ValueError", "type", ""); };
  Expected<Any> outcome = StructuralMapExpected<WalkOrder::kPreOrder>(root, fail);
  CHECK_EQ(Failure(outcome),
           "ValueError: type; Type(5) | [0 Type(5)] | {'k':[0 Type(5)]} | "
           "Call({'k':[0 Type(5)]}, 2) | Func(1, Call({'k':[0 Type(5)]}, 2))");
  auto paths = VisitErrorContext::FindAccessPaths(
      root, VisitErrorContext::TryGetFromError(outcome.error()).value());
  CHECK_EQ(paths.size(), size_t{1});
  CHECK_EQ(TextOf(paths[0]), ".body.op{k}[1]");
  CHECK_EQ(Thrown([&] { PostOrder(root, fail); }), "ValueError: type");
  // The error is returned instead of thrown.
  auto give_back = [](const TypeObj*) -> Any { return Error("KeyError", "returned", ""); };
  CHECK_EQ(MapFailure(Let(Type(1)), give_back), "KeyError: returned; Type(1) | Let(Type(1))");
  auto unexpected = [](const TypeObj*) -> Expected<Changed> {
    return TVM_FFI_UNEXPECTED(KeyError) << "unexpected";
  };
  CHECK_EQ(MapFailure(Let(Type(1)), unexpected), "KeyError: unexpected; Type(1) | Let(Type(1))");
}

// Regression: the context contained the value before the first step.
TEST_CASE("errors carry the value that the failed step received") {
  auto fail = [](const LetObj*) -> Any { throw Error("ValueError", "let", ""); };
  Items root{Let(1)};
  CHECK_EQ(Failure(StructuralMapExpected<WalkOrder::kPostOrder>(root, fail, Increment)),
           "ValueError: let; Let(2) | [Let(1)]");
  auto unexpected = [](const LetObj*) -> Expected<Any> {
    return TVM_FFI_UNEXPECTED(KeyError) << "let";
  };
  CHECK_EQ(Failure(StructuralMapExpected<WalkOrder::kPostOrder>(root, unexpected, Increment)),
           "KeyError: let; Let(2) | [Let(1)]");
  auto grow = [](const LetObj* let) -> Changed {
    if (let->value.as<int64_t>()) return Changed(Let(Type(1)));
    return Unchanged();
  };
  auto fail_type = [](const TypeObj*) -> Any { throw Error("ValueError", "type", ""); };
  CHECK_EQ(Failure(StructuralMapExpected<WalkOrder::kPreOrder>(root, grow, fail_type)),
           "ValueError: type; Type(1) | Let(Type(1)) | [Let(1)]");
}

TEST_CASE("a failed mutation changes nothing and keeps no references") {
  ObjectRef leaf = Type("leaf");
  Items items{1, leaf, 2, leaf};
  List<Any> list{1, leaf, 2};
  Table table{{1, 1}, {2, leaf}, {3, 2}};
  Dict<Any, Any> dict{{1, 1}, {2, leaf}, {3, 2}};
  ObjectRef call = Call(1, Items{leaf, 2});
  CHECK_EQ(leaf.use_count(), 7);
  for (const Any& root : {Any(items), Any(list), Any(table), Any(dict), Any(call)}) {
    CHECK_EQ(MapFailure(root, FailSecond()).substr(0, 16), "ValueError: at 2");
  }
  CHECK_EQ(leaf.use_count(), 7);
  CHECK_EQ(call.use_count(), 1);
}

// Values before the failure have changed; no object leaks.
TEST_CASE("a failed in-place mutation") {
  List<Any> list{1, Items{2}, 3};
  Dict<Any, Any> dict{{1, 1}, {2, Items{2}}, {3, 3}};
  Items items{1, Items{2}, 3};
  Table table{{1, 1}, {2, Items{2}}, {3, 3}};
  auto check = [](auto& container, const char* expected) {
    AnyView view = container;
    auto fail = [count = 0](int64_t value, StructuralMutatorObj*) mutable -> int64_t {
      return ++count == 2 ? throw Error("ValueError", "second", "") : value + 10;
    };
    using Engine = StructuralMutateEngine<StructuralMapEngineBase, decltype(fail)>;
    auto outcome = make_object<Engine>(fail)->MutateExpected(view, InplaceMode::kAllow);
    CHECK_EQ(Failure(outcome).substr(0, 18), "ValueError: second");
    CHECK_EQ(Show(container), expected);
  };
  check(list, "<11 [2] 3>");
  check(dict, "{1:11 2:[2] 3:3}");
  check(items, "[11 [2] 3]");
  check(table, "{1:11 2:[2] 3:3}");
}

// A mutator whose callbacks get an additional argument.
class CountingObj : public StructuralMapEngineBase {
 public:
  using StateTupleType = std::tuple<int&>;
  int count = 0;

 protected:
  using StructuralMapEngineBase::StructuralMapEngineBase;
  StateTupleType StateTuple() noexcept { return StateTupleType(count); }
};

TEST_CASE("callbacks get the states of the mutator") {
  auto rename = [](const VarObj* var, int& count) -> Any {
    return Var((std::string(var->name) + std::to_string(count++)).c_str());
  };
  using Engine = StructuralMapEngine<CountingObj, WalkOrder::kPostOrder, decltype(rename)>;
  auto mutator = make_object<Engine>(rename);
  Any result = mutator->Mutate(Call(Var("x"), Var("y"))).ValueOrUnchanged(Any());
  CHECK_EQ(Show(result), "Call(x0, y1)");
  CHECK_EQ(mutator->count, 2);
}

TEST_CASE("callbacks return an Unexpected") {
  Unexpected<Error> unexpected(Error("ValueError", "no", ""));
  ObjectRef call = Call(1, 2);
  auto outcome = StructuralMapExpected<WalkOrder::kPostOrder>(
      call, [&](const ObjectRef&) -> Unexpected<Error>& { return unexpected; });
  CHECK_EQ(Failure(outcome), "ValueError: no; Call(1, 2)");
  CHECK_EQ(unexpected.error().message(), "no");
  outcome = StructuralMapExpected<WalkOrder::kPreOrder>(
      call, [&](const ObjectRef&) { return Unexpected<Error>(Error("ValueError", "new", "")); });
  CHECK_EQ(Failure(outcome), "ValueError: new; Call(1, 2)");
}

TEST_CASE("Unchanged is a separate value") {
  CHECK_EQ(Unchanged().CopyToTVMFFIAny().type_index, kTVMFFIUnchanged);
  Changed unchanged = Unchanged();
  Any original = 5;
  CHECK(std::move(unchanged).ValueOrUnchanged(AnyView(original)).same_as(original));
  static_assert(
      std::is_same_v<FStructuralMutate, decltype(type_attr::kStructuralMutate)::ValueType>);
  static_assert(std::is_same_v<decltype(StructuralMutatorVTable::mutate), FStructuralMutateABI>);
}

}  // namespace
