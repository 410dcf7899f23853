// SPDX-License-Identifier: Apache-2.0
// Mutators as objects: layout, UnchangedOr, the macros for callbacks that walk the children,
// in-place changes, and the global functions for other languages.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/rvalue_ref.h>

#include <cstddef>
#include <cstring>
#include <thread>

#include "structural_mismatch.h"
#include "structural_text.h"
#include "thrown.h"

namespace {

using namespace ir;

using Changed = UnchangedOr<Any>;

// ---- Layout -------------------------------------------------------------------------------------

// Increments ints, without a map of variables.
class OwnMutatorObj : public StructuralMutatorObj {
 public:
  std::string log;
  OwnMutatorObj() : StructuralMutatorObj(VTable()) {}
  static const StructuralMutatorVTable* VTable() {
    static constexpr StructuralMutatorVTable vtable{&MutateNode, &MutateInPlace, &Get, &Set};
    return &vtable;
  }

 private:
  static TVMFFIAny Return(Expected<Changed> outcome) {
    return detail::ExpectedUnsafe::MoveToTVMFFIAny(std::move(outcome));
  }
  static TVMFFIAny LogAndMutate(StructuralMutatorObj* self, AnyView value, InplaceMode mode) {
    static_cast<OwnMutatorObj*>(self)->log +=
        Show(value) + (mode == InplaceMode::kAllow ? "!" : "");
    if (auto number = value.as<int64_t>()) return Return(Changed(*number + 1));
    return Return(self->DefaultMutateExpected(value, mode));
  }
  static TVMFFIAny MutateNode(StructuralMutatorObj* self, AnyView value) noexcept {
    return LogAndMutate(self, value, InplaceMode::kDisallow);
  }
  static TVMFFIAny MutateInPlace(StructuralMutatorObj* self, AnyView value) noexcept {
    return LogAndMutate(self, value, InplaceMode::kAllow);
  }
  static TVMFFIAny Get(StructuralMutatorObj*, AnyView) noexcept {
    return AnyView().CopyToTVMFFIAny();
  }
  static TVMFFIAny Set(StructuralMutatorObj*, AnyView, AnyView) noexcept {
    return AnyView().CopyToTVMFFIAny();
  }
};

template <typename T>
T ReadAt(const Object* object, size_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(object) + offset, sizeof(T));
  return value;
}

TEST_CASE("mutator layout") {
  auto mutator = make_object<OwnMutatorObj>();
  CHECK(ReadAt<const StructuralMutatorVTable*>(mutator.get(), 24) == OwnMutatorObj::VTable());
  CHECK_EQ(ReadAt<int32_t>(mutator.get(), 32), 0);
  mutator->WithDefRegionKind(kTVMFFIDefRegionKindSimple,
                             [&] { CHECK_EQ(ReadAt<int32_t>(mutator.get(), 32), 2); });
  CHECK_EQ(sizeof(StructuralMutatorVTable), size_t{32});
  CHECK_EQ(offsetof(StructuralMutatorVTable, mutate), size_t{0});
  CHECK_EQ(offsetof(StructuralMutatorVTable, maybe_inplace_mutate), size_t{8});
  CHECK_EQ(offsetof(StructuralMutatorVTable, var_remap_get), size_t{16});
  CHECK_EQ(offsetof(StructuralMutatorVTable, var_remap_set), size_t{24});
  CHECK_EQ(sizeof(StructuralMapEngineBase), size_t{96});
  CHECK(!StructuralMutator::_type_is_nullable);
}

