// SPDX-License-Identifier: Apache-2.0
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
#include <tvm/ffi/reflection/registry.h>

#include <cmath>

#include "nesting.h"
#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

using AreEqual = TypedFunction<bool(AnyView, AnyView)>;
using ComparePart = TypedFunction<int(AnyView, AnyView)>;

class RecordObj : public Object {
 public:
  int64_t first = 1;
  Any second;
  int64_t ignored = 0;
  int64_t not_hashed = 0;

  RecordObj() = default;
  RecordObj(int64_t first, Any second) : first(first), second(std::move(second)) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.compare.Record", RecordObj, Object);
};
class ChildObj : public RecordObj {
 public:
  int64_t last = 0;
  explicit ChildObj(int64_t last) : last(last) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.compare.Child", ChildObj, RecordObj);
};
class NoFieldsObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.compare.NoFields", NoFieldsObj, Object);
};
class UnregisteredObj : public Object {
 public:
  int64_t content = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("test.compare.Unregistered", UnregisteredObj, Object);
};

// Base class of the types with hooks.
class PartObj : public Object {
 public:
  Any part;
  PartObj() = default;
  explicit PartObj(Any part) : part(std::move(part)) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.compare.Part", PartObj, Object);
};
#define TEST_PART_CLASS(Name, key)                         \
  class Name : public PartObj {                            \
   public:                                                 \
    using PartObj::PartObj;                                \
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL(key, Name, PartObj); \
  }
TEST_PART_CLASS(LastDigitObj, "test.compare.LastDigit");      // equal and ordered by the last digit
TEST_PART_CLASS(EqOnlyObj, "test.compare.EqOnly");            // equal by the last digit
TEST_PART_CLASS(ReversedObj, "test.compare.Reversed");        // ordered in reverse
TEST_PART_CLASS(LargeResultObj, "test.compare.LargeResult");  // ordered by 2^32 times the child
TEST_PART_CLASS(FailingObj, "test.compare.Failing");
TEST_PART_CLASS(NegatedObj, "test.compare.Negated");    // equal if the children differ
TEST_PART_CLASS(AnyOfObj, "test.compare.AnyOf");        // equal if one element of the children is
TEST_PART_CLASS(NestedObj, "test.compare.Nested");      // compared like the children
TEST_PART_CLASS(MeddlingObj, "test.compare.Meddling");  // empties its child, a list
TEST_PART_CLASS(WrongHookObj, "test.compare.WrongHook");
TEST_PART_CLASS(KeepingObj, "test.compare.Keeping");

int64_t LastDigit(const PartObj* object) { return object->part.cast<int64_t>() % 10; }

