// SPDX-License-Identifier: Apache-2.0
// The expected numbers are part of the contract: other implementations compute the same.
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>

#include "nesting.h"
#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

using HashPart = TypedFunction<int64_t(AnyView)>;

class RecordObj : public Object {
 public:
  int64_t first = 1;
  Any second;
  int64_t not_hashed = 0;
  int64_t not_compared = 0;

  RecordObj() = default;
  RecordObj(int64_t first, Any second) : first(first), second(std::move(second)) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.hash.Record", RecordObj, Object);
};
class ChildObj : public RecordObj {
 public:
  int64_t last = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.hash.Child", ChildObj, RecordObj);
};
class NoFieldsObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.hash.NoFields", NoFieldsObj, Object);
};

// Base class of the types with hooks.
class PartObj : public Object {
 public:
  Any part;
  PartObj() = default;
  explicit PartObj(Any part) : part(std::move(part)) {}
  TVM_FFI_DECLARE_OBJECT_INFO("test.hash.Part", PartObj, Object);
};
#define TEST_PART_CLASS(Name, key)                         \
  class Name : public PartObj {                            \
   public:                                                 \
    using PartObj::PartObj;                                \
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL(key, Name, PartObj); \
  }
TEST_PART_CLASS(NestedObj, "test.hash.Nested");  // the hash of the child, plus 1
TEST_PART_CLASS(FailingObj, "test.hash.Failing");
TEST_PART_CLASS(TolerantObj, "test.hash.Tolerant");  // -1 if the child has no hash
TEST_PART_CLASS(EqOnlyObj, "test.hash.EqOnly");
TEST_PART_CLASS(CompareOnlyObj, "test.hash.CompareOnly");
TEST_PART_CLASS(WrongHookObj, "test.hash.WrongHook");
TEST_PART_CLASS(KeepingObj, "test.hash.Keeping");

HashPart& Kept() {
  static HashPart kept;
  return kept;
}

