// SPDX-License-Identifier: Apache-2.0
// Test classes for equality, order and hash: excluded fields and hooks.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

using Equal = TypedFunction<bool(AnyView, AnyView)>;
using Compare = TypedFunction<int(AnyView, AnyView)>;
using Hash = TypedFunction<int64_t(AnyView)>;

class TestCompareObj : public Object {
 public:
  int64_t key = 0;
  String name;
  int64_t ignored_field = 0;

  TestCompareObj() = default;
  TestCompareObj(int64_t key, String name, int64_t ignored_field)
      : key(key), name(std::move(name)), ignored_field(ignored_field) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCompare", TestCompareObj, Object);
};

class TestHashObj : public Object {
 public:
  int64_t key = 0;
  String name;
  int64_t hash_ignored = 0;

  TestHashObj() = default;
  TestHashObj(int64_t key, String name, int64_t hash_ignored)
      : key(key), name(std::move(name)), hash_ignored(hash_ignored) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestHash", TestHashObj, Object);
};

// Base class with two fields: the hooks of the derived classes compare `key` and ignore `label`.
class LabelledObj : public Object {
 public:
  int64_t key = 0;
  String label;

  LabelledObj() = default;
  LabelledObj(int64_t key, String label) : key(key), label(std::move(label)) {}
};

class TestCustomHashObj : public LabelledObj {
 public:
  using LabelledObj::LabelledObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCustomHash", TestCustomHashObj, Object);
};

class TestCustomCompareObj : public LabelledObj {
 public:
  using LabelledObj::LabelledObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCustomCompare", TestCustomCompareObj, Object);
};

class TestEqWithoutHashObj : public LabelledObj {
 public:
  using LabelledObj::LabelledObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestEqWithoutHash", TestEqWithoutHashObj, Object);
};

template <typename Class>
int64_t HashKey(const Class* self, const Hash& hash) {
  return hash(self->key);
}

template <typename Class>
bool EqualKeys(const Class* lhs, const Class* rhs, const Equal& equal) {
  return equal(lhs->key, rhs->key);
}

template <typename Class>
int CompareKeys(const Class* lhs, const Class* rhs, const Compare& compare) {
  return compare(lhs->key, rhs->key);
}

// Registers the fields `key` and `label`.
template <typename Class>
void RegisterLabelled() {
  refl::ObjectDef<Class>()
      .def(refl::init<int64_t, String>())
      .def_ro("key", &Class::key)
      .def_ro("label", &Class::label);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<TestCompareObj>()
      .def(refl::init<int64_t, String, int64_t>())
      .def_ro("key", &TestCompareObj::key)
      .def_ro("name", &TestCompareObj::name)
      .def_ro("ignored_field", &TestCompareObj::ignored_field, refl::compare(false));
  refl::ObjectDef<TestHashObj>()
      .def(refl::init<int64_t, String, int64_t>())
      .def_ro("key", &TestHashObj::key)
      .def_ro("name", &TestHashObj::name)
      .def_ro("hash_ignored", &TestHashObj::hash_ignored, refl::hash(false));
  RegisterLabelled<TestCustomHashObj>();
  refl::TypeAttrDef<TestCustomHashObj>().def(type_attr::kHash, &HashKey<TestCustomHashObj>);
  RegisterLabelled<TestCustomCompareObj>();
  refl::TypeAttrDef<TestCustomCompareObj>()
      .def(type_attr::kHash, &HashKey<TestCustomCompareObj>)
      .def(type_attr::kEq, &EqualKeys<TestCustomCompareObj>)
      .def(type_attr::kCompare, &CompareKeys<TestCustomCompareObj>);
  RegisterLabelled<TestEqWithoutHashObj>();
  refl::TypeAttrDef<TestEqWithoutHashObj>().def(type_attr::kEq, &EqualKeys<TestEqWithoutHashObj>);
}

}  // namespace
