// SPDX-License-Identifier: Apache-2.0
// The binary layout of maps, as other libraries read it, and the rules by which it changes.
#include <doctest/doctest.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace tvm::ffi;

constexpr uint64_t kNone = ~uint64_t{0};
constexpr uint64_t kSmallTag = uint64_t{1} << 63;

// A second definition of the table layout, independent of the headers.
struct RawMap {
  TVMFFIObject header;
  void* data;
  uint64_t size;
  uint64_t slots;
  void (*data_deleter)(void*);
  uint32_t fib_shift;
  uint64_t head;
  uint64_t tail;
};
struct RawEntry {
  Any key;
  Any value;
  uint64_t prev;
  uint64_t next;
};
// With pointers of 32 bits, the fields after data_deleter have smaller offsets.
constexpr size_t kLess = sizeof(void*) == 8 ? 0 : 8;
static_assert(offsetof(RawMap, data) == 24 && offsetof(RawMap, size) == 32 &&
              offsetof(RawMap, slots) == 40 && offsetof(RawMap, data_deleter) == 48 &&
              offsetof(RawMap, fib_shift) == 56 - kLess / 2 &&
              offsetof(RawMap, head) == 64 - kLess && offsetof(RawMap, tail) == 72 - kLess &&
              sizeof(RawMap) == 80 - kLess && sizeof(RawEntry) == 48);
static_assert(sizeof(MapBaseObj) == 56 && sizeof(SmallMapBaseObj) == 56 &&
              sizeof(DenseMapBaseObj) == 80 - kLess);
static_assert(sizeof(MapObj) == 56 && sizeof(DictObj) == 56);
static_assert(sizeof(Map<Any, Any>) == sizeof(void*) && sizeof(Dict<Any, Any>) == sizeof(void*));
static_assert(sizeof(MapObj::iterator) == 16);
static_assert(MapObj::_type_index == 72 && DictObj::_type_index == 76);

template <typename Ref>
const RawMap* Raw(const Ref& ref) {
  return reinterpret_cast<const RawMap*>(static_cast<const Object*>(ref.get()));
}
uint8_t MetaOf(const RawMap* map, uint64_t slot) {
  return static_cast<const uint8_t*>(map->data)[slot / 16 * 784 + slot % 16];
}
const RawEntry* EntryOf(const RawMap* map, uint64_t slot) {
  const char* blocks = static_cast<const char*>(map->data);
  return reinterpret_cast<const RawEntry*>(blocks + slot / 16 * 784 + 16 + slot % 16 * 48);
}

struct HashVector {
  Any value;
  uint64_t hash;
};

Any HeapString(const char* text) { return Any(String(std::string(text))); }

TEST_CASE("hashes equal the contract") {
  const HashVector vectors[] = {
      {Any(nullptr), 0x000000009e3779b9},
      {Any(int64_t{0}), 0x000000009e3779f8},
      {Any(int64_t{42}), 0x000000009e377a22},
      {Any(int64_t{-1}), 0x000000009e3779f9},
      {Any(INT64_MAX), 0x800000009e3779f9},
      {Any(true), 0x000000009e377a38},
      {Any(1.0), 0x3ff000009e377a7a},
      {Any(-0.0), 0x800000009e377a7a},
      {Any(reinterpret_cast<void*>(0x1234)), 0x000000009e378cea},
      {Any(String("")), 0x000000009e378a48},
      {Any(String("abc")), 0x000000009e9aec2b},
      {Any(String("abcdefg")), 0x000000010369b975},
      {HeapString("a"), 0x000000009e378a2b},
      {HeapString("abcdefgh"), 0x00000000d369b977},
      {HeapString("The quick brown fox jumps over the lazy dog"), 0x00000000ea6fe8e5},
      {Any(Bytes("a", 1)), 0x000000009e378ae8},
      {Any(Bytes("hello world", 11)), 0x00000000def11456},
  };
  for (const HashVector& vector : vectors) CHECK_EQ(AnyHash()(vector.value), vector.hash);
}

std::vector<std::pair<int64_t, int64_t>> Pairs(int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < count; ++i) pairs.emplace_back(i, i * i);
  return pairs;
}