TEST_CASE("types") {
  const TypeInfo* mutator = TVMFFIGetTypeInfo(StructuralMutatorObj::RuntimeTypeIndex());
  CHECK_EQ(mutator->metadata->total_size, 40);
  CHECK((mutator->metadata->creator == nullptr));
  CHECK_EQ(mutator->num_fields, 0);
  refl::TypeAttrColumn mutate(type_attr::kStructuralMutate);
  refl::TypeAttrColumn in_place(type_attr::kStructuralMaybeInplaceMutate);
  for (int32_t index : {kTVMFFIStr, kTVMFFIBytes, kTVMFFIArray, kTVMFFIMap, kTVMFFIList,
                        kTVMFFIDict, kTVMFFIBigInt}) {
    CHECK_EQ(mutate[index].type_index(), kTVMFFIOpaquePtr);
    CHECK_EQ(in_place[index].type_index(), kTVMFFIOpaquePtr);
  }
  CHECK(mutate[kTVMFFIShape] == nullptr);
  refl::TypeAttrColumn copies(type_attr::kShallowCopy);
  Function copy = copies[StructuralMutatorObj::RuntimeTypeIndex()].cast<Function>();
  StructuralMutator own(make_object<OwnMutatorObj>());
  CHECK_EQ(Thrown([&] { copy(own); }),
           "TypeError: Type `ffi.StructuralMutator` does not support copy");
}

TEST_CASE("user-defined mutator") {
  auto mutator = make_object<OwnMutatorObj>();
  ObjectRef let = Let(5);
  Changed result = mutator->Mutate(Items{1, let, nullptr});
  CHECK_EQ(Show(std::move(result).ValueUnchecked()), "[2 Let(6) None]");
  CHECK_EQ(mutator->log, "[1 Let(5) None]1Let(5)5None");
  CHECK_EQ(Show(let), "Let(5)");
  mutator->log.clear();
  Items items{1, Items{2}};
  CHECK(mutator->Mutate(items, InplaceMode::kAllow).IsUnchanged());
  CHECK_EQ(Show(items), "[2 [3]]");
  CHECK_EQ(mutator->log, "[1 [2]]!1[2]!2");
}

// ---- UnchangedOr --------------------------------------------------------------------------------

TEST_CASE("UnchangedOr holds a value or none") {
  CHECK_EQ(sizeof(Changed), size_t{16});
  Changed unchanged = Unchanged();
  CHECK(unchanged.IsUnchanged());
  CHECK_EQ(Any(unchanged).type_index(), kTVMFFIUnchanged);
  CHECK_EQ(Any(Unchanged()).type_index(), kTVMFFIUnchanged);
  CHECK(!Changed(Any()).IsUnchanged());
  CHECK(Changed(Any(Unchanged())).IsUnchanged());
  CHECK_EQ(std::move(unchanged).ValueOrUnchanged(5).cast<int>(), 5);
  CHECK_EQ(Changed(7).ValueOrUnchanged(5).cast<int>(), 7);
  CHECK_EQ(UnchangedOr<String>("text").ValueUnchecked(), "text");
  CHECK_EQ(detail::Type2Str<UnchangedOr<int>>::v(), "UnchangedOr<int>");
  CHECK_EQ(detail::TypeSchema<UnchangedOr<int>>::v(),
           R"({"type":"UnchangedOr","args":[{"type":"int"}]})");
}

TEST_CASE("UnchangedOr::same_as") {
  ObjectRef object = Let(1);
  CHECK(Changed(Unchanged()).UnchangedOrSameAs(object));
  CHECK(Changed(object).UnchangedOrSameAs(object));
  CHECK(!Changed(Let(1)).UnchangedOrSameAs(object));
  CHECK(UnchangedOr<int>(3).UnchangedOrSameAs(3));
  CHECK(!UnchangedOr<int>(3).UnchangedOrSameAs(4));
}

