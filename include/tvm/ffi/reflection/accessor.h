// SPDX-License-Identifier: Apache-2.0
// Access to reflected fields, methods and type attributes.
//
// The address of a field is the address of the object's header plus the field's registered offset.
// Pointers to type infos and attribute columns stay valid until the process ends.
#ifndef TVM_FFI_REFLECTION_ACCESSOR_H_
#define TVM_FFI_REFLECTION_ACCESSOR_H_

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/native_function.h>

namespace tvm {
namespace ffi {
namespace reflection {

// Returns a view of a NUL-terminated string.
constexpr TVMFFIByteArray AsByteArray(const char* text) {
  return TVMFFIByteArray{text, std::char_traits<char>::length(text)};
}

// Name of a type attribute (a value or function that a type registers under a name); T is the type
// of the attribute's values.
template <typename T>
struct AttrKey {
  using ValueType = T;
  const char* name;

  // Converts an attribute value; returns std::nullopt for None, the value of types that do not have
  // the attribute.  Fails: TypeError if the value is not a T.
  std::optional<T> ValueFrom(AnyView value) const {
    if (value == nullptr) return std::nullopt;
    return value.as_or_throw<T>();
  }
};

}  // namespace reflection

// Names and value types of the type attributes that the runtime and these headers use.
// ORDER type-attr
namespace type_attr {
inline constexpr reflection::AttrKey<TypedFunction<ObjectRef()>> kNew{"__ffi_new__"};
inline constexpr reflection::AttrKey<Function> kInit{"__ffi_init__"};
inline constexpr reflection::AttrKey<TypedFunction<Any(AnyView)>> kConvert{"__ffi_convert__"};
inline constexpr reflection::AttrKey<Any> kConvertTypeSchema{"__ffi_convert_type_schema__"};
inline constexpr reflection::AttrKey<TypedFunction<ObjectRef(const Object*)>> kShallowCopy{
    "__ffi_shallow_copy__"};
inline constexpr reflection::AttrKey<bool> kTypeFinal{"__ffi_type_final__"};
inline constexpr reflection::AttrKey<reflection::NativeFunctionView<int64_t(const Any&)>> kAnyHash{
    "__any_hash__"};
inline constexpr reflection::AttrKey<reflection::NativeFunctionView<bool(const Any&, const Any&)>>
    kAnyEqual{"__any_equal__"};
}  // namespace type_attr

namespace reflection {

// Former name of tvm::ffi::type_attr, kept for source code written for earlier releases.
namespace type_attr = ::tvm::ffi::type_attr;

namespace detail {

inline std::string_view TextOf(const TVMFFIByteArray& bytes) {
  return std::string_view(bytes.data, bytes.size);
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowNoMember(std::string_view text) {
  ThrowError("RuntimeError", text);
}

// The fields or methods that a type has registered so far.  Other threads may register more members
// concurrently, so the count is read first: registration stores the array before the count.
template <typename Info>
struct Members {
  const Info* begin;
  int32_t count;

  Members(const Info* const* infos, const int32_t* num_infos)
      : count(__atomic_load_n(num_infos, __ATOMIC_ACQUIRE)) {
    // The array may contain more members than `count`, because it was read later.
    begin = __atomic_load_n(infos, __ATOMIC_ACQUIRE);
  }
  // Returns the field or method of this name; nullptr if there is none.
  const Info* Find(std::string_view name) const {
    for (int32_t i = 0; i < count; ++i) {
      if (TextOf(begin[i].name) == name) return begin + i;
    }
    return nullptr;
  }
};

inline Members<TVMFFIFieldInfo> FieldsOf(const TypeInfo* type) {
  return {&type->fields, &type->num_fields};
}
inline Members<TVMFFIMethodInfo> MethodsOf(const TypeInfo* type) {
  return {&type->methods, &type->num_methods};
}
// Returns the registered metadata of a type; nullptr if there is none.
inline const TVMFFITypeMetadata* MetadataOf(const TypeInfo* type) {
  return __atomic_load_n(&type->metadata, __ATOMIC_ACQUIRE);
}

inline void* FieldAddress(const Object* object, const TVMFFIFieldInfo* info) {
  return reinterpret_cast<char*>(ObjectUnsafe::GetHeader(object)) + info->offset;
}

}  // namespace detail

// Returns a field of a type; ancestors are not searched.  Fails: RuntimeError if the field does not
// exist.
inline const TVMFFIFieldInfo* GetFieldInfo(std::string_view type_key, const char* field_name) {
  const TypeInfo* type = TVMFFIGetTypeInfo(TypeKeyToIndex(type_key));
  const TVMFFIFieldInfo* field = detail::FieldsOf(type).Find(field_name);
  if (field == nullptr) {
    detail::ThrowNoMember("Cannot find field  `" + std::string(field_name) + "` in " +
                          std::string(type_key));
  }
  return field;
}

// Returns a method of a type; ancestors are not searched.  Fails: RuntimeError if the method does
// not exist.
inline const TVMFFIMethodInfo* GetMethodInfo(std::string_view type_key, const char* method_name) {
  const TypeInfo* type = TVMFFIGetTypeInfo(TypeKeyToIndex(type_key));
  const TVMFFIMethodInfo* method = detail::MethodsOf(type).Find(method_name);
  if (method == nullptr) {
    detail::ThrowNoMember("Cannot find method " + std::string(method_name) + " in " +
                          std::string(type_key));
  }
  return method;
}

// Returns a method of a type as a Function; ancestors are not searched.  Fails: RuntimeError if the
// method does not exist; the message names the type and the method.
inline Function GetMethod(std::string_view type_key, const char* method_name) {
  const TVMFFIMethodInfo* method = GetMethodInfo(type_key, method_name);
  return AnyView::CopyFromTVMFFIAny(method->method).cast<Function>();
}

// Stores *value in the field at `address`.  Returns 0, or -1 with a pending error.
inline int CallFieldSetter(const TVMFFIFieldInfo* info, void* address, const TVMFFIAny* value) {
  if ((info->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) == 0) {
    return reinterpret_cast<TVMFFIFieldSetter>(info->setter)(address, value);
  }
  TVMFFIAny args[2];
  detail::SetPointerPayload(args, kTVMFFIOpaquePtr, address);
  detail::CopyPayload(args + 1, *value);
  TVMFFIAny result;
  detail::SetIntPayload(&result, kTVMFFINone, 0);
  int status = TVMFFIFunctionCall(info->setter, args, 2, &result);
  if (status == 0) detail::AnyUnsafe::MoveTVMFFIAnyToAny(&result);  // release the returned value
  return status;
}

// Stores the field's default in the field at `address`.  The field must have a default.  Returns 0,
// or -1 with a pending error.
inline int CallFieldSetterToDefault(const TVMFFIFieldInfo* info, void* address) {
  const TVMFFIAny* value = &info->default_value_or_factory;
  if ((info->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory) == 0) {
    return CallFieldSetter(info, address, value);
  }
  TVMFFIAny result;
  detail::SetIntPayload(&result, kTVMFFINone, 0);
  int status = TVMFFIFunctionCall(value->v_obj, nullptr, 0, &result);
  if (status != 0) return status;
  Any owner = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&result);
  return CallFieldSetter(info, address, detail::AnyUnsafe::TVMFFIAnyPtrFromAny(owner));
}

// Same as CallFieldSetterToDefault, but throws the error instead of returning -1.
inline void SetFieldToDefault(const TVMFFIFieldInfo* info, void* address) {
  detail::CheckSafeCall(CallFieldSetterToDefault(info, address));
}

// Reads one field of any object of a type.
class FieldGetter {
 public:
  explicit FieldGetter(const TVMFFIFieldInfo* info) : info_(info) {}
  FieldGetter(std::string_view type_key, const char* field_name)
      : FieldGetter(GetFieldInfo(type_key, field_name)) {}

