// SPDX-License-Identifier: Apache-2.0
// make_object: allocation and construction of objects.
//
// The memory of an object belongs to the library that allocated it; the deleter in the object
// header is a function of that library and frees the memory.  The header is initialized after the
// constructor has run, so a constructor must not create references to `this`.
#ifndef TVM_FFI_MEMORY_H_
#define TVM_FFI_MEMORY_H_

#include <tvm/ffi/object.h>
#include <tvm/ffi/platform_detail.h>
#include <tvm/ffi/release_detail.h>

#include <new>

namespace tvm {
namespace ffi {

// Type of the deleter in an object header; `flags` is a TVMFFIObjectDeleterFlagBitMask.
using FObjectDeleter = void (*)(void* object, int flags);

namespace detail {

// Frees the memory of an object whose constructor throws.
struct AllocationGuard {
  void* memory;
  ~AllocationGuard() {
    if (memory != nullptr) AlignedFree(memory);
  }
};

// Base of object allocators.  Derived supplies the class templates Handler<T> and, for objects with
// trailing elements, ArrayHandler<A, E>, each with New(Derived*, ...) and Deleter().
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
  // Returns the type index of class T.  Must be called before the object is constructed.  If no
  // other call separates Object() from Finish(), compilers drop the zeros that Object() writes,
  // because Finish() overwrites them.
  template <typename T>
  static int32_t TypeIndexOf() {
    int32_t type_index = T::RuntimeTypeIndex();
    // The index is 0 if the static initialization of the file has not set it yet.
    if (TVM_FFI_PREDICT_FALSE(type_index == 0)) type_index = T::_GetOrAllocRuntimeTypeIndex();
    return type_index;
  }

  template <typename T>
  static ObjectPtr<T> Finish(T* object, int32_t type_index, FObjectDeleter deleter) {
    TVMFFIObject* header = ObjectUnsafe::GetHeader(object);
    header->combined_ref_count = kCombinedRefCountBothOne;
    header->deleter = deleter;
    // Stores the type index and the padding together, so that compilers see that Finish()
    // overwrites all zeros of Object().
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
        return DeleteWithoutRecursion;
      } else {
        return Delete;
      }
    }

   private:
    static void DeleteWithoutRecursion(void* handle, int flags) {
      NestedRelease::Release(handle, flags, Delete);
    }
    static void Delete(void* handle, int flags) {
      if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
        ObjectUnsafe::RawObjectPtrFromUnowned<T>(static_cast<TVMFFIObject*>(handle))->T::~T();
      }
      if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) AlignedFree(MemoryOf(handle));
    }
    // Returns the start of the memory of an object after its destructor has run.  The sanitizer
    // check is off because the destructor of a class with virtual functions leaves the vtable of a
    // base class in the object.
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

// Returns a new object of class T, constructed with these arguments.
template <typename T, typename... Args>
ObjectPtr<T> make_object(Args&&... args) {
  return detail::SimpleObjAllocator().make_object<T>(std::forward<Args>(args)...);
}

// Same as make_object, but returns an Arc, which is never null.
template <typename T, typename... Args>
Arc<T> make_arc(Args&&... args) {
  return detail::ObjectUnsafe::ArcFromObjectPtr(make_object<T>(std::forward<Args>(args)...));
}

// Returns a new object with space for `num_elems` elements in the same allocation, at `this +
// sizeof(ArrayType)`.  The elements are neither constructed nor destroyed.
template <typename ArrayType, typename ElemType, typename... Args>
ObjectPtr<ArrayType> make_inplace_array_object(size_t num_elems, Args&&... args) {
  return detail::SimpleObjAllocator().make_inplace_array<ArrayType, ElemType>(
      num_elems, std::forward<Args>(args)...);
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_MEMORY_H_