TEST_CASE("UnchangedOr converts") {
  ObjectRef object = Let(1);
  Changed wider = UnchangedOr<ObjectRef>(object);
  CHECK(wider.UnchangedOrSameAs(object));
  CHECK(Changed(UnchangedOr<ObjectRef>(Unchanged())).IsUnchanged());
  CHECK_EQ(Changed(3).as<int64_t>().value(), 3);
  CHECK(!Changed(3).as<String>().has_value());
  CHECK(Changed(Unchanged()).as<UnchangedOr<String>>().value().IsUnchanged());
  CHECK_EQ(Thrown([] { Changed(3).as_or_throw<String>(); }),
           "TypeError: Cannot treat type `int` as type `str`");
  CHECK(Any(Unchanged()).as<UnchangedOr<int>>().value().IsUnchanged());
  CHECK_EQ(Any(3).as<UnchangedOr<int>>().value().ValueOrUnchanged(0), 3);
  CHECK(!Any("a").as<UnchangedOr<int>>().has_value());
  CHECK(!Any(Error("ValueError", "", "")).as<Changed>().has_value());
}

// ---- Macros -------------------------------------------------------------------------------------

template <typename T>
Expected<Changed> Assign(Expected<Any> outcome) {
  TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(T, value, std::move(outcome));
  return Changed(value);
}
Expected<Changed> AssignUnsafely(Expected<Any> outcome) {
  TVM_FFI_UNSAFE_S_MUTATE_ASSIGN_OR_RETURN(int64_t, value, std::move(outcome));
  return Changed(value * 2);
}
Expected<Changed> ReturnEarly(Expected<Changed> outcome) {
  TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(outcome);
  return Changed("went on");
}

TEST_CASE("macros") {
  const char* mismatch =
      "TypeError: the result of a structural mutation is not of the declared type `T`; no context";
  CHECK_EQ(Show(Any(Assign<int64_t>(Any(3)).value())), "3");
  CHECK_EQ(Failure(Assign<int64_t>(Any("a"))), mismatch);
  CHECK_EQ(Failure(Assign<double>(Any(3))), mismatch);
  CHECK_EQ(Failure(Assign<int64_t>(Any(Unchanged()))), mismatch);
  CHECK(Assign<UnchangedOr<int64_t>>(Any(Unchanged())).value().IsUnchanged());
  CHECK_EQ(Show(Any(Assign<Optional<String>>(Any("a")).value())), "'a'");
  Error error("KeyError", "failed", "");
  CHECK_EQ(Failure(Assign<int64_t>(error)), "KeyError: failed; no context");
  CHECK_EQ(Failure(AssignUnsafely(error)), "KeyError: failed; no context");
  CHECK_EQ(Show(Any(AssignUnsafely(Any(4)).value())), "8");
  CHECK_EQ(Failure(ReturnEarly(error)), "KeyError: failed; no context");
  CHECK_EQ(Show(Any(ReturnEarly(Changed(Unchanged())).value())), "'went on'");
}

// ---- In place -----------------------------------------------------------------------------------

int64_t Increment(int64_t value) { return value + 1; }

// Increments the ints of `root`; returns true if the result is the same object, changed in place.
bool IsMutatedInPlace(Any root, const char* expected) {
  const Object* address = root.as<Object>();
  Any result = StructuralMap<WalkOrder::kPostOrder>(std::move(root), Increment);
  CHECK_EQ(Show(result), expected);
  return result.as<Object>() == address;
}

TEST_CASE("containers without other owners are changed in place") {
  CHECK(IsMutatedInPlace(Items{1, "a"}, "[2 'a']"));
  CHECK(IsMutatedInPlace(List<Any>{1}, "<2>"));
  CHECK(IsMutatedInPlace(Table{{1, 1}}, "{1:2}"));
  CHECK(IsMutatedInPlace(Dict<Any, Any>{{1, 1}}, "{1:2}"));
  // The mutator sets fields in copies of the objects.
  CHECK(!IsMutatedInPlace(Let(1), "Let(2)"));
  Items items{1};
  CHECK(!IsMutatedInPlace(items, "[2]"));
  CHECK_EQ(Show(items), "[1]");
  Dict<Any, Any> dict{{1, 1}};
  CHECK(!IsMutatedInPlace(dict, "{1:2}"));
  CHECK_EQ(Show(dict), "{1:1}");
}

