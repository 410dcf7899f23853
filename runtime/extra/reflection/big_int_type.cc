// SPDX-License-Identifier: Apache-2.0
// Registration of ffi.BigInt with key hooks: as keys, big integers are compared by value, like
// plain integers, and not by identity, like other objects.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstring>

#include "registration.h"

namespace tvm::ffi {
namespace {

TVMFFIByteArray WordsOf(const Any& value) {
  return TVMFFIBigIntGetContentByteArray(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value));
}

int64_t HashBigInt(const Any& value) {
  TVMFFIByteArray words = WordsOf(value);
  return static_cast<int64_t>(detail::StableHashBytes(words.data, words.size));
}

bool EqualBigInts(const Any& left, const Any& right) {
  TVMFFIByteArray a = WordsOf(left);
  TVMFFIByteArray b = WordsOf(right);
  return a.size == b.size && std::memcmp(a.data, b.data, a.size) == 0;
}

}  // namespace

void extra::RegisterBigIntType() {
  reflection::ObjectDef<detail::BigIntObj>(reflection::init(false));
  reflection::TypeAttrDef<detail::BigIntObj>()
      .native_fn_attr<&HashBigInt>(type_attr::kAnyHash)
      .native_fn_attr<&EqualBigInts>(type_attr::kAnyEqual);
}

}  // namespace tvm::ffi
