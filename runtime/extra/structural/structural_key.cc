// SPDX-License-Identifier: Apache-2.0
// Registration of ffi.StructuralKey and its key hooks, which maps in all clients call.
#include <tvm/ffi/extra/structural_key.h>
#include <tvm/ffi/reflection/registry.h>

#include "registration.h"

namespace tvm::ffi {
namespace {

int64_t HashOf(const Any& key) {
  return detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<StructuralKeyObj>(key)->hash_i64;
}

bool AreEqual(const Any& lhs, const Any& rhs) {
  return lhs.as_or_throw<StructuralKey>() == rhs.as_or_throw<StructuralKey>();
}

}  // namespace

void extra::RegisterStructuralKey() {
  namespace refl = reflection;
  refl::ObjectDef<StructuralKeyObj>()
      .def(refl::init<Any>())
      .def_ro("key", &StructuralKeyObj::key)
      .def_ro("hash_i64", &StructuralKeyObj::hash_i64);
  refl::TypeAttrDef<StructuralKeyObj>()
      .native_fn_attr<&HashOf>(type_attr::kAnyHash)
      .native_fn_attr<&AreEqual>(type_attr::kAnyEqual);
  refl::GlobalDef()
      .def("ffi.StructuralKey", [](const Any& key) { return StructuralKey(key); })
      .def("ffi.StructuralKeyEqual", &AreEqual);
}

}  // namespace tvm::ffi
