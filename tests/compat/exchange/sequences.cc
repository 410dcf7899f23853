// SPDX-License-Identifier: Apache-2.0
// Arrays and lists: created by one library, grown and changed by the other, read by both.
//
// A script consists of numbers; phase n changes the result of phase n - 1.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/rvalue_ref.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "numbered.h"
#include "random.h"

namespace exchange {

using namespace tvm::ffi;
using AnyArray = Array<Any>;
using AnyList = List<Any>;

// The expected content of a sequence: the numbers of its values.
class Numbers {
 public:
  void push_back(int64_t number) { numbers.push_back(number); }
  void insert_at(int64_t i, int64_t number) { numbers.insert(numbers.begin() + i, number); }
  void erase_at(int64_t i) { numbers.erase(numbers.begin() + i); }
  void pop_back() { numbers.pop_back(); }
  void set(int64_t i, int64_t number) { numbers[static_cast<size_t>(i)] = number; }
  int64_t size() const { return static_cast<int64_t>(numbers.size()); }

  std::vector<int64_t> numbers;
};

template <typename Ref>
class Values {
 public:
  explicit Values(Ref* ref) : ref_(ref) {}
  void push_back(int64_t number) { ref_->push_back(ValueOf(number)); }
  void insert_at(int64_t i, int64_t number) { ref_->insert(ref_->begin() + i, ValueOf(number)); }
  void erase_at(int64_t i) { ref_->erase(ref_->begin() + i); }
  void pop_back() { ref_->pop_back(); }
  void set(int64_t i, int64_t number) { ref_->Set(i, ValueOf(number)); }
  int64_t size() const { return static_cast<int64_t>(ref_->size()); }

