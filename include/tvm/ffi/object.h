// SPDX-License-Identifier: Apache-2.0
// Object, the base class of all objects, and the smart pointers to objects.
//
// An object begins with the 24-byte TVMFFIObject header that all languages share.  Reference
// counting is inline and must follow the protocol in c_api.h exactly, because separately compiled
// libraries count references to the same objects.  ObjectPtr, Arc and WeakObjectPtr own one
// reference each; ObjectRef is the base of the reference classes, which users pass by value.
#ifndef TVM_FFI_OBJECT_H_
#define TVM_FFI_OBJECT_H_

#include <tvm/ffi/type_traits.h>

namespace tvm {
namespace ffi {

// Tag of the constructors that leave a reference null, even if its class is not nullable.
struct UnsafeInit {};

class Object;
template <typename T>
class ObjectPtr;
template <typename T>
class Arc;
template <typename T>
class WeakObjectPtr;
template <typename T, typename Enable = void>
class Optional;
template <typename... V>
class Variant;
// Returns a new object of class T.  Defined in memory.h.
template <typename T, typename... Args>
Arc<T> make_arc(Args&&... args);

namespace detail {

constexpr uint64_t kCombinedRefCountMaskUInt32 = 0xFFFFFFFFULL;
constexpr uint64_t kCombinedRefCountStrongOne = 1;
constexpr uint64_t kCombinedRefCountWeakOne = 1ULL << 32;
constexpr uint64_t kCombinedRefCountBothOne = kCombinedRefCountStrongOne + kCombinedRefCountWeakOne;

inline void IncRef(TVMFFIObject* object) {
  __atomic_fetch_add(&object->combined_ref_count, kCombinedRefCountStrongOne, __ATOMIC_RELAXED);
}

// Makes writes of previous owners to the object visible to this thread before the deleter runs.
inline void AcquireReleasedWrites([[maybe_unused]] TVMFFIObject* object) {
#ifdef TVM_FFI_THREAD_SANITIZER_
  static_cast<void>(__atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE));
#else
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

// Runs the deleter after the last strong reference was released; `before` is the value of the
// reference counter before that release.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline void DropLastStrong(TVMFFIObject* object,
                                                             uint64_t before) {
  AcquireReleasedWrites(object);
  if (object->deleter == nullptr) return;
  if (before == kCombinedRefCountBothOne) {
    object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskBoth);
    return;
  }
  object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskStrong);
  before =
      __atomic_fetch_sub(&object->combined_ref_count, kCombinedRefCountWeakOne, __ATOMIC_RELEASE);
  if (before == kCombinedRefCountWeakOne) {
    AcquireReleasedWrites(object);
    object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}

inline void DecRef(TVMFFIObject* object) {
  uint64_t before =
      __atomic_fetch_sub(&object->combined_ref_count, kCombinedRefCountStrongOne, __ATOMIC_RELEASE);
  if ((before & kCombinedRefCountMaskUInt32) == 1) DropLastStrong(object, before);
}

inline void IncWeakRef(TVMFFIObject* object) {
  __atomic_fetch_add(&object->combined_ref_count, kCombinedRefCountWeakOne, __ATOMIC_RELAXED);
}

inline void DecWeakRef(TVMFFIObject* object) {
  uint64_t before =
      __atomic_fetch_sub(&object->combined_ref_count, kCombinedRefCountWeakOne, __ATOMIC_RELEASE);
  if (before == kCombinedRefCountWeakOne && object->deleter != nullptr) {
    AcquireReleasedWrites(object);
    object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}

// Adds a strong reference and returns true; returns false if the object is already destroyed.
inline bool TryPromoteWeak(TVMFFIObject* object) {
  uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
  while ((count & kCombinedRefCountMaskUInt32) != 0) {
    if (__atomic_compare_exchange_n(&object->combined_ref_count, &count,
                                    count + kCombinedRefCountStrongOne, true, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      return true;
    }
  }
  return false;
}

// Returns true if the ancestor of `type_index` at `depth` is `target`.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline bool HasAncestor(int32_t type_index, int32_t target,
                                                          int32_t depth) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  return info->type_depth > depth && info->type_ancestors[depth]->type_index == target;
}

// Returns true if objects with this index are instances of ObjectType.  A base type has a smaller
// index than its derived types.
template <typename ObjectType>
bool IsObjectInstance(int32_t type_index) {
  if constexpr (std::is_same_v<ObjectType, Object>) {
    return true;
  } else {
    int32_t target = ObjectType::RuntimeTypeIndex();
    if constexpr (ObjectType::_type_final) return type_index == target;
    // One comparison covers the class itself and the derived types in its reserved index range.
    uint32_t distance = static_cast<uint32_t>(type_index) - static_cast<uint32_t>(target);
    if (TVM_FFI_PREDICT_TRUE(distance <= ObjectType::_type_child_slots)) return true;
    if constexpr (!ObjectType::_type_child_slots_can_overflow) return false;
    return type_index > target && HasAncestor(type_index, target, ObjectType::_type_depth);
  }
}

// Same as IsObjectInstance, but for a target type that is known only at run time, and for values
// that are not objects.
inline bool RuntimeTypeIndexMatch(int32_t actual, int32_t target) {
  if (actual == target || target == kTVMFFIAny) return true;
  if (target == kTVMFFIStr) return actual == kTVMFFISmallStr;
  if (target == kTVMFFIBytes) return actual == kTVMFFISmallBytes;
  if (actual < kTVMFFIStaticObjectBegin || target < kTVMFFIStaticObjectBegin) return false;
  if (target == kTVMFFIObject) return true;
  return actual > target && HasAncestor(actual, target, TVMFFIGetTypeInfo(target)->type_depth);
}

// Throws TypeError "Cannot treat type `from` as type `to`", or OverflowError if `from` describes a
// number out of range.  Defined in error.h.
[[noreturn]] TVM_FFI_HIDDEN_ inline void ThrowCannotTreat(const std::string& from,
                                                          const std::string& to);
// Throws InternalError for a null reference to the type with this key.  Defined in error.h.
[[noreturn]] TVM_FFI_HIDDEN_ inline void ThrowNullReference(const char* type_key);

struct ObjectUnsafe;

}  // namespace detail

