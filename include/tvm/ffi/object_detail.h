// SPDX-License-Identifier: Apache-2.0
// Part of object.h: raw access to references, conversion traits of objects, registration macros.
#ifndef TVM_FFI_OBJECT_DETAIL_H_
#define TVM_FFI_OBJECT_DETAIL_H_

#include <tvm/ffi/object.h>

namespace tvm {
namespace ffi {
namespace detail {

// Access to the object pointers in reference classes and smart pointers.  A handle always points to
// the 24-byte header.  An object with virtual functions begins before the header, so conversions
// between handles and class pointers go through Object.
struct ObjectUnsafe {
  static TVMFFIObject* GetHeader(const Object* object) {
    return const_cast<TVMFFIObject*>(&object->header_);
  }
  // Returns the TVMFFIObjectAllocHeader that directly precedes the memory of the object.  Only
  // objects whose memory a TVMFFICustomAllocator allocated have this header; make_object does not
  // write it.
  static TVMFFIObjectAllocHeader* GetObjectAllocHeaderFromPtr(void* object) {
    return static_cast<TVMFFIObjectAllocHeader*>(object) - 1;
  }
  // Returns the offset of the object header from the start of an instance of Class, in bytes.
  template <typename Class>
  static int64_t GetObjectOffsetToSubclass() {
    const Class* probe = reinterpret_cast<const Class*>(uintptr_t{64});
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(static_cast<const Object*>(probe)) -
                                64);
  }

  template <typename T>
  static T ObjectRefFromObjectPtr(const ObjectPtr<Object>& pointer) {
    T ref(UnsafeInit{});
    ref.data_ = pointer;
    return ref;
  }
  template <typename T>
  static T ObjectRefFromObjectPtr(ObjectPtr<Object>&& pointer) {
    T ref(UnsafeInit{});
    ref.data_ = std::move(pointer);
    return ref;
  }
  // Returns a reference that takes ownership of `object`.  The pointer in `ref` is null before the
  // assignment, so no object is released.
  template <typename T>
  static T ObjectRefFromOwned(TVMFFIObject* object) {
    T ref(UnsafeInit{});
    ref.data_.data_ = reinterpret_cast<Object*>(object);
    return ref;
  }
  template <typename T>
  static ObjectPtr<T> ObjectPtrFromObjectRef(const ObjectRef& ref) {
    return ObjectPtr<T>(ref.data_.data_);
  }
  template <typename T>
  static ObjectPtr<T> ObjectPtrFromObjectRef(ObjectRef&& ref) {
    ObjectPtr<T> pointer;
    pointer.data_ = ref.data_.data_;
    ref.data_.data_ = nullptr;
    return pointer;
  }
  template <typename T>
  static ObjectPtr<T> ObjectPtrFromOwned(Object* object) {
    ObjectPtr<T> pointer;
    pointer.data_ = object;
    return pointer;
  }
  template <typename T>
  static ObjectPtr<T> ObjectPtrFromOwned(TVMFFIObject* object) {
    return ObjectPtrFromOwned<T>(reinterpret_cast<Object*>(object));
  }
  template <typename T>
  static ObjectPtr<T> ObjectPtrFromUnowned(Object* object) {
    return ObjectPtr<T>(object);
  }
  template <typename T>
  static ObjectPtr<T> ObjectPtrFromUnowned(TVMFFIObject* object) {
    return ObjectPtr<T>(reinterpret_cast<Object*>(object));
  }
  template <typename T>
  static Arc<T> ArcFromObjectPtr(ObjectPtr<T>&& pointer) {
    return Arc<T>(std::move(pointer));
  }
  template <typename T>
  static T* RawObjectPtrFromUnowned(TVMFFIObject* object) {
    return static_cast<T*>(reinterpret_cast<Object*>(object));
  }
  static Object* RawObjectPtrFromObjectRef(const ObjectRef& ref) { return ref.data_.data_; }
  static TVMFFIObject* TVMFFIObjectPtrFromObjectRef(const ObjectRef& ref) {
    return reinterpret_cast<TVMFFIObject*>(ref.data_.data_);
  }
  template <typename T>
  static TVMFFIObject* TVMFFIObjectPtrFromObjectPtr(const ObjectPtr<T>& pointer) {
    return reinterpret_cast<TVMFFIObject*>(pointer.data_);
  }
  template <typename T>
  static TVMFFIObject* MoveObjectPtrToTVMFFIObjectPtr(ObjectPtr<T>&& pointer) {
    Object* object = pointer.data_;
    pointer.data_ = nullptr;
    return reinterpret_cast<TVMFFIObject*>(object);
  }
  static TVMFFIObject* MoveObjectRefToTVMFFIObjectPtr(ObjectRef&& ref) {
    return MoveObjectPtrToTVMFFIObjectPtr(std::move(ref.data_));
  }
  static void DecRefObjectHandle(TVMFFIObjectHandle handle) {
    if (handle != nullptr) DecRef(static_cast<TVMFFIObject*>(handle));
  }
  static void IncRefObjectHandle(TVMFFIObjectHandle handle) {
    if (handle != nullptr) IncRef(static_cast<TVMFFIObject*>(handle));
  }
};

// Stores an object in *out; a null pointer is stored as None.
inline void SetObjectPayload(TVMFFIAny* out, TVMFFIObject* object) {
  SetPointerPayload(out, object != nullptr ? object->type_index : kTVMFFINone, object);
}

inline TVMFFIObject* ObjectOrNull(const TVMFFIAny* value) {
  return value->type_index == kTVMFFINone ? nullptr : value->v_obj;
}

template <typename ObjectType>
bool HoldsInstance(const TVMFFIAny* value) {
  return value->type_index >= kTVMFFIStaticObjectBegin &&
         IsObjectInstance<ObjectType>(value->type_index);
}

}  // namespace detail

// ---- Conversion traits ------------------------------------------------------------------------

// Default traits of reference classes.  A specialization that derives from them may replace
// CheckAnyStrict alone, because TryCastFromAnyView calls the replacement.
template <typename RefType>
struct ObjectRefTypeTraitsBase : TypeTraitsBase {
  using ContainerType = typename RefType::ContainerType;
  static constexpr int32_t field_static_type_index = kTVMFFIObject;