TEST_CASE("sizes after construction from a range") {
  struct Size {
    int64_t first, last;
    uint64_t slots;
    uint32_t shift;
  };
  for (const Size& size : {Size{0, 2, 2, 0}, Size{3, 3, 3, 0}, Size{4, 4, 8, 61},
                           Size{5, 8, 16, 60}, Size{9, 16, 32, 59}, Size{17, 32, 64, 58}}) {
    for (int64_t count = size.first; count <= size.last; ++count) {
      auto pairs = Pairs(count);
      Map<int64_t, int64_t> map(pairs.begin(), pairs.end());
      const RawMap* raw = Raw(map);
      CHECK_EQ(raw->header.type_index, 72);
      CHECK_EQ(raw->size, static_cast<uint64_t>(count));
      if (size.shift == 0) {
        CHECK_EQ(raw->slots, size.slots | kSmallTag);
        CHECK(raw->data == reinterpret_cast<const char*>(raw) + sizeof(SmallMapBaseObj));
        CHECK((raw->data_deleter == nullptr));
      } else {
        CHECK_EQ(raw->slots, size.slots);
        CHECK_EQ(raw->fib_shift, size.shift);
        CHECK((raw->data_deleter != nullptr));
      }
    }
  }
}

TEST_CASE("sizes after setting one by one") {
  Map<int64_t, int64_t> map;
  for (int64_t count = 1; count <= 40; ++count) {
    map.Set(count - 1, count);
    uint64_t slots = count <= 2    ? kSmallTag | 2
                     : count <= 4  ? kSmallTag | 4
                     : count <= 7  ? 8
                     : count <= 15 ? 16
                     : count <= 31 ? 32
                                   : 64;
    CHECK_EQ(Raw(map)->slots, slots);
  }
}

TEST_CASE("a full small map becomes dense even when the key exists") {
  Map<int64_t, int64_t> map;
  for (int64_t i = 0; i < 4; ++i) map.Set(i, i);
  CHECK_EQ(Raw(map)->slots, kSmallTag | 4);
  map.Set(1, 11);
  CHECK_EQ(Raw(map)->slots, uint64_t{8});
  CHECK_EQ(Raw(map)->fib_shift, uint32_t{61});
  CHECK_EQ(map.size(), size_t{4});
  std::vector<int64_t> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  CHECK((keys == std::vector<int64_t>{0, 2, 3, 1}));
}

// Checks all invariants of the table: metadata, entries and order list.
void CheckTable(const RawMap* map) {
  std::set<uint64_t> listed;
  uint64_t before = kNone;
  for (uint64_t slot = map->head; slot != kNone; slot = EntryOf(map, slot)->next) {
    CHECK((slot < map->slots && listed.insert(slot).second));
    CHECK_EQ(EntryOf(map, slot)->prev, before);
    before = slot;
  }
  CHECK_EQ(map->tail, before);
  CHECK_EQ(listed.size(), map->size);
  CHECK_EQ(map->slots, uint64_t{1} << (64 - map->fib_shift));
  std::set<uint64_t> chained;
  for (uint64_t slot = 0; slot < (map->slots + 15) / 16 * 16; ++slot) {
    uint8_t meta = MetaOf(map, slot);
    CHECK((meta == 0xFF || (slot < map->slots && listed.count(slot) == 1)));
    if ((meta & 0x80) != 0) continue;
    for (uint64_t at = slot;;) {
      CHECK(chained.insert(at).second);
      CHECK_EQ((11400714819323198485U * AnyHash()(EntryOf(map, at)->key)) >> map->fib_shift, slot);
      uint8_t jump = MetaOf(map, at) & 0x7F;
      if (jump == 0) break;
      at = (at + detail::kMapJumps[jump]) % map->slots;
    }
  }
  CHECK_EQ(chained.size(), map->size);
}

TEST_CASE("jump table") {
  for (uint64_t i = 0; i < 16; ++i) CHECK_EQ(detail::kMapJumps[i], i);
  for (uint64_t i = 16; i < 83; ++i) CHECK_EQ(detail::kMapJumps[i], (i - 10) * (i - 9) / 2);
  CHECK_EQ(detail::kMapJumps[83], uint64_t{8515});
  CHECK_EQ(detail::kMapJumps[125], uint64_t{5209859154120846435});
}

TEST_CASE("dense tables stay consistent") {
  std::mt19937_64 random(7);
  for (uint64_t range : {12u, 60u, 300u, 3000u}) {
    Dict<int64_t, int64_t> dict;
    for (uint64_t step = 0; step < 2 * range; ++step) {
      int64_t key = static_cast<int64_t>(random() % range);
      if (random() % 3 == 0) {
        dict.erase(key);
      } else {
        dict.Set(key, static_cast<int64_t>(step));
      }
      bool is_dense = (Raw(dict)->slots & kSmallTag) == 0;
      if (is_dense && (range < 100 || step % 97 == 0)) CheckTable(Raw(dict));
    }
    CheckTable(Raw(dict));
    Dict<int64_t, int64_t> other(dict);
    dict.clear();
    CHECK_EQ(other.size(), size_t{0});
    CheckTable(Raw(dict));
    dict.Set(1, 1);
    CheckTable(Raw(dict));
  }
}