// Base of all object classes.  Object has no virtual functions, so the header is at the start of
// its memory.
class Object {
 public:
  Object() : header_{} {}
  // A copy does not copy the header: the reference count and the deleter belong to the memory of
  // one object.
  Object(const Object&) noexcept : header_{} {}
  Object& operator=(const Object&) noexcept { return *this; }

  template <typename TargetType>
  bool IsInstance() const {
    return detail::IsObjectInstance<TargetType>(header_.type_index);
  }
  int32_t type_index() const { return header_.type_index; }
  std::string GetTypeKey() const { return TypeIndexToTypeKey(header_.type_index); }
  uint64_t GetTypeKeyHash() const { return TVMFFIGetTypeInfo(header_.type_index)->type_key_hash; }
  static std::string TypeIndex2Key(int32_t type_index) { return TypeIndexToTypeKey(type_index); }

  // Returns true if the object has one strong and no weak reference, so that its owner may change
  // the content in place.  Changes that other owners made before they released their references are
  // visible.
  bool unique() const { return LoadCounts(__ATOMIC_ACQUIRE) == detail::kCombinedRefCountBothOne; }
  uint64_t use_count() const {
    return LoadCounts(__ATOMIC_RELAXED) & detail::kCombinedRefCountMaskUInt32;
  }

  static constexpr const char* _type_key = StaticTypeKey::kTVMFFIObject;
  static constexpr bool _type_final = false;
  static constexpr bool _type_mutable = false;
  static constexpr uint32_t _type_child_slots = 0;
  static constexpr bool _type_child_slots_can_overflow = true;
  static constexpr int32_t _type_index = kTVMFFIObject;
  static constexpr int32_t _type_depth = 0;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUnsupported;
  static constexpr bool _type_s_eq_hash_subclass_kind_fixed = false;
  static int32_t RuntimeTypeIndex() { return kTVMFFIObject; }
  static int32_t _GetOrAllocRuntimeTypeIndex() { return kTVMFFIObject; }

 protected:
  TVMFFIObject header_;

 private:
  uint64_t LoadCounts(int order) const {
    return __atomic_load_n(&header_.combined_ref_count, order);
  }
  friend struct detail::ObjectUnsafe;
};

// True for object classes.  Specialize it for a class that is used before it is complete.
template <typename T>
inline constexpr bool is_object_subclass_v = std::is_base_of_v<Object, T>;

namespace detail {
template <typename T>
inline constexpr bool is_qualified_object_v =
    (std::is_const_v<T> || std::is_volatile_v<T>) && is_object_subclass_v<std::remove_cv_t<T>>;
}  // namespace detail

