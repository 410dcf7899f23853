// SPDX-License-Identifier: Apache-2.0
// Elements whose destructors use the container that releases them.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>

#include <functional>

namespace {

using namespace tvm::ffi;

std::function<void()> on_destruction;

class ReentrantObj : public Object {
 public:
  ~ReentrantObj() {
    if (on_destruction) on_destruction();
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.ComingBack", ReentrantObj, Object);
};

Any NewReentrant() { return ObjectRef(make_object<ReentrantObj>()); }

List<Any> ListOf(int64_t size, int64_t first, int64_t last) {
  List<Any> list;
  for (int64_t i = 0; i < size; ++i) {
    list.push_back(first <= i && i < last ? NewReentrant() : Any(i));
  }
  return list;
}

std::string Numbers(const List<Any>& list) {
  std::string text;
  for (const Any& item : list) text += std::to_string(item.cast<int64_t>()) + " ";
  return text;
}

// Regression: erased elements were overwritten one by one, and their destructors ran while the
// remaining elements were being moved, in a buffer that a destructor could replace.
TEST_CASE("destructors of erased elements see a complete list and may grow it") {
  for (int64_t last : {2, 4}) {
    List<Any> list = ListOf(6, 1, last);
    std::string seen;
    on_destruction = [&] {
      if (seen.empty()) seen = Numbers(list);
      list.insert(list.begin(), Any(7));
      list.reserve(static_cast<int64_t>(2 * list.capacity()));
    };
    list.erase(list.begin() + 1, list.begin() + last);
    on_destruction = nullptr;
    CHECK_EQ(seen, last == 2 ? "0 2 3 4 5 " : "0 4 5 ");
    CHECK_EQ(Numbers(list), last == 2 ? "7 0 2 3 4 5 " : "7 7 7 0 4 5 ");
  }
}

TEST_CASE("destructors of erased elements may clear the list") {
  for (int64_t last : {2, 4}) {
    List<Any> list = ListOf(6, 1, last);
    on_destruction = [&] { list.clear(); };
    list.erase(list.begin() + 1, list.begin() + last);
    on_destruction = nullptr;
    CHECK_EQ(list.size(), size_t{0});
  }
}

// Regression: the loop assumed a small table, or complete chains, although a destructor had
// replaced the table.
TEST_CASE("destructors may grow a dict during clear") {
  for (int64_t size : {3, 40}) {
    Dict<int64_t, Any> dict;
    for (int64_t i = 0; i < size; ++i) dict.Set(i, NewReentrant());
    int64_t next = 1000;
    on_destruction = [&] {
      for (int i = 0; i < 8; ++i, ++next) dict.Set(next, next);
      dict.erase(next - 3);
    };
    dict.clear();
    on_destruction = nullptr;
    // The loop erases as many entries as the dict had at first.
    CHECK_EQ(dict.size(), static_cast<size_t>(7 * size));
    for (auto [key, value] : dict) CHECK_EQ(dict[key].cast<int64_t>(), key);
  }
}

// Regression: clear ran until the list was empty.
TEST_CASE("elements that destructors add during clear are kept") {
  List<Any> list = ListOf(6, 0, 6);
  int64_t next = 100;
  on_destruction = [&] { list.push_back(next++ < 112 ? NewReentrant() : Any(next)); };
  list.clear();
  CHECK_EQ(list.size(), size_t{6});
  list.resize(0);
  CHECK_EQ(list.size(), size_t{6});
  std::vector<Any> numbers{1, 2, 3};
  list.Assign(numbers.begin(), numbers.end());
  on_destruction = nullptr;
  CHECK_EQ(Numbers(list), "113 114 115 116 117 118 1 2 3 ");
}

// Returns the size of a sequence after `empty`; the destructors of the elements replace the
// sequence by an empty one.
template <typename Sequence, typename Empty>
size_t SizeOfDropped(const Empty& empty) {
  Sequence sequence;
  for (int i = 0; i < 6; ++i) sequence.push_back(NewReentrant());
  on_destruction = [&] { sequence = Sequence(); };
  empty(&sequence);
  on_destruction = nullptr;
  return sequence.size();
}

template <typename Sequence>
void CheckDropped() {
  std::vector<Any> numbers{1, 2, 3};
  CHECK_EQ(SizeOfDropped<Sequence>([](Sequence* s) { s->clear(); }), size_t{0});
  CHECK_EQ(SizeOfDropped<Sequence>([](Sequence* s) { s->resize(1); }), size_t{0});
  CHECK_EQ(SizeOfDropped<Sequence>([&](Sequence* s) { s->Assign(numbers.begin(), numbers.end()); }),
           size_t{3});
}

// Regression: loops continued in a container that a destructor had destroyed.
TEST_CASE("destructors may release the container during clear") {
  CheckDropped<List<Any>>();
  CheckDropped<Array<Any>>();
  Dict<int64_t, Any> dict;
  for (int64_t i = 0; i < 40; ++i) dict.Set(i, NewReentrant());
  on_destruction = [&] { dict = Dict<int64_t, Any>(); };
  dict.clear();
  on_destruction = nullptr;
  CHECK_EQ(dict.size(), size_t{0});
}

}  // namespace
