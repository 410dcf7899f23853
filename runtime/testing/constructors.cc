// SPDX-License-Identifier: Apache-2.0
// Test classes for generated constructors: required, defaulted, keyword-only and excluded fields.
#include <tvm/ffi/reflection/registry.h>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class TestCxxAutoInitObj : public Object {
 public:
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
  int64_t d = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxAutoInit", TestCxxAutoInitObj, Object);
};

class TestCxxAutoInitSimpleObj : public Object {
 public:
  int64_t x = 0;
  int64_t y = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxAutoInitSimple", TestCxxAutoInitSimpleObj,
                                    Object);
};

class TestCxxAutoInitAllInitOffObj : public Object {
 public:
  int64_t x = 0;
  int64_t y = 0;
  int64_t z = 1234;  // keeps this value, because the generated constructor does not set this field

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxAutoInitAllInitOff",
                                    TestCxxAutoInitAllInitOffObj, Object);
};

class TestCxxAutoInitKwOnlyDefaultsObj : public Object {
 public:
  int64_t p_required = 0;
  int64_t p_default = 0;
  int64_t k_required = 0;
  int64_t k_default = 0;
  int64_t hidden = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxAutoInitKwOnlyDefaults",
                                    TestCxxAutoInitKwOnlyDefaultsObj, Object);
};

class TestCxxAutoInitParentObj : public Object {
 public:
  int64_t parent_required = 0;
  int64_t parent_default = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxAutoInitParent", TestCxxAutoInitParentObj, Object);
};

class TestCxxAutoInitChildObj : public TestCxxAutoInitParentObj {
 public:
  int64_t child_required = 0;
  int64_t child_kw_only = 0;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxAutoInitChild", TestCxxAutoInitChildObj,
                                    TestCxxAutoInitParentObj);
};

class TestCxxNoAutoInitObj : public Object {
 public:
  int64_t x = 0;
  int64_t y = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxNoAutoInit", TestCxxNoAutoInitObj, Object);
};

class TestCxxKwOnlyObj : public Object {
 public:
  int64_t x = 0;
  int64_t y = 0;
  int64_t z = 0;
  int64_t w = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxKwOnly", TestCxxKwOnlyObj, Object);
};

class TestCxxInitSubsetObj : public Object {
 public:
  int64_t required_field = 0;
  int64_t optional_field = 0;
  String note;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxInitSubset", TestCxxInitSubsetObj, Object);
};

void RegisterOneClassEach() {
  using Auto = TestCxxAutoInitObj;
  refl::ObjectDef<Auto>()
      .def_rw("a", &Auto::a)
      .def_rw("b", &Auto::b, refl::init(false), refl::DefaultValue(42))
      .def_rw("c", &Auto::c, refl::kw_only(true))
      .def_rw("d", &Auto::d, refl::DefaultValue(99));
  refl::ObjectDef<TestCxxAutoInitSimpleObj>()
      .def_rw("x", &TestCxxAutoInitSimpleObj::x)
      .def_rw("y", &TestCxxAutoInitSimpleObj::y);
  using Off = TestCxxAutoInitAllInitOffObj;
  refl::ObjectDef<Off>()
      .def_rw("x", &Off::x, refl::init(false), refl::DefaultValue(7))
      .def_rw("y", &Off::y, refl::init(false), refl::DefaultValue(9))
      .def_rw("z", &Off::z, refl::init(false));
  refl::ObjectDef<TestCxxNoAutoInitObj>(refl::init(false))
      .def_rw("x", &TestCxxNoAutoInitObj::x)
      .def_rw("y", &TestCxxNoAutoInitObj::y);
}

void RegisterMixedKinds() {
  using Mixed = TestCxxAutoInitKwOnlyDefaultsObj;
  refl::ObjectDef<Mixed>()
      .def_rw("p_required", &Mixed::p_required)
      .def_rw("p_default", &Mixed::p_default, refl::DefaultValue(11))
      .def_rw("k_required", &Mixed::k_required, refl::kw_only(true))
      .def_rw("k_default", &Mixed::k_default, refl::kw_only(true), refl::DefaultValue(22))
      .def_rw("hidden", &Mixed::hidden, refl::init(false), refl::DefaultValue(33));
  using KwOnly = TestCxxKwOnlyObj;
  refl::ObjectDef<KwOnly>()
      .def_rw("x", &KwOnly::x, refl::kw_only(true))
      .def_rw("y", &KwOnly::y, refl::kw_only(true))
      .def_rw("z", &KwOnly::z, refl::kw_only(true))
      .def_rw("w", &KwOnly::w, refl::kw_only(true), refl::DefaultValue(100));
  using Subset = TestCxxInitSubsetObj;
  refl::ObjectDef<Subset>()
      .def_rw("required_field", &Subset::required_field)
      .def_rw("optional_field", &Subset::optional_field, refl::init(false), refl::DefaultValue(-1))
      .def_rw("note", &Subset::note, refl::init(false), refl::DefaultValue("default"));
}

void RegisterInheritance() {
  using Parent = TestCxxAutoInitParentObj;
  refl::ObjectDef<Parent>()
      .def_rw("parent_required", &Parent::parent_required)
      .def_rw("parent_default", &Parent::parent_default, refl::DefaultValue(5));
  using Child = TestCxxAutoInitChildObj;
  refl::ObjectDef<Child>()
      .def_rw("child_required", &Child::child_required)
      .def_rw("child_kw_only", &Child::child_kw_only, refl::kw_only(true));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterOneClassEach();
  RegisterMixedKinds();
  RegisterInheritance();
}

}  // namespace