// Returns the first array in post order, which is an innermost array.
const Object* InnerArray(const Any& root) {
  const Object* found = nullptr;
  StructuralWalk<WalkOrder::kPostOrder>(root, [&](const ArrayObj* array) {
    found = array;
    return WalkResult::Interrupt();
  });
  return found;
}

bool IsInnerMutatedInPlace(Any root, const char* expected) {
  const Object* inner = InnerArray(root);
  Any result = StructuralMap<WalkOrder::kPostOrder>(std::move(root), Increment);
  CHECK_EQ(Show(result), expected);
  return InnerArray(result) == inner;
}

TEST_CASE("nested containers") {
  // These statements are separate because a braced list holds copies of its elements until the end
  // of its statement.
  Any in_array = Items{Items{1}};
  Any in_list = List<Any>{Items{1}};
  Any in_map = Table{{1, Items{1}}};
  Any in_dict = Dict<Any, Any>{{1, Items{1}}};
  Any in_let = Items{Let(Items{1})};
  CHECK(IsInnerMutatedInPlace(std::move(in_array), "[[2]]"));
  CHECK(IsInnerMutatedInPlace(std::move(in_list), "<[2]>"));
  CHECK(IsInnerMutatedInPlace(std::move(in_map), "{1:[2]}"));
  CHECK(IsInnerMutatedInPlace(std::move(in_dict), "{1:[2]}"));
  CHECK(!IsInnerMutatedInPlace(std::move(in_let), "[Let([2])]"));
  Items shared{1};
  Any with_shared = Items{shared};
  CHECK(!IsInnerMutatedInPlace(std::move(with_shared), "[[2]]"));
  CHECK_EQ(Show(shared), "[1]");
  Any outer = Dict<Any, Any>{{1, Items{1}}};
  CHECK(!IsInnerMutatedInPlace(outer, "{1:[2]}"));
  CHECK_EQ(Show(outer), "{1:[1]}");
}

TEST_CASE("callbacks can check whether in-place changes are allowed") {
  std::string modes;
  auto note = [&](const ArrayObj* array, StructuralMutatorObj* mutator, InplaceMode mode) {
    modes += mode == InplaceMode::kAllow ? "+" : "-";
    return mutator->DefaultMutateExpected(array, mode);
  };
  Items shared{1};
  Any root = Items{shared, Items{2}};
  StructuralMutate(std::move(root), note);
  CHECK_EQ(modes, "+-+");
  modes.clear();
  StructuralMutate(Any(shared), note);
  CHECK_EQ(modes, "-");
  // The request for mutation in place is not sufficient if the value has other owners.
  auto insist = [](const LetObj* let, StructuralMutatorObj* mutator) {
    return mutator->DefaultMutateExpected(let->value, InplaceMode::kAllow);
  };
  auto increment = [](int64_t value, StructuralMutatorObj*) { return value + 1; };
  CHECK_EQ(Show(StructuralMutate(Let(shared), insist, increment)), "[2]");
  CHECK_EQ(Show(shared), "[1]");
}

// An intermediate base class with state for callbacks.
class CountingObj : public StructuralMapEngineBase {
 public:
  explicit CountingObj(const StructuralMutatorVTable* vtable) : StructuralMapEngineBase(vtable) {}
  int count = 0;
};

