// SPDX-License-Identifier: Apache-2.0
// Container rows.  Times are per element.  The containers that a row reads are created once, during
// the check of its result.
#ifndef BENCHMARKS_CPP_API_CONTAINERS_H_
#define BENCHMARKS_CPP_API_CONTAINERS_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/string.h>

#include <cstdio>

#include "harness.h"

namespace benchmark {

using tvm::ffi::Array;
using tvm::ffi::Dict;
using tvm::ffi::List;
using tvm::ffi::Map;
using tvm::ffi::Shape;
using tvm::ffi::String;

constexpr int64_t kElements = 1000;
constexpr int64_t kElementSum = kElements * (kElements - 1) / 2;

// ---- Sequences (Array and List) ---------------------------------------------------------------

template <typename Sequence>
Sequence MakeNumbers() {
  Sequence sequence;
  for (int64_t i = 0; i < kElements; ++i) sequence.push_back(i);
  return sequence;
}

template <typename Sequence>
int64_t IterateNumbers(int64_t repeats) {
  static const Sequence sequence = MakeNumbers<Sequence>();
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(sequence);
    for (int64_t value : sequence) sum += value;
  }
  return sum;
}

inline int64_t IndexArray(int64_t repeats) {
  static const Array<int64_t> array = MakeNumbers<Array<int64_t>>();
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    for (int64_t i = 0; i < kElements; ++i) sum += array[i];
  }
  return sum;
}

inline int64_t IterateReferences(int64_t repeats) {
  static const Array<Shape> array(kElements, Shape({2, 3}));
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    for (const Shape& shape : array) sum += int64_t(shape.size());
  }
  return sum;
}

template <typename Sequence>
int64_t Append(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Sequence sequence;
    for (int64_t i = 0; i < kElements; ++i) sequence.push_back(i);
    sum += int64_t(sequence.size());
  }
  return sum;
}

inline int64_t MakeShape(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Shape shape({2, 3, 4});
    Touch(shape);
    sum += int64_t(shape.size());
  }
  return sum;
}

// ---- Tables (Map and Dict) --------------------------------------------------------------------

template <typename Key>
Key MakeKey(int64_t i);
template <>
inline int64_t MakeKey<int64_t>(int64_t i) {
  return i;
}
template <>
inline String MakeKey<String>(int64_t i) {
  char text[32];
  std::snprintf(text, sizeof(text), "a.long.key.%d", static_cast<int>(i));
  return String(text);
}

template <typename Key>
Array<Key> MakeKeys(int64_t first, int64_t count) {
  Array<Key> keys;
  for (int64_t i = 0; i < count; ++i) keys.push_back(MakeKey<Key>(first + i));
  return keys;
}

template <typename Table, typename Key>
Table MakeTable(const Array<Key>& keys) {
  Table table;
  int64_t i = 0;
  for (const Key& key : keys) table.Set(key, i++);
  return table;
}

template <int64_t count>
int64_t IterateMap(int64_t repeats) {
  using Table = Map<int64_t, int64_t>;
  static const Table map = MakeTable<Table>(MakeKeys<int64_t>(0, count));
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    for (const auto& pair : map) sum += pair.second;
  }
  return sum;
}

// Looks up the keys `first` ... `first + count - 1` in a table with the keys 0 ... `count - 1`.
template <typename Key, int64_t count, int64_t first>
int64_t Find(int64_t repeats) {
  using Table = Map<Key, int64_t>;
  static const Table map = MakeTable<Table>(MakeKeys<Key>(0, count));
  // A plain array, so that reading the keys is cheap.
  static Key* const keys = [] {
    Key* made = new Key[count];
    for (int64_t i = 0; i < count; ++i) made[i] = MakeKey<Key>(first + i);
    return made;
  }();
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    for (int64_t i = 0; i < count; ++i) sum += int64_t(map.count(keys[i]));
  }
  return sum;
}

template <typename Table, int64_t count>
int64_t Insert(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Table table;
    for (int64_t i = 0; i < count; ++i) table.Set(i, i);
    sum += int64_t(table.size());
  }
  return sum;
}

}  // namespace benchmark
#endif  // BENCHMARKS_CPP_API_CONTAINERS_H_
