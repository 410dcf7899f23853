// SPDX-License-Identifier: Apache-2.0
// Key hooks as function pointers, in the calling convention before 0.1.15 and in the one since.
#include <doctest/doctest.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

constexpr const char* kTypeKeys[] = {"test.cpp.EarlierKey", "test.cpp.LaterKey", "test.cpp.LoneKey",
                                     "test.cpp.FailingKey", "test.cpp.TextKey"};

// Each test has a separate type, because a hook is registered once.
template <int kNumber>
class KeyObj : public Object {
 public:
  int64_t id;
  explicit KeyObj(int64_t id) : id(id) {}
  static constexpr const char* _type_key = kTypeKeys[kNumber];
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_PREDEFINED_TYPE_KEY(KeyObj, Object);
};

template <int kNumber>
Any Key(int64_t id) {
  return ObjectRef(make_object<KeyObj<kNumber>>(id));
}

template <int kNumber>
int64_t IdOf(const TVMFFIAny* any) {
  return reinterpret_cast<const Any*>(any)->as<KeyObj<kNumber>>()->id;
}

TVMFFIAny Plain(int32_t type_index, uint64_t payload) {
  TVMFFIAny any;
  any.type_index = type_index;
  any.zero_padding = 0;
  any.v_uint64 = payload;
  return any;
}

const TVMFFITypeAttrColumn& Column(const char* name) {
  TVMFFIByteArray bytes{name, std::strlen(name)};
  return *TVMFFIGetTypeAttrColumn(&bytes);
}

template <int kNumber>
void RegisterValue(const char* name, AnyView value) {
  TVMFFIByteArray bytes{name, std::strlen(name)};
  TVMFFIAny raw = value.CopyToTVMFFIAny();
  int32_t index = KeyObj<kNumber>::RuntimeTypeIndex();
  REQUIRE_EQ(TVMFFITypeRegisterAttr(index, &bytes, &raw), 0);
}

template <int kNumber, typename Hook>
void Register(const char* name, Hook* hook) {
  RegisterValue<kNumber>(name, reinterpret_cast<void*>(hook));
}

// The calling convention of the headers up to 0.1.14. The hashes 1 and 67 equal the type indices
// with which an Int and an Error of the later convention begin.
template <int kNumber>
int64_t EarlierHash(const TVMFFIAny* key) {
  return IdOf<kNumber>(key);
}
template <int kNumber>
bool EarlierEqual(const TVMFFIAny* lhs, const TVMFFIAny* rhs) {
  return IdOf<kNumber>(lhs) == IdOf<kNumber>(rhs);
}

// The calling convention of the headers from 0.1.15 on.
template <int kNumber>
TVMFFIAny LaterHash(const TVMFFIAny* key) {
  return Plain(kTVMFFIInt, static_cast<uint64_t>(IdOf<kNumber>(key)));
}
template <int kNumber>
TVMFFIAny LaterEqual(const TVMFFIAny* lhs, const TVMFFIAny* rhs) {
  return Plain(kTVMFFIBool, IdOf<kNumber>(lhs) == IdOf<kNumber>(rhs));
}

TVMFFIAny Failure() {
  return detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(Error("ValueError", "no key", "")));
}

// Combines a hook's result with the type index as AnyHash does; the constant is from the contract.
uint64_t Combined(int32_t type_index, int64_t hash) {
  auto index = static_cast<uint64_t>(type_index);
  return index ^ (static_cast<uint64_t>(hash) + 0x9e3779b9 + (index << 6) + (index >> 2));
}

template <int kNumber>
void CheckKeys() {
  int32_t index = KeyObj<kNumber>::RuntimeTypeIndex();
  // Registered function pointers become function objects, which clients of both conventions call in
  // the same way.
  CHECK_EQ(Column("__any_hash__").data[index].type_index, kTVMFFIFunction);
  CHECK_EQ(Column("__any_equal__").data[index].type_index, kTVMFFIFunction);
  for (int64_t id : {1, 67, 0, 2, -1, 1 << 20}) {
    CHECK_EQ(AnyHash()(Key<kNumber>(id)), Combined(index, id));
    CHECK(AnyEqual()(Key<kNumber>(id), Key<kNumber>(id)));
    CHECK_FALSE(AnyEqual()(Key<kNumber>(id), Key<kNumber>(id + 1)));
  }
  Map<Any, int64_t> map;
  for (int64_t id = 0; id < 100; ++id) map.Set(Key<kNumber>(id), id);
  for (int64_t id = 0; id < 100; ++id) {
    CHECK_EQ(map.Get(Key<kNumber>(id)).value_or(-1), id);
  }
}

}  // namespace

TEST_CASE("hooks of the earlier convention") {
  Register<0>("__any_hash__", &EarlierHash<0>);
  Register<0>("__any_equal__", &EarlierEqual<0>);
  CheckKeys<0>();
}

TEST_CASE("hooks of the later convention") {
  Register<1>("__any_hash__", &LaterHash<1>);
  Register<1>("__any_equal__", &LaterEqual<1>);
  CheckKeys<1>();
}

TEST_CASE("a hash hook without an equality hook is recognized as of the earlier convention") {
  Register<2>("__any_hash__", &EarlierHash<2>);
  int32_t index = KeyObj<2>::RuntimeTypeIndex();
  CHECK_EQ(AnyHash()(Key<2>(5)), Combined(index, 5));
  CHECK_EQ(AnyHash()(Key<2>(1)), Combined(index, 1));
}

TEST_CASE("an error of a hook is raised, and released once") {
  Register<3>("__any_hash__", +[](const TVMFFIAny*) { return Failure(); });
  Register<3>("__any_equal__", +[](const TVMFFIAny*, const TVMFFIAny*) { return Failure(); });
  CHECK_EQ(Thrown([] { (void)AnyHash()(Key<3>(1)); }), "ValueError: no key");
  CHECK_EQ(Thrown([] { (void)AnyEqual()(Key<3>(1), Key<3>(1)); }), "ValueError: no key");
}

TEST_CASE("hook values of other types are not converted") {
  RegisterValue<4>("__any_hash__", "text");
  Any key = Key<4>(1);
  CHECK_EQ(Column("__any_hash__").data[key.type_index()].type_index, kTVMFFISmallStr);
  CHECK_EQ(Thrown([&] { (void)AnyHash()(key); }),
           "TypeError: `__any_hash__` must be a native function pointer or ffi.Function");
}

TEST_CASE("the wrapping functions check the argument count") {
  for (auto [name, message] :
       {std::pair("__any_hash__", "TypeError: __any_hash__ takes 1 argument, got 0"),
        std::pair("__any_equal__", "TypeError: __any_equal__ takes 2 arguments, got 0")}) {
    const TVMFFIAny& hook = Column(name).data[kTVMFFIBigInt];
    REQUIRE_EQ(hook.type_index, kTVMFFIFunction);
    auto function = detail::AnyUnsafe::CopyFromAnyViewAfterCheck<Function>(
        *reinterpret_cast<const Any*>(&hook));
    CHECK_EQ(Thrown([&] { function(); }), std::string(message));
  }
}
