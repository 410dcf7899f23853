// SPDX-License-Identifier: Apache-2.0
// Part of registry.h: what can be said about a field or method besides its name, and the C
// functions that read, write and create.
#ifndef TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_
#define TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/creator.h>

namespace tvm {
namespace ffi {
namespace reflection {

// A trait is a trailing argument of def() with a member Apply(FieldInfoBuilder*),
// Apply(MethodInfoBuilder*) or both.
struct InfoTrait {};

using _MetadataType = std::vector<std::pair<String, Any>>;

// A C struct on its way to registration, with what will become its metadata text.
struct FieldInfoBuilder : TVMFFIFieldInfo {
  _MetadataType metadata_;
};
// The same for a method.
struct MethodInfoBuilder : TVMFFIMethodInfo {
  _MetadataType metadata_;
};

// Additional members of the metadata: values are int, bool or string.
class Metadata : public InfoTrait {
 public:
  Metadata(std::initializer_list<std::pair<String, Any>> pairs) : pairs_(pairs) {}

  template <typename Builder>
  void Apply(Builder* info) const {
    for (const auto& pair : pairs_) info->metadata_.push_back(pair);
  }
  // A JSON object with the members in this order.
  TVM_FFI_COLD_CODE static std::string ToJSON(const _MetadataType& pairs) {
    std::string json = "{";
    for (const auto& [key, value] : pairs) {
      if (json.size() > 1) json += ",";
      json += std::string(EscapeStringJSON(key)) + ":" + ValueToJSON(key, value);
    }
    return json + "}";
  }

 private:
  static std::string ValueToJSON(const String& key, const Any& value) {
    if (value.type_index() == kTVMFFIInt) return std::to_string(value.cast<int64_t>());
    if (value.type_index() == kTVMFFIBool) return value.cast<bool>() ? "true" : "false";
    if (auto text = value.as<String>()) return EscapeStringJSON(*text);
    TVM_FFI_LOG_AND_THROW(TypeError) << "Metadata can be only int, bool or string, but on key `"
                                     << key << "`, the type is " << value.GetTypeKey();
    TVM_FFI_UNREACHABLE();
  }

  _MetadataType pairs_;
};

// The value that a field has when none is given.
class DefaultValue : public InfoTrait {
 public:
  explicit DefaultValue(Any value) : value_(std::move(value)) {}
  void Apply(FieldInfoBuilder* info) const {
    info->flags |= kTVMFFIFieldFlagBitMaskHasDefault;
    info->default_value_or_factory = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value_);
  }

 private:
  Any value_;
};
// The same name in another spelling.
using default_value = DefaultValue;

// A function without arguments that makes the default anew for each object.
class DefaultFactory : public InfoTrait {
 public:
  explicit DefaultFactory(Function factory) : factory_(std::move(factory)) {}
  void Apply(FieldInfoBuilder* info) const {
    info->flags |= kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitMaskDefaultFromFactory;
    TypeTraits<Function>::CopyToAnyView(factory_, &info->default_value_or_factory);
  }

 private:
  Function factory_;
};
// The same name in another spelling.
using default_factory = DefaultFactory;

// Sets bits of TVMFFIFieldFlagBitMask.
class AttachFieldFlag : public InfoTrait {
 public:
  explicit AttachFieldFlag(int32_t flag) : flag_(flag) {}
  static AttachFieldFlag SEqHashDefPattern() {
    return AttachFieldFlag(kTVMFFIFieldFlagBitMaskSEqHashDefPattern);
  }
  static AttachFieldFlag SEqHashDefSimple() {
    return AttachFieldFlag(kTVMFFIFieldFlagBitMaskSEqHashDefSimple);
  }
  static AttachFieldFlag SEqHashIgnore() {
    return AttachFieldFlag(kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  }
  // Names of earlier releases.
  static AttachFieldFlag SEqHashDefRecursive() { return SEqHashDefPattern(); }
  static AttachFieldFlag SEqHashDefNonRecursive() { return SEqHashDefSimple(); }

  void Apply(FieldInfoBuilder* info) const { info->flags |= flag_; }

 private:
  int32_t flag_;
};

namespace detail {
// Sets a flag when the user's answer is `kSetWhen`.
template <int32_t kFlag, bool kSetWhen>
class FieldFlagSwitch : public InfoTrait {
 public:
  explicit FieldFlagSwitch(bool answer) : is_set_(answer == kSetWhen) {}
  void Apply(FieldInfoBuilder* info) const {
    if (is_set_) info->flags |= kFlag;
  }

