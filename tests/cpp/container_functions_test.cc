// SPDX-License-Identifier: Apache-2.0
// Global functions for containers, through which languages without headers use them.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/function.h>

#include <cstdlib>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

Function Global(const char* name) { return Function::GetGlobalRequired(name); }

std::string Show(const List<int>& list) {
  std::string text;
  for (int element : list) text += std::to_string(element) + " ";
  return text;
}

TEST_CASE("array functions read and slice sequences") {
  auto array = Global("ffi.Array")(1, "text").cast<Array<Any>>();
  CHECK_EQ(Global("ffi.ArraySize")(array).cast<int>(), 2);
  CHECK_EQ(Global("ffi.ArrayGetItem")(array, 1).cast<std::string>(), "text");
  CHECK(Global("ffi.ArrayContains")(array, "text").cast<bool>());
  CHECK(!Global("ffi.ArrayContains")(array, 1.0).cast<bool>());
  CHECK_EQ(Thrown([&] { Global("ffi.ArrayGetItem")(array, 2); }),
           "IndexError: Index 2 out of bounds 2");
  CHECK_EQ(Thrown([&] { Global("ffi.ArrayGetItem")(array, -1); }),
           "IndexError: Index -1 out of bounds 2");
  CHECK_EQ(Global("ffi.ListSize")(Global("ffi.List")()).cast<int>(), 0);
}

TEST_CASE("list functions change the list in place") {
  List<int> list = {1, 2, 3};
  Global("ffi.ListSetItem")(list, 0, 7);
  Global("ffi.ListAppend")(list, 4);
  Global("ffi.ListInsert")(list, 4, 5);
  CHECK_EQ(Show(list), "7 2 3 4 5 ");
  CHECK_EQ(Global("ffi.ListPop")(list, 1).cast<int>(), 2);
  Global("ffi.ListErase")(list, 0);
  CHECK_EQ(Show(list), "3 4 5 ");
  Global("ffi.ListAppend")(list, 6);
  CHECK_EQ(Global("ffi.ListPop")(list, -1).cast<int>(), 6);
  Global("ffi.ListReverse")(list);
  Global("ffi.ListEraseRange")(list, 1, 2);
  CHECK_EQ(Show(list), "5 3 ");
  Global("ffi.ListReplaceSlice")(list, 1, 1, list);
  CHECK_EQ(Show(list), "5 5 3 3 ");
  Global("ffi.ListClear")(list);
  CHECK_EQ(Show(list), "");
}

TEST_CASE("list functions reject indices out of bounds") {
  List<int> list = {1, 2, 3};
  CHECK_EQ(Thrown([&] { Global("ffi.ListSetItem")(list, 3, 1); }),
           "IndexError: Index 3 out of bounds 3");
  CHECK_EQ(Thrown([&] { Global("ffi.ListInsert")(list, -1, 1); }),
           "IndexError: Index -1 out of bounds [0, 3]");
  CHECK_EQ(Thrown([&] { Global("ffi.ListPop")(list, 4); }), "IndexError: Index 4 out of bounds 3");
  CHECK_EQ(Thrown([&] { Global("ffi.ListPop")(list, -4); }),
           "IndexError: Index -4 out of bounds 3");
  CHECK_EQ(Thrown([&] { Global("ffi.ListErase")(list, -1); }),
           "IndexError: Index -1 out of bounds 3");
  CHECK_EQ(Thrown([&] { Global("ffi.ListEraseRange")(list, 2, 1); }),
           "IndexError: Erase range [2, 1) out of bounds 3");
  CHECK_EQ(Thrown([&] { Global("ffi.ListReplaceSlice")(list, 0, 9, list); }),
           "IndexError: Erase range [0, 9) out of bounds 3");
  CHECK_EQ(Show(list), "1 2 3 ");
}

// Looks up the object for missing keys, once per process, so this test comes before other look-ups.
// Cause: the object was requested under the guard of a static variable.
TEST_CASE("the function that returns the missing object may be reentrant") {
  Function original = Global("ffi.GetInvalidObject");
  static int calls = 0;
  Map<Any, Any> map;
  auto comes_back = [original, map] {
    if (++calls == 1) Global("ffi.MapGetItemOrMissing")(map, 3);
    return original();
  };
  Function::SetGlobal("ffi.GetInvalidObject", Function::FromTyped(comes_back), true);
  Any missing = Global("ffi.MapGetItemOrMissing")(map, 3);
  Function::SetGlobal("ffi.GetInvalidObject", original, true);
  CHECK(missing.same_as(original()));
  CHECK_EQ(calls, 2);
}

