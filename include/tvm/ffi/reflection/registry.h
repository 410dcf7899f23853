// SPDX-License-Identifier: Apache-2.0
// Registration of global functions, fields and methods of types, and type attributes.
//
//   TVM_FFI_STATIC_INIT_BLOCK() {
//     namespace refl = tvm::ffi::reflection;
//     refl::GlobalDef().def("my.add", [](int a, int b) { return a + b; }, "Adds.");
//     refl::ObjectDef<PairObj>().def(refl::init<int, int>()).def_ro("first", &PairObj::first);
//   }
#ifndef TVM_FFI_REFLECTION_REGISTRY_H_
#define TVM_FFI_REFLECTION_REGISTRY_H_

#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/reflection/registry_detail.h>

namespace tvm {
namespace ffi {
namespace reflection {

// Registers global functions.  Fails: RuntimeError if the name is already registered.
class GlobalDef {
 public:
  // Registers a callable whose parameter and result types have conversions.
  template <typename F, typename... Extra>
  GlobalDef& def(const char* name, F&& f, Extra&&... extra) {
    static_assert(detail::NamesAllOrNone<std::decay_t<Extra>...>(detail::num_parameters_v<F>),
                  "name all parameters with refl::arg, or none");
    return Register(name, detail::SchemaOf<F>(),
                    detail::MethodFunction(std::forward<F>(f), std::string(name)), extra...);
  }
  // Registers a callable with the parameters (PackedArgs, Any*).
  template <typename F, typename... Extra>
  GlobalDef& def_packed(const char* name, F f, Extra&&... extra) {
    return Register(name, detail::SchemaOfKey(StaticTypeKey::kTVMFFIFunction),
                    Function::FromPacked(std::move(f)), extra...);
  }
  // Registers a member function, with the object as first argument, or a callable.
  template <typename F, typename... Extra>
  GlobalDef& def_method(const char* name, F&& f, Extra&&... extra) {
    return def(name, std::forward<F>(f), std::forward<Extra>(extra)...);
  }

 private:
  template <typename... Extra>
  GlobalDef& Register(const char* name, const std::string& schema, const Function& function,
                      const Extra&... extra) {
    MethodInfoBuilder info = detail::MakeMethodInfo(name, false, 0, function, extra...);
    std::string metadata = detail::FinishMetadata(&info, schema);
    info.metadata = detail::ToByteArray(metadata);
    detail::CheckSafeCall(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0));
    return *this;
  }
};

// Create an attribute column (the values of one attribute for all types) without values.
// TVMFFIGetTypeAttrColumn then returns the column even if no type has the attribute yet.
inline void EnsureTypeAttrColumn(std::string_view name) {
  TVMFFIByteArray bytes{name.data(), name.size()};
  TVMFFIAny none;
  detail::SetIntPayload(&none, kTVMFFINone, 0);
  detail::CheckSafeCall(TVMFFITypeRegisterAttr(kTVMFFINone, &bytes, &none));
}
template <typename T>
void EnsureTypeAttrColumn(const AttrKey<T>& key) {
  EnsureTypeAttrColumn(std::string_view(key.name));
}

namespace detail {

inline void RegisterTypeAttr(int32_t type_index, const char* name, AnyView value) {
  TVMFFIByteArray bytes = AsByteArray(name);
  TVMFFIAny raw = value.CopyToTVMFFIAny();
  CheckSafeCall(TVMFFITypeRegisterAttr(type_index, &bytes, &raw));
}

// Converts an attribute value to Any; a callable becomes a Function named `full_name`.
template <typename T>
Any AttrValue(T&& value, const std::string& full_name) {
  using Plain = std::decay_t<T>;
  if constexpr (std::is_same_v<Plain, Any> || TypeTraits<Plain>::convert_enabled) {
    return Any(std::forward<T>(value));
  } else {
    return MethodFunction(std::forward<T>(value), full_name);
  }
}

inline std::string MemberName(const char* type_key, const char* name) {
  return std::string(type_key) + "." + name;
}

template <typename Class, typename Ref>
void RegisterConvert(int32_t type_index) {
  RegisterTypeAttr(type_index, type_attr::kConvert.name,
                   Function::FromTyped(&FFIConvertFromAnyViewToObjectRef<Ref>,
                                       MemberName(Class::_type_key, type_attr::kConvert.name)));
}

}  // namespace detail

// Registers a type.  The constructor registers the type's metadata; each function def, def_ro, ...
// registers a member.  The destructor, at the end of the statement, registers the attributes that
// follow from the class: creation and shallow copy.
template <typename Class>
class ObjectDef {
 public:
  template <typename... Extra>
  explicit ObjectDef(const Extra&... extra) : type_index_(Class::_GetOrAllocRuntimeTypeIndex()) {
    static_assert(std::is_base_of_v<Object, Class>, "ObjectDef registers classes of objects");
    TVMFFITypeMetadata metadata{};
    metadata.total_size = static_cast<int32_t>(sizeof(Class));
    metadata.structural_eq_hash_kind = Class::_type_s_eq_hash_kind;
    if constexpr (detail::has_creator_v<Class>) {
      metadata.creator = &detail::CreateDefaultHandle<Class>;
    }
    (ApplyTypeExtra(&metadata, extra), ...);
    detail::CheckSafeCall(TVMFFITypeRegisterMetadata(type_index_, &metadata));
  }
  ObjectDef(const ObjectDef&) = delete;
  ObjectDef& operator=(const ObjectDef&) = delete;
  // Registers the attributes that follow from the class; this may throw.  Registers nothing if a
  // member function has thrown an exception and the object is destroyed for this reason.
  ~ObjectDef() noexcept(false) {
    if (std::uncaught_exceptions() == exceptions_before_) RegisterDerivedAttrs();
  }

