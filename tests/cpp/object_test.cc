// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/function.h>

namespace {

using namespace tvm::ffi;

int live_objects = 0;

class BaseObj : public Object {
 public:
  int64_t value = 0;
  BaseObj() { ++live_objects; }
  explicit BaseObj(int64_t v) : value(v) { ++live_objects; }
  BaseObj(const BaseObj&) = delete;
  ~BaseObj() { --live_objects; }
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("test.cpp.Base", BaseObj, Object);
};

class Base : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Base, ObjectRef, BaseObj);
};

class FirstObj : public BaseObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.First", FirstObj, BaseObj);
};
class SecondObj : public BaseObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Second", SecondObj, BaseObj);
};
class First : public Base {
 public:
  explicit First(int64_t value) : Base(UnsafeInit{}) {
    auto object = make_object<FirstObj>();
    object->value = value;
    data_ = std::move(object);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(First, Base, FirstObj);
};

// A class whose vtable pointer precedes the header.
class PolymorphicObj : public Object {
 public:
  virtual ~PolymorphicObj() { --live_objects; }
  PolymorphicObj() { ++live_objects; }
  virtual int answer() const { return 42; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Polymorphic", PolymorphicObj, Object);
};

class CopiedObj : public Object {
 public:
  int64_t value = 0;
  explicit CopiedObj(int64_t value) : value(value) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Copied", CopiedObj, Object);
};

// Copying the header would read a reference count that other threads change; assigning the header
// would lose the references to an object.
TEST_CASE("copying an object does not copy the header") {
  ObjectPtr<CopiedObj> a = make_object<CopiedObj>(1), same_a = a;
  ObjectPtr<CopiedObj> b = make_object<CopiedObj>(*a);
  CHECK_EQ(b->value, 1);
  CHECK_EQ(b.use_count(), 1u);
  CHECK_EQ(b->GetTypeKey(), "test.cpp.Copied");
  b->value = 2;
  *a = *b;
  CHECK_EQ(same_a->value, 2);
  CHECK_EQ(a.use_count(), 2u);
  CopiedObj on_stack(3);
  *a = on_stack;
  CHECK_EQ(a->value, 3);
  CHECK_EQ(a->GetTypeKey(), "test.cpp.Copied");
}

TEST_CASE("references are counted") {
  {
    ObjectPtr<BaseObj> a = make_object<BaseObj>(7);
    CHECK(a.unique());
    ObjectPtr<Object> b = a;
    CHECK_EQ(a.use_count(), 2);
    ObjectPtr<BaseObj> c = std::move(a);
    CHECK(a == nullptr);
    CHECK_EQ(c->value, 7);
    CHECK_EQ(live_objects, 1);
  }
  CHECK_EQ(live_objects, 0);
}

class VirtualObj : public Object {
 public:
  virtual ~VirtualObj() = default;
  TVM_FFI_DECLARE_OBJECT_INFO("test.object.Virtual", VirtualObj, Object);
};

class DerivedVirtualObj final : public VirtualObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.object.DerivedVirtual", DerivedVirtualObj, VirtualObj);
};

// UndefinedBehaviorSanitizer checks the vtable pointer, which at that time is the pointer of the
// base class.
TEST_CASE("the memory of a polymorphic object is freed with the last weak pointer") {
  WeakObjectPtr<DerivedVirtualObj> weak;
  {
    ObjectPtr<DerivedVirtualObj> strong = make_object<DerivedVirtualObj>();
    weak = strong;
  }
  CHECK(weak.expired());
}

TEST_CASE("a weak pointer outlives the object") {
  WeakObjectPtr<BaseObj> weak;
  {
    ObjectPtr<BaseObj> strong = make_object<BaseObj>();
    weak = strong;
    CHECK(!strong.unique());
    CHECK_EQ(strong.use_count(), 1);
    CHECK(weak.lock() == strong);
  }
  CHECK_EQ(live_objects, 0);
  CHECK(weak.expired());
  CHECK(weak.lock() == nullptr);
}

struct Holder;

class LooksBackObj : public Object {
 public:
  explicit LooksBackObj(Holder* holder) : holder(holder) {}
  ~LooksBackObj();
  Holder* holder;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.LooksBack", LooksBackObj, Object);
};
class LooksBack : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(LooksBack, ObjectRef, LooksBackObj);
};
struct Holder {
  ObjectPtr<LooksBackObj> pointer;
  Optional<LooksBack> optional;
  int deaths = 0;
};
LooksBackObj::~LooksBackObj() {
  // A reference that is copied during the destruction would destroy the object again.
  if (++holder->deaths > 1) return;
  ObjectPtr<LooksBackObj> seen = holder->pointer;
  CHECK((seen == nullptr));
  CHECK(!holder->optional.has_value());
}