TEST_CASE("engines over another base class") {
  auto callback = [](int64_t value, CountingObj* counting) {
    ++counting->count;
    return value + 1;
  };
  auto engine = make_object<StructuralMutateEngine<CountingObj, decltype(callback)>>(callback);
  CHECK_EQ(Show(engine->Mutate(Call(1, 2)).ValueUnchecked()), "Call(2, 3)");
  CHECK_EQ(engine->count, 2);
  using Map = StructuralMapEngine<CountingObj, WalkOrder::kPreOrder, decltype(&Increment)>;
  CHECK_EQ(Show(make_object<Map>(&Increment)->Mutate(Items{1}).ValueUnchecked()), "[2]");
  using Table = Array<Tuple<int, Function>>;
  Table callbacks{Tuple<int, Function>(kTVMFFIInt, Function::FromTyped(&Increment))};
  using DynMap = StructuralMapDynEngine<CountingObj, WalkOrder::kPostOrder>;
  auto dynamic = make_object<DynMap>(callbacks, Table{});
  CHECK_EQ(Show(dynamic->Mutate(Items{1}).ValueUnchecked()), "[2]");
}

// A layer that does the recursion itself, up to a depth, and gives the depth to callbacks.
class LayerObj : public StructuralMapEngineBase {
 public:
  using MutatorObjType = LayerObj;
  using StateTupleType = std::tuple<int>;
  explicit LayerObj(const StructuralMutatorVTable* vtable) : StructuralMapEngineBase(vtable) {}
  int depth = 0;
  Expected<Changed> DefaultMutateExpected(AnyView value,
                                          InplaceMode mode = InplaceMode::kDisallow) {
    if (depth == 2) return Changed(Unchanged());
    ++depth;
    Expected<Changed> outcome = StructuralMutatorObj::DefaultMutateExpected(value, mode);
    --depth;
    return outcome;
  }

 protected:
  StateTupleType StateTuple() const noexcept { return depth; }
};

// Regression: engines called the recursion of StructuralMutatorObj.
TEST_CASE("a layer between the engine and its base does the recursion") {
  auto add_depth = [](int64_t value, int depth) { return value + depth; };
  auto show = [](auto engine) {
    Items root{0, Items{0, Items{0}}};
    return Show(engine->StructuralMutatorObj::Mutate(root).ValueOrUnchanged(root));
  };
  using Callback = decltype(add_depth);
  using Pre = StructuralMapEngine<LayerObj, WalkOrder::kPreOrder, Callback>;
  using Post = StructuralMapEngine<LayerObj, WalkOrder::kPostOrder, Callback>;
  CHECK_EQ(show(make_object<Pre>(add_depth)), "[1 [2 [0]]]");
  CHECK_EQ(show(make_object<Post>(add_depth)), "[1 [2 [0]]]");
  auto read_depth = [](int64_t value, LayerObj* layer) { return value + layer->depth; };
  using Mutate = StructuralMutateEngine<LayerObj, decltype(read_depth)>;
  CHECK_EQ(show(make_object<Mutate>(read_depth)), "[1 [2 [0]]]");
}

// ---- Values that change during the mutation -----------------------------------------------------

// Mutates a container that only the caller's variable owns and that `change` changes; returns the
// result.
template <typename Container, typename Change>
std::string MutateWhileItChanges(const Container& container, InplaceMode mode, Change change) {
  auto callback = [&](const LetObj* let, StructuralMutatorObj*) {
    change();
    return Let(let->value.cast<int>() + 10);
  };
  using Engine = StructuralMutateEngine<StructuralMapEngineBase, decltype(callback)>;
  AnyView borrowed = container;
  Changed result = make_object<Engine>(callback)->Mutate(borrowed, mode);
  return Show(std::move(result).ValueOrUnchanged(container));
}

TEST_CASE("callbacks may change arrays and maps") {
  for (InplaceMode mode : {InplaceMode::kDisallow, InplaceMode::kAllow}) {
    Items items{Let(1), Let(2)};
    auto change_items = [&] {
      items.Set(1, 0);
      items.push_back(0);
    };
    std::string result = MutateWhileItChanges(items, mode, change_items);
    CHECK_EQ(Show(items), "[Let(1) 0 0 0]");
    // Without other owners, the mutation changes the original and reports no new value; the
    // variable holds the copy that the callback made.
    CHECK_EQ(result, mode == InplaceMode::kAllow ? Show(items) : "[Let(11) Let(12)]");
    Table table{{1, Let(1)}, {2, Let(2)}};
    auto change_table = [&] {
      for (int i = 2; i < 5; ++i) table.Set(i, 0);
    };
    result = MutateWhileItChanges(table, mode, change_table);
    CHECK_EQ(Show(table), "{1:Let(1) 2:0 3:0 4:0}");
    CHECK_EQ(result, mode == InplaceMode::kAllow ? Show(table) : "{1:Let(11) 2:Let(12)}");
  }
}