bool EqualLastDigit(const PartObj* lhs, const PartObj* rhs, const AreEqual&) {
  return LastDigit(lhs) == LastDigit(rhs);
}
int CompareLastDigit(const PartObj* lhs, const PartObj* rhs, const ComparePart& compare) {
  return 7 * compare(LastDigit(lhs), LastDigit(rhs));
}
bool EqualAnyOf(const PartObj* lhs, const PartObj* rhs, const AreEqual& equal) {
  Array<Any> l = lhs->part.as_or_throw<Array<Any>>();
  Array<Any> r = rhs->part.as_or_throw<Array<Any>>();
  for (int64_t i = 0; i < static_cast<int64_t>(l.size()); ++i) {
    if (equal(l[i], r[i])) return true;
  }
  return false;
}
AreEqual& Kept() {
  static AreEqual kept;
  return kept;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<RecordObj>()
      .def_rw("first", &RecordObj::first)
      .def_rw("ignored", &RecordObj::ignored, refl::compare(false))
      .def_rw("second", &RecordObj::second)
      .def_rw("not_hashed", &RecordObj::not_hashed, refl::hash(false));
  refl::ObjectDef<ChildObj>(refl::init(false)).def_ro("last", &ChildObj::last);
  refl::ObjectDef<NoFieldsObj>();
  refl::ObjectDef<PartObj>(refl::init(false)).def_rw("part", &PartObj::part);
  refl::ObjectDef<LastDigitObj>(refl::init(false))
      .def_type_attr("__ffi_eq__", &EqualLastDigit)
      .def_type_attr("__ffi_compare__", &CompareLastDigit);
  refl::ObjectDef<EqOnlyObj>(refl::init(false)).def_type_attr("__ffi_eq__", &EqualLastDigit);
  refl::ObjectDef<ReversedObj>(refl::init(false))
      .def_type_attr("__ffi_compare__", [](const PartObj* l, const PartObj* r,
                                           const ComparePart& f) { return f(r->part, l->part); });
  refl::ObjectDef<LargeResultObj>(refl::init(false))
      .def_type_attr("__ffi_compare__",
                     [](const PartObj* l, const PartObj* r, const ComparePart& f) -> int64_t {
                       return f(l->part, r->part) * (int64_t{1} << 32);
                     });
  refl::ObjectDef<FailingObj>(refl::init(false))
      .def_type_attr("__ffi_compare__",
                     [](const PartObj*, const PartObj*, const ComparePart&) -> int {
                       TVM_FFI_THROW(KeyError) << "no order";
                       TVM_FFI_UNREACHABLE();
                     });
  refl::ObjectDef<NegatedObj>(refl::init(false))
      .def_type_attr("__ffi_eq__", [](const PartObj* l, const PartObj* r, const AreEqual& f) {
        return !f(l->part, r->part);
      });
  refl::ObjectDef<AnyOfObj>(refl::init(false)).def_type_attr("__ffi_eq__", &EqualAnyOf);
  refl::ObjectDef<NestedObj>(refl::init(false))
      .def_type_attr("__ffi_compare__", [](const PartObj* l, const PartObj* r,
                                           const ComparePart& f) { return f(l->part, r->part); });
  refl::ObjectDef<MeddlingObj>(refl::init(false))
      .def_type_attr("__ffi_compare__", [](const PartObj* l, const PartObj*, const ComparePart&) {
        l->part.as_or_throw<List<Any>>().clear();
        return 0;
      });
  refl::ObjectDef<WrongHookObj>(refl::init(false)).def_type_attr("__ffi_eq__", 5);
  refl::ObjectDef<KeepingObj>(refl::init(false))
      .def_type_attr("__ffi_eq__", [](const PartObj*, const PartObj*, const AreEqual& f) {
        Kept() = f;
        return true;
      });
}

template <typename T, typename... Args>
Any Make(Args&&... args) {
  return ObjectRef(ObjectPtr<Object>(make_object<T>(std::forward<Args>(args)...)));
}

bool Eq(const Any& lhs, const Any& rhs) {
  bool equal = RecursiveEq(lhs, rhs);
  CHECK_EQ(RecursiveEq(rhs, lhs), equal);
  return equal;
}

// Returns "<", "=" or ">", or the error; all four functions must agree, in both directions.
std::string Order(const Any& lhs, const Any& rhs) {
  std::string text;
  std::string error = Thrown([&] {
    text = RecursiveLt(lhs, rhs) ? "<" : RecursiveGt(lhs, rhs) ? ">" : "=";
    CHECK_EQ(RecursiveLe(lhs, rhs), text != ">");
    CHECK_EQ(RecursiveGe(lhs, rhs), text != "<");
    CHECK_EQ(RecursiveLt(rhs, lhs), text == ">");
    CHECK_EQ(RecursiveGt(rhs, lhs), text == "<");
  });
  return error.empty() ? text : error;
}

std::string Differ(const char* lhs, const char* rhs) {
  return "TypeError: Cannot compare values of different types: " + std::string(lhs) + " vs " + rhs;
}