  static void CopyToAnyView(const RefType& src, TVMFFIAny* result) {
    detail::SetObjectPayload(result, detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(src));
  }
  static void MoveToAny(RefType src, TVMFFIAny* result) {
    detail::SetObjectPayload(result,
                             detail::ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(std::move(src)));
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if constexpr (RefType::_type_is_nullable) {
      if (src->type_index == kTVMFFINone) return true;
    }
    return detail::HoldsInstance<ContainerType>(src);
  }
  static RefType CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<RefType>(
        detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(detail::ObjectOrNull(src)));
  }
  static RefType MoveFromAnyAfterCheck(TVMFFIAny* src) {
    TVMFFIObject* object = detail::ObjectOrNull(src);
    detail::SetIntPayload(src, kTVMFFINone, 0);
    return detail::ObjectUnsafe::ObjectRefFromOwned<RefType>(object);
  }
  static std::optional<RefType> TryCastFromAnyView(const TVMFFIAny* src) {
    if (TypeTraits<RefType>::CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  static std::string TypeStr() { return ContainerType::_type_key; }
  static std::string TypeSchema() { return detail::SchemaOfKey(ContainerType::_type_key); }
};

template <typename RefType>
struct TypeTraits<RefType, std::enable_if_t<std::is_base_of_v<ObjectRef, RefType> &&
                                            use_default_type_traits_v<RefType>>>
    : ObjectRefTypeTraitsBase<RefType> {};

template <typename RefType>
struct TypeToRuntimeTypeIndex<RefType, std::enable_if_t<std::is_base_of_v<ObjectRef, RefType>>> {
  static int32_t v() { return RefType::ContainerType::RuntimeTypeIndex(); }
};

// Base of traits of reference classes to which other types convert.  If the strict check fails, the
// fallback types are tried in order, and TypeTraits<RefType>::ConvertFallbackValue converts the
// value.
template <typename RefType, typename... Fallback>
struct ObjectRefWithFallbackTraitsBase : ObjectRefTypeTraitsBase<RefType> {
  static_assert(!(std::is_same_v<Fallback, bool> || ...),
                "bool accepts integers and would hide later fallbacks; use StrictBool");

  static std::optional<RefType> TryCastFromAnyView(const TVMFFIAny* src) {
    if (TypeTraits<RefType>::CheckAnyStrict(src)) {
      return ObjectRefTypeTraitsBase<RefType>::CopyFromAnyViewAfterCheck(src);
    }
    return TryFallbackTypes<Fallback...>(src);
  }
  template <typename... Types>
  static std::optional<RefType> TryFallbackTypes(const TVMFFIAny* src) {
    return FallbackOnlyTraitsBase<RefType, Types...>::TryCastFromAnyView(src);
  }
};

namespace detail {

// Traits of ObjectPtr<T>, which may be null, and Arc<T>, which may not.
template <typename Pointer, typename T, bool nullable>
struct ObjectPointerTraits : TypeTraitsBase {
  static constexpr int32_t field_static_type_index = kTVMFFIObject;

  static void CopyToAnyView(const Pointer& src, TVMFFIAny* result) {
    SetObjectPayload(result, ObjectUnsafe::TVMFFIObjectPtrFromObjectPtr<T>(src));
  }
  static void MoveToAny(Pointer src, TVMFFIAny* result) {
    SetObjectPayload(result, ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr<T>(std::move(src)));
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return (nullable && src->type_index == kTVMFFINone) || HoldsInstance<T>(src);
  }
  static Pointer CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return Wrap(ObjectUnsafe::ObjectPtrFromUnowned<T>(ObjectOrNull(src)));
  }
  static Pointer MoveFromAnyAfterCheck(TVMFFIAny* src) {
    TVMFFIObject* object = ObjectOrNull(src);
    SetIntPayload(src, kTVMFFINone, 0);
    return Wrap(ObjectUnsafe::ObjectPtrFromOwned<T>(object));
  }
  static std::optional<Pointer> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  static std::string TypeStr() { return T::_type_key; }
  static std::string TypeSchema() {
    std::string key = SchemaOfKey(T::_type_key);
    return nullable ? "{\"type\":\"Optional\",\"args\":[" + key + "]}" : key;
  }

 private:
  static Pointer Wrap(ObjectPtr<T>&& pointer) {
    if constexpr (nullable) {
      return std::move(pointer);
    } else {
      return ObjectUnsafe::ArcFromObjectPtr<T>(std::move(pointer));
    }
  }
};

}  // namespace detail

template <typename T>
struct TypeTraits<ObjectPtr<T>,
                  std::enable_if_t<is_object_subclass_v<T> && !detail::is_qualified_object_v<T>>>
    : detail::ObjectPointerTraits<ObjectPtr<T>, T, true> {};

template <typename T>
struct TypeTraits<Arc<T>,
                  std::enable_if_t<is_object_subclass_v<T> && !detail::is_qualified_object_v<T>>>
    : detail::ObjectPointerTraits<Arc<T>, T, false> {};

template <typename T, typename U>
inline constexpr bool type_subsumes_v<ObjectPtr<T>, ObjectPtr<U>> = std::is_base_of_v<T, U>;
template <typename T, typename U>
inline constexpr bool type_subsumes_v<ObjectPtr<T>, Arc<U>> = std::is_base_of_v<T, U>;
template <typename T, typename U>
inline constexpr bool type_subsumes_v<Arc<T>, Arc<U>> = std::is_base_of_v<T, U>;

// Traits of raw object pointers, which are borrowed.  An argument must not be null.  A parameter is
// a pointer to const unless its class declares _type_mutable.
template <typename T>
struct TypeTraits<T*, std::enable_if_t<is_object_subclass_v<std::remove_const_t<T>>>>
    : TypeTraitsBase {
  using ObjectType = std::remove_const_t<T>;
  static constexpr bool storage_enabled = false;
  static constexpr int32_t field_static_type_index = kTVMFFIObject;

  static void CopyToAnyView(T* const& src, TVMFFIAny* result) {
    detail::SetObjectPayload(result, detail::ObjectUnsafe::GetHeader(src));
  }
  static void MoveToAny(T* src, TVMFFIAny* result) {
    detail::SetObjectPayload(result, detail::ObjectUnsafe::GetHeader(src));
    detail::IncRef(result->v_obj);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return detail::HoldsInstance<ObjectType>(src);
  }
  static T* CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    static_assert(std::is_const_v<T> || ObjectType::_type_mutable,
                  "only const pointers: the type is not declared mutable");
    return detail::ObjectUnsafe::RawObjectPtrFromUnowned<ObjectType>(src->v_obj);
  }
  static std::optional<T*> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  static std::string TypeStr() { return ObjectType::_type_key; }
  static std::string TypeSchema() { return detail::SchemaOfKey(ObjectType::_type_key); }
};

