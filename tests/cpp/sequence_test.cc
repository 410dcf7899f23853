// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

template <typename Seq>
std::string Text(const Seq& items) {
  std::string text;
  for (auto item : items) text += std::to_string(item) + " ";
  return text;
}

TEST_CASE("array copies on write") {
  Array<int> a = {1, 2, 3};
  Array<int> b = a;
  b.push_back(4);
  CHECK_EQ(Text(a), "1 2 3 ");
  CHECK_EQ(Text(b), "1 2 3 4 ");
  CHECK_EQ(Array<int>().capacity(), 4u);
  b.insert(b.begin(), 0);
  b.insert(b.begin() + 1, b.begin(), b.end());
  CHECK_EQ(Text(b), "0 0 1 2 3 4 1 2 3 4 ");
  b.erase(b.begin() + 1, b.begin() + 6);
  CHECK_EQ(Text(b), "0 1 2 3 4 ");
  b.Set(0, 9);
  b.pop_back();
  b.resize(3);
  CHECK_EQ(Text(b), "9 1 2 ");
  CHECK_EQ(Text(Array<int>(b.rbegin(), b.rend())), "2 1 9 ");
  Array<int> no_items;
  List<int> no_list_items;
  CHECK(no_items.rbegin() == no_items.rend());
  CHECK(no_list_items.rbegin() == no_list_items.rend());
}

TEST_CASE("ranges of bool") {
  const bool flags[] = {true, false, true};
  std::vector<bool> packed(flags, flags + 3);
  for (const Array<bool>& array :
       {Array<bool>(flags, flags + 3), Array<bool>(packed.begin(), packed.end()),
        Array<bool>(packed), Array<bool>{true, false, true}}) {
    CHECK_EQ(Text(array), "1 0 1 ");
  }
  List<bool> list(flags, flags + 3);
  list.insert(list.begin(), packed.begin(), packed.end());
  CHECK_EQ(Text(list), "1 0 1 1 0 1 ");
  list.Assign(packed.begin(), packed.end());
  CHECK_EQ(Text(list), "1 0 1 ");
}

TEST_CASE("a map function that changes nothing keeps the object") {
  Array<int> a = {1, 2};
  CHECK(a.Map([](int x) { return x; }).same_as(a));
  CHECK_EQ(Text(a.Map([](int x) { return x + 1; })), "2 3 ");
  CHECK_EQ(Text(Concat(a, a)), "1 2 1 2 ");
}

TEST_CASE("list is shared and grows") {
  List<int> a;
  CHECK_EQ(a.capacity(), 0u);
  List<int> b = a;
  for (int i = 0; i < 5; ++i) b.push_back(i);
  CHECK_EQ(Text(a), "0 1 2 3 4 ");
  CHECK_EQ(a.capacity(), 8u);
  a.Assign(a.rbegin(), a.rend());
  CHECK_EQ(Text(b), "4 3 2 1 0 ");
  b.clear();
  CHECK(a.empty());
}

TEST_CASE("invalid access is an error") {
  Array<int> a = {1};
  CHECK_EQ(Thrown([&] { a[1]; }), "IndexError: Index 1 out of bounds 1");
  CHECK_EQ(Thrown([&] { a[-1]; }), "IndexError: Index -1 out of bounds 1");
  CHECK_EQ(Thrown([&] { a.erase(a.begin(), a.begin() + 2); }),
           "IndexError: Erase range [0, 2) out of bounds 1");
  CHECK_EQ(Thrown([&] { a.resize(-1); }), "ValueError: cannot resize an Array to negative size");
  CHECK_EQ(Thrown([] { Array<int>(-1, 0); }),
           "ValueError: cannot construct an Array of negative size");
  CHECK_EQ(Thrown([] { Array<int>().front(); }), "IndexError: front() on empty sequence");
  CHECK_EQ(Thrown([] { List<int>().pop_back(); }), "IndexError: pop_back on empty sequence");
  Array<int> null(UnsafeInit{});
  CHECK_EQ(Thrown([&] { null[0]; }), "IndexError: cannot index a null array");
  CHECK_EQ(Thrown([&] { null.push_back(1); }), "RuntimeError: cannot insert a null array");
}

TEST_CASE("elements of the sequence itself can be appended") {
  List<Any> list = {String("a text on the heap")};
  Array<Any> array = {String("a text on the heap")};
  for (int i = 0; i < 9; ++i) {  // reallocates several times
    list.push_back(list.GetListObj()->front());
    array.push_back(array.GetArrayObj()->front());
  }
  CHECK_EQ(list.size(), 10u);
  CHECK_EQ(list.back().cast<String>(), "a text on the heap");
  CHECK_EQ(array.size(), 10u);
  CHECK_EQ(array.back().cast<String>(), "a text on the heap");
}

// Regression: the elements were written past the end of the memory block.
TEST_CASE("an array is not copied or moved into too little capacity") {
  Array<int> array = {1, 2, 3};
  for (int64_t capacity : {int64_t{2}, int64_t{0}, int64_t{-1}, INT64_MIN}) {
    std::string message =
        "ValueError: a capacity of " + std::to_string(capacity) + " is too small for 3 elements";
    CHECK_EQ(Thrown([&] { ArrayObj::CopyFrom(capacity, array.get()); }), message);
    CHECK_EQ(Thrown([&] { ArrayObj::MoveFrom(capacity, array.GetArrayObj()); }), message);
  }
  CHECK_EQ(Text(array), "1 2 3 ");
  CHECK_EQ(ArrayObj::CopyFrom(3, array.get())->size(), 3u);
}

