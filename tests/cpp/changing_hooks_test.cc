// SPDX-License-Identifier: Apache-2.0
// Key hooks that change the table that calls them.  AddressSanitizer detects dangling references.
#include <doctest/doctest.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/function.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

std::function<void()> when_hashed;
std::function<void()> when_compared;
bool is_inside = false;

// A hook does not run for its own calls of the table.
void Run(const std::function<void()>& hook) {
  if (!hook || is_inside) return;
  is_inside = true;
  try {
    hook();
  } catch (...) {
    is_inside = false;
    throw;
  }
  is_inside = false;
}

class ChangingKeyObj : public Object {
 public:
  explicit ChangingKeyObj(int64_t id) : id(id) {}
  int64_t id;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.ChangingKey", ChangingKeyObj, Object);
};

int64_t hash_factor = 1;

int64_t HashOf(const ChangingKeyObj* key) {
  int64_t id = key->id;
  Run(when_hashed);
  return key->id == id ? id * hash_factor : 0;
}
// Both keys are read after the hook: they live as long as the call.
bool AreEqual(const ChangingKeyObj* lhs, const ChangingKeyObj* rhs) {
  Run(when_compared);
  return lhs->id == rhs->id;
}

void RegisterHook(const char* name, const Function& hook) {
  TVMFFIByteArray bytes{name, std::strlen(name)};
  TVMFFIAny raw = AnyView(hook).CopyToTVMFFIAny();
  REQUIRE_EQ(TVMFFITypeRegisterAttr(ChangingKeyObj::RuntimeTypeIndex(), &bytes, &raw), 0);
}

Any Key(int64_t id) {
  [[maybe_unused]] static const bool is_registered = [] {
    RegisterHook("__any_hash__", Function::FromTyped(&HashOf));
    RegisterHook("__any_equal__", Function::FromTyped(&AreEqual));
    return true;
  }();
  return ObjectRef(make_object<ChangingKeyObj>(id));
}

using AnyDict = Dict<Any, Any>;

AnyDict DictOf(int64_t size) {
  AnyDict dict;
  for (int64_t i = 0; i < size; ++i) dict.Set(Key(i), i);
  return dict;
}

// Returns the message that `call` throws while the hooks run `hashed` and `compared`.
std::string ThrownWithHooks(const std::function<void()>& hashed,
                            const std::function<void()>& compared,
                            const std::function<void()>& call) {
  when_hashed = hashed;
  when_compared = compared;
  std::string thrown = Thrown(call);
  when_hashed = nullptr;
  when_compared = nullptr;
  return thrown;
}

const char* const kHashed =
    "RuntimeError: the Map or Dict changed while `__any_hash__` of a key was running";
const char* const kCompared =
    "RuntimeError: the Map or Dict changed while `__any_equal__` of a key was running";

void CheckWhole(const AnyDict& dict) {
  size_t count = 0;
  for (auto [key, value] : dict) {
    CHECK_EQ(dict.Get(key).value_or(nullptr).same_as(value), true);
    ++count;
  }
  CHECK_EQ(dict.size(), count);
}

// Cause: searches kept slots and references across the calls of hooks.
TEST_CASE("an equality hook that changes the dict of the search is an error") {
  for (int64_t size : {3, 40}) {
    int64_t next = 1000;
    using Change = std::function<void(AnyDict*)>;
    for (const Change& change :
         {Change([](AnyDict* dict) { dict->clear(); }), Change([&](AnyDict* dict) {
            for (int i = 0; i < 200; ++i) dict->Set(Key(next++), 1);
          })}) {
      for (int call = 0; call < 4; ++call) {
        AnyDict dict = DictOf(size);
        std::string thrown = ThrownWithHooks(
            nullptr, [&] { change(&dict); },
            [&] {
              if (call == 0) static_cast<void>(dict.count(Key(1)));
              if (call == 1) static_cast<void>(dict.Get(Key(1)));
              if (call == 2) dict.Set(Key(1), 7);
              if (call == 3) dict.erase(Key(1));
            });
        CHECK_EQ(thrown, kCompared);
        CheckWhole(dict);
      }
    }
  }
}

TEST_CASE("a hash hook that changes the dict of the search is an error") {
  AnyDict dict = DictOf(40);
  auto add = [&] { dict.Set(Key(500), 1); };
  CHECK_EQ(ThrownWithHooks(add, nullptr, [&] { static_cast<void>(dict.count(Key(1))); }), kHashed);
  auto clear = [&] { dict.clear(); };
  CHECK_EQ(ThrownWithHooks(clear, nullptr, [&] { dict.Set(Key(1), 1); }), kHashed);
  CHECK_EQ(dict.size(), size_t{0});
}