// ---- Casts between references -----------------------------------------------------------------

template <typename RefType, typename, int>
std::optional<RefType> ObjectRef::as() const& {
  TVMFFIAny view;
  TypeTraits<ObjectRef>::CopyToAnyView(*this, &view);
  if (!TypeTraits<RefType>::CheckAnyStrict(&view)) return std::nullopt;
  return TypeTraits<RefType>::CopyFromAnyViewAfterCheck(&view);
}

template <typename RefType, typename, int>
std::optional<RefType> ObjectRef::as() && {
  TVMFFIAny view;
  TypeTraits<ObjectRef>::CopyToAnyView(*this, &view);
  if (!TypeTraits<RefType>::CheckAnyStrict(&view)) return std::nullopt;
  return detail::ObjectUnsafe::ObjectRefFromObjectPtr<RefType>(std::move(data_));
}

namespace detail {
// Throws TypeError for a failed conversion.  For a container, the message names the element whose
// type does not match.
template <typename RefType>
[[noreturn]] TVM_FFI_FAILURE_ void ThrowCannotTreatRef(const ObjectRef& ref) {
  TVMFFIAny view;
  TypeTraits<ObjectRef>::CopyToAnyView(ref, &view);
  ThrowCannotTreat(TypeTraits<RefType>::GetMismatchTypeInfo(&view), TypeTraits<RefType>::TypeStr());
}
}  // namespace detail

