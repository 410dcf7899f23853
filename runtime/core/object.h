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
#include <type_traits>
#include <utility>

#include "nested_release.h"

// GCC has a macro of its own, Clang a feature.
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

// Before a deleter runs: makes visible what the other owners wrote before they let go.
inline void AcquireReleasedWrites(TVMFFIObject* object) noexcept {
#ifdef TVM_FFI_RUNTIME_THREAD_SANITIZER
  __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);  // it does not know fences
#else
  (void)object;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

inline void IncWeakRef(TVMFFIObject* object) noexcept {
  __atomic_fetch_add(&object->combined_ref_count, kWeakOne, __ATOMIC_RELAXED);
}

// Drops a weak count: that of the strong owners, after the destructor has run, or another.
inline void DecWeakRef(TVMFFIObject* object) {
  if (__atomic_fetch_sub(&object->combined_ref_count, kWeakOne, __ATOMIC_RELEASE) == kWeakOne) {
    AcquireReleasedWrites(object);
    if (object->deleter != nullptr) object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}

// Not noexcept, nor is the above: a thread that is being cancelled may end in a foreign deleter.
inline void DecRef(TVMFFIObject* object) {
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
  // A thread may end in the deleter, here and wherever objects hold references.
  ~Ref() noexcept(false) {
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
  // Freed also when the thread ends inside the destructor.
  struct Space {
    void* address;
    ~Space() { std::free(address); }
  } space{(flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0 ? static_cast<void*>(object)
                                                             : nullptr};
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) object->~T();
}

template <typename T>
void DeleteObjectInTurn(void* header, int flags) {
  ReleaseInTurn(header, flags, &DeleteObject<T>);
}

// Whether a class says, by a member type of this name, that its objects may be nested deeply.
template <typename T, typename = void>
inline constexpr bool kNestsDeeply = false;
template <typename T>
inline constexpr bool kNestsDeeply<T, std::void_t<typename T::NestsDeeply>> = true;

template <typename T>
ObjectDeleter DeleterOf() {
  if constexpr (kNestsDeeply<T>) {
    return &DeleteObjectInTurn<T>;
  } else {
    return &DeleteObject<T>;
  }
}

}  // namespace detail

// Allocates a T followed by `trailing_bytes` that the object may use as it likes.
template <typename T, typename... Args>
Ref<T> NewObject(int32_t type_index, size_t trailing_bytes, Args&&... args) {
  if (trailing_bytes > SIZE_MAX - sizeof(T)) throw std::bad_alloc();
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
  header->deleter = detail::DeleterOf<T>();
  return Ref<T>::Adopt(object);
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_OBJECT_H_