TEST_CASE("plain values") {
  CHECK_EQ(Order(1, 2), "<");
  CHECK_EQ(Order(INT64_MIN, INT64_MAX), "<");
  CHECK_EQ(Order(false, true), "<");
  CHECK_EQ(Order(-1.5, 2.0), "<");
  CHECK_EQ(Order(DLDataType{kDLInt, 32, 1}, DLDataType{kDLFloat, 16, 1}), "<");
  CHECK_EQ(Order(DLDataType{kDLInt, 16, 4}, DLDataType{kDLInt, 32, 1}), "<");
  CHECK_EQ(Order(DLDataType{kDLInt, 32, 1}, DLDataType{kDLInt, 32, 4}), "<");
  CHECK_EQ(Order(DLDevice{kDLCPU, 5}, DLDevice{kDLCUDA, 0}), "<");
  CHECK_EQ(Order(DLDevice{kDLCUDA, 0}, DLDevice{kDLCUDA, 1}), "<");
  for (const Any& value : std::initializer_list<Any>{
           nullptr, 1, true, 1.5, "a", DLDataType{kDLInt, 32, 1}, DLDevice{kDLCUDA, 1}, Shape{1}}) {
    CHECK_EQ(Order(value, value), "=");
    CHECK(Eq(value, value));
  }
  CHECK(!Eq(1, 2));
  CHECK(!Eq(1.5, 2.5));
}

TEST_CASE("values of different types differ") {
  CHECK(!Eq(1, 1.0));
  CHECK(!Eq(1, true));
  CHECK(!Eq("a", Bytes("a", 1)));
  CHECK(!Eq(Array<Any>{1}, List<Any>{1}));
  CHECK(!Eq(Map<Any, Any>{{1, 2}}, Dict<Any, Any>{{1, 2}}));
  CHECK(!Eq(nullptr, 0));
  CHECK_EQ(Order(1, 1.0), Differ("int", "float"));
  CHECK_EQ(Order(1, true), Differ("int", "bool"));
  CHECK_EQ(Order(1, "a"), Differ("int", "ffi.SmallStr"));
  CHECK_EQ(Order(Array<Any>{1}, List<Any>{1}), Differ("ffi.Array", "ffi.List"));
}

TEST_CASE("None comes first") {
  CHECK_EQ(Order(nullptr, -1000), "<");
  CHECK_EQ(Order(nullptr, "a"), "<");
  CHECK_EQ(Order(nullptr, Make<RecordObj>()), "<");
  CHECK_EQ(Order(nullptr, BigInt(1) << 64), "<");
  CHECK_EQ(Order(Array<Any>{1, nullptr}, Array<Any>{1, 3}), "<");
}

TEST_CASE("floats") {
  CHECK(Eq(0.0, -0.0));
  CHECK(Eq(NAN, -NAN));
  CHECK(!Eq(NAN, 1.0));
  CHECK_EQ(Order(0.0, -0.0), "=");
  CHECK_EQ(Order(-INFINITY, INFINITY), "<");
  CHECK_EQ(Order(NAN, 1.0), "TypeError: cannot order values that contain NaN");
  CHECK_EQ(Order(1.0, NAN), "TypeError: cannot order values that contain NaN");
  CHECK_EQ(Order(NAN, NAN), "TypeError: cannot order values that contain NaN");
}

TEST_CASE("text is compared by content") {
  CHECK(Eq("short", String(std::string("short"))));
  CHECK(Eq("a long string on the heap", "a long string on the heap"));
  CHECK(!Eq("a long string on the heap", "a long string on the heaP"));
  CHECK(Eq(Bytes("b", 1), Bytes(std::string("b"))));
  CHECK_EQ(Order("a", "b"), "<");
  CHECK_EQ(Order("ab", "b"), "<");
  CHECK_EQ(Order("a", "ab"), "<");
  CHECK_EQ(Order("", "a"), "<");
  CHECK_EQ(Order("z", String(std::string("a"))), ">");
  CHECK_EQ(Order(Bytes("a\0b", 3), Bytes("a\0c", 3)), "<");
}

TEST_CASE("big integers compare with integers") {
  BigInt big = BigInt(1) << 64;
  CHECK(Eq(big, BigInt(1) << 64));
  CHECK(!Eq(big, -big));
  CHECK(!Eq(big, 5));
  CHECK_EQ(Order(big, BigInt(1) << 65), "<");
  CHECK_EQ(Order(big, big), "=");
  CHECK_EQ(Order(5, big), "<");
  CHECK_EQ(Order(-big, 5), "<");
  CHECK_EQ(Order(Array<Any>{5}, Array<Any>{big}), "<");
  CHECK_EQ(Order(big, 1.0), Differ("ffi.BigInt", "float"));
  CHECK_EQ(Order(big, true), Differ("ffi.BigInt", "bool"));
}

