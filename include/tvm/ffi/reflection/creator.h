// SPDX-License-Identifier: Apache-2.0
// Creation of objects by reflection: default construction, then assignment of fields by name.
#ifndef TVM_FFI_REFLECTION_CREATOR_H_
#define TVM_FFI_REFLECTION_CREATOR_H_

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

namespace reflection {
namespace detail {

// Returns the "__ffi_new__" function of a type; nullptr if the type has none.
inline const TVMFFIAny* FindNew(int32_t type_index) {
  static const TVMFFITypeAttrColumn* column;
  return FindAttrIn(&column, type_attr::kNew.name, type_index);
}

// Throws an error with the message "<prefix><type key><suffix>".
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowForType(const char* kind, const TypeInfo* type,
                                                       std::string_view prefix,
                                                       std::string_view suffix) {
  MessageStream text;
  text << prefix << TextOf(type->type_key) << suffix;
  ThrowError(kind, text);
}

}  // namespace detail
}  // namespace reflection

// Returns true if CreateEmptyObject can create an object of the type.
inline bool HasCreator(const TypeInfo* type) {
  const TVMFFITypeMetadata* metadata = reflection::detail::MetadataOf(type);
  if (metadata != nullptr && metadata->creator != nullptr) return true;
  return reflection::detail::FindNew(type->type_index) != nullptr;
}

// Returns a new default-constructed object.  Fails: RuntimeError if the type has neither a native
// creator (a C function that creates an object) nor a "__ffi_new__" function.
inline ObjectPtr<Object> CreateEmptyObject(const TypeInfo* type) {
  const TVMFFITypeMetadata* metadata = reflection::detail::MetadataOf(type);
  if (metadata != nullptr && metadata->creator != nullptr) {
    TVMFFIObjectHandle handle;
    detail::CheckSafeCall(metadata->creator(&handle));
    return detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(handle));
  }
  if (const TVMFFIAny* create = reflection::detail::FindNew(type->type_index)) {
    ObjectRef object =
        AnyView::CopyFromTVMFFIAny(*create).cast<Function>()().template cast<ObjectRef>();
    return detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(std::move(object));
  }
  reflection::detail::ThrowForType(
      "RuntimeError", type, "Type `",
      "` does not support reflection creation (no native creator or __ffi_new__ type attr)");
}

namespace reflection {

// Creates objects of one type from field names and values.
class ObjectCreator {
 public:
  explicit ObjectCreator(std::string_view type_key)
      : ObjectCreator(TVMFFIGetTypeInfo(TypeKeyToIndex(type_key))) {}
  explicit ObjectCreator(const TypeInfo* type) : type_(type) {
    if (HasCreator(type)) return;
    detail::ThrowForType("RuntimeError", type, "Type `",
                         "` does not support default constructor, as a result cannot be created "
                         "via reflection");
  }

  // Returns a new object.  A field without a value in `fields` gets its default.  Fails: TypeError
  // if a field has neither a value nor a default, or if a name in `fields` is not a field of the
  // type.
  Any operator()(const Map<String, Any>& fields) const {
    ObjectPtr<Object> object = CreateEmptyObject(type_);
    size_t used = 0;
    ForEachFieldInfo(type_, [&](const TVMFFIFieldInfo* field) {
      if (SetField(object.get(), field, fields)) ++used;
    });
    if (used < fields.size()) ThrowUnknown(fields);
    return ObjectRef(std::move(object));
  }

 private:
  bool SetField(const Object* object, const TVMFFIFieldInfo* field,
                const Map<String, Any>& fields) const {
    void* address = detail::FieldAddress(object, field);
    auto found = fields.find(String(field->name));
    if (found != fields.end()) {
      Any value = (*found).second;
      detail::CheckSafeCall(
          CallFieldSetter(field, address, detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value)));
      return true;
    }
    if ((field->flags & kTVMFFIFieldFlagBitMaskHasDefault) == 0) {
      detail::ThrowForType(
          "TypeError", type_,
          "Required field `" + std::string(detail::TextOf(field->name)) + "` not set in type `",
          "`");
    }
    SetFieldToDefault(field, address);
    return false;
  }

  [[noreturn]] void ThrowUnknown(const Map<String, Any>& fields) const {
    std::string unknown;
    for (const auto& entry : fields) {
      bool is_field = ForEachFieldInfoWithEarlyStop(
          type_, [&](const TVMFFIFieldInfo* field) { return entry.first == String(field->name); });
      if (!is_field) unknown = entry.first;
    }
    detail::ThrowForType("TypeError", type_, "Type `", "` does not have field `" + unknown + "`");
  }

  const TypeInfo* type_;
};

namespace detail {

// Converts a value to the reference type T.  Registered as "__ffi_convert__" of T's object type.
template <typename T>
Any FFIConvertFromAnyViewToObjectRef(AnyView value) {
  std::optional<T> converted = value.try_cast<T>();
  if (!converted.has_value()) {
    ThrowTypeError("Cannot cast from `" + value.GetTypeKey() + "` to `" + Type2Str<T>::v() + "`");
  }
  return Any(*std::move(converted));
}

}  // namespace detail
}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_CREATOR_H_