// Smart pointer that owns one strong reference or is null.
template <typename T>
class ObjectPtr {
 public:
  ObjectPtr() = default;
  ObjectPtr(std::nullptr_t) {}  // NOLINT(*)
  ObjectPtr(const ObjectPtr& other) : data_(other.data_) { Retain(); }
  ObjectPtr(ObjectPtr&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  template <typename U>
  ObjectPtr(const ObjectPtr<U>& other) : data_(other.data_) {  // NOLINT(*)
    static_assert(std::is_base_of_v<T, U>, "only up-casts are implicit");
    Retain();
  }
  template <typename U>
  ObjectPtr(ObjectPtr<U>&& other) noexcept : data_(other.data_) {  // NOLINT(*)
    static_assert(std::is_base_of_v<T, U>, "only up-casts are implicit");
    other.data_ = nullptr;
  }
  ~ObjectPtr() {
    if (data_ != nullptr) detail::DecRef(Header());
  }

  ObjectPtr& operator=(const ObjectPtr& other) {
    ObjectPtr(other).swap(*this);
    return *this;
  }
  ObjectPtr& operator=(ObjectPtr&& other) noexcept {
    ObjectPtr(std::move(other)).swap(*this);
    return *this;
  }

  T* get() const { return static_cast<T*>(data_); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }
  explicit operator bool() const { return data_ != nullptr; }
  void swap(ObjectPtr& other) noexcept {
    Object* data = data_;
    data_ = other.data_;
    other.data_ = data;
  }
  // Sets the pointer to null before it releases the object, because the destructor of the object
  // may read the pointer.
  void reset() { ObjectPtr().swap(*this); }
  int use_count() const { return data_ != nullptr ? static_cast<int>(data_->use_count()) : 0; }
  bool unique() const { return data_ != nullptr && data_->unique(); }
  bool operator==(const ObjectPtr& other) const { return data_ == other.data_; }
  bool operator!=(const ObjectPtr& other) const { return data_ != other.data_; }
  bool operator==(std::nullptr_t) const { return data_ == nullptr; }
  bool operator!=(std::nullptr_t) const { return data_ != nullptr; }

 private:
  explicit ObjectPtr(Object* data) : data_(data) { Retain(); }
  // The cast is valid because the header is the first member of Object.
  TVMFFIObject* Header() const { return reinterpret_cast<TVMFFIObject*>(data_); }
  void Retain() const {
    if (data_ != nullptr) detail::IncRef(Header());
  }

  Object* data_{nullptr};

  template <typename>
  friend class ObjectPtr;
  template <typename>
  friend class Arc;
  template <typename>
  friend class WeakObjectPtr;
  friend struct detail::ObjectUnsafe;
};

// An ObjectPtr that is not null unless it was moved from.
template <typename T>
class Arc : public ObjectPtr<T> {
 public:
  explicit Arc(UnsafeInit) {}
  Arc(const Arc&) = default;
  Arc(Arc&&) noexcept = default;
  template <typename U, typename = std::enable_if_t<std::is_base_of_v<T, U>>>
  Arc(const Arc<U>& other) : ObjectPtr<T>(other) {}  // NOLINT(*)
  template <typename U, typename = std::enable_if_t<std::is_base_of_v<T, U>>>
  Arc(Arc<U>&& other) noexcept : ObjectPtr<T>(std::move(other)) {}  // NOLINT(*)
  Arc& operator=(const Arc&) = default;
  Arc& operator=(Arc&&) noexcept = default;

 private:
  explicit Arc(ObjectPtr<T>&& pointer) : ObjectPtr<T>(std::move(pointer)) {}
  // These members are private because they could make the pointer null.
  using ObjectPtr<T>::reset;
  using ObjectPtr<T>::swap;
  friend struct detail::ObjectUnsafe;
};

// Smart pointer that owns one weak reference: the memory of the object stays allocated, but the
// object may be destroyed.
template <typename T>
class WeakObjectPtr {
 public:
  WeakObjectPtr() = default;
  WeakObjectPtr(std::nullptr_t) {}  // NOLINT(*)
  WeakObjectPtr(const WeakObjectPtr& other) : WeakObjectPtr(other.data_) {}
  WeakObjectPtr(WeakObjectPtr&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  template <typename U, typename = std::enable_if_t<std::is_base_of_v<T, U>>>
  WeakObjectPtr(const WeakObjectPtr<U>& other) : WeakObjectPtr(other.data_) {}  // NOLINT(*)
  template <typename U, typename = std::enable_if_t<std::is_base_of_v<T, U>>>
  WeakObjectPtr(WeakObjectPtr<U>&& other) noexcept : data_(other.data_) {  // NOLINT(*)
    other.data_ = nullptr;
  }
  template <typename U, typename = std::enable_if_t<std::is_base_of_v<T, U>>>
  WeakObjectPtr(const ObjectPtr<U>& other) : WeakObjectPtr(other.data_) {}  // NOLINT(*)
  ~WeakObjectPtr() {
    if (data_ != nullptr) detail::DecWeakRef(Header());
  }
  WeakObjectPtr& operator=(const WeakObjectPtr& other) {
    WeakObjectPtr(other).swap(*this);
    return *this;
  }
  WeakObjectPtr& operator=(WeakObjectPtr&& other) noexcept {
    WeakObjectPtr(std::move(other)).swap(*this);
    return *this;
  }

  // Returns a strong reference, or null if the object is destroyed.
  ObjectPtr<T> lock() const {
    ObjectPtr<T> strong;
    if (data_ != nullptr && detail::TryPromoteWeak(Header())) strong.data_ = data_;
    return strong;
  }
  bool expired() const { return use_count() == 0; }
  int use_count() const { return data_ != nullptr ? static_cast<int>(data_->use_count()) : 0; }
  void reset() { WeakObjectPtr().swap(*this); }
  void swap(WeakObjectPtr& other) noexcept {
    Object* data = data_;
    data_ = other.data_;
    other.data_ = data;
  }

 private:
  explicit WeakObjectPtr(Object* data) : data_(data) {
    if (data_ != nullptr) detail::IncWeakRef(Header());
  }
  TVMFFIObject* Header() const { return reinterpret_cast<TVMFFIObject*>(data_); }

  Object* data_{nullptr};

  template <typename>
  friend class WeakObjectPtr;
};

// Base of all reference classes: an ObjectPtr with value semantics.
class ObjectRef {
 public:
  ObjectRef() = default;
  ObjectRef(const ObjectRef&) = default;
  ObjectRef(ObjectRef&&) noexcept = default;
  ObjectRef& operator=(const ObjectRef&) = default;
  ObjectRef& operator=(ObjectRef&&) noexcept = default;
  explicit ObjectRef(ObjectPtr<Object> data) : data_(std::move(data)) {}
  explicit ObjectRef(UnsafeInit) {}