TEST_CASE("pointers cannot be ordered") {
  Any one = reinterpret_cast<void*>(1);
  Any two = reinterpret_cast<void*>(2);
  CHECK(Eq(one, one));
  CHECK(!Eq(one, two));
  CHECK_EQ(Order(one, one), "=");
  CHECK_EQ(Order(one, two), "TypeError: Cannot order values of type void*");
}

TEST_CASE("sequences in lexicographic order") {
  CHECK(Eq(Array<Any>{1, "a"}, Array<Any>{1, "a"}));
  CHECK(!Eq(Array<Any>{1, 2}, Array<Any>{1, 2, 3}));
  CHECK(!Eq(List<Any>{1, 2}, List<Any>{1, 3}));
  CHECK_EQ(Order(Array<Any>{}, Array<Any>{}), "=");
  CHECK_EQ(Order(Array<Any>{}, Array<Any>{1}), "<");
  CHECK_EQ(Order(Array<Any>{1, 2}, Array<Any>{1, 3}), "<");
  CHECK_EQ(Order(List<Any>{1, 2}, List<Any>{1, 2, 0}), "<");
  CHECK_EQ(Order(List<Any>{2}, List<Any>{1, 2, 3}), ">");
  CHECK_EQ(Order(Array<Any>{Array<Any>{1}, 2}, Array<Any>{Array<Any>{1}, 3}), "<");
  CHECK_EQ(Order(Shape{1, 2}, Shape{1, 3}), "<");
  CHECK_EQ(Order(Shape{1, 2}, Shape{1, 2, 0}), "<");
  CHECK_EQ(Order(Shape{2}, Shape{1, 2, 3}), ">");
  CHECK(Eq(Shape{1, 2}, Shape{1, 2}));
}

TEST_CASE("the first difference decides") {
  CHECK_EQ(Order(Array<Any>{1, 2}, Array<Any>{0, "a"}), ">");
  CHECK_EQ(Order(Array<Any>{1.0, 1}, Array<Any>{2.0, NAN}), "<");
  CHECK_EQ(Order(Array<Any>{1, 2}, Array<Any>{1, "a"}), Differ("int", "ffi.SmallStr"));
  CHECK_EQ(Order(Array<Any>{NAN, 1}, Array<Any>{NAN, 2}),
           "TypeError: cannot order values that contain NaN");
}

TEST_CASE("tables are equal in any order") {
  Map<Any, Any> map{{1, 2}, {"k", Array<Any>{3}}};
  CHECK(Eq(map, Map<Any, Any>{{"k", Array<Any>{3}}, {1, 2}}));
  CHECK(!Eq(map, Map<Any, Any>{{1, 2}}));
  CHECK(!Eq(map, Map<Any, Any>{{1, 2}, {"k", Array<Any>{4}}}));
  CHECK(!Eq(map, Map<Any, Any>{{1, 2}, {"l", Array<Any>{3}}}));
  CHECK(Eq(Dict<Any, Any>{{1, 2}}, Dict<Any, Any>{{1, 2}}));
  CHECK(Eq(Map<Any, Any>{}, Map<Any, Any>{}));
  CHECK(Eq(Map<Any, Any>{{NAN, NAN}}, Map<Any, Any>{{NAN, NAN}}));
  // Keys are found by look-up; objects other than strings by their address.
  Array<Any> key{1};
  CHECK(Eq(Map<Any, Any>{{key, 2}}, Map<Any, Any>{{key, 2}}));
  CHECK(!Eq(Map<Any, Any>{{key, 2}}, Map<Any, Any>{{Array<Any>{1}, 2}}));
}