// Cause: a hook grew or cleared the table during its relocation, and the relocation then replaced
// the table's block with its own.
TEST_CASE("a hash hook that changes a growing dict is an error") {
  int64_t next = 1000;
  for (int64_t size : {4, 7, 15}) {  // the table is full
    AnyDict dict = DictOf(size);
    int64_t before = static_cast<int64_t>(dict.size());
    int num_hashes = 0;
    // Not during the hash of the new key, which comes first in a dense table.
    auto grow = [&] {
      if (++num_hashes == 3) {
        for (int i = 0; i < 3; ++i) dict.Set(Key(next++), 1);
      }
    };
    CHECK_EQ(ThrownWithHooks(grow, nullptr, [&] { dict.Set(Key(100), 1); }), kHashed);
    CHECK_EQ(static_cast<int64_t>(dict.size()), before + 3);
    CheckWhole(dict);
  }
}

TEST_CASE("a pair that replaces another during a key comparison is noticed") {
  for (int64_t size : {3, 5, 40}) {
    AnyDict dict = DictOf(size);
    auto replace = [&] {
      dict.erase(Key(size - 1));
      dict.Set(Key(size - 1), "other");  // in the same slot
    };
    CHECK_EQ(ThrownWithHooks(nullptr, replace, [&] { dict.Set(Key(size - 1), 1); }), kCompared);
    CHECK_EQ(dict[Key(size - 1)].cast<std::string>(), "other");
    CheckWhole(dict);
  }
}

TEST_CASE("a hash hook that changes the dict of an erasure is an error") {
  // Keys of one chain: erasing the last one hashes it again, to find its home slot.
  hash_factor = 0;
  AnyDict dict = DictOf(6);
  int num_hashes = 0;
  auto clear = [&] {
    if (++num_hashes == 2) dict.clear();
  };
  CHECK_EQ(ThrownWithHooks(clear, nullptr, [&] { dict.erase(Key(5)); }), kHashed);
  CHECK_EQ(dict.size(), size_t{0});
  hash_factor = 1;
}

TEST_CASE("a hook may read the dict and change other dicts") {
  AnyDict dict = DictOf(40);
  AnyDict other;
  auto look = [&] {
    AnyDict same = dict;
    other.Set(static_cast<int64_t>(other.size()), same.size());
  };
  CHECK_EQ(ThrownWithHooks(look, look, [&] { dict.Set(Key(5), "five"); }), "");
  CHECK_EQ(ThrownWithHooks(look, look, [&] { dict.Set(Key(50), "fifty"); }), "");
  CHECK_EQ(dict[Key(5)].cast<std::string>(), "five");
  CHECK_EQ(dict.size(), size_t{41});
  CHECK(other.size() > 2);
}

// Cause: the table was destroyed, or had moved its pairs to a larger one.
TEST_CASE("a hook that drops or replaces the table of the search is an error") {
  for (int64_t size : {3, 40}) {
    AnyDict dict = DictOf(size);
    CHECK_EQ(ThrownWithHooks(
                 nullptr, [&] { dict = AnyDict(); }, [&] { dict.Set(Key(1), 1); }),
             kCompared);
    Map<Any, Any> map;
    for (int64_t i = 0; i < size; ++i) map.Set(Key(i), i);
    auto grow = [&] {
      for (int64_t i = 0; i < 100; ++i) map.Set(Key(1000 + i), i);
    };
    CHECK_EQ(ThrownWithHooks(nullptr, grow, [&] { static_cast<void>(map.Get(Key(1))); }),
             kCompared);
    CHECK_EQ(map.size(), static_cast<size_t>(size + 100));
    CHECK_EQ(ThrownWithHooks(nullptr, [&] { map = {}; }, [&] { map.Set(Key(1), 1); }), kCompared);
    CHECK_EQ(map.size(), size_t{0});
  }
}

// Cause: a slot found in one table was read or erased in the table that replaced it in the
// variable.  Another owner kept the first table, so the check for changes did not detect it.
TEST_CASE("a hook may replace the map variable of a look-up") {
  for (int64_t size : {3, 40}) {
    Map<Any, Any> kept, map;
    for (int64_t i = 0; i < size; ++i) kept.Set(Key(i), i);
    auto replace = [&] { map = Map<Any, Any>(); };
    for (int64_t id : {int64_t{1}, int64_t{1000}}) {
      map = kept;
      std::optional<Any> found;
      CHECK_EQ(ThrownWithHooks(replace, replace, [&] { found = map.Get(Key(id)); }), "");
      CHECK_EQ(found.has_value(), id < size);
    }
    map = kept;
    CHECK_EQ(ThrownWithHooks(nullptr, replace, [&] { map.erase(Key(1)); }),
             "RuntimeError: the Map or Dict changed while `__any_hash__` or `__any_equal__` of a "
             "key was running");
    CHECK_EQ(map.size(), size_t{0});
    CHECK_EQ(kept.size(), static_cast<size_t>(size));
  }
}