template <typename RefType>
RefType ObjectRef::as_or_throw() const& {
  std::optional<RefType> result = as<RefType>();
  if (!result.has_value()) {
    detail::ThrowCannotTreatRef<RefType>(*this);
  }
  return *std::move(result);
}

template <typename RefType>
RefType ObjectRef::as_or_throw() && {
  std::optional<RefType> result = std::move(*this).template as<RefType>();
  if (!result.has_value()) {
    detail::ThrowCannotTreatRef<RefType>(*this);
  }
  return *std::move(result);
}

// ---- Identity as hash and equality ------------------------------------------------------------

namespace detail {
inline const void* IdentityOf(const ObjectRef& ref) { return ref.get(); }
template <typename T>
const void* IdentityOf(const ObjectPtr<T>& pointer) {
  return ObjectUnsafe::TVMFFIObjectPtrFromObjectPtr(pointer);
}
template <typename... V>
const void* IdentityOf(const Variant<V...>& value) {
  return value.template as<Object>();
}
}  // namespace detail

// Hash of references by address.
struct ObjectPtrHash {
  template <typename T>
  size_t operator()(const T& a) const {
    return reinterpret_cast<size_t>(detail::IdentityOf(a));
  }
};

// Equality of references by address.
struct ObjectPtrEqual {
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return detail::IdentityOf(a) == detail::IdentityOf(b);
  }
};

// ---- Registration -----------------------------------------------------------------------------