TEST_CASE("tables cannot be ordered") {
  CHECK_EQ(Order(Map<Any, Any>{{1, 2}}, Map<Any, Any>{{1, 2}}), "=");
  CHECK_EQ(Order(Map<Any, Any>{{1, NAN}}, Map<Any, Any>{{1, NAN}}),
           "TypeError: cannot order values that contain NaN");
  CHECK_EQ(Order(Map<Any, Any>{{1, Array<Any>{1}}}, Map<Any, Any>{{1, Array<Any>{2}}}),
           "TypeError: cannot order Map or Dict values, because maps have no order");
  CHECK_EQ(Order(Map<Any, Any>{{1, 2}}, Map<Any, Any>{{1, 2}, {2, 2}}),
           "TypeError: cannot order Map or Dict values, because maps have no order");
  CHECK_EQ(Order(Map<Any, Any>{{1, 2}}, Map<Any, Any>{{1, 3}}),
           "TypeError: cannot order Map or Dict values, because maps have no order");
  CHECK_EQ(Order(Dict<Any, Any>{{1, 2}}, Dict<Any, Any>{{2, 2}}),
           "TypeError: cannot order Map or Dict values, because maps have no order");
  // The comparison continues after the table.
  CHECK_EQ(Order(Array<Any>{Map<Any, Any>{{1, 2}}, 1}, Array<Any>{Map<Any, Any>{{1, 2}}, 2}), "<");
  CHECK_EQ(Order(Array<Any>{Map<Any, Any>{{1, 2}}, 1}, Array<Any>{Map<Any, Any>{{1, 2}}, "a"}),
           Differ("int", "ffi.SmallStr"));
}

TEST_CASE("objects are compared by their fields") {
  CHECK(Eq(Make<RecordObj>(1, "a"), Make<RecordObj>(1, "a")));
  CHECK(!Eq(Make<RecordObj>(1, "a"), Make<RecordObj>(1, "b")));
  CHECK_EQ(Order(Make<RecordObj>(1, "b"), Make<RecordObj>(2, "a")), "<");
  CHECK_EQ(Order(Make<RecordObj>(1, Array<Any>{1}), Make<RecordObj>(1, Array<Any>{2})), "<");
  auto other = make_object<RecordObj>(1, "a");
  other->ignored = 5;
  CHECK(Eq(Make<RecordObj>(1, "a"), ObjectRef(ObjectPtr<Object>(other))));
  CHECK_EQ(Order(Make<RecordObj>(1, "a"), ObjectRef(ObjectPtr<Object>(other))), "=");
  other->not_hashed = 5;
  CHECK(!Eq(Make<RecordObj>(1, "a"), ObjectRef(ObjectPtr<Object>(other))));
  CHECK_EQ(Order(Make<RecordObj>(1, "a"), ObjectRef(ObjectPtr<Object>(other))), "<");
}

TEST_CASE("fields of ancestors come first") {
  auto late = make_object<ChildObj>(1);
  late->first = 2;
  CHECK_EQ(Order(Make<ChildObj>(9), ObjectRef(ObjectPtr<Object>(late))), "<");
  CHECK_EQ(Order(Make<ChildObj>(1), Make<ChildObj>(9)), "<");
  CHECK(!Eq(Make<ChildObj>(1), Make<ChildObj>(9)));
  CHECK(!Eq(Make<ChildObj>(0), Make<RecordObj>()));
  CHECK_EQ(Order(Make<ChildObj>(0), Make<RecordObj>()),
           Differ("test.compare.Child", "test.compare.Record"));
}

TEST_CASE("registered objects without fields are equal") {
  CHECK(Eq(Make<NoFieldsObj>(), Make<NoFieldsObj>()));
  CHECK_EQ(Order(Make<NoFieldsObj>(), Make<NoFieldsObj>()), "=");
}

TEST_CASE("opaque objects are equal only to themselves") {
  auto check = [](const Any& one, const Any& other, const char* type) {
    CHECK(Eq(one, one));
    CHECK(!Eq(one, other));
    CHECK(!Eq(Array<Any>{one}, Array<Any>{other}));
    CHECK_EQ(Order(one, one), "=");
    CHECK_EQ(Order(one, other), "TypeError: Cannot order values of type " + std::string(type));
  };
  auto function = [] { return Function::FromTyped([](int i) { return i; }); };
  check(function(), function(), "ffi.Function");
  check(Error("ValueError", "x", ""), Error("ValueError", "x", ""), "ffi.Error");
  check(Make<UnregisteredObj>(), Make<UnregisteredObj>(), "test.compare.Unregistered");
  check(Function::GetGlobalRequired("ffi.GetInvalidObject")(),
        Function::GetGlobalRequired("ffi.GetKwargsObject")(), "ffi.Object");
}