 private:
  bool is_set_;
};
}  // namespace detail

// Whether a field is printed, compared, hashed; whether its init parameter is keyword-only.
class repr : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskReprOff, false> {
 public:
  explicit repr(bool answer) : FieldFlagSwitch(answer) {}
};
// Whether a field is compared by recursive comparison.
class compare : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskCompareOff, false> {
 public:
  explicit compare(bool answer) : FieldFlagSwitch(answer) {}
};
// Whether a field is hashed by recursive hash.
class hash : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskHashOff, false> {
 public:
  explicit hash(bool answer) : FieldFlagSwitch(answer) {}
};
// Whether the init parameter is keyword-only.
class kw_only : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskKwOnly, true> {
 public:
  explicit kw_only(bool answer) : FieldFlagSwitch(answer) {}
};

// init<Args...>() declares a constructor; init(false) says that a type gets none automatically, or
// that a field is not a parameter of the automatic one.
template <typename... Args>
class init : public InfoTrait {
 public:
  constexpr explicit init(bool enabled = true) : enabled_(enabled) {}

  template <typename Class>
  static ObjectRef Execute(Args... args) {
    return ObjectRef(ObjectPtr<Object>(make_object<Class>(std::forward<Args>(args)...)));
  }
  void Apply(FieldInfoBuilder* info) const {
    if (!enabled_) info->flags |= kTVMFFIFieldFlagBitMaskInitOff;
  }

 private:
  bool enabled_;
};

namespace detail {

template <typename T>
inline constexpr bool is_init_v = false;
template <typename... Args>
inline constexpr bool is_init_v<init<Args...>> = true;

// The overload of f whose parameters are Args, or else the only one whose parameters begin with
// them.  A const member function needs const_ unless its parameters are Args and no other's are.
// The qualifiers say in which order these are tried; the object itself has none.
template <typename... Args>
struct OverloadCast {
  template <typename R>
  constexpr auto operator()(R (*f)(Args...)) {
    return f;
  }
  template <typename R, typename Class>
  constexpr auto operator()(R (Class::*f)(Args...), std::false_type = {}) {
    return f;
  }
  template <typename R, typename Class>
  constexpr auto operator()(R (Class::*f)(Args...) const, std::true_type) {
    return f;
  }

  template <typename R, typename Class>
  constexpr auto operator()(R (Class::*f)(Args...) const) const {
    return f;
  }

