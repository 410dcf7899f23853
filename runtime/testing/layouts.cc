// SPDX-License-Identifier: Apache-2.0
// Test classes with special memory layouts: narrow fields, inheritance, an unregistered field, a
// virtual table.
#include <tvm/ffi/reflection/registry.h>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class TestCxxClassBaseObj : public Object {
 public:
  int64_t v_i64 = 0;
  int32_t v_i32 = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxClassBase", TestCxxClassBaseObj, Object);
};

class TestCxxClassDerivedObj : public TestCxxClassBaseObj {
 public:
  double v_f64 = 0.0;
  float v_f32 = 0.0F;

  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestCxxClassDerived", TestCxxClassDerivedObj,
                              TestCxxClassBaseObj);
};

class TestCxxClassDerivedDerivedObj : public TestCxxClassDerivedObj {
 public:
  String v_str;
  bool v_bool = false;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxClassDerivedDerived",
                                    TestCxxClassDerivedDerivedObj, TestCxxClassDerivedObj);
};

class TestCxxClassHiddenFieldObj : public Object {
 public:
  int64_t v_i64 = 0;
  int64_t hidden = 0;
  int32_t v_i32 = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxClassHiddenField", TestCxxClassHiddenFieldObj,
                                    Object);
};

class TestCxxClassPolymorphicObj : public Object {
 public:
  int64_t v_i64 = 0;

  virtual ~TestCxxClassPolymorphicObj() = default;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestCxxClassPolymorphic", TestCxxClassPolymorphicObj,
                                    Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<TestCxxClassBaseObj>()
      .def_rw("v_i64", &TestCxxClassBaseObj::v_i64, refl::repr(false))
      .def_rw("v_i32", &TestCxxClassBaseObj::v_i32, refl::repr(false));
  refl::ObjectDef<TestCxxClassDerivedObj>()
      .def_rw("v_f64", &TestCxxClassDerivedObj::v_f64)
      .def_rw("v_f32", &TestCxxClassDerivedObj::v_f32, refl::DefaultValue(8.0));
  refl::ObjectDef<TestCxxClassDerivedDerivedObj>()
      .def_rw("v_str", &TestCxxClassDerivedDerivedObj::v_str, refl::DefaultValue("default"))
      .def_rw("v_bool", &TestCxxClassDerivedDerivedObj::v_bool);
  refl::ObjectDef<TestCxxClassHiddenFieldObj>()
      .def_rw("v_i64", &TestCxxClassHiddenFieldObj::v_i64)
      .def_rw("v_i32", &TestCxxClassHiddenFieldObj::v_i32);
  refl::ObjectDef<TestCxxClassPolymorphicObj>().def_rw("v_i64", &TestCxxClassPolymorphicObj::v_i64);
}

}  // namespace