// Regression: the reference was released before the pointer was set to null.
TEST_CASE("a destructor sees a null pointer during reset") {
  Holder holder;
  holder.pointer = make_object<LooksBackObj>(&holder);
  holder.pointer.reset();
  CHECK_EQ(holder.deaths, 1);
  holder.deaths = 0;
  holder.optional = LooksBack(make_object<LooksBackObj>(&holder));
  holder.optional = std::nullopt;
  CHECK_EQ(holder.deaths, 1);
  ObjectPtr<BaseObj> strong = make_object<BaseObj>();
  WeakObjectPtr<BaseObj> weak = strong;
  weak.reset();
  CHECK((weak.expired() && weak.lock() == nullptr));
  CHECK_EQ(strong.use_count(), 1);
}

TEST_CASE("instance tests follow the hierarchy") {
  ObjectRef first = First(1);
  ObjectRef second(make_object<SecondObj>());
  CHECK(first.as<BaseObj>() != nullptr);
  CHECK(second.as<BaseObj>() != nullptr);  // the index is outside the one reserved slot
  CHECK(first.as<FirstObj>() != nullptr);
  CHECK(first.as<SecondObj>() == nullptr);
  CHECK(first.as<First>().has_value());
  CHECK(!second.as<First>().has_value());
  CHECK_EQ(first.GetTypeKey(), "test.cpp.First");
  CHECK(detail::RuntimeTypeIndexMatch(first.type_index(), BaseObj::RuntimeTypeIndex()));
  CHECK(!detail::RuntimeTypeIndexMatch(second.type_index(), FirstObj::RuntimeTypeIndex()));
  CHECK(detail::RuntimeTypeIndexMatch(kTVMFFISmallStr, kTVMFFIStr));
}

TEST_CASE("a wrong downcast is a type error") {
  ObjectRef first = First(1);
  try {
    first.as_or_throw<Function>();
    CHECK(false);
  } catch (const Error& error) {
    CHECK_EQ(error.kind(), "TypeError");
    CHECK_EQ(error.message(), "Cannot treat type `test.cpp.First` as type `ffi.Function`");
  }
}

TEST_CASE("the handle of a polymorphic object is its header") {
  {
    ObjectPtr<PolymorphicObj> object = make_object<PolymorphicObj>();
    TVMFFIObject* header = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectPtr(object);
    CHECK_EQ(reinterpret_cast<char*>(header) - reinterpret_cast<char*>(object.get()), 8);
    CHECK_EQ(detail::ObjectUnsafe::GetObjectOffsetToSubclass<PolymorphicObj>(), 8);
    Any any(object);
    CHECK_EQ(any.as<PolymorphicObj>()->answer(), 42);
  }
  CHECK_EQ(live_objects, 0);
}

struct ThrowingObj : public Object {
  ThrowingObj() { throw 1; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.cpp.Throwing", ThrowingObj, Object);
};

TEST_CASE("a throwing constructor leaks nothing") {
  bool thrown = false;
  try {
    make_object<ThrowingObj>();
  } catch (int) {
    thrown = true;
  }
  CHECK(thrown);
}

TEST_CASE("an inplace array rejects a size that overflows") {
  bool thrown = false;
  try {
    make_inplace_array_object<BaseObj, int64_t>(~size_t{0} / 8);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
}

TEST_CASE("GetRef shares the object") {
  First first(3);
  Base base = GetRef<Base>(first.get());
  CHECK(base.same_as(first));
  CHECK_EQ(base->value, 3);
  CHECK(!GetRef<Base>(static_cast<const BaseObj*>(nullptr)).defined());
  bool thrown = false;
  try {
    GetRef<First>(static_cast<const FirstObj*>(nullptr));
  } catch (const Error& error) {
    thrown = error.kind() == "InternalError";
  }
  CHECK(thrown);
}

TEST_CASE("byte swap reverses each element") {
  uint16_t values[] = {0x0102, 0x0304};
  ByteSwap(values, 2, 2);
  CHECK_EQ(values[0], 0x0201);
  CHECK_EQ(values[1], 0x0403);
}

TEST_CASE("identity is compared across reference classes") {
  First first(1);
  Base base = first;
  ObjectRef ref = base;
  ObjectPtrEqual equal;
  ObjectPtrHash hash;
  CHECK((equal(first, base) && equal(base, ref) && equal(ref, first)));
  CHECK(!equal(First(1), base));
  CHECK((hash(first) == hash(ref) && hash(base) == hash(ref)));
}

TEST_CASE("assignment to an ancestor adds one reference") {
  First first(1);
  Base base;
  base = first;
  CHECK_EQ(first.use_count(), 2);
  ObjectRef ref;
  ref = base;
  CHECK_EQ(first.use_count(), 3);
  ref = std::move(base);
  CHECK_EQ(first.use_count(), 2);
  CHECK(!base.defined());
  base = First(2);
  CHECK_EQ(base.use_count(), 1);
}

}  // namespace