// Cause: a table with only weak references was taken for a table with an owner.
TEST_CASE("a hook that drops a table with a weak reference is an error") {
  Map<Any, Any> map{{Key(1), 1}, {Key(2), 2}};
  WeakObjectPtr<Object> weak(detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(map));
  auto drop = [&] { map = Map<Any, Any>(); };
  CHECK_EQ(ThrownWithHooks(nullptr, drop, [&] { static_cast<void>(map.count(Key(2))); }),
           kCompared);
  CHECK(weak.expired());
}

// Cause: searches borrow the key reference.
TEST_CASE("a hook that drops the key of the search is an error") {
  Map<ObjectRef, int64_t> map;
  for (int64_t i = 0; i < 40; ++i) map.Set(Key(i).cast<ObjectRef>(), i);
  ObjectRef key = Key(39).cast<ObjectRef>();
  auto drop = [&] { key = ObjectRef(); };
  auto count = [&] { static_cast<void>(map.count(key)); };
  CHECK_EQ(ThrownWithHooks(drop, nullptr, count),
           "RuntimeError: the key of the lookup was released while `__any_hash__` of a key was "
           "running");
  key = Key(39).cast<ObjectRef>();
  CHECK_EQ(ThrownWithHooks(nullptr, drop, count),
           "RuntimeError: the key of the lookup was released while `__any_equal__` of a key was "
           "running");
}

// Converts `value`, a List or Dict, to T while a hook empties the container; returns the size or
// the error.
template <typename T, typename Container>
std::string ConvertedWhileEmptied(Container container) {
  Any value = container;
  auto empty = [&] {
    container.clear();
    if constexpr (std::is_same_v<Container, List<Any>>) container.reserve(1000);
  };
  size_t size = 0;
  std::string thrown = ThrownWithHooks(empty, empty, [&] { size = value.cast<T>().size(); });
  return thrown.empty() ? std::to_string(size) : thrown;
}

// Cause: children were converted in the container's memory, which hooks of nested keys could free.
TEST_CASE("a hook may change the containers around the dict that is being converted") {
  using IntMap = Map<ObjectRef, int64_t>;
  AnyDict inner = DictOf(6);
  AnyDict misfit = DictOf(6);
  misfit.Set(Key(7), "seven");
  auto lists = [](const Any& item) { return List<Any>{List<Any>{item, item}, 1}; };
  auto arrays = [](const Any& item) { return List<Any>{Array<Any>{item, item}}; };
  auto dicts = [](const Any& item) { return AnyDict{{"a", item}, {"b", item}}; };
  using Pair = Tuple<IntMap, IntMap>;
  using StdPair = std::tuple<IntMap, IntMap>;
  // The hook removes the other elements of the list before they are converted.
  CHECK_EQ((ConvertedWhileEmptied<Array<Array<IntMap>>>(lists(inner))), "1");
  CHECK_EQ((ConvertedWhileEmptied<std::vector<std::vector<IntMap>>>(lists(inner))), "1");
  CHECK_EQ((ConvertedWhileEmptied<Array<Variant<int64_t, Array<IntMap>>>>(lists(inner))), "1");
  CHECK_EQ((ConvertedWhileEmptied<Array<Pair>>(arrays(inner))), "1");
  CHECK_EQ((ConvertedWhileEmptied<std::vector<StdPair>>(arrays(inner))), "1");
  CHECK_EQ((ConvertedWhileEmptied<Map<String, IntMap>>(dicts(inner))), "2");
  CHECK_EQ((ConvertedWhileEmptied<Map<String, Array<Any>>>(dicts(List<Any>{inner}))), "2");
  const std::string kBefore = "TypeError: Cannot convert from type `";
  auto is_refused = [&](const std::string& thrown) { return thrown.rfind(kBefore, 0) == 0; };
  CHECK(is_refused(ConvertedWhileEmptied<Array<Array<IntMap>>>(lists(misfit))));
  CHECK(is_refused(ConvertedWhileEmptied<Array<Variant<bool, Array<IntMap>>>>(lists(misfit))));
  CHECK(is_refused(ConvertedWhileEmptied<std::vector<std::vector<IntMap>>>(lists(misfit))));
  CHECK(is_refused(ConvertedWhileEmptied<Array<Pair>>(arrays(misfit))));
  CHECK(is_refused(ConvertedWhileEmptied<Map<String, IntMap>>(dicts(misfit))));
}