struct SharedData {
  void AllocData(DLTensor* tensor, float* data) { tensor->data = data; }
  void FreeData(DLTensor*) {}
};

// An array that crosses from another language gets a new tensor object each time.
TEST_CASE("tensors are equal if they view the same memory in the same way") {
  float data[6] = {};
  auto view = [](ShapeView shape, ShapeView strides, float* memory) -> Any {
    return Tensor::FromNDAllocStrided(SharedData(), shape, strides, DLDataType{kDLFloat, 32, 1},
                                      DLDevice{kDLCPU, 0}, memory);
  };
  Any tensor = view({2, 3}, {3, 1}, data);
  CHECK(Eq(tensor, view({2, 3}, {3, 1}, data)));
  CHECK_EQ(Order(tensor, view({2, 3}, {3, 1}, data)), "=");
  CHECK(!Eq(tensor, view({2, 3}, {1, 2}, data)));
  CHECK(!Eq(tensor, view({3, 2}, {3, 1}, data)));
  CHECK(!Eq(tensor, view({2}, {3}, data)));
  CHECK(!Eq(tensor, view({2, 3}, {3, 1}, data + 1)));
  CHECK(!Eq(tensor, Tensor::FromNDAlloc(SharedData(), {2, 3}, DLDataType{kDLInt, 32, 1},
                                        DLDevice{kDLCPU, 0}, data)));
}

TEST_CASE("wrappers are equal if they wrap the same value") {
  int wrapped[2] = {};
  auto wrap = [](void* handle) -> Any {
    TVMFFIObjectHandle out = nullptr;
    TVM_FFI_CHECK_SAFE_CALL(
        TVMFFIObjectCreateOpaque(handle, kTVMFFIOpaquePyObject, [](void*) {}, &out));
    return ObjectRef(
        details::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(out)));
  };
  CHECK(Eq(wrap(&wrapped[0]), wrap(&wrapped[0])));
  CHECK(!Eq(wrap(&wrapped[0]), wrap(&wrapped[1])));
}

TEST_CASE("hooks define the comparison") {
  CHECK(Eq(Make<LastDigitObj>(1), Make<LastDigitObj>(21)));
  CHECK(!Eq(Make<LastDigitObj>(1), Make<LastDigitObj>(2)));
  CHECK_EQ(Order(Make<LastDigitObj>(31), Make<LastDigitObj>(2)), "<");
  CHECK_EQ(Order(Array<Any>{Make<LastDigitObj>(1)}, Array<Any>{Make<LastDigitObj>(21)}), "=");
  CHECK_EQ(Order(Make<LargeResultObj>(1), Make<LargeResultObj>(2)), "<");
  CHECK_EQ(Thrown([] { Eq(Make<FailingObj>(1), Make<FailingObj>(2)); }), "KeyError: no order");
  CHECK_EQ(Thrown([] { Eq(Make<WrongHookObj>(1), Make<WrongHookObj>(2)); }).substr(0, 32),
           "TypeError: Cannot treat type `in");
}

TEST_CASE("an equality hook does not define an order") {
  CHECK(Eq(Make<EqOnlyObj>(1), Make<EqOnlyObj>(21)));
  CHECK_EQ(Order(Make<EqOnlyObj>(1), Make<EqOnlyObj>(21)), "<");
}

// In an equality test, children without an order only differ.
TEST_CASE("an order hook also defines equality") {
  CHECK(Eq(Make<ReversedObj>(1), Make<ReversedObj>(1)));
  CHECK(!Eq(Make<ReversedObj>(1), Make<ReversedObj>(2)));
  CHECK(!Eq(Make<ReversedObj>(1), Make<ReversedObj>("a")));
  CHECK(!Eq(Make<ReversedObj>(NAN), Make<ReversedObj>(1.0)));
  CHECK(Eq(Make<ReversedObj>(NAN), Make<ReversedObj>(NAN)));
  CHECK_EQ(Order(Make<ReversedObj>(1), Make<ReversedObj>(2)), ">");
  CHECK_EQ(Order(Make<ReversedObj>(1), Make<ReversedObj>("a")), Differ("ffi.SmallStr", "int"));
}