TEST_CASE("elements convert") {
  Array<Any> mixed = {1, true};
  Array<int> ints = Any(mixed).cast<Array<int>>();
  CHECK(!ints.same_as(mixed));
  CHECK_EQ(Text(ints), "1 1 ");
  CHECK(Any(Array<Any>{1, 2}).cast<Array<int>>().size() == 2);
  CHECK_EQ(Text(Any(List<int>{1, 2}).cast<Array<double>>()), "1.000000 2.000000 ");
  CHECK_EQ(Thrown([] { Any(Array<Any>{1, "x"}).cast<Array<int>>(); }),
           "TypeError: Cannot convert from type `Array[index 1: ffi.SmallStr]` to `Array<int>`");
  Array<Any> widened = ints;
  CHECK(widened.same_as(ints));
  CHECK_EQ(TypeTraits<Array<Array<String>>>::TypeStr(), "Array<Array<str>>");
  CHECK_EQ(TypeTraits<List<Any>>::TypeSchema(), R"({"type":"ffi.List","args":[{"type":"Any"}]})");
}

TEST_CASE("shape is constructed from all sources") {
  Shape shape = {2, 3, 4};
  CHECK_EQ(shape.Product(), 24);
  CHECK_EQ(Text(Shape::StridesFromShape(shape)), "12 4 1 ");
  // Computed in unsigned arithmetic, where overflow is defined.
  CHECK_EQ(Text(Shape::StridesFromShape(Shape{int64_t{1} << 40, int64_t{1} << 40, 0, 2})),
           "0 0 2 1 ");
  CHECK_EQ(Text(Shape::StridesFromShape(Shape{2, int64_t{1} << 40, int64_t{1} << 40})),
           "0 1099511627776 1 ");
  CHECK_EQ(Text(Shape(std::vector<int64_t>{5, 6})), "5 6 ");
  CHECK_EQ(Text(Shape(Array<int64_t>{7})), "7 ");
  CHECK_EQ(Text(Any(Array<int>{8, 9}).cast<Shape>()), "8 9 ");
  CHECK_EQ(Shape().Product(), 1);
  CHECK_EQ(Thrown([&] { shape.at(3); }), "IndexError: indexing 3 on a Shape of size 3");
  CHECK_EQ(Thrown([&] { TVM_FFI_THROW(E) << shape; }), "E: [2, 3, 4]");
}

class CountObj : public Object {
 public:
  int64_t count;
  explicit CountObj(int64_t count) : count(count) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.sequence.Count", CountObj, Object);
};
class Count : public ObjectRef {
 public:
  explicit Count(int64_t count) : ObjectRef(ObjectPtr<Object>(make_object<CountObj>(count))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Count, ObjectRef, CountObj);
};

TEST_CASE("a map function may take elements by value, reference or move") {
  Array<Count> a = {Count(1), Count(2)};
  CHECK(a.Map([](Count&& x) { return std::move(x); }).same_as(a));
  CHECK(a.Map([](Count x) { return x; }).same_as(a));
  CHECK_EQ(Text(a.Map([](const Count& x) { return x->count + 1; })), "2 3 ");
  CHECK_EQ(Text(Array<String>{"a", "bcd"}.Map(&String::size)), "1 3 ");
  // The element type may widen (Array<int> to Array<Any>) without a copy.
  Array<ObjectRef> refs = a.Map([](Count x) -> ObjectRef { return x; });
  CHECK(refs.get() == a.get());
  Array<Count> changed = a.Map([](Count x) { return x->count == 2 ? Count(3) : x; });
  CHECK((changed[0].same_as(a[0]) && changed[1]->count == 3 && a[1]->count == 2));
}

TEST_CASE("elements of an unshared array are changed in place") {
  Array<Count> a = {Count(1), Count(2)};
  const ArrayObj* object = a.get();
  bool unique = true;
  a.MutateByApply([&](Count&& x) {
    unique = unique && x.unique();
    return Count(x->count + 1);
  });
  CHECK((unique && a.get() == object && a[0]->count == 2 && a[1]->count == 3));
  Array<Count> shared = a;
  a.MutateByApply([&](Count x) {
    unique = x.unique();
    return Count(9);
  });
  CHECK((!unique && shared.get() == object && shared[0]->count == 2 && a[1]->count == 9));
  CHECK_EQ(
      Thrown([&] { a.MutateByApply([](Count) -> Count { TVM_FFI_THROW(ValueError) << "no"; }); }),
      "ValueError: no");
  CHECK_EQ(Thrown([&] { a[0]; }), "IndexError: cannot index a null array");
}

TEST_CASE("lists of one value, copies of dicts") {
  ObjectPtr<ListObj> list = ListObj::CreateRepeated(3, Any(7));
  CHECK((list->size() == 3 && list->at(2).cast<int>() == 7));
  Dict<String, int> dict = {{"a", 1}};
  Dict<String, int> copy(DictObj::ShallowCopy(dict.get()));
  copy.Set("a", 2);
  CHECK_EQ(dict.at("a"), 1);
}

}  // namespace
