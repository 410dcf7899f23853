// SPDX-License-Identifier: Apache-2.0
// Reference counting of the 24-byte object header, and the smart pointer over it.
//
// Invariant: a counter holds (weak << 32 | strong), and all strong owners together hold one
// weak count, so memory outlives the destructor until the last weak reference goes.
#ifndef TVM_FFI_RUNTIME_CORE_OBJECT_H_
#define TVM_FFI_RUNTIME_CORE_OBJECT_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace tvm::ffi::runtime {

inline constexpr uint64_t kStrongOne = TVM_FFI_REF_COUNT_STRONG_ONE;
inline constexpr uint64_t kWeakOne = TVM_FFI_REF_COUNT_WEAK_ONE;
inline constexpr uint64_t kBothOne = TVM_FFI_REF_COUNT_INITIAL;
inline constexpr uint64_t kStrongMask = TVM_FFI_REF_COUNT_STRONG_MASK;

inline void IncRef(TVMFFIObject* object) noexcept {
  __atomic_fetch_add(&object->combined_ref_count, kStrongOne, __ATOMIC_RELAXED);
}

// Before a deleter runs: makes visible what the other owners wrote before they let go.
inline void AcquireReleasedWrites(TVMFFIObject* object) noexcept {
#ifdef __SANITIZE_THREAD__
  __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);  // it does not know fences
#else
  (void)object;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

// Drops the weak count that the strong owners shared, after the destructor has run.
inline void DecWeakRef(TVMFFIObject* object) noexcept {
  if (__atomic_fetch_sub(&object->combined_ref_count, kWeakOne, __ATOMIC_RELEASE) == kWeakOne) {
    AcquireReleasedWrites(object);
    if (object->deleter != nullptr) object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}

inline void DecRef(TVMFFIObject* object) noexcept {
  uint64_t before = __atomic_fetch_sub(&object->combined_ref_count, kStrongOne, __ATOMIC_RELEASE);
  if (before == kBothOne) {
    // No weak reference exists, and none can appear: destroy and free in one call.
    AcquireReleasedWrites(object);
    if (object->deleter != nullptr) object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskBoth);
  } else if ((before & kStrongMask) == kStrongOne) {
    AcquireReleasedWrites(object);
    if (object->deleter != nullptr) object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskStrong);
    DecWeakRef(object);
  }
}

// One strong reference to a T, which derives from TVMFFIObject (not always at offset 0: a class
// with virtual functions keeps its vtable pointer in front of the header).
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT: null converts like for any pointer
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) IncRef(object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) DecRef(object_);
  }

  // Takes over a reference that the caller owns.
  static Ref Adopt(T* object) { return Ref(object); }
  static Ref Adopt(TVMFFIObjectHandle handle) { return Ref(FromHandle(handle)); }
  // Adds a reference of its own to a borrowed object.
  static Ref Share(T* object) {
    if (object != nullptr) IncRef(object);
    return Ref(object);
  }
  static Ref Share(TVMFFIObjectHandle handle) { return Share(FromHandle(handle)); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

  TVMFFIObject* header() const { return object_; }
  // Gives the reference away as a handle of the C API.
  TVMFFIObject* release() { return std::exchange(object_, nullptr); }

 private:
  explicit Ref(T* object) : object_(object) {}
  static T* FromHandle(TVMFFIObjectHandle handle) {
    return static_cast<T*>(static_cast<TVMFFIObject*>(handle));
  }

  T* object_ = nullptr;
};

namespace detail {

template <typename T>
void DeleteObject(void* header, int flags) {
  T* object = static_cast<T*>(static_cast<TVMFFIObject*>(header));
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) object->~T();
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) std::free(static_cast<void*>(object));
}

}  // namespace detail

// Allocates a T followed by `trailing_bytes` that the object may use as it likes.
template <typename T, typename... Args>
Ref<T> NewObject(int32_t type_index, size_t trailing_bytes, Args&&... args) {
  void* space = std::malloc(sizeof(T) + trailing_bytes);
  if (space == nullptr) throw std::bad_alloc();
  T* object;
  try {
    object = new (space) T{std::forward<Args>(args)...};
  } catch (...) {
    std::free(space);
    throw;
  }
  TVMFFIObject* header = object;
  header->combined_ref_count = kBothOne;
  header->type_index = type_index;
  header->__padding = 0;
  header->deleter = &detail::DeleteObject<T>;
  return Ref<T>::Adopt(object);
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_OBJECT_H_