namespace detail {

// Registers ObjectType and returns its type index: `static_type_index`, or a newly allocated index
// if `static_type_index` is -1.
template <typename ObjectType, typename ParentType>
int32_t RegisterObjectType(int32_t static_type_index) {
  static_assert(!ParentType::_type_final, "the parent class is declared final");
  static_assert(!ParentType::_type_s_eq_hash_subclass_kind_fixed ||
                    ParentType::_type_s_eq_hash_kind == ObjectType::_type_s_eq_hash_kind,
                "the parent class fixes _type_s_eq_hash_kind for its children");
  static_assert(ParentType::_type_child_slots == 0 || ObjectType::_type_child_slots == 0 ||
                    ObjectType::_type_child_slots < ParentType::_type_child_slots,
                "a child reserves fewer slots than its parent");
  TVMFFIByteArray key{ObjectType::_type_key, std::strlen(ObjectType::_type_key)};
  return TVMFFITypeGetOrAllocIndex(&key, static_type_index, ObjectType::_type_depth,
                                   static_cast<int32_t>(ObjectType::_type_child_slots),
                                   static_cast<int32_t>(ObjectType::_type_child_slots_can_overflow),
                                   ParentType::_GetOrAllocRuntimeTypeIndex());
}

// Returns the type index of ObjectType.  The first call registers the type and caches the index in
// *index.  Concurrent first calls are harmless, because all of them get the same index.  A static
// variable with a computed initializer would need a guard, which JIT linkers do not support.
template <typename ObjectType, typename ParentType>
int32_t RegisterObjectTypeOnce(int32_t* index, int32_t static_type_index) {
  int32_t known = __atomic_load_n(index, __ATOMIC_ACQUIRE);
  if (TVM_FFI_PREDICT_TRUE(known != 0)) return known;
  known = RegisterObjectType<ObjectType, ParentType>(static_type_index);
  __atomic_store_n(index, known, __ATOMIC_RELEASE);
  return known;
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

// Declares the type information in the body of an object class that defines a constant
// `_type_index`.
#define TVM_FFI_DECLARE_OBJECT_INFO_STATIC(TypeKey, TypeName, ParentType)    \
  static constexpr int32_t _type_depth = ParentType::_type_depth + 1;        \
  static constexpr const char* _type_key = TypeKey;                          \
  static int32_t _GetOrAllocRuntimeTypeIndex() {                             \
    static int32_t tindex;                                                   \
    return ::tvm::ffi::detail::RegisterObjectTypeOnce<TypeName, ParentType>( \
        &tindex, TypeName::_type_index);                                     \
  }                                                                          \
  static int32_t RuntimeTypeIndex() { return TypeName::_type_index; }

// Same as TVM_FFI_DECLARE_OBJECT_INFO, but for a class that declares `_type_key` itself.  The index
// is allocated when the library is loaded.  Load-time blocks may run before `_type_index` is set,
// so they call _GetOrAllocRuntimeTypeIndex.  Libraries that were built with other versions of these
// headers share the variables `tindex` and `_type_index` and write the same index to them.
// RuntimeTypeIndex refers to _InitTypeIndex so that class templates instantiate it.
#define TVM_FFI_DECLARE_OBJECT_INFO_PREDEFINED_TYPE_KEY(TypeName, ParentType)             \
  static constexpr int32_t _type_depth = ParentType::_type_depth + 1;                     \
  static int32_t _GetOrAllocRuntimeTypeIndex() {                                          \
    static int32_t tindex;                                                                \
    return ::tvm::ffi::detail::RegisterObjectTypeOnce<TypeName, ParentType>(&tindex, -1); \
  }                                                                                       \
  static inline int32_t _type_index = 0;                                                  \
  TVM_FFI_RUN_AT_LOAD_ static void _InitTypeIndex() {                                     \
    if (_type_index == 0) _type_index = _GetOrAllocRuntimeTypeIndex();                    \
  }                                                                                       \
  static int32_t RuntimeTypeIndex() {                                                     \
    static_cast<void>(&_InitTypeIndex);                                                   \
    return _type_index;                                                                   \
  }

// Declares the type key and the type information in the body of an object class.
#define TVM_FFI_DECLARE_OBJECT_INFO(TypeKey, TypeName, ParentType) \
  static constexpr const char* _type_key = TypeKey;                \
  TVM_FFI_DECLARE_OBJECT_INFO_PREDEFINED_TYPE_KEY(TypeName, ParentType)

// Same as TVM_FFI_DECLARE_OBJECT_INFO, but for a class without derived classes.
#define TVM_FFI_DECLARE_OBJECT_INFO_FINAL(TypeKey, TypeName, ParentType) \
  static constexpr uint32_t _type_child_slots = 0;                       \
  [[maybe_unused]] static constexpr bool _type_final = true;             \
  TVM_FFI_DECLARE_OBJECT_INFO(TypeKey, TypeName, ParentType)

#define TVM_FFI_DEFINE_OBJECT_REF_ACCESS_(ObjectName)                                              \
  using __PtrType = std::conditional_t<ObjectName::_type_mutable, ObjectName*, const ObjectName*>; \
  __PtrType operator->() const { return static_cast<__PtrType>(data_.get()); }                     \
  __PtrType get() const { return static_cast<__PtrType>(data_.get()); }                            \
  using ContainerType = ObjectName

// Declares the members of a reference class whose references may be null.
#define TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TypeName, ParentType, ObjectName)   \
  TypeName() = default;                                                                \
  explicit TypeName(::tvm::ffi::ObjectPtr<ObjectName> n) : ParentType(std::move(n)) {} \
  explicit TypeName(::tvm::ffi::UnsafeInit tag) : ParentType(tag) {}                   \
  TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName);                               \
  TVM_FFI_DEFINE_OBJECT_REF_ACCESS_(ObjectName);                                       \
  [[maybe_unused]] static constexpr bool _type_is_nullable = true

// Declares the members of a reference class whose references are null only after they were moved
// from.
#define TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(TypeName, ParentType, ObjectName) \
  explicit TypeName(::tvm::ffi::UnsafeInit tag) : ParentType(tag) {}                    \
  TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName);                                \
  TVM_FFI_DEFINE_OBJECT_REF_ACCESS_(ObjectName);                                        \
  [[maybe_unused]] static constexpr bool _type_is_nullable = false

#endif  // TVM_FFI_OBJECT_DETAIL_H_
