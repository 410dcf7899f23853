// SPDX-License-Identifier: Apache-2.0
// Release of nested containers without recursion.
//
// Recursive release of a few hundred thousand nested containers would overflow the stack.  The
// runtime counts the nesting depth of each thread and keeps a list of the objects whose release is
// deferred, because code that a JIT compiler loads must not have thread-local variables.  The
// runtime's release function is the attribute `__release_in_turn__` of ffi.Object; if a runtime
// does not have this attribute, objects are released recursively.  See
// docs/design/nested-release.md.
#ifndef TVM_FFI_RELEASE_DETAIL_H_
#define TVM_FFI_RELEASE_DETAIL_H_

#include <tvm/ffi/base_detail.h>

namespace tvm {
namespace ffi {
namespace detail {

TVM_FFI_HIDDEN_ inline constexpr char kReleaseInTurnAttr[] = "__release_in_turn__";

class TVM_FFI_HIDDEN_ NestedRelease {
 public:
  using Deleter = void (*)(void* object, int flags);

  // Calls the deleter of an object: usually immediately, but later if many releases are nested on
  // this thread.
  static void Release(void* object, int flags, Deleter deleter) {
    __atomic_load_n(&release_, __ATOMIC_RELAXED)(object, flags, deleter);
  }

 private:
  using Function = void (*)(void* object, int flags, Deleter deleter);

  static void ReleaseRecursively(void* object, int flags, Deleter deleter) {
    deleter(object, flags);
  }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE static void FindAndRelease(void* object, int flags,
                                                                 Deleter deleter) {
    TVMFFIByteArray name{kReleaseInTurnAttr, sizeof(kReleaseInTurnAttr) - 1};
    const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
    Function found = ReleaseRecursively;
    if (column != nullptr && __atomic_load_n(&column->size, __ATOMIC_ACQUIRE) > kTVMFFIObject) {
      const TVMFFIAny* value = __atomic_load_n(&column->data, __ATOMIC_ACQUIRE) + kTVMFFIObject;
      if (value->type_index == kTVMFFIOpaquePtr) found = reinterpret_cast<Function>(value->v_ptr);
    }
    __atomic_store_n(&release_, found, __ATOMIC_RELAXED);
    found(object, flags, deleter);
  }

  // Function that releases an object.  The static initializer is FindAndRelease; its first call
  // replaces this pointer with the runtime's release function, or with ReleaseRecursively if the
  // runtime has none.
  static inline Function release_ = FindAndRelease;
};

// True if the class has a member type NestsDeeply_, which states that its objects may be deeply
// nested.
template <typename T, typename = void>
struct NestsDeeply : std::false_type {};
template <typename T>
struct NestsDeeply<T, std::void_t<typename T::NestsDeeply_>> : std::true_type {};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_RELEASE_DETAIL_H_