TEST_CASE("callbacks may change lists and dicts") {
  List<Any> list{Let(1), Let(2), Let(3)};
  CHECK_EQ(MutateWhileItChanges(list, InplaceMode::kDisallow, [&] { list.clear(); }), "<>");
  list = List<Any>{Let(1), Let(2), Let(3)};
  CHECK_EQ(MutateWhileItChanges(list, InplaceMode::kAllow, [&] { list.clear(); }), "<>");
  list = List<Any>{Let(1), Let(2)};
  auto pop = [&] { list.pop_back(); };
  CHECK_EQ(MutateWhileItChanges(list, InplaceMode::kAllow, pop), "<Let(11)>");
  auto new_dict = [] { return Dict<Any, Any>{{1, Let(1)}, {2, Let(2)}}; };
  Dict<Any, Any> dict = new_dict();
  auto grow = [&] {
    dict.erase(2);
    for (int i = 3; i < 6; ++i) dict.Set(i, 0);
  };
  CHECK_EQ(MutateWhileItChanges(dict, InplaceMode::kDisallow, grow), "{1:Let(11) 2:Let(12)}");
  dict = new_dict();
  CHECK_EQ(MutateWhileItChanges(dict, InplaceMode::kAllow, grow), "{1:Let(11) 3:0 4:0 5:0}");
}

