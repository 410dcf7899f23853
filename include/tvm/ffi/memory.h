// SPDX-License-Identifier: Apache-2.0
// make_object: allocation and construction of objects.
//
// Memory belongs to the library that allocated it and returns through the deleter in the header.
// The header is written after the constructor ran: constructors cannot take references to `this`.
#ifndef TVM_FFI_MEMORY_H_
#define TVM_FFI_MEMORY_H_

#include <tvm/ffi/object.h>
#include <tvm/ffi/release_detail.h>

#include <new>

namespace tvm {
namespace ffi {

// What the header of an object points to; the flags say which references have gone.
using FObjectDeleter = void (*)(void* object, int flags);

namespace detail {

// Returns memory for AlignedFree; throws std::bad_alloc.
inline void* AlignedAlloc(size_t size, size_t align) {
  void* memory = nullptr;
#ifdef _MSC_VER
  memory = _aligned_malloc(size, align);
#else
  if (align <= alignof(std::max_align_t)) {
    memory = std::malloc(size);
  } else if (posix_memalign(&memory, align, size) != 0) {
    memory = nullptr;
  }
#endif
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

inline void AlignedFree(void* memory) {
#ifdef _MSC_VER
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

// Returns memory whose constructor failed.
struct AllocationGuard {
  void* memory;
  ~AllocationGuard() {
    if (memory != nullptr) AlignedFree(memory);
  }
};

// Base of allocators: Derived supplies Handler<T>, and ArrayHandler<A, E> for trailing elements,
// each with New(Derived*, ...) and Deleter().
template <typename Derived>
class ObjAllocatorBase {
 public:
  template <typename T, typename... Args>
  ObjectPtr<T> make_object(Args&&... args) {
    static_assert(std::is_base_of_v<Object, T>, "make_object makes objects");
    using Handler = typename Derived::template Handler<T>;
    int32_t type_index = TypeIndexOf<T>();
    T* object = Handler::New(static_cast<Derived*>(this), std::forward<Args>(args)...);
    return Finish(object, type_index, Handler::Deleter());
  }
  template <typename ArrayType, typename ElemType, typename... Args>
  ObjectPtr<ArrayType> make_inplace_array(size_t num_elems, Args&&... args) {
    static_assert(std::is_base_of_v<Object, ArrayType>, "make_inplace_array makes objects");
    using Handler = typename Derived::template ArrayHandler<ArrayType, ElemType>;
    int32_t type_index = TypeIndexOf<ArrayType>();
    ArrayType* object =
        Handler::New(static_cast<Derived*>(this), num_elems, std::forward<Args>(args)...);
    return Finish(object, type_index, Handler::Deleter());
  }

 private:
  // Asked for before the object is made: with no call between them, compilers drop the zeros that
  // Object() writes where Finish writes again.
  template <typename T>
  static int32_t TypeIndexOf() {
    int32_t type_index = T::RuntimeTypeIndex();
    // The file's static initialization may not have reached the type's index yet.
    if (TVM_FFI_PREDICT_FALSE(type_index == 0)) type_index = T::_GetOrAllocRuntimeTypeIndex();
    return type_index;
  }

  template <typename T>
  static ObjectPtr<T> Finish(T* object, int32_t type_index, FObjectDeleter deleter) {
    TVMFFIObject* header = ObjectUnsafe::GetHeader(object);
    header->combined_ref_count = kCombinedRefCountBothOne;
    header->deleter = deleter;
    // One store with the padding, so that compilers see that all zeros of Object() are overwritten.
    const struct {
      int32_t type_index;
      uint32_t padding;
    } cell{type_index, 0};
    std::memcpy(reinterpret_cast<char*>(header) + offsetof(TVMFFIObject, type_index), &cell,
                sizeof(cell));
    return ObjectUnsafe::ObjectPtrFromOwned<T>(header);
  }
};

class SimpleObjAllocator : public ObjAllocatorBase<SimpleObjAllocator> {
 public:
  template <typename T>
  class Handler {
   public:
    template <typename... Args>
    static T* New(SimpleObjAllocator*, Args&&... args) {
      return Construct(sizeof(T), std::forward<Args>(args)...);
    }
    template <typename... Args>
    static T* Construct(size_t size, Args&&... args) {
      AllocationGuard guard{AlignedAlloc(size, alignof(T))};
      T* object = new (guard.memory) T(std::forward<Args>(args)...);
      guard.memory = nullptr;
      return object;
    }
    static FObjectDeleter Deleter() {
      if constexpr (NestsDeeply<T>::value) {
        return DeleteInTurn;
      } else {
        return Delete;
      }
    }

   private:
    static void DeleteInTurn(void* handle, int flags) {
      NestedRelease::Release(handle, flags, Delete);
    }
    static void Delete(void* handle, int flags) {
      if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
        ObjectUnsafe::RawObjectPtrFromUnowned<T>(static_cast<TVMFFIObject*>(handle))->T::~T();
      }
      if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) AlignedFree(MemoryOf(handle));
    }
    // Of an object whose destructor has run: if it has virtual functions, those of a base by now.
    TVM_FFI_NO_CLASS_CHECK_ static void* MemoryOf(void* handle) {
      return static_cast<T*>(static_cast<Object*>(handle));
    }
  };

  template <typename ArrayType, typename ElemType>
  class ArrayHandler {
   public:
    template <typename... Args>
    static ArrayType* New(SimpleObjAllocator*, size_t num_elems, Args&&... args) {
      static_assert(
          alignof(ArrayType) % alignof(ElemType) == 0 && sizeof(ArrayType) % alignof(ElemType) == 0,
          "elements must be aligned where they follow the object");
      constexpr size_t kAlign = alignof(ArrayType);
      constexpr size_t kMaxElems = (~size_t{0} - sizeof(ArrayType) - kAlign) / sizeof(ElemType);
      if (num_elems > kMaxElems) throw std::bad_alloc();
      size_t size = sizeof(ArrayType) + num_elems * sizeof(ElemType);
      size = (size + kAlign - 1) / kAlign * kAlign;
      return Handler<ArrayType>::Construct(size, std::forward<Args>(args)...);
    }
    static FObjectDeleter Deleter() { return Handler<ArrayType>::Deleter(); }
  };
};

}  // namespace detail

// A new object, constructed with these arguments, and the only reference to it.
template <typename T, typename... Args>
ObjectPtr<T> make_object(Args&&... args) {
  return detail::SimpleObjAllocator().make_object<T>(std::forward<Args>(args)...);
}

// The same as an Arc, which is never null.
template <typename T, typename... Args>
Arc<T> make_arc(Args&&... args) {
  return detail::ObjectUnsafe::ArcFromObjectPtr(make_object<T>(std::forward<Args>(args)...));
}

// One block for the object and `num_elems` elements from `this + sizeof(ArrayType)` on; the
// elements are neither constructed nor destroyed.
template <typename ArrayType, typename ElemType, typename... Args>
ObjectPtr<ArrayType> make_inplace_array_object(size_t num_elems, Args&&... args) {
  return detail::SimpleObjAllocator().make_inplace_array<ArrayType, ElemType>(
      num_elems, std::forward<Args>(args)...);
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_MEMORY_H_
