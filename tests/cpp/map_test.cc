// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>

#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

template <typename Ref>
auto KeysOf(const Ref& map) {
  std::vector<typename Ref::key_type> keys;
  for (const auto& pair : map) keys.push_back(pair.first);
  return keys;
}

template <template <typename...> class Table>
void CheckBasics() {
  Table<String, int64_t> map{{"one", 1}, {"two", 2}, {"one", 3}};
  CHECK_EQ(map.size(), size_t{2});
  CHECK(!map.empty());
  CHECK_EQ(map["one"], 3);
  CHECK_EQ(map.at("two"), 2);
  CHECK_EQ(map.count("three"), size_t{0});
  CHECK(map.find("three") == map.end());
  CHECK_EQ((*map.find("two")).second, 2);
  CHECK_EQ(map.Get("two").value(), 2);
  CHECK(!map.Get("three").has_value());
  CHECK_EQ(Thrown([&] { map.at("three"); }), "KeyError: key is not in Map");
  CHECK_EQ(Thrown([&] { map["three"]; }), "KeyError: key is not in Map");
  map.erase("three");
  map.erase("one");
  CHECK_EQ(map.size(), size_t{1});
  map.clear();
  CHECK((map.empty() && map.begin() == map.end()));
  map.Set("four", 4);
  CHECK_EQ(map["four"], 4);

  std::unordered_map<String, int64_t> hashed{{"x", 1}, {"y", 2}, {"z", 3}, {"u", 4}, {"v", 5}};
  Table<String, int64_t> from_hashed(hashed);
  CHECK_EQ(from_hashed.size(), size_t{5});
  for (const auto& [key, value] : hashed) CHECK_EQ(from_hashed[key], value);

  Table<String, int64_t> null(UnsafeInit{});
  CHECK((null.empty() && null.begin() == null.end() && null.count("a") == 0));
  CHECK((!null.defined() && !null.Get("a").has_value() && null.find("a") == null.end()));
  CHECK_EQ(Thrown([&] { null.at("a"); }), "KeyError: key is not in Map");
  null.erase("a");
  null.clear();
  CHECK(!null.defined());
}

TEST_CASE("basics") {
  CheckBasics<Map>();
  CheckBasics<Dict>();
}

TEST_CASE("entries are in insertion order") {
  Map<int64_t, int64_t> small{{3, 0}, {1, 0}, {2, 0}};
  small.Set(3, 9);
  CHECK((KeysOf(small) == std::vector<int64_t>{3, 1, 2}));
  small.erase(1);
  CHECK((KeysOf(small) == std::vector<int64_t>{3, 2}));

  Map<int64_t, int64_t> dense{{6, 0}, {5, 0}, {4, 0}, {3, 0}, {2, 0}, {1, 0}};
  CHECK((KeysOf(dense) == std::vector<int64_t>{6, 5, 4, 3, 2, 1}));
  dense.Set(5, 9);
  CHECK((KeysOf(dense) == std::vector<int64_t>{6, 4, 3, 2, 1, 5}));
  dense.erase(3);
  dense.erase(6);
  CHECK((KeysOf(dense) == std::vector<int64_t>{4, 2, 1, 5}));
}

TEST_CASE("iterators are bidirectional") {
  for (int64_t count : {3, 40}) {
    Map<int64_t, int64_t> map;
    for (int64_t i = 0; i < count; ++i) map.Set(i, -i);
    auto it = map.end();
    for (int64_t i = count - 1; i >= 0; --i) CHECK_EQ((*--it).first, i);
    CHECK(it == map.begin());
    CHECK_EQ((*it++).second, 0);
    CHECK_EQ((*it--).second, -1);
    int64_t sum = 0;
    for (MapObj::iterator raw = map.get()->begin(); raw != map.get()->end(); ++raw) {
      sum += raw->first.cast<int64_t>() - raw->second.cast<int64_t>();
    }
    CHECK_EQ(sum, count * (count - 1));
    CHECK_EQ(std::distance(map.begin(), map.end()), count);
  }
}

// A model of the table according to the contract: keys in order, with values.
template <typename K>
struct Model {
  std::vector<std::pair<K, int64_t>> pairs;
  bool is_dense = false;

  size_t Find(const K& key) const {
    size_t i = 0;
    while (i < pairs.size() && !(pairs[i].first == key)) ++i;
    return i;
  }
  void Set(const K& key, int64_t value) {
    if (pairs.size() == 4) is_dense = true;
    size_t i = Find(key);
    if (i < pairs.size() && !is_dense) {
      pairs[i].second = value;
      return;
    }
    Erase(key);
    pairs.emplace_back(key, value);
  }
  void Erase(const K& key) {
    size_t i = Find(key);
    if (i < pairs.size()) pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
  }
};