 private:
  Ref* ref_;
};

template <typename Target>
void RunPhase(Target* target, int64_t phase, int64_t size) {
  Random random(static_cast<uint64_t>(phase + 1));
  int64_t goal = phase % 2 == 0 ? size : 2 * size + 3;
  for (int64_t i = 0; i < std::min<int64_t>(size, 1000); ++i) {
    int64_t number = random.Below(1000);
    int64_t at = random.Below(target->size() + 1);
    switch (at == target->size() ? 0 : random.Below(4)) {
      case 0:
        target->insert_at(at, number);
        break;
      case 1:
        target->erase_at(at);
        break;
      case 2:
        target->set(at, number);
        break;
      default:
        target->push_back(number);
    }
  }
  while (target->size() < goal) target->push_back(random.Below(1000));
  while (target->size() > goal) target->pop_back();
}

template <typename Ref>
Ref Change(Ref ref, int64_t phase, int64_t size) {
  Values<Ref> values(&ref);
  RunPhase(&values, phase, size);
  return ref;
}

template <typename Ref>
Ref MakeSequence(Any, int64_t phase, int64_t size) {
  Ref ref;
  for (int64_t i = 0; i <= phase; ++i) ref = Change(std::move(ref), i, size);
  return ref;
}

template <typename Ref>
Ref CheckSequence(Ref ref, int64_t phase, int64_t size) {
  Numbers expected;
  for (int64_t i = 0; i <= phase; ++i) RunPhase(&expected, i, size);
  CHECK_EQ(ref.size(), expected.numbers.size());
  CHECK(ref.capacity() >= ref.size());
  for (int64_t i = 0; i < expected.size(); ++i) {
    CHECK(IsValueOf(ref[i], expected.numbers[static_cast<size_t>(i)]));
  }
  return ref;
}

// ---- Array --------------------------------------------------------------------------------------

AnyArray ChangeCopyOfArray(AnyArray array, int64_t phase, int64_t size) {
  AnyArray changed = Change(array, phase, size);
  CheckSequence(array, phase - 1, size);
  return changed;
}
AnyArray ChangeOwnArray(RValueRef<AnyArray> moved, int64_t phase, int64_t size) {
  AnyArray array = *std::move(moved);
  CHECK(array.unique());
  return Change(std::move(array), phase, size);
}
// Data pointer, size, capacity and deleter, read at the offsets of the contract.
AnyArray CheckArrayMemory(AnyArray array) {
  const char* object = reinterpret_cast<const char*>(array.get());
  const TVMFFISeqCell* cell = reinterpret_cast<const TVMFFISeqCell*>(object + 24);
  CHECK(cell->data == object + 56);
  CHECK(cell->data_deleter == nullptr);
  CHECK_EQ(cell->size, static_cast<int64_t>(array.size()));
  CHECK_EQ(cell->capacity, static_cast<int64_t>(array.capacity()));
  return array;
}
// Returns the capacities that an array has while elements are appended one by one.
Array<int64_t> MakeCapacities(Any, int64_t size) {
  Array<int64_t> grown;
  Array<int64_t> capacities;
  for (int64_t i = 0; i < size; ++i) {
    grown.push_back(i);
    capacities.push_back(static_cast<int64_t>(grown.capacity()));
  }
  return capacities;
}
void CheckCapacities(Array<int64_t> capacities, int64_t size) {
  Array<int64_t> own = MakeCapacities(nullptr, size);
  CHECK_EQ(capacities.size(), own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    CHECK_EQ(capacities[static_cast<int64_t>(i)], own[static_cast<int64_t>(i)]);
  }
}
// The result shares the elements of the argument instead of copying them, if their types match.
Array<String> CheckStrings(Array<String> texts) {
  CHECK_EQ(texts.size(), size_t{2});
  CHECK_EQ(texts[0], "short");
  CHECK_EQ(texts[1], "a text that is not short");
  return texts;
}
Array<Any> MakeStrings(Any) { return {String("short"), String("a text that is not short")}; }

Array<Any> MakeNested(Any, int64_t depth) {
  Array<Any> nested;
  for (int64_t i = 0; i < depth; ++i) nested = Array<Any>{nested, i};
  return nested;
}
void CheckNested(Array<Any> nested, int64_t depth) {
  for (int64_t i = depth; i > 0; --i) {
    CHECK_EQ(nested.size(), size_t{2});
    CHECK_EQ(nested[1].cast<int64_t>(), i - 1);
    nested = nested[0].cast<Array<Any>>();
  }
  CHECK(nested.empty());
}

// ---- List ---------------------------------------------------------------------------------------

AnyList& RememberedList() {
  static AnyList* list = new AnyList(UnsafeInit{});
  return *list;
}
AnyList MakeRememberedList(Any, int64_t phase, int64_t size) {
  RememberedList() = MakeSequence<AnyList>(nullptr, phase, size);
  return RememberedList();
}
AnyList ChangeList(AnyList list, int64_t phase, int64_t size) {
  AnyList changed = Change(list, phase, size);
  CHECK(changed.same_as(list));
  return changed;
}
AnyList CheckRememberedList(AnyList list, int64_t phase, int64_t size) {
  CHECK(list.same_as(RememberedList()));
  CheckSequence(RememberedList(), phase, size);
  RememberedList() = AnyList(UnsafeInit{});
  return list;
}
AnyList MakeEmptyList(Any) { return AnyList(); }
AnyList ReserveAndClear(AnyList list) {
  list.reserve(100);
  list.push_back(1);
  list.clear();
  CHECK(list.empty());
  return list;
}
// The list is converted to an array, so that the other library's list is unchanged.
Array<int64_t> TakeAsArray(Array<int64_t> array) {
  array.push_back(4);
  return array;
}
List<int64_t> MakeIntList(Any) { return {1, 2, 3}; }
void CheckIntArray(Array<int64_t> array) {
  CHECK_EQ(array.size(), size_t{4});
  for (int64_t i = 0; i < 4; ++i) CHECK_EQ(array[i], i + 1);
}

// ---- Tuple --------------------------------------------------------------------------------------

using Sample = Tuple<int64_t, String, Array<double>>;

Sample MakeTuple(Any) { return Sample(1, "one", Array<double>{1.0, 0.5}); }
Sample ChangeTuple(RValueRef<Sample> moved) {
  Sample tuple = *std::move(moved);
  CHECK_EQ(tuple.get<0>(), 1);
  CHECK_EQ(tuple.get<1>(), "one");
  CHECK_EQ(tuple.get<2>()[1], 0.5);
  tuple.Set<1>("a name of another length");
  return tuple;
}
void CheckTuple(Sample tuple) {
  CHECK_EQ(tuple.get<0>(), 1);
  CHECK_EQ(tuple.get<1>(), "a name of another length");
  CHECK_EQ(tuple.get<2>().size(), size_t{2});
}

// ---- Standard containers, converted from and to arrays and maps
// ----------------------------------

using Table = std::map<std::string, std::vector<int64_t>>;

Table MakeTable(Any) { return {{"evens", {0, 2, 4}}, {"a longer key", {}}}; }
void CheckTable(Table table) {
  CHECK_EQ(table.size(), size_t{2});
  CHECK_EQ(table["evens"].size(), size_t{3});
  CHECK_EQ(table["evens"][2], 4);
  CHECK(table["a longer key"].empty());
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_array, exchange::MakeSequence<exchange::AnyArray>)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_array, exchange::CheckSequence<exchange::AnyArray>)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_array_memory, exchange::CheckArrayMemory)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(change_copy_of_array, exchange::ChangeCopyOfArray)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(change_own_array, exchange::ChangeOwnArray)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_capacities, exchange::MakeCapacities)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_capacities, exchange::CheckCapacities)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_strings, exchange::MakeStrings)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_strings, exchange::CheckStrings)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_nested, exchange::MakeNested)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_nested, exchange::CheckNested)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_list, exchange::MakeRememberedList)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_list, exchange::CheckSequence<exchange::AnyList>)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(change_list, exchange::ChangeList)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_remembered_list, exchange::CheckRememberedList)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_empty_list, exchange::MakeEmptyList)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(reserve_and_clear, exchange::ReserveAndClear)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_int_list, exchange::MakeIntList)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(take_as_array, exchange::TakeAsArray)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_int_array, exchange::CheckIntArray)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_tuple, exchange::MakeTuple)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(change_tuple, exchange::ChangeTuple)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_tuple, exchange::CheckTuple)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_table, exchange::MakeTable)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_table, exchange::CheckTable)
