// SPDX-License-Identifier: Apache-2.0
// Test classes with constructors, methods, inheritance and object references.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class TestIntPairObj : public Object {
 public:
  int64_t a = 0;
  int64_t b = 0;

  TestIntPairObj() = default;
  TestIntPairObj(int64_t a, int64_t b) : a(a), b(b) {}
  int64_t Sum() const { return a + b; }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestIntPair", TestIntPairObj, Object);
};

class TestIntPair : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(TestIntPair, ObjectRef, TestIntPairObj);
};

class TestObjectBaseObj : public Object {
 public:
  int64_t v_i64 = 10;
  double v_f64 = 10.0;
  String v_str = "hello";

  int64_t AddI64(int64_t other) const { return v_i64 + other; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestObjectBase", TestObjectBaseObj, Object);
};

class TestObjectDerivedObj : public TestObjectBaseObj {
 public:
  Map<Any, Any> v_map;
  Array<Any> v_array;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestObjectDerived", TestObjectDerivedObj,
                                    TestObjectBaseObj);
};

class TestObjectPtrHolderObj : public Object {
 public:
  Arc<TestObjectBaseObj> value;
  ObjectPtr<TestObjectBaseObj> optional_value;

  explicit TestObjectPtrHolderObj(UnsafeInit tag) : value(tag) {}

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestObjectPtrHolder", TestObjectPtrHolderObj, Object);
};

class TestNonCopyableObj : public Object {
 public:
  int64_t value;

  explicit TestNonCopyableObj(int64_t value) : value(value) {}
  TestNonCopyableObj(const TestNonCopyableObj&) = delete;
  TestNonCopyableObj& operator=(const TestNonCopyableObj&) = delete;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestNonCopyable", TestNonCopyableObj, Object);
};

// The fields are writable in C++, but the Python class of this type makes them read-only.
class TestFrozenCxxObj : public Object {
 public:
  int64_t value = 0;
  String tag;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestFrozenCxx", TestFrozenCxxObj, Object);
};

// Test class for deep copies: its fields can form shared and cyclic references.
class TestDeepCopyEdgesObj : public Object {
 public:
  Any v_any;
  ObjectRef v_obj;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestDeepCopyEdges", TestDeepCopyEdgesObj, Object);
};

// The next two C++ classes have no Python class.
class TestUnregisteredBaseObj : public Object {
 public:
  int64_t v1;

  explicit TestUnregisteredBaseObj(int64_t v1) : v1(v1) {}
  int64_t GetV1PlusOne() const { return v1 + 1; }

  TVM_FFI_DECLARE_OBJECT_INFO("testing.TestUnregisteredBaseObject", TestUnregisteredBaseObj,
                              Object);
};

class TestUnregisteredObj : public TestUnregisteredBaseObj {
 public:
  int64_t v2;

  TestUnregisteredObj(int64_t v1, int64_t v2) : TestUnregisteredBaseObj(v1), v2(v2) {}
  int64_t GetV2PlusTwo() const { return v2 + 2; }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestUnregisteredObject", TestUnregisteredObj,
                                    TestUnregisteredBaseObj);
};

void RegisterPair() {
  refl::ObjectDef<TestIntPairObj>()
      .def(refl::init<int64_t, int64_t>())
      .def_ro("a", &TestIntPairObj::a, "Field `a`")
      .def_ro("b", &TestIntPairObj::b, "Field `b`")
      .def("sum", &TestIntPairObj::Sum, "Method to compute sum of a and b")
      .def_convert<TestIntPair>();
  refl::GlobalDef().def("testing.TestIntPairSum",
                        [](const TestIntPair& pair) { return pair->Sum(); });
}

void RegisterHierarchy() {
  refl::ObjectDef<TestObjectBaseObj>()
      .def_rw("v_i64", &TestObjectBaseObj::v_i64, refl::DefaultValue(10), "i64 field")
      .def_ro("v_f64", &TestObjectBaseObj::v_f64, refl::DefaultValue(10.0))
      .def_rw("v_str", &TestObjectBaseObj::v_str, refl::DefaultValue("hello"))
      .def("add_i64", &TestObjectBaseObj::AddI64, "add_i64 method");
  refl::ObjectDef<TestObjectDerivedObj>()
      .def_rw("v_map", &TestObjectDerivedObj::v_map)
      .def_rw("v_array", &TestObjectDerivedObj::v_array);
  refl::ObjectDef<TestObjectPtrHolderObj>()
      .def_rw("value", &TestObjectPtrHolderObj::value)
      .def_rw("optional_value", &TestObjectPtrHolderObj::optional_value,
              refl::DefaultValue(nullptr));
}

void RegisterSpecialCases() {
  refl::ObjectDef<TestNonCopyableObj>()
      .def(refl::init<int64_t>())
      .def_ro("value", &TestNonCopyableObj::value);
  refl::ObjectDef<TestFrozenCxxObj>()
      .def_rw("value", &TestFrozenCxxObj::value)
      .def_rw("tag", &TestFrozenCxxObj::tag, refl::DefaultValue(""));
  refl::ObjectDef<TestDeepCopyEdgesObj>()
      .def_rw("v_any", &TestDeepCopyEdgesObj::v_any)
      .def_rw("v_obj", &TestDeepCopyEdgesObj::v_obj);
}

void RegisterUnregistered() {
  refl::ObjectDef<TestUnregisteredBaseObj>()
      .def(refl::init<int64_t>(), "Constructor of TestUnregisteredBaseObject")
      .def_ro("v1", &TestUnregisteredBaseObj::v1)
      .def("get_v1_plus_one", &TestUnregisteredBaseObj::GetV1PlusOne,
           "Get (v1 + 1) from TestUnregisteredBaseObject");
  refl::ObjectDef<TestUnregisteredObj>()
      .def(refl::init<int64_t, int64_t>(), "Constructor of TestUnregisteredObject")
      .def_ro("v2", &TestUnregisteredObj::v2)
      .def("get_v2_plus_two", &TestUnregisteredObj::GetV2PlusTwo,
           "Get (v2 + 2) from TestUnregisteredObject");
  refl::GlobalDef().def("testing.make_unregistered_object", [] {
    return ObjectRef(ObjectPtr<Object>(make_object<TestUnregisteredObj>(41, 42)));
  });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPair();
  RegisterHierarchy();
  RegisterSpecialCases();
  RegisterUnregistered();
}

}  // namespace