  template <typename R, typename Next, typename... Rest>
  constexpr auto operator()(R (*f)(Args..., Next, Rest...)) const volatile {
    return f;
  }
  template <typename R, typename Class, typename Next, typename... Rest>
  constexpr auto operator()(R (Class::*f)(Args..., Next, Rest...), std::false_type = {}) const
      volatile {
    return f;
  }
  template <typename R, typename Class, typename Next, typename... Rest>
  constexpr auto operator()(R (Class::*f)(Args..., Next, Rest...) const, std::true_type) const
      volatile {
    return f;
  }
};

// ---- Methods ----------------------------------------------------------------------------------

// A member function as a callable whose first parameter is the receiver.
template <typename F>
struct MethodCallable;

#define TVM_FFI_METHOD_CALLABLE_(qualifiers, ConstClass)                   \
  template <typename Class, typename R, typename... Args>                  \
  struct MethodCallable<R (Class::*)(Args...) qualifiers> {                \
    R (Class::*method)(Args...) qualifiers;                                \
    R operator()(ReceiverOf<Class, ConstClass> self, Args... args) const { \
      if constexpr (std::is_base_of_v<ObjectRef, Class>) {                 \
        return (self.*method)(std::forward<Args>(args)...);                \
      } else {                                                             \
        return (self->*method)(std::forward<Args>(args)...);               \
      }                                                                    \
    }                                                                      \
  }
TVM_FFI_METHOD_CALLABLE_(, Class);
TVM_FFI_METHOD_CALLABLE_(const, const Class);
TVM_FFI_METHOD_CALLABLE_(noexcept, Class);
TVM_FFI_METHOD_CALLABLE_(const noexcept, const Class);
#undef TVM_FFI_METHOD_CALLABLE_

template <typename F>
auto AsCallable(F&& f) {
  using Plain = std::decay_t<F>;
  if constexpr (std::is_member_function_pointer_v<Plain>) {
    return MethodCallable<Plain>{f};
  } else {
    return Plain(std::forward<F>(f));
  }
}

template <typename F>
Function MethodFunction(F&& f, std::string name) {
  return Function::FromTyped(AsCallable(std::forward<F>(f)), std::move(name));
}

template <typename F>
std::string SchemaOf() {
  return FunctionInfo<decltype(AsCallable(std::declval<F>()))>::TypeSchema();
}

// ---- Fields and creators ----------------------------------------------------------------------

template <typename T>
int GetField(void* field, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *result = AnyUnsafe::MoveAnyToTVMFFIAny(Any(*static_cast<const T*>(field)));
  TVM_FFI_SAFE_CALL_END();
}

template <typename T>
int SetField(void* field, const TVMFFIAny* value) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *static_cast<T*>(field) = AnyView::CopyFromTVMFFIAny(*value).cast<T>();
  TVM_FFI_SAFE_CALL_END();
}

template <typename Class>
inline constexpr bool has_creator_v =
    std::is_default_constructible_v<Class> || std::is_constructible_v<Class, UnsafeInit>;

template <typename Class>
ObjectPtr<Object> CreateDefault() {
  if constexpr (std::is_default_constructible_v<Class>) {
    return make_object<Class>();
  } else {
    return make_object<Class>(UnsafeInit{});
  }
}

template <typename Class>
int CreateDefaultHandle(TVMFFIObjectHandle* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *result = ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(CreateDefault<Class>());
  TVM_FFI_SAFE_CALL_END();
}

// ---- Trailing arguments -----------------------------------------------------------------------

template <typename Builder, typename Extra>
void ApplyExtra(Builder* info, const Extra& extra) {
  if constexpr (std::is_base_of_v<InfoTrait, Extra>) {
    extra.Apply(info);
  } else {
    static_assert(std::is_convertible_v<const Extra&, const char*>,
                  "a trailing argument is a trait or the documentation");
    info->doc = AsByteArray(extra);
  }
}

// The metadata text; info->metadata views it, so the result must live until registration.
template <typename Builder>
TVM_FFI_COLD_CODE std::string FinishMetadata(Builder* info, const std::string& schema) {
  info->metadata_.insert(info->metadata_.begin(), {"type_schema", String(schema)});
  return Metadata::ToJSON(info->metadata_);
}

inline TVMFFIByteArray ToByteArray(const std::string& text) {
  return TVMFFIByteArray{text.data(), text.size()};
}

template <typename... Extra>
MethodInfoBuilder MakeMethodInfo(const char* name, int64_t flags, const Function& function,
                                 const Extra&... extra) {
  MethodInfoBuilder info{};
  info.name = AsByteArray(name);
  info.flags = flags;
  TypeTraits<Function>::CopyToAnyView(function, &info.method);
  (ApplyExtra(&info, extra), ...);
  return info;
}

}  // namespace detail

// Selects one overload: overload_cast<int, String>(&f), overload_cast<int>(&C::f, const_).
template <typename... Args>
inline detail::OverloadCast<Args...> overload_cast{};
inline constexpr auto const_ = std::true_type{};

// Distance from the object's header to the member.
template <typename Class, typename T>
int64_t GetFieldByteOffsetToObject(T Class::* member) {
  // The address is only computed with, never read.
  const Class* probe = reinterpret_cast<const Class*>(uintptr_t{64});
  int64_t from_start =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(&(probe->*member)) - uintptr_t{64});
  return from_start - detail::ObjectUnsafe::GetObjectOffsetToSubclass<Class>();
}

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_