  // Registers a read-only field.
  template <typename T, typename BaseClass, typename... Extra>
  ObjectDef& def_ro(const char* name, T BaseClass::* member, const Extra&... extra) {
    RegisterField(name, member, 0, extra...);
    return *this;
  }
  // Registers a writable field.
  template <typename T, typename BaseClass, typename... Extra>
  ObjectDef& def_rw(const char* name, T BaseClass::* member, const Extra&... extra) {
    static_assert(Class::_type_mutable, "only mutable classes have writable fields");
    RegisterField(name, member, kTVMFFIFieldFlagBitMaskWritable, extra...);
    return *this;
  }
  // Registers a method: a member function, or a callable whose first parameter is the object.
  template <typename F, typename... Extra>
  ObjectDef& def(const char* name, F&& f, const Extra&... extra) {
    static_assert(detail::NamesAllOrNone<Extra...>(detail::num_parameters_v<F> - 1),
                  "name all parameters with refl::arg, or none");
    RegisterMethod(name, 0, std::forward<F>(f), extra...);
    return *this;
  }
  // Registers a static method.
  template <typename F, typename... Extra>
  ObjectDef& def_static(const char* name, F&& f, const Extra&... extra) {
    static_assert(detail::NamesAllOrNone<Extra...>(detail::num_parameters_v<F>),
                  "name all parameters with refl::arg, or none");
    RegisterMethod(name, kTVMFFIFieldFlagBitMaskIsStaticMethod, std::forward<F>(f), extra...);
    return *this;
  }
  // Registers the constructor.
  template <typename... Args, typename... Extra>
  ObjectDef& def(init<Args...>, const Extra&... extra) {
    static_assert(detail::NamesAllOrNone<Extra...>(sizeof...(Args)),
                  "name all parameters with refl::arg, or none");
    has_init_ = true;
    Function function = RegisterMethod(type_attr::kInit.name, kTVMFFIFieldFlagBitMaskIsStaticMethod,
                                       &init<Args...>::template Execute<Class>, extra...);
    detail::RegisterTypeAttr(type_index_, type_attr::kInit.name, function);
    return *this;
  }
  // Register a type attribute.  Its value is the given value, or a Function if the argument is a
  // callable.
  template <typename T>
  ObjectDef& def_type_attr(const char* name, T&& value) {
    detail::RegisterTypeAttr(
        type_index_, name,
        detail::AttrValue(std::forward<T>(value), detail::MemberName(Class::_type_key, name)));
    return *this;
  }
  template <typename T, typename Value>
  ObjectDef& def_type_attr(const AttrKey<T>& key, Value&& value) {
    return def_type_attr(key.name, std::forward<Value>(value));
  }
  // Registers the conversions of TypeTraits<Ref> as "__ffi_convert__".
  template <typename Ref>
  ObjectDef& def_convert() {
    detail::RegisterConvert<Class, Ref>(type_index_);
    return *this;
  }

