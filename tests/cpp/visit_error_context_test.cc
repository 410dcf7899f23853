// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/extra/visit_error_context.h>

#include <stdexcept>

#include "nesting.h"
#include "structural_mismatch.h"
#include "structural_text.h"
#include "thrown.h"

namespace {

using namespace ir;
using refl::AccessPath;

// Only the field `value` is part of the structure.
class NoteObj : public Object {
 public:
  Any value;
  Any note;
  NoteObj(Any value, Any note) : value(std::move(value)), note(std::move(note)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.context.Note", NoteObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<NoteObj>(refl::init(false))
      .def_ro("value", &NoteObj::value)
      .def_ro("note", &NoteObj::note, refl::AttachFieldFlag::SEqHashIgnore());
}

template <typename F>
std::string FramesThrown(F&& visit) {
  try {
    visit();
  } catch (const Error& error) {
    return error.kind() + ": " + error.message() + ": " + Frames(error);
  }
  return "nothing thrown";
}

TEST_CASE("layout") {
  auto context = make_object<VisitErrorContextObj>();
  auto offset = [&](const void* member) {
    return static_cast<const char*>(member) - reinterpret_cast<const char*>(context.get());
  };
  CHECK_EQ(offset(&context->reverse_visit_pattern), 24);
  CHECK_EQ(offset(&context->prev_error_context), 32);
  CHECK(!VisitErrorContext::_type_is_nullable);
  CHECK(VisitErrorContextObj::_type_final);
  CHECK(VisitErrorContextObj::_type_mutable);
  const TypeInfo* type = TVMFFIGetTypeInfo(VisitErrorContextObj::RuntimeTypeIndex());
  CHECK_EQ(type->metadata->total_size, 40);
  CHECK((type->metadata->creator != nullptr));
  CHECK_EQ(type->num_fields, 2);
  const TVMFFIFieldInfo* nodes =
      reflection::GetFieldInfo("ffi.VisitErrorContext", "reverse_visit_pattern");
  CHECK_EQ(nodes->offset, 24);
  CHECK_EQ(nodes->flags, 0);
  CHECK_EQ(nodes->field_static_type_index, kTVMFFIList);
  const TVMFFIFieldInfo* previous =
      reflection::GetFieldInfo("ffi.VisitErrorContext", "prev_error_context");
  CHECK_EQ(previous->offset, 32);
  CHECK_EQ(previous->field_static_type_index, -1);
}

// ---- Recording --------------------------------------------------------------------------------

TEST_CASE("frames accumulate from the inside") {
  ObjectRef x = Var("x");
  ObjectRef y = Var("y");
  Error error("ValueError", "bad", "");
  CHECK(!VisitErrorContext::TryGetFromError(error).has_value());
  detail::UpdateVisitErrorContext(error, x);
  CHECK_EQ(Frames(error), "x");
  Error same_object = error;
  detail::UpdateVisitErrorContext(same_object, y);
  CHECK_EQ(Frames(error), "x | y");
  detail::UpdateVisitErrorContext(error, y);
  CHECK_EQ(Frames(error), "x | y | y");
  // Only objects are recorded.
  detail::UpdateVisitErrorContext(error, AnyView(3));
  detail::UpdateVisitErrorContext(error, AnyView("text"));
  CHECK_EQ(Frames(error), "x | y | y");
}

TEST_CASE("a context of another type is kept as the cause") {
  ObjectRef x = Var("x");
  ObjectRef note = Var("note");
  Error error("ValueError", "bad", "", std::nullopt, std::optional<ObjectRef>(note));
  CHECK(!VisitErrorContext::TryGetFromError(error).has_value());
  CHECK_EQ(note.use_count(), 2);
  detail::UpdateVisitErrorContext(error, x);
  CHECK_EQ(Frames(error), "x");
  VisitErrorContext context = VisitErrorContext::TryGetFromError(error).value();
  CHECK(context->prev_error_context.same_as(note));
  CHECK_EQ(note.use_count(), 2);
  CHECK_EQ(x.use_count(), 2);
}

// All threads share the runtime's preallocated MemoryError.
TEST_CASE("memory errors are unchanged") {
  Error error("MemoryError", "out of memory", "");
  detail::UpdateVisitErrorContext(error, Type(1));
  CHECK(!error.extra_context().has_value());
}

TEST_CASE("macros record and rethrow") {
  ObjectRef x = Var("x");
  ObjectRef y = Var("y");
  auto inner = [&] {
    TVM_FFI_VISIT_BEGIN();
    TVM_FFI_THROW(ValueError) << "bad " << 7;
    TVM_FFI_VISIT_END(x);
  };
  auto outer = [&] {
    TVM_FFI_VISIT_BEGIN();
    inner();
    TVM_FFI_VISIT_END(y);
  };
  CHECK_EQ(FramesThrown(outer), "ValueError: bad 7: x | y");
  int done = 0;
  auto fine = [&] {
    TVM_FFI_VISIT_BEGIN();
    done = 1;
    TVM_FFI_VISIT_END(x);
    done += 1;
  };
  fine();
  CHECK_EQ(done, 2);
  // Exceptions of other types pass unchanged.
  bool passed = false;
  try {
    TVM_FFI_VISIT_BEGIN();
    throw std::runtime_error("other");
    TVM_FFI_VISIT_END(x);
  } catch (const Error&) {
    CHECK(false);
  } catch (const std::runtime_error& error) {
    passed = std::string(error.what()) == "other";
  }
  CHECK(passed);
}

Expected<int> VisitOrError(const ObjectRef& node, bool fails) {
  TVM_FFI_VISIT_BEGIN();
  if (fails) TVM_FFI_THROW(KeyError) << "missing";
  return 4;
  TVM_FFI_VISIT_END_RETURN_EXPECTED(node);
}

TEST_CASE("the macro returns the error") {
  ObjectRef x = Var("x");
  CHECK_EQ(VisitOrError(x, false).value(), 4);
  Expected<int> failed = VisitOrError(x, true);
  CHECK(failed.is_err());
  CHECK_EQ(failed.error().kind(), "KeyError");
  CHECK_EQ(Frames(failed.error()), "x");
}

TEST_CASE("the throw macro records the node") {
  ObjectRef x = Var("x");
  auto fails = [&] { TVM_FFI_VISIT_THROW(IndexError, x) << "at " << 3; };
  CHECK_EQ(FramesThrown(fails), "IndexError: at 3: x");
  try {
    fails();
  } catch (const Error& error) {
    CHECK(error.backtrace().find("visit_error_context_test.cc") != std::string::npos);
  }
  CHECK_EQ(x.use_count(), 1);
}

// ---- Access paths -----------------------------------------------------------------------------

VisitErrorContext ContextOf(const List<ObjectRef>& nodes) {
  auto context = make_object<VisitErrorContextObj>();
  context->reverse_visit_pattern = nodes;
  return VisitErrorContext(std::move(context));
}

std::string Paths(const ObjectRef& root, const List<ObjectRef>& nodes, bool allow_prefix = false) {
  std::string text;
  for (const AccessPath& path :
       VisitErrorContext::FindAccessPaths(root, ContextOf(nodes), allow_prefix)) {
    text += (text.empty() ? "root" : " root") + TextOf(path);
  }
  return text;
}

TEST_CASE("path through several objects") {
  ObjectRef x = Var("x");
  ObjectRef y = Var("y");
  ObjectRef one = Type(1);
  ObjectRef inner = Call(one, y);
  ObjectRef root = Call(x, inner);
  CHECK_EQ(Paths(root, {one, inner, root}), "root.args.op");
  CHECK_EQ(Paths(root, {inner, root}), "root.args");
  CHECK_EQ(Paths(root, {root}), "root");
  // A visit need not record the root or the values in between.
  CHECK_EQ(Paths(root, {one}), "root.args.op");
  CHECK_EQ(Paths(root, {one, inner}), "root.args.op");
  CHECK_EQ(Paths(root, {one, root}), "root.args.op");
  // Two consecutive frames of one object count once.
  CHECK_EQ(Paths(root, {one, inner, inner, root, root}), "root.args.op");
  CHECK_EQ(Paths(root, {one, ObjectRef(), root}), "root.args.op");
  CHECK_EQ(Paths(root, {}), "");
  CHECK_EQ(Paths(root, {ObjectRef()}), "");
  CHECK_EQ(Paths(ObjectRef(), {one}), "");
  CHECK_EQ(Paths(root, {Type(1)}), "");
  CHECK_EQ(Paths(root, {one, Type(2), root}), "");
  // The order is significant.
  CHECK_EQ(Paths(root, {inner, one, root}), "");
}

TEST_CASE("paths through containers") {
  ObjectRef one = Type(1);
  Items array{0, one};
  Map<Any, Any> map{{"first", 5}, {"k", array}};
  ObjectRef box = Let(map);
  ObjectRef root = Func(Items(), box);
  CHECK_EQ(Paths(root, {one, array, map, box, root}), "root.body.value{k}[1]");
  CHECK_EQ(Paths(root, {one, box, root}), "root.body.value{k}[1]");
  CHECK_EQ(Paths(array, {one, array}), "root[1]");
  List<Any> list{one, one};
  CHECK_EQ(Paths(list, {one}), "root[0] root[1]");
  Dict<Any, Any> dict{{1, one}};
  CHECK_EQ(Paths(dict, {one, dict}), "root{1}");
  // Keys are not visited.
  CHECK_EQ(Paths(Map<Any, Any>{{one, 1}}, {one}), "");
}

TEST_CASE("shared objects have several paths") {
  ObjectRef one = Type(1);
  ObjectRef shared = Call(one, Var("y"));
  ObjectRef root = Call(shared, shared);
  CHECK_EQ(Paths(root, {one, shared, root}), "root.op.op root.args.op");
  CHECK_EQ(Paths(root, {shared, root}), "root.op root.args");
  ObjectRef x = Var("x");
  CHECK_EQ(Paths(Func(Items{x}, Call(x, x)), {x}), "root.params[0] root.body.op root.body.args");
  // Also through fields that visits skip.
  CHECK_EQ(Paths(New<NoteObj>(x, x), {x}), "root.value root.note");
}

TEST_CASE("prefixes end at objects without matching children") {
  ObjectRef x = Var("x");
  ObjectRef y = Var("y");
  ObjectRef one = Type(1);
  ObjectRef absent = Type(2);
  ObjectRef inner = Call(one, y);
  ObjectRef root = Call(x, inner);
  CHECK_EQ(Paths(root, {absent, inner, root}, true), "root.op root.args.op root.args.args");
  CHECK_EQ(Paths(root, {absent, inner}, true), "root.args.op root.args.args");
  CHECK_EQ(Paths(root, {absent}, true), "");
  // In addition to a full path.
  CHECK_EQ(Paths(root, {inner, root}, true), "root.op root.args");
  CHECK_EQ(Paths(root, {one, inner}, true), "root.args.op root.args.args");
  // Prefixes do not end at containers, at strings, or at the root.
  ObjectRef box = Let(Items{Items{}, String("a text of some length"), x});
  CHECK_EQ(Paths(box, {absent, box}, true), "root.value[2]");
  CHECK_EQ(Paths(y, {absent, y}, true), "");
}

// Otherwise the search is exponential: 2^200 paths.
TEST_CASE("shared objects do not slow the search") {
  ObjectRef one = Type(1);
  ObjectRef chain = one;
  for (int i = 0; i < 200; ++i) chain = Call(chain, chain);
  CHECK_EQ(Paths(chain, {Type(2)}), "");
  CHECK_EQ(VisitErrorContext::FindAccessPaths(chain, ContextOf({one})).size(), size_t{4096});
  CHECK_EQ(VisitErrorContext::FindAccessPaths(chain, ContextOf({Type(2), chain}), true).size(),
           size_t{4096});
}

TEST_CASE("cycles end") {
  ObjectRef one = Type(1);
  List<Any> list;
  list.push_back(list);
  list.push_back(Let(list));
  list.push_back(one);
  CHECK_EQ(Paths(list, {one}), "root[2]");
  CHECK_EQ(Paths(list, {Type(2)}), "");
  list.clear();
}

TEST_CASE("deep structures") {
  ObjectRef one = Type(1);
  Nested root(200000, one, InList);
  auto find = [&root](const ObjectRef& node) {
    return VisitErrorContext::FindAccessPaths(root.value().cast<ObjectRef>(), ContextOf({node}));
  };
  OnSmallStack([&] {
    CHECK_EQ(find(Type(2)).size(), size_t{0});
    CHECK_EQ(Thrown([&] { find(one); }),
             "ValueError: the visit failed at a depth of more than 10000 levels, the maximum "
             "length of an access path");
  });
  Nested deep(10000, one, InList);
  auto paths = VisitErrorContext::FindAccessPaths(deep.value().cast<ObjectRef>(), ContextOf({one}));
  CHECK_EQ(paths[0]->depth, 10000);
}

TEST_CASE("global function") {
  ObjectRef one = Type(1);
  ObjectRef root = Let(Items{one});
  Function find = Function::GetGlobalRequired("ffi.VisitErrorContext.FindAccessPaths");
  auto paths = find(root, ContextOf({one, root}), false).cast<Array<AccessPath>>();
  CHECK_EQ(paths.size(), size_t{1});
  CHECK_EQ("root" + TextOf(paths[0]), "root.value[0]");
  CHECK_EQ(Thrown([&] { find(root, 1, false); }),
           "TypeError: Mismatched type on argument #1 when calling: "
           "`ffi.VisitErrorContext.FindAccessPaths(0: ffi.Object, 1: ffi.VisitErrorContext, 2: "
           "bool) -> Array<ffi.reflection.AccessPath>`. Expected `ffi.VisitErrorContext` but got "
           "`int`");
}

}  // namespace
