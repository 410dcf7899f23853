// SPDX-License-Identifier: Apache-2.0
// The library's private hash table, compared with a standard container.
#include "../../runtime/extra/walk/object_table.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace {

using tvm::ffi::Object;
using tvm::ffi::extra::ObjectTable;

// The table never reads the objects, only their addresses.
const Object* Address(uint64_t number) { return reinterpret_cast<const Object*>(16 * number); }

TEST_CASE("an empty table") {
  ObjectTable<int> table;
  CHECK(table.Find(Address(1)) == nullptr);
  table.Erase(Address(1));
  table.Set(Address(1), 5);
  table.Erase(Address(1));
  CHECK(table.Find(Address(1)) == nullptr);
  table.Erase(Address(1));
}

TEST_CASE("set replaces") {
  ObjectTable<int> table;
  table.Set(Address(1), 5);
  table.Set(Address(1), 6);
  CHECK_EQ(*table.Find(Address(1)), 6);
  table.Erase(Address(1));
  CHECK(table.Find(Address(1)) == nullptr);
}

TEST_CASE("many changes") {
  constexpr uint64_t kAddresses = 400;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    ObjectTable<unsigned> table;
    std::map<const Object*, unsigned> expected;
    for (unsigned step = 0; step < 3000; ++step) {
      const Object* key = Address(1 + random() % kAddresses);
      // The table is filled first, then emptied.
      if (random() % 3000 > step) {
        table.Set(key, step);
        expected[key] = step;
      } else {
        table.Erase(key);
        expected.erase(key);
      }
    }
    for (uint64_t i = 1; i <= kAddresses; ++i) {
      const unsigned* found = table.Find(Address(i));
      auto known = expected.find(Address(i));
      CHECK_EQ(found != nullptr, known != expected.end());
      if (found != nullptr && known != expected.end()) CHECK_EQ(*found, known->second);
    }
  }
}

}  // namespace
