// SPDX-License-Identifier: Apache-2.0
// Walks of the runtime while threads of the host change the objects.  The lock simulates the other
// thread: it changes an object as soon as the walk releases the lock.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class HolderObj : public Object {
 public:
  Any held;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Holder", HolderObj, Object);
};

// Changes that run at the end of a locked section, by the object that was locked; each runs once.
std::map<const void*, std::function<void()>> rivals;
int num_open = 0;
int most_open = 0;

void Begin(void* section, const void* object) {
  *static_cast<const void**>(section) = object;
  most_open = std::max(most_open, ++num_open);
}
void End(void* section) {
  --num_open;
  auto rival = rivals.find(*static_cast<const void**>(section));
  if (rival == rivals.end()) return;
  std::function<void()> change = std::move(rival->second);
  rivals.erase(rival);
  change();
}

void Register(const char* name, void* symbol) {
  REQUIRE_EQ(TVMFFIEnvRegisterCAPI(name, symbol), 0);
}

// Registers the lock functions with the runtime for the lifetime of this object.
class HostLock {
 public:
  HostLock() {
    Register("ObjectLock_Begin", reinterpret_cast<void*>(&Begin));
    Register("ObjectLock_End", reinterpret_cast<void*>(&End));
    rivals.clear();
    most_open = 0;
  }
  ~HostLock() {
    Register("ObjectLock_Begin", nullptr);
    Register("ObjectLock_End", nullptr);
    CHECK_EQ(num_open, 0);
  }
};

String Long(const char* name) { return String(std::string(name) + " that lies on the heap"); }

// An Array of a List and, where the walk supports it, a Dict; the changes of the rival thread empty
// both.
class Nested {
 public:
  explicit Nested(bool with_dict = true)
      : list_{Long("element"), Array<Any>{Long("inner")}},
        dict_{{Long("key"), Array<Any>{Long("value")}}},
        root_{list_} {
    if (with_dict) root_.push_back(dict_);
  }
  // Each container is emptied after one of these numbers of locked sections.
  void ExpectRivals(int num_sections = 1) {
    rivals[list_.get()] = [this, num_sections] { Change(num_sections, true); };
    rivals[dict_.get()] = [this, num_sections] { Change(num_sections, false); };
  }
  const Array<Any>& root() const { return root_; }
  bool is_empty() const { return list_.empty() && (root_.size() == 1 || dict_.empty()); }

 private:
  void Change(int num_sections, bool is_list) {
    const void* object = is_list ? static_cast<const void*>(list_.get()) : dict_.get();
    if (num_sections > 1) {
      rivals[object] = [this, num_sections, is_list] { Change(num_sections - 1, is_list); };
    } else if (is_list) {
      list_.clear();
      list_.reserve(64);  // the elements are in another buffer then
    } else {
      dict_.clear();
    }
  }

  List<Any> list_;
  Dict<Any, Any> dict_;
  Array<Any> root_;
};

TVM_FFI_STATIC_INIT_BLOCK() { refl::ObjectDef<HolderObj>().def_rw("held", &HolderObj::held); }

constexpr char kText[] =
    "([\"element that lies on the heap\", (\"inner that lies on the heap\",)], "
    "{\"key that lies on the heap\": (\"value that lies on the heap\",)})";

}  // namespace

TEST_CASE("text shows a consistent state of each container") {
  Nested nested;
  HostLock lock;
  nested.ExpectRivals();
  CHECK_EQ(ReprPrint(nested.root()), kText);
  CHECK(nested.is_empty());
  CHECK_EQ(most_open, 1);  // no lock is acquired while the thread holds another lock
}

TEST_CASE("copies have a consistent state of each container") {
  Nested nested;
  HostLock lock;
  nested.ExpectRivals();
  Any copy = DeepCopy(nested.root());
  CHECK(nested.is_empty());
  CHECK_EQ(ReprPrint(copy), kText);
  CHECK_EQ(most_open, 1);
}

TEST_CASE("hashes use a consistent state of each container") {
  int64_t recursive = RecursiveHash(Nested().root());
  uint64_t structural = StructuralHash::Hash(Nested().root());
  for (bool is_recursive : {true, false}) {
    Nested nested;
    HostLock lock;
    nested.ExpectRivals();
    if (is_recursive) CHECK_EQ(RecursiveHash(nested.root()), recursive);
    if (!is_recursive) CHECK_EQ(StructuralHash::Hash(nested.root()), structural);
    CHECK(nested.is_empty());
    CHECK_EQ(most_open, 1);
  }
}