 protected:
  template <typename T, typename BaseClass, typename... Extra>
  void RegisterField(const char* name, T BaseClass::* member, int64_t flags,
                     const Extra&... extra) {
    static_assert(std::is_base_of_v<BaseClass, Class>,
                  "the field must be a member of Class or of a base class");
    using Value = std::remove_cv_t<T>;
    FieldInfoBuilder info{};
    info.name = AsByteArray(name);
    info.flags = flags;
    info.size = static_cast<int64_t>(sizeof(T));
    info.alignment = static_cast<int64_t>(alignof(T));
    info.offset = GetFieldByteOffsetToObject<Class>(static_cast<T Class::*>(member));
    info.getter = &detail::GetField<Value>;
    info.setter = reinterpret_cast<void*>(&detail::SetField<Value>);
    detail::SetIntPayload(&info.default_value_or_factory, kTVMFFINone, 0);
    info.field_static_type_index = TypeToFieldStaticTypeIndex<Value>::value;
    (detail::ApplyExtra(&info, extra), ...);
    std::string metadata = detail::FinishMetadata(&info, detail::TypeSchema<Value>::v());
    info.metadata = detail::ToByteArray(metadata);
    detail::CheckSafeCall(TVMFFITypeRegisterField(type_index_, &info));
  }
  template <typename F, typename... Extra>
  Function RegisterMethod(const char* name, int64_t flags, F&& f, const Extra&... extra) {
    Function function =
        detail::MethodFunction(std::forward<F>(f), detail::MemberName(Class::_type_key, name));
    RegisterMethodFunction(name, flags, function, detail::SchemaOf<F>(), extra...);
    return function;
  }
  template <typename... Extra>
  void RegisterMethodFunction(const char* name, int64_t flags, const Function& function,
                              const std::string& schema, const Extra&... extra) {
    bool is_member = (flags & kTVMFFIFieldFlagBitMaskIsStaticMethod) == 0;
    MethodInfoBuilder info = detail::MakeMethodInfo(name, is_member, flags, function, extra...);
    std::string metadata = detail::FinishMetadata(&info, schema);
    info.metadata = detail::ToByteArray(metadata);
    detail::CheckSafeCall(TVMFFITypeRegisterMethod(type_index_, &info));
  }

  int32_t type_index_;
  // True if a constructor is registered, or init(false) disables the automatic constructor.
  bool has_init_ = false;

 private:
  template <typename Extra>
  void ApplyTypeExtra(TVMFFITypeMetadata* metadata, const Extra& extra) {
    if constexpr (detail::is_init_v<Extra>) {
      has_init_ = true;
    } else if constexpr (!std::is_base_of_v<InfoTrait, Extra>) {
      metadata->doc = AsByteArray(extra);
    }
  }
  void RegisterDerivedAttrs() {
    if constexpr (std::is_copy_constructible_v<Class>) {
      auto copy = [](const Class* self) -> ObjectRef {
        return ObjectRef(ObjectPtr<Object>(make_object<Class>(*self)));
      };
      def_type_attr(type_attr::kShallowCopy, copy);
    }
    if constexpr (detail::has_creator_v<Class>) {
      def_type_attr(type_attr::kNew, [] { return ObjectRef(detail::CreateDefault<Class>()); });
    }
    if (!has_init_) {
      auto register_init = Function::GetGlobal("ffi._RegisterFFIInit");
      if (register_init.has_value()) (*register_init)(type_index_);
    }
    def_type_attr(type_attr::kTypeFinal, Class::_type_final);
  }

  int exceptions_before_ = std::uncaught_exceptions();
};

// Registers attributes of a type whose fields and methods are registered elsewhere.
template <typename Class>
class TypeAttrDef {
 public:
  TypeAttrDef() : type_index_(Class::_GetOrAllocRuntimeTypeIndex()) {}

  // Register an attribute.  Its value is the given value, or a Function if the argument is a
  // callable.
  template <typename T>
  TypeAttrDef& def(const char* name, T&& value) {
    detail::RegisterTypeAttr(
        type_index_, name,
        detail::AttrValue(std::forward<T>(value), detail::MemberName(Class::_type_key, name)));
    return *this;
  }
  template <typename T, typename Value>
  TypeAttrDef& def(const AttrKey<T>& key, Value&& value) {
    return def(key.name, std::forward<Value>(value));
  }
  // Registers an attribute with this value.
  template <typename T>
  TypeAttrDef& attr(const char* name, const T& value) {
    detail::RegisterTypeAttr(type_index_, name, AnyView(value));
    return *this;
  }
  // Registers an attribute with this value, converted to the value type of the key.
  template <typename T, typename Value>
  TypeAttrDef& attr(const AttrKey<T>& key, Value&& value) {
    const T converted(std::forward<Value>(value));
    return attr(key.name, converted);
  }
  // Registers an attribute whose value is a native function.  Callers call the native function
  // directly, without packed arguments.
  template <auto kFunction, typename FType>
  TypeAttrDef& native_fn_attr(const AttrKey<NativeFunctionView<FType>>& key) {
    return attr(key.name, NativeFunctionView<FType>::template FromNative<kFunction>());
  }
  template <typename Ref>
  TypeAttrDef& def_convert() {
    detail::RegisterConvert<Class, Ref>(type_index_);
    return *this;
  }

 private:
  int32_t type_index_;
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_REGISTRY_H_