TEST_CASE("hooks do not see an object compared with itself") {
  Any failing = Make<FailingObj>(1);
  CHECK(Eq(failing, failing));
  CHECK_EQ(Order(Array<Any>{failing}, Array<Any>{failing}), "=");
}

List<Any> Cyclic(const Any& first, int period) {
  List<Any> head{first};
  List<Any> tail = head;
  for (int i = 1; i < period; ++i) {
    List<Any> next{first};
    tail.push_back(next);
    tail = next;
  }
  tail.push_back(head);
  return head;
}
// Cyclic lists keep themselves alive.
void BreakCycle(List<Any> list) {
  while (list.size() == 2) {
    List<Any> next = list[1].as_or_throw<List<Any>>();
    list.clear();
    list = next;
  }
}

TEST_CASE("cyclic values are equal if their infinite unrollings are") {
  List<Any> one = Cyclic(1, 1);
  List<Any> two = Cyclic(1, 2);
  List<Any> three = Cyclic(1, 3);
  List<Any> other = Cyclic(2, 2);
  CHECK(Eq(one, two));
  CHECK(Eq(two, three));
  CHECK(!Eq(one, other));
  CHECK_EQ(Order(one, other), "<");
  CHECK_EQ(Order(one, two),
           "ValueError: RecursiveCompare: cannot order a value that contains itself");
  CHECK_EQ(Order(one, one), "=");
  CHECK_EQ(Order(Map<Any, Any>{{1, one}}, Map<Any, Any>{{1, two}}),
           "ValueError: RecursiveCompare: cannot order a value that contains itself");
  Any node = Make<NestedObj>(one);
  CHECK(Eq(node, Make<NestedObj>(two)));
  CHECK_EQ(Order(node, Make<NestedObj>(two)),
           "ValueError: RecursiveCompare: cannot order a value that contains itself");
  for (const List<Any>& list : {one, two, three, other}) BreakCycle(list);
}

TEST_CASE("shared children are compared once") {
  CHECK(Eq(Doubled(60, 1), Doubled(60, 1)));
  CHECK_EQ(Order(Doubled(60, 1), Doubled(60, 1)), "=");
  CHECK_EQ(Order(Doubled(60, 1), Doubled(60, 2)), "<");
  auto nested = [](const Any& value) { return Make<NestedObj>(List<Any>{value, value}); };
  Any lhs = 1;
  Any rhs = 1;
  for (int i = 0; i < 60; ++i) {
    lhs = nested(lhs);
    rhs = nested(rhs);
  }
  CHECK(Eq(lhs, rhs));
  CHECK_EQ(Order(lhs, rhs), "=");
}

// Results inside a hook that found a difference, or equality only among its own objects, must not
// be reused later.
TEST_CASE("results of hooks are discarded with a difference") {
  List<Any> a{1};
  List<Any> b{2};
  Any lhs = Make<AnyOfObj>(Array<Any>{Array<Any>{a}, 0});
  Any rhs = Make<AnyOfObj>(Array<Any>{Array<Any>{b}, 0});
  CHECK(Eq(lhs, rhs));
  CHECK(!Eq(Array<Any>{lhs, a}, Array<Any>{rhs, b}));
  CHECK(!Eq(Array<Any>{lhs, Array<Any>{a}}, Array<Any>{rhs, Array<Any>{b}}));

  List<Any> x{1};
  List<Any> y{1};
  Any negated = Make<NegatedObj>(x);
  CHECK(!Eq(negated, Make<NegatedObj>(y)));
  CHECK(Eq(Make<NegatedObj>(a), Make<NegatedObj>(b)));
  CHECK(!Eq(Array<Any>{Make<NegatedObj>(a), a}, Array<Any>{Make<NegatedObj>(b), b}));
}