TEST_CASE("a copy keeps the slots") {
  Map<int64_t, int64_t> map;
  for (int64_t i = 0; i < 50; ++i) map.Set(i * 7, i);
  for (int64_t i = 0; i < 50; i += 3) map.erase(i * 7);
  Map<int64_t, int64_t> copy = map;
  copy.CopyOnWrite();
  const RawMap* a = Raw(map);
  const RawMap* b = Raw(copy);
  CHECK((a != b && a->data != b->data));
  CHECK_EQ(b->fib_shift, a->fib_shift);
  CHECK_EQ(b->head, a->head);
  CHECK_EQ(b->tail, a->tail);
  for (uint64_t slot = 0; slot < a->slots; ++slot) {
    CHECK_EQ(MetaOf(b, slot), MetaOf(a, slot));
    if (MetaOf(a, slot) == 0xFF) continue;
    CHECK_EQ(EntryOf(b, slot)->next, EntryOf(a, slot)->next);
    CHECK(EntryOf(b, slot)->key.same_as(EntryOf(a, slot)->key));
  }
  CheckTable(b);
}

TEST_CASE("a dict grows in place") {
  Dict<int64_t, String> dict;
  const RawMap* raw = Raw(dict);
  CHECK_EQ(raw->header.type_index, 76);
  const void* inline_pairs = raw->data;
  for (int64_t i = 0; i < 3; ++i) dict.Set(i, String("a value on the heap"));
  // In this table, the pairs are in a separate object, which the deleter releases.
  CHECK((raw->data != inline_pairs && raw->data_deleter != nullptr));
  CHECK_EQ(raw->slots, kSmallTag | 4);
  Dict<int64_t, String> held_small(dict);
  for (int64_t i = 3; i < 100; ++i) dict.Set(i, String("a value on the heap"));
  CHECK(Raw(dict) == raw);
  CHECK_EQ(raw->slots, uint64_t{128});
  CHECK_EQ(raw->header.type_index, 76);
  CHECK_EQ(held_small.size(), size_t{100});
  CheckTable(raw);
}

// A table that another library may create: a small table whose pairs are in a separate allocation.
int freed = 0;

TEST_CASE("tables with separately allocated pairs are read") {
  for (int64_t count : {0, 1, 9}) {
    freed = 0;
    Dict<int64_t, Any> dict;
    RawMap* raw = const_cast<RawMap*>(Raw(dict));
    Any* pairs = static_cast<Any*>(::operator new(2 * 2 * sizeof(Any)));
    new (pairs) Any(int64_t{-1});
    new (pairs + 1) Any(HeapString("one"));
    raw->data = pairs;
    raw->size = 1;
    raw->data_deleter = [](void* data) {
      ++freed;
      ::operator delete(data);
    };
    for (int64_t i = 0; i < count; ++i) dict.Set(i, i);
    CHECK_EQ(freed, count > 1 ? 1 : 0);
    CHECK_EQ(dict.size(), static_cast<size_t>(count + 1));
    CHECK_EQ(dict[-1].cast<std::string>(), "one");
    dict = Dict<int64_t, Any>();
    CHECK_EQ(freed, 1);
  }
}

// A moved-from dense table, as other libraries leave it: the ends of the order list still refer to
// slots.
Dict<int64_t, int64_t> TableWithoutSlots() {
  Dict<int64_t, int64_t> dict;
  for (int64_t i = 0; i < 8; ++i) dict.Set(i, i);
  RawMap* raw = const_cast<RawMap*>(Raw(dict));
  dict.clear();
  raw->data_deleter(raw->data);
  raw->data = nullptr;
  raw->data_deleter = nullptr;
  raw->slots = 0;
  raw->fib_shift = 63;
  raw->head = 3;
  raw->tail = 7;
  return dict;
}

// Regression: the release of a map that another library had grown crashed, because the old table
// was searched for pairs.
TEST_CASE("a table without slots is released") { CHECK_EQ(TableWithoutSlots().size(), size_t{0}); }

TEST_CASE("a table without slots is empty") {
  Dict<int64_t, int64_t> dict = TableWithoutSlots();
  const RawMap* raw = Raw(dict);
  CHECK_EQ(dict.count(1), size_t{0});
  CHECK(dict.begin() == dict.end());
  dict.clear();
  dict.Set(1, 2);
  CHECK_EQ(dict[1], 2);
  CheckTable(raw);
}

}  // namespace