TEST_CASE("a hook may change the dict that is being converted") {
  AnyDict dict = DictOf(40);
  Any value = dict;
  Map<ObjectRef, double> converted;
  auto clear = [&] { dict.clear(); };
  CHECK_EQ(ThrownWithHooks(clear, clear, [&] { converted = value.cast<Map<ObjectRef, double>>(); }),
           "");
  CHECK_EQ(converted.size(), size_t{40});
}

// Cause: the search for a key that only the right dict has continued in erased pairs.
TEST_CASE("a hook may change the dict in which a mismatch is searched for") {
  AnyDict lhs = DictOf(20), rhs;
  for (auto [key, value] : lhs) rhs.Set(key, value);
  rhs.Set(Key(100), 100);
  size_t num_hashes = 0;
  auto clear = [&] {
    if (++num_hashes > lhs.size() + 1) rhs.clear();  // all keys of the left dict were found
  };
  bool differs = false;
  auto compare = [&] { differs = StructuralEqual::GetFirstMismatch(lhs, rhs).has_value(); };
  CHECK_EQ(ThrownWithHooks(clear, nullptr, compare), "");
  CHECK(differs);
  CHECK_EQ(rhs.size(), size_t{0});
}

TEST_CASE("an error of a hook leaves a growing table unchanged") {
  AnyDict dict = DictOf(7);
  int num_hashes = 0;
  auto fail = [&] {
    if (++num_hashes == 4) throw Error("ValueError", "no hash", "");
  };
  CHECK_EQ(ThrownWithHooks(fail, nullptr, [&] { dict.Set(Key(100), 1); }), "ValueError: no hash");
  CHECK_EQ(dict.size(), size_t{7});
  CheckWhole(dict);
}

// Cause: before a table grows, it moves the rest of a chain, and may find no free slot midway in a
// crowded table.  The chain was repaired only if the table grew: otherwise pairs were unreachable,
// and a slot named a key that it no longer held.
TEST_CASE("an error of a hook leaves the chains of a crowded table unchanged") {
  for (uint64_t round = 0; round < 100; ++round) {
    std::mt19937_64 random(round);
    AnyDict dict;
    int num_hashes = 0;
    // A search calls few hash hooks; an insertion that grows the table from 512 slots calls all of
    // them.
    auto fail = [&] {
      if (++num_hashes > 300 && dict.size() > 300) throw Error("ValueError", "no hash", "");
    };
    std::string thrown;
    while (thrown.empty()) {
      Any key = Key(static_cast<int64_t>(random()));
      num_hashes = 0;
      thrown = ThrownWithHooks(fail, nullptr, [&] { dict.Set(key, key); });
    }
    CHECK_EQ(thrown, "ValueError: no hash");
    CheckWhole(dict);
  }
}

TEST_CASE("the dict is consistent after arbitrary changes by hooks") {
  std::mt19937 random(20);
  auto below = [&](int64_t end) { return static_cast<int64_t>(random()) % end; };
  for (int round = 0; round < 300; ++round) {
    hash_factor = int64_t{1} << below(8);
    AnyDict dict = DictOf(below(24));
    int64_t num_ids = 1 + below(40);
    auto change = [&] {
      for (int64_t left = below(4); left > 0; --left) {
        int64_t id = below(num_ids);
        switch (below(16)) {
          case 0:
            dict.clear();
            break;
          case 1:
            for (int i = 0; i < 20; ++i) dict.Set(Key(100 + i), i);
            break;
          case 2:
          case 3:
          case 4:
            dict.Set(Key(id), id);
            break;
          case 5:
          case 6:
          case 7:
            dict.erase(Key(id));
            break;
          case 8:
            if (!dict.empty()) {
              auto first = *dict.begin();
              dict.erase(first.first);
              dict.Set(first.first, first.second);
            }
            break;
          default:
            break;
        }
      }
    };
    for (int step = 0; step < 40; ++step) {
      int64_t id = below(num_ids);
      bool erases = below(3) == 0;
      std::string thrown = ThrownWithHooks(change, change, [&] {
        if (erases) {
          dict.erase(Key(id));
        } else {
          dict.Set(Key(id), id);
        }
      });
      if (!thrown.empty() && thrown != kHashed && thrown != kCompared) CHECK_EQ(thrown, "");
    }
    CheckWhole(dict);
  }
  hash_factor = 1;
}

}  // namespace