  Any operator()(const Object* object) const {
    Any value;
    detail::CheckSafeCall(info_->getter(detail::FieldAddress(object, info_),
                                        detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value)));
    return value;
  }
  Any operator()(const ObjectPtr<Object>& object) const { return operator()(object.get()); }
  Any operator()(const ObjectRef& object) const { return operator()(object.get()); }

 private:
  const TVMFFIFieldInfo* info_;
};

// Writes one field of any object of a type, even if the field is registered as read-only.
class FieldSetter {
 public:
  explicit FieldSetter(const TVMFFIFieldInfo* info) : info_(info) {}
  FieldSetter(std::string_view type_key, const char* field_name)
      : FieldSetter(GetFieldInfo(type_key, field_name)) {}

  void operator()(const Object* object, AnyView value) const {
    TVMFFIAny raw = value.CopyToTVMFFIAny();
    detail::CheckSafeCall(CallFieldSetter(info_, detail::FieldAddress(object, info_), &raw));
  }
  void operator()(const ObjectPtr<Object>& object, AnyView value) const {
    operator()(object.get(), value);
  }
  void operator()(const ObjectRef& object, AnyView value) const { operator()(object.get(), value); }

 private:
  const TVMFFIFieldInfo* info_;
};

// Attribute column: the values of one type attribute, as an array indexed by type index.
class TypeAttrColumn {
 public:
  explicit TypeAttrColumn(std::string_view name) : column_(detail::FindAttrColumn(name)) {
    if (column_ == nullptr) {
      detail::ThrowNoMember("Cannot find type attribute " + std::string(name));
    }
  }
  template <typename T>
  explicit TypeAttrColumn(const AttrKey<T>& key) : TypeAttrColumn(std::string_view(key.name)) {}

  // Returns the attribute's value for a type; None if the type does not have it.  Ancestors are not
  // searched.
  AnyView operator[](int32_t type_index) const {
    const TVMFFIAny* value = detail::FindAttr(column_, type_index);
    return value != nullptr ? AnyView::CopyFromTVMFFIAny(*value) : AnyView();
  }

 private:
  const TVMFFITypeAttrColumn* column_;
};

// Calls callback(const TVMFFIFieldInfo*) for each field until it returns true.  The fields of the
// most distant ancestor come first, the fields of the type itself last.  Returns true if a callback
// returned true.
template <typename Callback>
bool ForEachFieldInfoWithEarlyStop(const TypeInfo* type, Callback&& callback) {
  // ffi.Object, at depth 0, has no fields.
  for (int32_t depth = 1; depth <= type->type_depth; ++depth) {
    const TypeInfo* owner = depth < type->type_depth ? type->type_ancestors[depth] : type;
    const detail::Members<TVMFFIFieldInfo> fields = detail::FieldsOf(owner);
    for (int32_t i = 0; i < fields.count; ++i) {
      if (callback(fields.begin + i)) return true;
    }
  }
  return false;
}

// Calls callback(const TVMFFIFieldInfo*) for all fields, in the order of
// ForEachFieldInfoWithEarlyStop.
template <typename Callback>
void ForEachFieldInfo(const TypeInfo* type, Callback&& callback) {
  ForEachFieldInfoWithEarlyStop(type, [&](const TVMFFIFieldInfo* field) {
    callback(field);
    return false;
  });
}

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_ACCESSOR_H_