  bool same_as(const ObjectRef& other) const { return data_ == other.data_; }
  bool operator==(const ObjectRef& other) const { return data_ == other.data_; }
  bool operator!=(const ObjectRef& other) const { return data_ != other.data_; }
  bool operator<(const ObjectRef& other) const { return data_.get() < other.data_.get(); }
  bool defined() const { return data_ != nullptr; }
  const Object* get() const { return data_.get(); }
  const Object* operator->() const { return get(); }
  bool unique() const { return data_.unique(); }
  int use_count() const { return data_.use_count(); }
  int32_t type_index() const { return defined() ? data_->type_index() : kTVMFFINone; }
  std::string GetTypeKey() const {
    return defined() ? data_->GetTypeKey() : std::string(StaticTypeKey::kTVMFFINone);
  }

  // Returns the object as an ObjectType, or nullptr if the reference is null or the object is not
  // an instance.
  template <typename ObjectType, typename = std::enable_if_t<is_object_subclass_v<ObjectType>>>
  const ObjectType* as() const {
    if (!defined() || !data_->IsInstance<ObjectType>()) return nullptr;
    return static_cast<const ObjectType*>(get());
  }
  // Return the reference as a RefType.  If the object is not an instance of RefType, `as` returns
  // std::nullopt and `as_or_throw` throws TypeError.
  template <typename RefType, typename = std::enable_if_t<std::is_base_of_v<ObjectRef, RefType>>,
            int = 0>
  std::optional<RefType> as() const&;
  template <typename RefType, typename = std::enable_if_t<std::is_base_of_v<ObjectRef, RefType>>,
            int = 0>
  std::optional<RefType> as() &&;
  template <typename RefType>
  RefType as_or_throw() const&;
  template <typename RefType>
  RefType as_or_throw() &&;

  using ContainerType = Object;
  static constexpr bool _type_container_is_exact = true;
  static constexpr bool _type_is_nullable = true;

 protected:
  Object* get_mutable() const { return data_.get(); }

  ObjectPtr<Object> data_;

 private:
  friend struct detail::ObjectUnsafe;
};

namespace detail {
// True if a T can refer to every object of its class T::ContainerType.  False for types that are
// not reference classes.
template <typename T, typename = void>
inline constexpr bool container_is_exact_v = false;
template <typename T>
inline constexpr bool container_is_exact_v<T, std::void_t<typename T::ContainerType>> =
    T::_type_container_is_exact;

template <typename RefType, typename ObjectType, bool = container_is_exact_v<RefType>>
inline constexpr bool exact_container_holds_v = false;
template <typename RefType, typename ObjectType>
inline constexpr bool exact_container_holds_v<RefType, ObjectType, true> =
    std::is_base_of_v<typename RefType::ContainerType, ObjectType>;
}  // namespace detail

// True if a RefType can refer to every ObjectType.  Specialize it as true for reference classes
// whose _type_container_is_exact is false; `Enable` restricts a partial specialization to some
// types.
template <typename RefType, typename ObjectType, typename Enable = void>
inline constexpr bool object_ref_contains_v = detail::exact_container_holds_v<RefType, ObjectType>;

}  // namespace ffi
}  // namespace tvm

#include <tvm/ffi/object_detail.h>
#endif  // TVM_FFI_OBJECT_H_
