// SPDX-License-Identifier: Apache-2.0
// Changes of a sequence with an argument that is inside the sequence.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>

#include <string>

namespace {

using namespace tvm::ffi;

const char* const kFirst = "the first text, longer than a small one";
const char* const kLast = "the last text, longer than a small one";

// Returns a sequence of `size` elements without spare capacity.
template <typename Seq>
Seq Full(int64_t size) {
  Seq seq;
  seq.push_back(String(kFirst));
  for (int64_t i = 2; i < size; ++i) seq.push_back(Any(i));
  seq.push_back(String(kLast));
  while (seq.size() < seq.capacity()) seq.insert(seq.begin() + 1, Any(0));
  return seq;
}

template <typename Seq>
const Any& ElementOf(const Seq& seq, size_t i) {
  return *(seq.get()->begin() + i);
}

std::string TextAt(const Any& value) { return value.cast<std::string>(); }

// Regression: the new element was created after the buffer had moved, from a reference into the old
// buffer. AddressSanitizer detects this; the text was wrong or empty.
template <typename Seq>
void InsertsItsOwnElement() {
  for (int64_t size : {2, 4, 7, 16}) {
    Seq seq = Full<Seq>(size);
    int64_t last = static_cast<int64_t>(seq.size()) - 1;
    seq.insert(seq.begin(), ElementOf(seq, static_cast<size_t>(last)));
    CHECK_EQ(TextAt(seq[0]), kLast);
    CHECK_EQ(TextAt(seq[1]), kFirst);
    CHECK_EQ(TextAt(seq[last + 1]), kLast);
    seq.insert(seq.end(), ElementOf(seq, 1));
    CHECK_EQ(TextAt(seq[last + 2]), kFirst);
  }
}
TEST_CASE("array inserts one of its elements") { InsertsItsOwnElement<Array<Any>>(); }
TEST_CASE("list inserts one of its elements") { InsertsItsOwnElement<List<Any>>(); }

// Elements after the insertion position move, including the element that is inserted.
template <typename Seq>
void InsertsItsOwnElementWithRoom() {
  Seq seq;
  seq.reserve(16);
  seq.push_back(String(kFirst));
  seq.push_back(String(kLast));
  seq.insert(seq.begin(), ElementOf(seq, 1));
  CHECK_EQ(TextAt(seq[0]), kLast);
  CHECK_EQ(TextAt(seq[2]), kLast);
}
TEST_CASE("array with spare capacity inserts one of its elements") {
  InsertsItsOwnElementWithRoom<Array<Any>>();
}
TEST_CASE("list with spare capacity inserts one of its elements") {
  InsertsItsOwnElementWithRoom<List<Any>>();
}

template <typename Seq>
void AppendsItsOwnElement() {
  Seq seq = Full<Seq>(4);
  for (int i = 0; i < 20; ++i) {
    seq.push_back(ElementOf(seq, 0));
    seq.emplace_back(ElementOf(seq, 0));
  }
  CHECK_EQ(TextAt(seq.back()), kFirst);
  CHECK_EQ(TextAt(seq[0]), kFirst);
}
TEST_CASE("array appends one of its elements") { AppendsItsOwnElement<Array<Any>>(); }
TEST_CASE("list appends one of its elements") { AppendsItsOwnElement<List<Any>>(); }

template <typename Seq>
void InsertsItsOwnRange() {
  Seq seq = Full<Seq>(4);
  size_t size = seq.size();
  seq.insert(seq.begin() + 1, seq.begin(), seq.end());
  CHECK_EQ(seq.size(), 2 * size);
  CHECK_EQ(TextAt(seq[1]), kFirst);
  CHECK_EQ(TextAt(seq.back()), kLast);
  seq.Assign(seq.begin(), seq.begin() + 1);
  CHECK_EQ(seq.size(), 1u);
  CHECK_EQ(TextAt(seq[0]), kFirst);
}
TEST_CASE("array inserts a range of its elements") { InsertsItsOwnRange<Array<Any>>(); }
TEST_CASE("list inserts a range of its elements") { InsertsItsOwnRange<List<Any>>(); }

// The object's member functions require that the capacity suffices, but their arguments may be
// inside the object. Regression: a range was read after the elements after the insertion position
// had moved.
TEST_CASE("sequence objects insert their elements") {
  List<Any> list;
  list.reserve(16);
  for (const char* text : {kFirst, kLast}) list.push_back(String(text));
  ListObj* object = list.GetListObj();
  object->insert(0, object->back());
  CHECK_EQ(TextAt(list[0]), kLast);
  object->insert(1, object->begin(), object->end());
  CHECK_EQ(list.size(), 6u);
  CHECK_EQ(TextAt(list[1]), kLast);
  CHECK_EQ(TextAt(list[2]), kFirst);
  CHECK_EQ(TextAt(list[3]), kLast);
  CHECK_EQ(TextAt(list[5]), kLast);
}

template <typename Table>
void SetsItsOwnPairs() {
  Table table;
  table.Set(Any(String(kFirst)), Any(String(kLast)));
  for (int i = 0; i < 40; ++i) {
    table.Set(Any(i), (*table.get()->begin()).second);
    table.Set((*table.get()->begin()).second, (*table.get()->begin()).first);
  }
  CHECK_EQ(TextAt(table.at(Any(39))), kLast);
  CHECK_EQ(TextAt(table.at(Any(String(kLast)))), kFirst);
}
TEST_CASE("map sets its own pairs") { SetsItsOwnPairs<Map<Any, Any>>(); }
TEST_CASE("dict sets its own pairs") { SetsItsOwnPairs<Dict<Any, Any>>(); }

}  // namespace