template <typename Ref, typename K>
void CompareWithModel(uint64_t range, uint64_t steps, K (*make_key)(uint64_t)) {
  std::mt19937_64 random(range);
  Ref map;
  Model<K> model;
  for (uint64_t step = 0; step < steps; ++step) {
    K key = make_key(random() % range);
    // The table grows first and shrinks at the end.
    if (random() % steps < step) {
      map.erase(key);
      model.Erase(key);
    } else {
      map.Set(key, static_cast<int64_t>(step));
      model.Set(key, static_cast<int64_t>(step));
    }
    if (range > 20 && step % 101 != 0) continue;
    CHECK_EQ(map.size(), model.pairs.size());
    size_t i = 0;
    bool same = true;
    for (const auto& [k, v] : map) {
      same =
          same && i < model.pairs.size() && k == model.pairs[i].first && v == model.pairs[i].second;
      ++i;
    }
    CHECK(same);
    for (uint64_t k = 0; k < 20; ++k) {
      K probe = make_key(random() % range);
      size_t at = model.Find(probe);
      CHECK_EQ(map.count(probe), at < model.pairs.size() ? size_t{1} : size_t{0});
      if (at < model.pairs.size()) CHECK_EQ(map[probe], model.pairs[at].second);
    }
  }
}

int64_t IntKey(uint64_t i) { return static_cast<int64_t>(i); }
int64_t WideIntKey(uint64_t i) { return static_cast<int64_t>(i << 40); }
double FloatKey(uint64_t i) { return static_cast<double>(i) / 3; }
// Strings that fit into the value, strings that do not, and short strings on the heap.
String StringKey(uint64_t i) {
  std::string text = (i % 2 == 0 ? "k" : "a longer key ") + std::to_string(i);
  return i % 3 == 0 ? String(std::move(text)) : String(text.data(), text.size());
}

TEST_CASE("random operations") {
  for (uint64_t range : {3u, 5u, 9u, 20u, 200u, 2000u}) {
    uint64_t steps = range * 3 + 60;
    CompareWithModel<Map<int64_t, int64_t>, int64_t>(range, steps, IntKey);
    CompareWithModel<Dict<int64_t, int64_t>, int64_t>(range, steps, WideIntKey);
    CompareWithModel<Map<double, int64_t>, double>(range, steps, FloatKey);
    CompareWithModel<Dict<String, int64_t>, String>(range, steps, StringKey);
    CompareWithModel<Map<String, int64_t>, String>(range, steps, StringKey);
  }
}

TEST_CASE("keys of many types") {
  Map<Any, Any> map;
  Array<int64_t> array{1, 2};
  map.Set(1, "int");
  map.Set(true, "bool");
  map.Set(1.0, "float");
  map.Set(nullptr, "none");
  map.Set(array, "array");
  map.Set(String("1"), "str");
  map.Set(Bytes("1", 1), "bytes");
  CHECK_EQ(map.size(), size_t{7});
  CHECK_EQ(map[1].cast<std::string>(), "int");
  CHECK_EQ(map[true].cast<std::string>(), "bool");
  CHECK_EQ(map[nullptr].cast<std::string>(), "none");
  CHECK_EQ(map[array].cast<std::string>(), "array");
  CHECK_EQ(map.count(Array<int64_t>{1, 2}), size_t{0});
  CHECK_EQ(map[String(std::string("1"))].cast<std::string>(), "str");
  CHECK_EQ(map[Bytes("1", 1)].cast<std::string>(), "bytes");
}

TEST_CASE("a look-up does not change the references of the key") {
  Shape key({1, 2});
  String text("a text that needs an object");
  Map<Shape, int64_t> shapes{{key, 1}};
  Dict<Any, int64_t> any{{key, 2}, {text, 3}, {nullptr, 4}};
  int owners = key.use_count();
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(shapes.at(key), 1);
    CHECK_EQ(shapes.count(Shape({1, 2})), size_t{0});
    CHECK_EQ(any.Get(Any(key)).value(), 2);
    CHECK_EQ((*any.find(text)).second, 3);
    CHECK_EQ(any.at(Any()), 4);
  }
  CHECK_EQ(key.use_count(), owners);
  shapes.erase(key);
  CHECK_EQ(key.use_count(), owners - 1);
  Map<ObjectRef, int64_t> nothing{{ObjectRef(), 5}};
  CHECK_EQ(nothing.at(ObjectRef()), 5);
}

