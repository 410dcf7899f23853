// SPDX-License-Identifier: Apache-2.0
// Containers in containers are released one after the other, not one inside the other: otherwise a
// few hundred thousand levels, which take a moment to build, would overflow the stack.
//
// How deep a thread is, and what waits, is known to the runtime: code that a JIT compiler loads has
// no thread-local variables.  The function that counts is an attribute of ffi.Object, so that a
// runtime without it is no failure; there, objects are released one inside the other.
// docs/design/nested-release.md describes it.
#ifndef TVM_FFI_RELEASE_DETAIL_H_
#define TVM_FFI_RELEASE_DETAIL_H_

#include <tvm/ffi/base_detail.h>

namespace tvm {
namespace ffi {
namespace detail {

TVM_FFI_HIDDEN inline constexpr char kReleaseInTurnAttr[] = "__release_in_turn__";

class TVM_FFI_HIDDEN NestedRelease {
 public:
  using Deleter = void (*)(void* object, int flags);

  // Calls the deleter, now or when the objects around this one have gone.
  static void Release(void* object, int flags, Deleter deleter) {
    __atomic_load_n(&release_, __ATOMIC_RELAXED)(object, flags, deleter);
  }

 private:
  using Function = void (*)(void* object, int flags, Deleter deleter);

  static void ReleaseNow(void* object, int flags, Deleter deleter) { deleter(object, flags); }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE static void FindAndRelease(void* object, int flags,
                                                                 Deleter deleter) {
    TVMFFIByteArray name{kReleaseInTurnAttr, sizeof(kReleaseInTurnAttr) - 1};
    const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
    Function found = ReleaseNow;
    if (column != nullptr && __atomic_load_n(&column->size, __ATOMIC_ACQUIRE) > kTVMFFIObject) {
      const TVMFFIAny* value = __atomic_load_n(&column->data, __ATOMIC_ACQUIRE) + kTVMFFIObject;
      if (value->type_index == kTVMFFIOpaquePtr) found = reinterpret_cast<Function>(value->v_ptr);
    }
    __atomic_store_n(&release_, found, __ATOMIC_RELAXED);
    found(object, flags, deleter);
  }

  // Initialised before any code runs, and replaced the first time.
  static inline Function release_ = FindAndRelease;
};

// Whether a class says, by a member type of this name, that its objects may be nested deeply.
template <typename T, typename = void>
struct NestsDeeply : std::false_type {};
template <typename T>
struct NestsDeeply<T, std::void_t<typename T::NestsDeeply_>> : std::true_type {};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_RELEASE_DETAIL_H_
