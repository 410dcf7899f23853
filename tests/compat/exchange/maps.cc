// SPDX-License-Identifier: Apache-2.0
// Maps and dicts: created by one library, changed by the other, read by both.
//
// A step takes a map after phase `phase - 1` of its script, or checks one after phase `phase`.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/rvalue_ref.h>

#include <string>

#include "check.h"
#include "map_image.h"
#include "map_script.h"
#include "numbered.h"

namespace exchange {

using namespace tvm::ffi;
using AnyMap = Map<Any, Any>;
using AnyDict = Dict<Any, Any>;

template <typename Ref>
void Apply(Ref* map, const std::vector<MapChange>& changes, const String& keys) {
  for (const MapChange& change : changes) {
    if (change.is_set) {
      map->Set(KeyOf(keys, change.key), ValueOf(change.value));
    } else {
      map->erase(KeyOf(keys, change.key, /*alternative=*/true));
    }
  }
}

template <typename Ref>
Ref MakeThrough(int64_t phase, const String& keys, int64_t size) {
  Ref map;
  for (int64_t i = 0; i <= phase; ++i) Apply(&map, MapScript(size).RunThrough(i), keys);
  return map;
}

template <typename Ref>
void CheckContent(const Ref& map, int64_t phase, const String& keys, int64_t size) {
  MapScript script(size);
  script.RunThrough(phase);
  CHECK_EQ(map.size(), script.entries().size());
  auto expected = script.entries().begin();
  for (auto it = map.begin(); it != map.end(); ++it, ++expected) {
    CHECK(expected != script.entries().end());
    CHECK(AnyEqual()((*it).first, KeyOf(keys, expected->first)));
    CHECK(IsValueOf((*it).second, expected->second));
  }
  CHECK(expected == script.entries().end());
  for (const auto& [key, value] : script.entries()) {
    CHECK(IsValueOf(map.at(KeyOf(keys, key, /*alternative=*/true)), value));
  }
  for (int64_t key = script.key_bound(); key < script.key_bound() + 20; ++key) {
    CHECK_EQ(map.count(KeyOf(keys, key)), size_t{0});
  }
}

// The table must equal the table that this library builds without the other library.
template <typename Ref>
Ref CheckImage(Ref map, int64_t phase, String keys, int64_t size) {
  std::string actual = MapImage(map).Text();
  std::string expected = MapImage(MakeThrough<Ref>(phase, keys, size)).Text();
  size_t at = 0;
  while (at < expected.size() && actual[at] == expected[at]) ++at;
  if (actual != expected) {
    at = at < 30 ? 0 : at - 30;
    check::Fail(__FILE__, __LINE__,
                "memory differs: ..." + actual.substr(at, 60) + "..., expected ..." +
                    expected.substr(at, 60) + "...");
  }
  return map;
}

// ---- Map ----------------------------------------------------------------------------------------

AnyMap MakeMap(Any, int64_t phase, String keys, int64_t size) {
  return MakeThrough<AnyMap>(phase, keys, size);
}
AnyMap CheckMap(AnyMap map, int64_t phase, String keys, int64_t size) {
  CheckContent(map, phase, keys, size);
  return map;
}
// The caller keeps its reference, so the change is made to a copy.
AnyMap ChangeCopy(AnyMap map, int64_t phase, String keys, int64_t size) {
  AnyMap copy = map;
  Apply(&copy, MapScript(size).RunThrough(phase), keys);
  CHECK(copy.get() != map.get());
  CheckContent(map, phase - 1, keys, size);
  return copy;
}
// The caller gave up its only reference, so the other library's table is changed in place.
AnyMap ChangeOwn(RValueRef<AnyMap> moved, int64_t phase, String keys, int64_t size) {
  AnyMap map = *std::move(moved);
  CHECK(map.unique());
  Apply(&map, MapScript(size).RunThrough(phase), keys);
  return map;
}
AnyMap CopyMap(AnyMap map) {
  map.CopyOnWrite();
  return map;
}
// Erases all entries of a map that the other library created, then inserts two.
AnyMap RefillMap(RValueRef<AnyMap> moved) {
  AnyMap map = *std::move(moved);
  while (!map.empty()) {
    Any key = (*map.begin()).first;
    map.erase(key);
    CHECK_EQ(map.count(key), size_t{0});
  }
  map.Set(1, "one");
  map.Set("two", 2);
  return map;
}
void CheckRefilledMap(AnyMap map) {
  CHECK_EQ(map.size(), size_t{2});
  CHECK_EQ(map[1].cast<String>(), "one");
  CHECK_EQ(map["two"].cast<int64_t>(), 2);
}
// A map built from a range: the size of the range selects the layout of the table.
AnyMap MakeMapFromRange(Any, int64_t size) {
  std::vector<std::pair<Any, Any>> pairs;
  for (int64_t i = 0; i < size; ++i) pairs.emplace_back(IntKey(i), ValueOf(i));
  return AnyMap(pairs.begin(), pairs.end());
}
AnyMap CheckMapFromRange(AnyMap map, int64_t size) {
  std::string actual = MapImage(map).Text();
  CHECK(actual == MapImage(MakeMapFromRange(nullptr, size)).Text());
  return map;
}
Map<String, Array<int64_t>> MakeTypedMap(Any) { return {{"evens", {0, 2}}, {"odds", {1, 3, 5}}}; }
void CheckTypedMap(Map<String, Array<int64_t>> map) {
  CHECK_EQ(map.size(), size_t{2});
  CHECK_EQ(map["evens"].size(), size_t{2});
  CHECK_EQ(map["odds"][2], 5);
  std::string missing;
  try {
    map.at("primes");
  } catch (const Error& error) {
    missing = error.kind() + ": " + error.message();
  }
  CHECK_EQ(missing, "KeyError: key is not in Map");
}

// ---- Dict ---------------------------------------------------------------------------------------

// A dict that this library keeps while the other library changes it.
AnyDict& Remembered() {
  static AnyDict* dict = new AnyDict(UnsafeInit{});
  return *dict;
}

AnyDict MakeDict(Any, int64_t phase, String keys, int64_t size) {
  Remembered() = MakeThrough<AnyDict>(phase, keys, size);
  return Remembered();
}
AnyDict ChangeDict(AnyDict dict, int64_t phase, String keys, int64_t size) {
  AnyDict alias = dict;
  Apply(&dict, MapScript(size).RunThrough(phase), keys);
  CHECK(dict.same_as(alias));
  CheckContent(alias, phase, keys, size);
  return dict;
}
AnyDict CheckDict(AnyDict dict, int64_t phase, String keys, int64_t size) {
  CheckContent(dict, phase, keys, size);
  return dict;
}
// The library that created the dict sees the changes through the reference that it kept.
AnyDict CheckRememberedDict(AnyDict dict, int64_t phase, String keys, int64_t size) {
  CHECK(dict.same_as(Remembered()));
  CheckContent(Remembered(), phase, keys, size);
  Remembered() = AnyDict(UnsafeInit{});
  return dict;
}
AnyDict ClearDict(AnyDict dict) {
  dict.clear();
  CHECK(dict.empty());
  for (int64_t i = 0; i < 40; ++i) dict.Set(i, i * i);
  return dict;
}
void CheckClearedDict(AnyDict dict) {
  CHECK_EQ(dict.size(), size_t{40});
  int64_t next = 0;
  for (const auto& [key, value] : dict) {
    CHECK_EQ(key.cast<int64_t>(), next);
    CHECK_EQ(value.cast<int64_t>(), next * next);
    ++next;
  }
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_map, exchange::MakeMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_map, exchange::CheckMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_map_image, exchange::CheckImage<exchange::AnyMap>)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(change_copy_of_map, exchange::ChangeCopy)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(change_own_map, exchange::ChangeOwn)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(copy_map, exchange::CopyMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(refill_map, exchange::RefillMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_refilled_map, exchange::CheckRefilledMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_map_from_range, exchange::MakeMapFromRange)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_map_from_range, exchange::CheckMapFromRange)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_typed_map, exchange::MakeTypedMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_typed_map, exchange::CheckTypedMap)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_dict, exchange::MakeDict)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(change_dict, exchange::ChangeDict)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_dict, exchange::CheckDict)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_dict_image, exchange::CheckImage<exchange::AnyDict>)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_remembered_dict, exchange::CheckRememberedDict)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(clear_dict, exchange::ClearDict)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_cleared_dict, exchange::CheckClearedDict)