TEST_CASE("a hook may change the values during a comparison") {
  auto fill = [](List<Any> list) {
    for (int i = 0; i < 3; ++i) list.push_back(Make<MeddlingObj>(list));
  };
  List<Any> lhs;
  List<Any> rhs;
  fill(lhs);
  fill(rhs);
  // The left list is empty after its first element, so the right one is longer.
  CHECK_EQ(RecursiveLt(lhs, rhs), true);
  rhs.clear();
}

TEST_CASE("the function passed to a hook expires with the comparison") {
  CHECK(Eq(Make<KeepingObj>(1), Make<KeepingObj>(2)));
  CHECK_EQ(
      Thrown([] { Kept()(1, 1); }),
      "RuntimeError: the function that was passed to a hook was called after the operation that "
      "called the hook had ended");
  Kept() = AreEqual();
}

TEST_CASE("deep nesting needs no machine stack") {
  auto record = [](const Any& value) { return Make<RecordObj>(1, Array<Any>{value}); };
  Nested lhs(20000, 1, record);
  Nested rhs(20000, 1, record);
  Nested greater(20000, 2, record);
  CHECK(RecursiveEq(lhs.value(), rhs.value()));
  CHECK(!RecursiveLt(lhs.value(), rhs.value()));
  CHECK(RecursiveLt(lhs.value(), greater.value()));
}

TEST_CASE("nesting is limited") {
  Nested nested(1048578, 1, InList);
  // Each list is compared with the list inside it.
  Any inner = nested.value().as_or_throw<List<Any>>()[0];
  CHECK_EQ(Thrown([&] { RecursiveEq(nested.value(), inner); }),
           "ValueError: RecursiveCompare: the value is nested deeper than 1048576 levels");
}

TEST_CASE("hooks nest until the machine stack is used up") {
  auto nested = [](const Any& part) { return Make<NestedObj>(part); };
  Nested some(200, 1, nested);
  Nested greater(200, 2, nested);
  CHECK_EQ(Order(some.value(), greater.value()), "<");
  Nested lhs(10000, 1, nested);
  Nested rhs(10000, 1, nested);
  std::string error;
  OnSmallStack([&] { error = Thrown([&] { RecursiveEq(lhs.value(), rhs.value()); }); });
  CHECK_EQ(error.substr(0, 29), "ValueError: RecursiveCompare:");
  CHECK(error.find("the machine stack has no room for more than ") != std::string::npos);
}

TEST_CASE("global functions") {
  auto call = [](const char* name, const Any& lhs, const Any& rhs) {
    return Function::GetGlobalRequired(name)(lhs, rhs).cast<bool>();
  };
  CHECK(call("ffi.RecursiveEq", 1, 1));
  CHECK(!call("ffi.RecursiveEq", 1, 2));
  CHECK(call("ffi.RecursiveLt", 1, 2));
  CHECK(!call("ffi.RecursiveLt", 2, 2));
  CHECK(call("ffi.RecursiveLe", 2, 2));
  CHECK(!call("ffi.RecursiveLe", 3, 2));
  CHECK(call("ffi.RecursiveGt", 3, 2));
  CHECK(!call("ffi.RecursiveGt", 2, 2));
  CHECK(call("ffi.RecursiveGe", 2, 2));
  CHECK(!call("ffi.RecursiveGe", 1, 2));
  CHECK(Function::GetGlobalRequired("ffi.RecursiveEq")("short", "short").cast<bool>());
}

TEST_CASE("hooks of big integers") {
  refl::TypeAttrColumn eq(type_attr::kEq);
  refl::TypeAttrColumn compare(type_attr::kCompare);
  BigInt big = BigInt(1) << 64;
  CHECK(eq[kTVMFFIBigInt].cast<Function>()(big, big, nullptr).cast<bool>());
  CHECK_EQ(compare[kTVMFFIBigInt].cast<Function>()(big, -big, nullptr).cast<int>(), 1);
  CHECK_EQ(compare[kTVMFFIBigInt].cast<Function>()(5, big, nullptr).cast<int>(), -1);
}

}  // namespace