TEST_CASE("threads mutate the same value") {
  Items root;
  for (int i = 0; i < 200; ++i) root.push_back(Call(i, Items{Var("x", i)}));
  std::string before = Show(root);
  std::thread threads[4];
  Any results[4];
  for (int t = 0; t < 4; ++t) {
    threads[t] = std::thread([&, t] {
      results[t] = StructuralMap<WalkOrder::kPostOrder>(
          root, [t](int64_t value) { return value + 1000 * (t + 1); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(Show(root), before);
  for (int t = 0; t < 4; ++t) {
    CHECK_EQ(Show(results[t].cast<Items>()[7]), "Call(" + std::to_string(t + 1) + "007, [x])");
  }
}

// ---- Global functions ---------------------------------------------------------------------------

Function Global(const char* name) { return Function::GetGlobalRequired(name); }

template <typename F, typename... Flag>
Any Callback(int32_t type_index, F&& function, Flag... flag) {
  return Items{type_index, Function::FromTyped(std::forward<F>(function)), flag...};
}

TEST_CASE("global map") {
  Function map = Global("ffi.StructuralMap");
  ObjectRef x = Var("x");
  ObjectRef root = Func(Items{x}, Call(x, Items{1, 2.5, "a"}));
  int32_t var = VarObj::RuntimeTypeIndex();
  auto to_region = [](const Any&, int kind) { return kind; };
  auto to_text = [](const Any&) { return "text"; };
  Items by_int{Callback(kTVMFFIInt, to_text)};
  Items by_var{Callback(var, to_region), Callback(kTVMFFIInt, to_region)};
  for (int order : {0, 1}) {
    // The first list precedes the second.
    CHECK_EQ(Show(map(root, by_int, by_var, order)), "Func([1], Call(0, ['text' float 'a']))");
    CHECK(map(root, Items{}, Items{}, order).same_as(root));
  }
  auto unchanged = [](const Any&) { return Any(Unchanged()); };
  CHECK(map(root, Items{Callback(kTVMFFIAny, unchanged)}, Items{}, 0).same_as(root));
  // The mutation is in place if the caller gives up its reference to the root.
  Items items{1};
  const Object* address = items.get();
  Any result = map(RValueRef<Items>(std::move(items)), by_int, Items{}, 1);
  CHECK_EQ(Show(result), "['text']");
  CHECK(result.as<Object>() == address);
  CHECK_EQ(Thrown([&] { map(root, by_int, Items{}, 2); }),
           "ValueError: the traversal order must be 0 (pre-order) or 1 (post-order), got 2");
  CHECK_EQ(Thrown([&] { map(root, Items{Items{1, nullptr}}, Items{}, 0); }),
           "ValueError: expected a function as callback 0, got None");
}

TEST_CASE("global mutate") {
  Function mutate = Global("ffi.StructuralMutate");
  Function descend = Global("ffi.StructuralMutatorDefaultMutate");
  Function kind_of = Global("ffi.StructuralMutatorDefRegionKind");
  ObjectRef x = Var("x");
  ObjectRef root = Func(Items{x}, Call(x, 1));
  std::string log;
  Any kept;
  auto mutate_call = [&](const Any& value, const Any& mutator) {
    kept = mutator;
    return descend(mutator, value);
  };
  auto mutate_var = [&](const Any& value, const Any& mutator, int mode) {
    log += Show(value) + std::to_string(kind_of(mutator).cast<int>()) + std::to_string(mode) + ";";
    return kind_of(mutator);
  };
  auto increment = [](int64_t value, const Any&) { return value + 1; };
  Items callbacks{Callback(CallObj::RuntimeTypeIndex(), mutate_call, false),
                  Callback(VarObj::RuntimeTypeIndex(), mutate_var, true),
                  Callback(kTVMFFIInt, increment, false)};
  CHECK_EQ(Show(mutate(root, callbacks)), "Func([1], Call(0, 2))");
  CHECK_EQ(log, "x10;x00;");
  // A mutator that is kept remains usable.
  callbacks.clear();
  CHECK_EQ(kept.GetTypeKey(), "ffi.StructuralMutator");
  CHECK_EQ(Show(Global("ffi.StructuralMutatorMutate")(kept, Items{3, nullptr})), "[4 None]");
  CHECK_EQ(Show(Global("ffi.StructuralMutatorMutate")(kept, 3)), "4");
  kept = nullptr;
}

TEST_CASE("global var_remap and regions") {
  StructuralMutator mutator(
      make_object<StructuralMutateEngine<StructuralMapEngineBase,
                                         Changed (*)(AnyView, StructuralMutatorObj*)>>(
          [](AnyView, StructuralMutatorObj*) -> Changed { return Unchanged(); }));
  Function get = Global("ffi.StructuralMutatorVarRemapGet");
  Function set = Global("ffi.StructuralMutatorVarRemapSet");
  ObjectRef x = Var("x");
  CHECK(get(mutator, x) == nullptr);
  set(mutator, x, 5);
  CHECK_EQ(get(mutator, x).cast<int>(), 5);
  // The map keeps its key alive, so that no other object gets the key's address.
  CHECK_EQ(x.use_count(), 2);
  CHECK_EQ(Thrown([&] { set(mutator, 1, x); }),
           "TypeError: variable replacement: expected an object as the variable, got `int`");
  Function with = Global("ffi.StructuralMutatorWithDefRegionKind");
  Function kind_of = Global("ffi.StructuralMutatorDefRegionKind");
  auto read = Function::FromTyped([&] { return kind_of(mutator).cast<int>(); });
  CHECK_EQ(with(mutator, 1, read).cast<int>(), 1);
  CHECK_EQ(with(mutator, 2, read).cast<int>(), 2);
  CHECK_EQ(kind_of(mutator).cast<int>(), 0);
  CHECK_EQ(Thrown([&] { with(mutator, 3, read); }),
           "ValueError: the definition region kind must be 0, 1 or 2, got 3");
}

}  // namespace