TEST_CASE("equality compares a consistent state of each container") {
  for (bool is_recursive : {true, false}) {
    for (bool is_left : {true, false}) {
      Nested nested;
      Nested other;
      const Any& lhs = is_left ? nested.root() : other.root();
      const Any& rhs = is_left ? other.root() : nested.root();
      HostLock lock;
      nested.ExpectRivals(2);  // the container changes after its size was checked
      CHECK((is_recursive ? RecursiveEq(lhs, rhs) : StructuralEqual::Equal(lhs, rhs)));
      CHECK(nested.is_empty());
      CHECK_EQ(most_open, 1);
    }
  }
}

TEST_CASE("tables whose sizes differ after the size check are not equal") {
  for (bool is_recursive : {true, false}) {
    for (bool is_left : {true, false}) {
      Dict<Any, Any> changed{{1, 2}, {3, 4}};
      Dict<Any, Any> other{{1, 2}, {3, 4}};
      const Any& lhs = is_left ? changed : other;
      const Any& rhs = is_left ? other : changed;
      HostLock lock;
      rivals[changed.get()] = [&] { is_left ? changed.erase(3) : changed.Set(5, 6); };
      CHECK_FALSE((is_recursive ? RecursiveEq(lhs, rhs) : StructuralEqual::Equal(lhs, rhs)));
    }
  }
}

TEST_CASE("the first mismatch is found in the original state of the containers") {
  Nested nested;
  Array<Any> other{List<Any>{Long("element"), Array<Any>{Long("another")}}, Dict<Any, Any>()};
  HostLock lock;
  nested.ExpectRivals();
  Optional<refl::AccessPathPair> paths = StructuralEqual::GetFirstMismatch(nested.root(), other);
  REQUIRE(paths.has_value());
  CHECK_EQ((*paths).get<0>()->ToSteps().size(), 3);
}

TEST_CASE("JSON has a consistent state of each List") {
  Nested nested(/*with_dict=*/false);
  HostLock lock;
  nested.ExpectRivals();
  CHECK_EQ(json::Stringify(nested.root()),
           "[[\"element that lies on the heap\",[\"inner that lies on the heap\"]]]");
  CHECK(nested.is_empty());
}

TEST_CASE("a JSON graph has a consistent state of each container") {
  String expected = json::Stringify(ToJSONGraph(Nested().root()));
  Nested nested;
  HostLock lock;
  nested.ExpectRivals();
  CHECK_EQ(json::Stringify(ToJSONGraph(nested.root())), expected);
  CHECK(nested.is_empty());
}

TEST_CASE("visits and mutations see a consistent state of each container") {
  Nested nested;
  int num_strings = 0;
  HostLock lock;
  nested.ExpectRivals();
  StructuralWalk<WalkOrder::kPreOrder>(nested.root(), [&](const String&) {
    ++num_strings;
    return WalkResult::Advance();
  });
  CHECK_EQ(num_strings, 3);
  CHECK(nested.is_empty());

  Nested again;
  again.ExpectRivals();
  auto number = [](const String&, StructuralMutatorObj*) { return 1; };
  Any mutated = StructuralMutate(again.root(), number);
  CHECK(again.is_empty());
  CHECK_EQ(ReprPrint(mutated), "([1, (1,)], {\"key that lies on the heap\": (1,)})");
}

TEST_CASE("a walk keeps the value of a field alive") {
  auto holder = make_object<HolderObj>();
  holder->held = Array<Any>{Long("old")};
  ObjectRef root{ObjectPtr<Object>(holder)};
  auto replace = [&] { holder->held = 1; };
  HostLock lock;
  rivals[holder.get()] = replace;
  CHECK_EQ(ReprPrint(root), "test.cpp.Holder(held=(\"old that lies on the heap\",))");
  CHECK_EQ(ReprPrint(root), "test.cpp.Holder(held=1)");
}

TEST_CASE("an unregistered lock is not used") {
  {
    HostLock lock;
  }
  bool was_called = false;
  List<Any> list{1};
  rivals[list.get()] = [&] { was_called = true; };
  CHECK_EQ(ReprPrint(list), "[1]");
  CHECK_FALSE(was_called);
}