int64_t HashTolerantly(const PartObj* self, const HashPart& hash) {
  try {
    return hash(self->part);
  } catch (const Error&) {
    return -1;
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<RecordObj>()
      .def_rw("first", &RecordObj::first)
      .def_rw("not_hashed", &RecordObj::not_hashed, refl::hash(false))
      .def_rw("second", &RecordObj::second)
      .def_rw("not_compared", &RecordObj::not_compared, refl::compare(false));
  refl::ObjectDef<ChildObj>().def_ro("last", &ChildObj::last);
  refl::ObjectDef<NoFieldsObj>();
  refl::ObjectDef<PartObj>(refl::init(false)).def_ro("part", &PartObj::part);
  refl::ObjectDef<NestedObj>(refl::init(false))
      .def_type_attr("__ffi_hash__",
                     [](const PartObj* self, const HashPart& hash) { return hash(self->part) + 1; })
      .def_type_attr("__ffi_eq__", [](const PartObj* l, const PartObj* r,
                                      const TypedFunction<bool(AnyView, AnyView)>& equal) {
        return equal(l->part, r->part);
      });
  refl::ObjectDef<FailingObj>(refl::init(false))
      .def_type_attr("__ffi_hash__", [](const PartObj* self, const HashPart& hash) -> int64_t {
        hash(self->part);
        TVM_FFI_THROW(KeyError) << "no hash";
        TVM_FFI_UNREACHABLE();
      });
  refl::ObjectDef<TolerantObj>(refl::init(false)).def_type_attr("__ffi_hash__", &HashTolerantly);
  refl::ObjectDef<EqOnlyObj>(refl::init(false))
      .def_type_attr("__ffi_eq__", [](const PartObj*, const PartObj*, AnyView) { return true; });
  refl::ObjectDef<CompareOnlyObj>(refl::init(false))
      .def_type_attr("__ffi_compare__", [](const PartObj*, const PartObj*, AnyView) { return 0; });
  refl::ObjectDef<WrongHookObj>(refl::init(false)).def_type_attr("__ffi_hash__", 5);
  refl::ObjectDef<KeepingObj>(refl::init(false))
      .def_type_attr("__ffi_hash__", [](const PartObj*, const HashPart& hash) -> int64_t {
        Kept() = hash;
        return 0;
      });
}

template <typename T, typename... Args>
Any Make(Args&&... args) {
  return ObjectRef(ObjectPtr<Object>(make_object<T>(std::forward<Args>(args)...)));
}
uint64_t Hash(const Any& value) { return static_cast<uint64_t>(RecursiveHash(value)); }

TEST_CASE("plain values") {
  CHECK_EQ(Hash(nullptr), 0x000000009e3779b9u);
  CHECK_EQ(Hash(1), 0x000000009e3779fbu);
  CHECK_EQ(Hash(-1), 0x000000009e3779f9u);
  CHECK_EQ(Hash(true), 0x000000009e377a38u);
  CHECK_EQ(Hash(reinterpret_cast<void*>(0x1234)), 0x000000009e378ceau);
  CHECK_EQ(Hash(DLDataType{kDLFloat, 32, 1}), 0x00000a16fbe40c6bu);
  CHECK_EQ(Hash(DLDataType{kDLBfloat, 16, 4}), 0x00000a16fbe4a990u);
  CHECK_EQ(Hash(DLDevice{kDLCUDA, 3}), 0x00000028cd935c30u);
}

TEST_CASE("equal floats have one hash") {
  CHECK_EQ(Hash(1.0), 0x3ff000009e377a7au);
  CHECK_EQ(Hash(0.0), 0x000000009e377a7au);
  CHECK_EQ(Hash(-0.0), 0x000000009e377a7au);
  CHECK_EQ(Hash(NAN), 0x7ff800009e377a7au);
  CHECK_EQ(Hash(-NAN), 0x7ff800009e377a7au);
}

TEST_CASE("strings are hashed by content") {
  CHECK_EQ(Hash("abc"), 0x000000009e9aec2bu);
  CHECK_EQ(Hash(String(std::string("abc"))), 0x000000009e9aec2bu);
  CHECK_EQ(Hash("hello world"), 0x00000000def11395u);
  CHECK_EQ(Hash(Bytes("a", 1)), 0x000000009e378ae8u);
  CHECK_EQ(Hash(Bytes(std::string("a"))), 0x000000009e378ae8u);
  CHECK_EQ(Hash(Bytes("hello world", 11)), 0x00000000def11456u);
}

TEST_CASE("big integers") {
  CHECK_EQ(Hash(BigInt(1) << 63), 0x766u);
  CHECK_EQ(Hash(-(BigInt(1) << 63) - 1), 0x3b2u);
  CHECK_EQ(Hash(BigInt(1) << 100), 0x20u);
}

TEST_CASE("containers") {
  CHECK_EQ(Hash(Array<Any>{1, 2}), 0x272ea68de7aee940u);
  CHECK_EQ(Hash(List<Any>{1, 2}), 0x8b918c2529f2af37u);
  CHECK_EQ(Hash(Map<Any, Any>{{"a", 1}}), 0x196e6e1062f2d137u);
  CHECK_EQ(Hash(Shape{1, 2}), 0x03f3ccfb7a943717u);
  CHECK_EQ(Hash(Shape{1, 2, -1}), 0xfe03fee55b72429fu);
  CHECK(Hash(Array<Any>{1, 2}) != Hash(Array<Any>{2, 1}));
}

TEST_CASE("the order of pairs does not matter") {
  Map<Any, Any> forwards;
  Map<Any, Any> backwards;
  for (int i = 0; i < 7; ++i) {
    forwards.Set(i, List<Any>{i});
    backwards.Set(6 - i, List<Any>{6 - i});
  }
  CHECK_EQ(Hash(forwards), Hash(backwards));
  CHECK(Hash(Map<Any, Any>{{1, 2}}) != Hash(Map<Any, Any>{{2, 1}}));
}

TEST_CASE("objects are hashed by their fields") {
  CHECK_EQ(Hash(Make<RecordObj>(1, "a")), 0x5277415c2acf7b83u);
  CHECK_EQ(Hash(Make<RecordObj>(1, List<Any>{2})), 0xa80ba9c46c841041u);
  CHECK_EQ(Hash(Make<ChildObj>()), 0x6f661d660f53d320u);
  CHECK_EQ(Hash(Make<NoFieldsObj>()), 0xb5840c6786476d5cu);
  CHECK_EQ(Hash(refl::AccessPath::Root()->Attr("x")), 0x7da3ed457a110249u);
}

TEST_CASE("excluded fields do not count") {
  auto record = make_object<RecordObj>(1, "a");
  record->not_hashed = 5;
  record->not_compared = 6;
  CHECK_EQ(Hash(ObjectRef(ObjectPtr<Object>(record))), Hash(Make<RecordObj>(1, "a")));
  record->first = 2;
  CHECK(Hash(ObjectRef(ObjectPtr<Object>(record))) != Hash(Make<RecordObj>(1, "a")));
}

// Objects without registered fields.
TEST_CASE("opaque objects are hashed by type") {
  CHECK_EQ(Hash(Function::FromTyped([] {})), 0xb3b21b94552cae3du);
  CHECK_EQ(Hash(Error("ValueError", "x", "")), 0xf5caa49da693165eu);
  CHECK_EQ(Hash(Make<Object>()), 0x33a211b274fa0106u);
}

TEST_CASE("hooks define the hash") {
  CHECK_EQ(Hash(Make<NestedObj>(1)), 0x000000009e3779fcu);
  CHECK_EQ(Hash(Make<NestedObj>(Make<NestedObj>(1))), 0x000000009e3779fdu);
  CHECK_EQ(Hash(Array<Any>{Make<NestedObj>(1)}), 0xdb15d821e8a45400u);
  CHECK_EQ(Thrown([] { Hash(Make<FailingObj>(1)); }), "KeyError: no hash");
  CHECK_EQ(Thrown([] { Hash(Make<WrongHookObj>(1)); }).substr(0, 32),
           "TypeError: Cannot treat type `in");
}

TEST_CASE("equality without hash is refused") {
  auto text = [](const char* type) {
    return "ValueError: RecursiveHash: type '" + std::string(type) +
           "' defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__. Add a __ffi_hash__ hook "
           "that gives equal objects equal hashes.";
  };
  CHECK_EQ(Thrown([] { Hash(Make<EqOnlyObj>(1)); }), text("test.hash.EqOnly"));
  CHECK_EQ(Thrown([] { Hash(List<Any>{Make<CompareOnlyObj>(1)}); }), text("test.hash.CompareOnly"));
}

// After the error, the child is no longer part of an open cycle: the list counts in full.
TEST_CASE("a hook may catch the error of a child") {
  List<Any> list{1};
  list.push_back(Make<EqOnlyObj>(1));
  CHECK_EQ(Hash(Make<TolerantObj>(list)), ~uint64_t{0});
  CHECK_EQ(Thrown([&] { Hash(Array<Any>{Make<TolerantObj>(list), list}); }).substr(0, 26),
           "ValueError: RecursiveHash:");
  Any failing = Make<FailingObj>(1);
  CHECK_EQ(Hash(Make<TolerantObj>(failing)), ~uint64_t{0});
  CHECK_EQ(Thrown([&] { Hash(Array<Any>{Make<TolerantObj>(failing), failing}); }),
           "KeyError: no hash");
}

// An object inside itself counts as its type.
TEST_CASE("cyclic values") {
  List<Any> list;
  list.push_back(list);
  CHECK_EQ(Hash(list), 0x0342c14f2167e374u);
  list.clear();

  List<Any> x;
  List<Any> y{x};
  x.push_back(y);
  CHECK_EQ(Hash(x), 0x0718e38d3a5be17cu);
  CHECK_EQ(Hash(Array<Any>{x, y}), 0xc2c4b9d6725c9125u);
  x.clear();
}

TEST_CASE("shared children are hashed once") {
  CHECK_EQ(Hash(Doubled(60, 1)), Hash(Doubled(60, 1)));
  CHECK(Hash(Doubled(60, 1)) != Hash(Doubled(60, 2)));
  CHECK_EQ(Hash(Doubled(10, List<Any>{1})), 0x925a59b06e72c54cu);
}

TEST_CASE("equal values have equal hashes") {
  auto values = [] {
    return std::vector<Any>{NAN,
                            0.0,
                            "short",
                            Bytes("a", 1),
                            BigInt(1) << 70,
                            Array<Any>{1, "a long string on the heap", nullptr},
                            Dict<Any, Any>{{1, List<Any>{2.5}}, {"k", Shape{1}}},
                            Make<RecordObj>(3, Array<Any>{DLDevice{kDLCUDA, 1}}),
                            Make<ChildObj>(),
                            Make<NestedObj>(List<Any>{7})};
  };
  std::vector<Any> lhs = values();
  std::vector<Any> rhs = values();
  for (size_t i = 0; i < lhs.size(); ++i) {
    for (size_t k = 0; k < rhs.size(); ++k) {
      CHECK_EQ(RecursiveEq(lhs[i], rhs[k]), i == k);
      CHECK_EQ(Hash(lhs[i]) == Hash(rhs[k]), i == k);
    }
  }
}

TEST_CASE("the function passed to a hook expires with the hash") {
  CHECK_EQ(Hash(Make<KeepingObj>(1)), 0u);
  CHECK_EQ(
      Thrown([] { Kept()(1); }),
      "RuntimeError: the function that was passed to a hook was called after the operation that "
      "called the hook had ended");
  Kept() = HashPart();
}

TEST_CASE("deep nesting needs no machine stack") {
  Nested nested(10000, 1, [](const Any& value) { return Array<Any>{value}; });
  CHECK_EQ(Hash(nested.value()), 0x00b25509ef9baf88u);
  Nested deeper(200000, 1, InList);
  CHECK(Hash(deeper.value()) != 0);
}

TEST_CASE("nesting is limited") {
  Nested nested(1048577, 1, InList);
  CHECK_EQ(Thrown([&] { Hash(nested.value()); }),
           "ValueError: RecursiveHash: the value is nested deeper than 1048576 levels");
}

TEST_CASE("hooks nest until the machine stack is used up") {
  auto nested = [](const Any& part) { return Make<NestedObj>(part); };
  Nested some(200, 1, nested);
  CHECK_EQ(Hash(some.value()), 0x000000009e3779fbu + 200);
  Nested many(10000, 1, nested);
  std::string error;
  OnSmallStack([&] { error = Thrown([&] { Hash(many.value()); }); });
  CHECK_EQ(error.substr(0, 26), "ValueError: RecursiveHash:");
  CHECK(error.find("the machine stack has no room for more than ") != std::string::npos);
}

TEST_CASE("global function") {
  Function hash = Function::GetGlobalRequired("ffi.RecursiveHash");
  CHECK_EQ(hash("abc").cast<int64_t>(), 0x000000009e9aec2b);
  CHECK_EQ(hash(List<Any>{1, 2}).cast<int64_t>(), static_cast<int64_t>(0x8b918c2529f2af37u));
}

TEST_CASE("hook of big integers") {
  refl::TypeAttrColumn hooks(type_attr::kHash);
  CHECK_EQ(hooks[kTVMFFIBigInt].cast<Function>()(BigInt(1) << 63, nullptr).cast<int64_t>(), 0x766);
}

}  // namespace