TEST_CASE("copy on write") {
  for (int64_t count : {2, 30}) {
    Map<int64_t, Array<int64_t>> map;
    for (int64_t i = 0; i < count; ++i) map.Set(i, {i});
    Map<int64_t, Array<int64_t>> copy = map;
    CHECK(copy.same_as(map));
    copy.erase(-1);
    CHECK(copy.same_as(map));
    copy.Set(0, {7});
    CHECK(!copy.same_as(map));
    CHECK_EQ(map[0][0], 0);
    CHECK_EQ(copy[0][0], 7);
    const Object* own = copy.get();
    copy.Set(1, {8});
    copy.erase(0);
    CHECK(copy.get() == own);
    CHECK_EQ(map.size(), static_cast<size_t>(count));
    map.clear();
    CHECK((map.empty() && copy.size() == static_cast<size_t>(count - 1)));
  }
  Map<int64_t, int64_t> merged = Merge(Map<int64_t, int64_t>{{1, 1}, {2, 2}}, {{2, 3}, {4, 4}});
  CHECK_EQ(merged.size(), size_t{3});
  CHECK_EQ(merged[2], 3);
}

TEST_CASE("dicts are shared") {
  Dict<Any, Any> dict;
  Dict<Any, Any> other = dict;
  for (int64_t i = 0; i < 1000; ++i) dict.Set(i, String("some text " + std::to_string(i)));
  CHECK(other.same_as(dict));
  CHECK_EQ(other.size(), size_t{1000});
  CHECK_EQ(other[999].cast<std::string>(), "some text 999");
  other.clear();
  CHECK(dict.empty());
}

TEST_CASE("values are released") {
  Array<int64_t> value{1};
  {
    Map<int64_t, Array<int64_t>> map;
    Dict<int64_t, Any> dict;
    for (int64_t i = 0; i < 20; ++i) {
      map.Set(i, value);
      dict.Set(i, value);
    }
    CHECK_EQ(value.use_count(), 41);
    map.Set(3, {2});
    dict.Set(3, 3);
    CHECK_EQ(value.use_count(), 39);
    map.erase(4);
    dict.erase(4);
    CHECK_EQ(value.use_count(), 37);
    Map<int64_t, Array<int64_t>> copy = map;
    copy.erase(5);
    CHECK_EQ(value.use_count(), 37 + 17);
    dict.clear();
    CHECK_EQ(value.use_count(), 19 + 17);
  }
  CHECK_EQ(value.use_count(), 1);
}

TEST_CASE("conversions") {
  Any any = Map<String, int64_t>{{"a", 1}, {"b", 2}};
  CHECK_EQ(any.type_index(), 72);
  Map<String, int64_t> shared = any.cast<Map<String, int64_t>>();
  CHECK((shared.same_as(any.as<Map<Any, Any>>().value())));
  CHECK((!any.as<Map<String, double>>().has_value()));
  Map<String, double> converted = any.cast<Map<String, double>>();
  CHECK(!converted.same_as(shared));
  CHECK_EQ(converted["b"], 2.0);
  CHECK((!any.as<Dict<String, int64_t>>().has_value()));
  Dict<String, int64_t> dict = any.cast<Dict<String, int64_t>>();
  CHECK_EQ(dict.type_index(), 76);
  CHECK_EQ((Any(dict).cast<Map<Any, Any>>().size()), size_t{2});
  Map<Any, Any> wider = shared;
  CHECK(wider.same_as(shared));
  wider = Map<String, int64_t>{};
  CHECK((Any(Map<Any, Any>()).as<Map<int64_t, String>>().has_value()));

  CHECK_EQ(Thrown([&] { any.cast<Map<int64_t, int64_t>>(); }),
           "TypeError: Cannot convert from type `Map[some key is ffi.SmallStr, V]` to "
           "`Map<int, int>`");
  CHECK_EQ(Thrown([&] { any.cast<Map<String, Array<int64_t>>>(); }),
           "TypeError: Cannot convert from type `Map[K, some value is int]` to "
           "`Map<str, Array<int>>`");
  // The message uses the names of the target type.
  CHECK_EQ(Thrown([&] { any.cast<Dict<String, Map<Any, Any>>>(); }),
           "TypeError: Cannot convert from type `Dict[K, some value is int]` to "
           "`Dict<str, Map<Any, Any>>`");
  CHECK_EQ(Thrown([&] { Any(1).cast<Dict<Any, String>>(); }),
           "TypeError: Cannot convert from type `int` to `Dict<Any, str>`");
  CHECK_EQ(Thrown([&] { Any(nullptr).cast<Map<Any, Any>>(); }),
           "TypeError: Cannot convert from type `None` to `Map<Any, Any>`");
}

