// SPDX-License-Identifier: Apache-2.0
// Ref, the smart pointer over reference-counted objects, and NewObject, which allocates them.
#ifndef TVM_FFI_RUNTIME_CORE_OBJECT_H_
#define TVM_FFI_RUNTIME_CORE_OBJECT_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "nested_release.h"
#include "ref_count.h"

namespace tvm::ffi::runtime {

// A strong reference to a T, which derives from TVMFFIObject.  The offset of the header in T may be
// nonzero: in a class with virtual functions, the vtable pointer precedes the header.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT: null converts implicitly to a Ref, as it does to a pointer
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) IncRef(object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  // Not noexcept, like every destructor that releases objects: a cancelled thread may be unwound
  // inside a deleter.
  ~Ref() noexcept(false) {
    if (object_ != nullptr) DecRef(object_);
  }

  // Returns a Ref that consumes a reference owned by the caller.
  static Ref Adopt(T* object) { return Ref(object); }
  static Ref Adopt(TVMFFIObjectHandle handle) { return Ref(FromHandle(handle)); }
  // Returns a Ref that adds a reference to a borrowed object.
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
  // Returns the owned reference as a handle of the C API; the Ref is null afterwards.
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
  // Frees the memory of the object at the end of the deleter, also when a cancelled thread is
  // unwound inside the object's destructor.
  struct FreeAtExit {
    void* address;
    ~FreeAtExit() { std::free(address); }
  } memory{(flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0 ? static_cast<void*>(object)
                                                              : nullptr};
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) object->~T();
}

template <typename T>
void DeleteNestedObject(void* header, int flags) {
  ReleaseNested(header, flags, &DeleteObject<T>);
}

// True if the class has a member type NestsDeeply: objects of the class may form long chains, which
// must be released without recursion (nested_release.h).
template <typename T, typename = void>
inline constexpr bool kNestsDeeply = false;
template <typename T>
inline constexpr bool kNestsDeeply<T, std::void_t<typename T::NestsDeeply>> = true;

template <typename T>
ObjectDeleter DeleterOf() {
  if constexpr (kNestsDeeply<T>) {
    return &DeleteNestedObject<T>;
  } else {
    return &DeleteObject<T>;
  }
}

}  // namespace detail

// Returns a new T, followed by `trailing_bytes` of uninitialised memory for use by the object.
template <typename T, typename... Args>
Ref<T> NewObject(int32_t type_index, size_t trailing_bytes, Args&&... args) {
  if (trailing_bytes > SIZE_MAX - sizeof(T)) throw std::bad_alloc();
  void* memory = std::malloc(sizeof(T) + trailing_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  T* object;
  try {
    object = new (memory) T{std::forward<Args>(args)...};
  } catch (...) {
    std::free(memory);
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
