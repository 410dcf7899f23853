// SPDX-License-Identifier: Apache-2.0
// Reference counting of the 24-byte object header: strong and weak counts in one 64-bit word.
//
// Invariant: the word is (weak << 32 | strong), and all strong owners together hold one weak count,
// so the memory outlives the destructor until the last weak reference is released.
#ifndef TVM_FFI_RUNTIME_CORE_REF_COUNT_H_
#define TVM_FFI_RUNTIME_CORE_REF_COUNT_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>

// Detect ThreadSanitizer: GCC defines a macro, Clang reports a feature.
#if defined(__SANITIZE_THREAD__)
#define TVM_FFI_RUNTIME_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TVM_FFI_RUNTIME_THREAD_SANITIZER
#endif
#endif

namespace tvm::ffi::runtime {

inline constexpr uint64_t kStrongOne = TVM_FFI_REF_COUNT_STRONG_ONE;
inline constexpr uint64_t kWeakOne = TVM_FFI_REF_COUNT_WEAK_ONE;
inline constexpr uint64_t kBothOne = TVM_FFI_REF_COUNT_INITIAL;
inline constexpr uint64_t kStrongMask = TVM_FFI_REF_COUNT_STRONG_MASK;

inline void IncRef(TVMFFIObject* object) noexcept {
  __atomic_fetch_add(&object->combined_ref_count, kStrongOne, __ATOMIC_RELAXED);
}

// Makes all writes visible that other owners made before they released their references.  Called
// before a deleter runs.
inline void AcquireReleasedWrites(TVMFFIObject* object) noexcept {
#ifdef TVM_FFI_RUNTIME_THREAD_SANITIZER
  // ThreadSanitizer does not model fences.
  __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);
#else
  (void)object;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

inline void IncWeakRef(TVMFFIObject* object) noexcept {
  __atomic_fetch_add(&object->combined_ref_count, kWeakOne, __ATOMIC_RELAXED);
}

// Releases one weak count: a weak reference, or the shared count of the strong owners after the
// destructor has run.
inline void DecWeakRef(TVMFFIObject* object) {
  if (__atomic_fetch_sub(&object->combined_ref_count, kWeakOne, __ATOMIC_RELEASE) == kWeakOne) {
    AcquireReleasedWrites(object);
    if (object->deleter != nullptr) object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}

// Releases one strong reference.  Like DecWeakRef, this is not noexcept: a cancelled thread may be
// unwound inside a third-party deleter.
inline void DecRef(TVMFFIObject* object) {
  uint64_t before = __atomic_fetch_sub(&object->combined_ref_count, kStrongOne, __ATOMIC_RELEASE);
  if (before == kBothOne) {
    // No weak reference exists, and no thread can create one: destroy and free in one call.
    AcquireReleasedWrites(object);
    if (object->deleter != nullptr) object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskBoth);
  } else if ((before & kStrongMask) == kStrongOne) {
    AcquireReleasedWrites(object);
    if (object->deleter != nullptr) object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskStrong);
    DecWeakRef(object);
  }
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_REF_COUNT_H_