TEST_CASE("type schemas") {
  CHECK_EQ((TypeTraits<Map<String, Any>>::TypeSchema()),
           R"({"type":"ffi.Map","args":[{"type":"ffi.String"},{"type":"Any"}]})");
  CHECK_EQ((TypeTraits<Dict<int64_t, Array<double>>>::TypeSchema()),
           R"({"type":"ffi.Dict","args":[{"type":"int"},)"
           R"({"type":"ffi.Array","args":[{"type":"float"}]}]})");
}

TEST_CASE("references as values") {
  Map<String, Map<String, int64_t>> nested{{"x", {{"a", 1}}}, {"y", {}}};
  CHECK_EQ(nested["x"]["a"], 1);
  CHECK_EQ(nested.Get("y")->size(), size_t{0});
  Any moved = std::move(nested);
  CHECK((!nested.defined() && nested.empty()));
  nested.Set("z", {});
  CHECK_EQ(nested.size(), size_t{1});
}

// An element whose destructor accesses the table that releases it.
Dict<int64_t, Any>* visited = nullptr;

class VisitorObj : public Object {
 public:
  ~VisitorObj() {
    if (visited != nullptr) visited->Set(100, static_cast<int64_t>(visited->count(100)));
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.MapVisitor", VisitorObj, Object);
};

TEST_CASE("destructors may access the table") {
  for (int64_t count : {1, 2, 30}) {
    Dict<int64_t, Any> dict;
    for (int64_t i = 0; i < count; ++i) dict.Set(i, ObjectRef(make_object<VisitorObj>()));
    visited = &dict;
    dict.erase(0);
    CHECK_EQ(dict.size(), static_cast<size_t>(count));
    if (count > 1) dict.Set(1, 0);
    CHECK_EQ(dict[100].cast<int64_t>(), count > 1 ? 1 : 0);
    visited = nullptr;
  }
}

// A key with a hash hook, which fails on demand.
class HashedObj : public Object {
 public:
  int64_t id;
  explicit HashedObj(int64_t id) : id(id) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.MapHashed", HashedObj, Object);
};

int64_t calls_until_failure = INT64_MAX;

TVMFFIAny IntResult(int64_t value) { return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(value)); }
TVMFFIAny HashOf(const Any& key) noexcept {
  if (--calls_until_failure < 0) {
    return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(Error("ValueError", "hash", "")));
  }
  // Keys with few different hash values, so that collision chains become long.
  return IntResult(key.as<HashedObj>()->id % 7);
}
TVMFFIAny AreEqual(const Any& a, const Any& b) noexcept {
  bool is_equal = a.as<HashedObj>()->id == b.as<HashedObj>()->id;
  return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(is_equal));
}

void SetAttr(const char* name, void* hook) {
  TVMFFIByteArray bytes{name, std::strlen(name)};
  TVMFFIAny value = AnyView(hook).CopyToTVMFFIAny();
  detail::CheckSafeCall(
      TVMFFITypeRegisterAttr(HashedObj::_GetOrAllocRuntimeTypeIndex(), &bytes, &value));
}

TEST_CASE("a failing hash changes nothing") {
  SetAttr("__any_hash__", reinterpret_cast<void*>(HashOf));
  SetAttr("__any_equal__", reinterpret_cast<void*>(AreEqual));
  auto make = [](int64_t id) { return ObjectRef(make_object<HashedObj>(id)); };
  Dict<ObjectRef, int64_t> dict;
  std::map<int64_t, int64_t> model;
  std::mt19937_64 random(3);
  for (int64_t step = 0; step < 1500; ++step) {
    int64_t id = static_cast<int64_t>(random() % 150);
    bool is_erase = random() % 3 == 0;
    calls_until_failure = static_cast<int64_t>(random() % 4) * (step % 16);
    std::string error = Thrown([&] {
      if (is_erase) {
        dict.erase(make(id));
      } else {
        dict.Set(make(id), step);
      }
    });
    calls_until_failure = INT64_MAX;
    if (!error.empty()) {
      CHECK_EQ(error, "ValueError: hash");
    } else if (is_erase) {
      model.erase(id);
    } else {
      model[id] = step;
    }
    CHECK_EQ(dict.size(), model.size());
    if (step % 10 != 0) continue;
    for (const auto& [key, value] : model) CHECK_EQ(dict.Get(make(key)).value_or(-1), value);
  }
}

}  // namespace