// Cause: the index was converted to an iterator first, whose address overflows for 2^60 elements of
// 16 bytes.
TEST_CASE("list functions reject indices whose address overflows") {
  List<int> list = {1, 2, 3};
  constexpr int64_t kRound = int64_t{1} << 60;
  for (int64_t i : {kRound, kRound + 1, 1 - kRound, INT64_MAX, INT64_MIN}) {
    std::string index = std::to_string(i);
    CHECK_EQ(Thrown([&] { Global("ffi.ListErase")(list, i); }),
             "IndexError: Index " + index + " out of bounds 3");
    CHECK_EQ(Thrown([&] { Global("ffi.ListPop")(list, i); }),
             "IndexError: Index " + index + " out of bounds 3");
    CHECK_EQ(Thrown([&] { Global("ffi.ListSetItem")(list, i, 9); }),
             "IndexError: Index " + index + " out of bounds 3");
    CHECK_EQ(Thrown([&] { Global("ffi.ListInsert")(list, i, 9); }),
             "IndexError: Index " + index + " out of bounds [0, 3]");
    CHECK_EQ(Thrown([&] { Global("ffi.ListEraseRange")(list, i, i); }),
             "IndexError: Erase range [" + index + ", " + index + ") out of bounds 3");
    CHECK_EQ(Thrown([&] { Global("ffi.ListReplaceSlice")(list, i, i, list); }),
             "IndexError: Erase range [" + index + ", " + index + ") out of bounds 3");
  }
  CHECK_EQ(Show(list), "1 2 3 ");
}

TEST_CASE("map functions") {
  auto map = Global("ffi.Map")("a", 1, 2, "b").cast<Map<Any, Any>>();
  CHECK_EQ(Global("ffi.MapSize")(map).cast<int>(), 2);
  CHECK_EQ(Global("ffi.MapCount")(map, "a").cast<int>(), 1);
  CHECK_EQ(Global("ffi.MapGetItem")(map, 2).cast<std::string>(), "b");
  CHECK_EQ(Thrown([&] { Global("ffi.MapGetItem")(map, 3); }), "KeyError: key is not in Map");
  Any missing = Global("ffi.MapGetItemOrMissing")(map, 3);
  CHECK(missing.same_as(Global("ffi.GetInvalidObject")()));
  CHECK_EQ(Thrown([] { Global("ffi.Map")(1); }),
           "InternalError: Check failed: args.size() % 2 == 0 (1 vs. 0) : ");
  auto dict = Global("ffi.Dict")().cast<Dict<Any, Any>>();
  Global("ffi.DictSetItem")(dict, "k", 5);
  CHECK_EQ(Global("ffi.DictGetItem")(dict, "k").cast<int>(), 5);
  Global("ffi.DictErase")(dict, "none");
  Global("ffi.DictErase")(dict, "k");
  CHECK_EQ(Global("ffi.DictSize")(dict).cast<int>(), 0);
  Global("ffi.DictSetItem")(dict, "k", 5);
  Global("ffi.DictClear")(dict);
  CHECK_EQ(Global("ffi.DictCount")(dict, "k").cast<int>(), 0);
}

TEST_CASE("a map iterator walks over a map") {
  std::string seen;
  auto walk = Global("ffi.MapForwardIterFunctor")(Map<int, int>{{1, 2}, {3, 4}}).cast<Function>();
  do {  // the iterator keeps the map alive
    seen += std::to_string(walk(0).cast<int>()) + ":" + std::to_string(walk(1).cast<int>()) + " ";
  } while (walk(2).cast<bool>());
  CHECK_EQ(seen, "1:2 3:4 ");
  CHECK_EQ(walk(2).cast<bool>(), false);
  CHECK_EQ(Thrown([&] { walk(0); }),
           "IndexError: the map iterator is at the end and has no current pair");
}

TEST_CASE("a dict iterator walks over a dict that changes") {
  Dict<int, int> dict;
  for (int i = 0; i < 3; ++i) dict.Set(i, i);
  auto walk = Global("ffi.DictForwardIterFunctor")(dict).cast<Function>();
  for (int i = 3; i < 1000; ++i) dict.Set(i, i);  // is relocated several times
  int count = 1;
  while (walk(2).cast<bool>()) count += walk(0).cast<int>() == count;
  CHECK_EQ(count, 1000);
  auto other = Global("ffi.DictForwardIterFunctor")(dict).cast<Function>();
  dict.erase(0);
  CHECK_EQ(other(1).cast<int>(), 0);
  CHECK_EQ(Thrown([&] { other(2); }),
           "RuntimeError: the map changed during iteration: its current key was removed");
}

struct AllocatesNothing {
  void AllocData(DLTensor* tensor) { tensor->data = nullptr; }
  void FreeData(DLTensor*) {}
};

TEST_CASE("device of nested tensors") {
  Function find = Global("ffi.ContainerFindFirstNonCPUDevice");
  auto on = [](DLDeviceType type, int id) {
    return Tensor::FromNDAlloc(AllocatesNothing(), Shape{0}, DLDataType{kDLFloat, 32, 1},
                               DLDevice{type, id});
  };
  Tensor cpu = on(kDLCPU, 0);
  List<Any> cycle = {cpu};
  cycle.push_back(cycle);
  CHECK_EQ(find(cycle).cast<DLDevice>().device_type, kDLCPU);
  cycle.push_back(Map<Any, Any>{{on(kDLCUDA, 9), Array<Any>{on(kDLCUDA, 3), on(kDLCUDA, 4)}}});
  CHECK_EQ(find(cycle).cast<DLDevice>().device_type, kDLCUDA);
  CHECK_EQ(find(cycle).cast<DLDevice>().device_id, 3);
  CHECK_EQ(find(1).cast<DLDevice>().device_type, kDLCPU);
  cycle.clear();  // reference counts alone cannot release a cycle
}

}  // namespace
