// SPDX-License-Identifier: Apache-2.0
// Part of registry.h: traits of fields and methods, and the C functions that get and set fields and
// create objects.
#ifndef TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_
#define TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/creator.h>

namespace tvm {
namespace ffi {
namespace reflection {

// Base class of traits: options of a field or method.  A trait is a trailing argument of def() with
// a member function Apply(FieldInfoBuilder*), Apply(MethodInfoBuilder*) or both.
struct InfoTrait {};

using _MetadataType = std::vector<std::pair<String, Any>>;

// The TVMFFIFieldInfo of a field during its registration, and the entries of the field's metadata.
struct FieldInfoBuilder : TVMFFIFieldInfo {
  _MetadataType metadata_;
};
// The TVMFFIMethodInfo of a method during its registration, and the entries of the method's
// metadata.
struct MethodInfoBuilder : TVMFFIMethodInfo {
  _MetadataType metadata_;
};

// Trait that adds entries to the metadata of a field or method.  The value of an entry is an int, a
// bool or a string.
class Metadata : public InfoTrait {
 public:
  Metadata(std::initializer_list<std::pair<String, Any>> pairs) : pairs_(pairs) {}

  template <typename Builder>
  void Apply(Builder* info) const {
    for (const auto& pair : pairs_) info->metadata_.push_back(pair);
  }
  // Returns a JSON object with the entries in the order of `pairs`.
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

// Trait that names the next parameter of a constructor, method or function.  There is either no
// such trait or one for each parameter, without the object of a method.  Python callers may pass a
// named parameter by keyword, and omit a parameter with a default: None, bool, int, float or
// string.
//
//   .def(refl::init<int64_t, String>(), refl::arg("count"), refl::arg("name", "counter"))
class arg : public InfoTrait {
 public:
  explicit arg(const char* name) : name_(name) {}
  arg(const char* name, Any default_value)
      : name_(name), default_value_(std::move(default_value)), has_default_(true) {}

  // Appends the parameter to the entry "signature" of the metadata.
  void Apply(MethodInfoBuilder* info) const {
    Any* entry = nullptr;
    for (auto& [key, value] : info->metadata_) {
      if (key == kSignature) entry = &value;
    }
    if (entry == nullptr) {
      Declare("() -> Any", info);
      entry = &info->metadata_.back().second;
    }
    std::string text = entry->cast<std::string>();
    size_t end = text.rfind(')');
    *entry = String(text.insert(end, (end > 1 ? ", " : "") + Text()));
  }
  // Appends the entry "signature", and a mark: typed functions check their arguments themselves.
  static void Declare(const char* signature, MethodInfoBuilder* info) {
    info->metadata_.emplace_back("checked", true);
    info->metadata_.emplace_back(kSignature, String(signature));
  }
  static constexpr const char* kSignature = "signature";
  static constexpr const char* kReceiverSignature = "(self: unknown Any, /) -> Any";

 private:
  std::string Text() const {
    // Readers of the metadata replace this type by the type in the schema of the function.
    std::string text = std::string(name_) + ": unknown Any";
    return has_default_ ? text + " = " + DefaultText() : text;
  }
  TVM_FFI_COLD_CODE std::string DefaultText() const {
    if (default_value_ == nullptr) return "None";
    if (auto flag = default_value_.as<bool>()) return *flag ? "True" : "False";
    if (auto integer = default_value_.as<int64_t>()) return std::to_string(*integer);
    if (auto number = default_value_.as<double>()) return NumberText(*number);
    if (auto text = default_value_.as<String>()) return EscapedStringPy(*text);
    TVM_FFI_THROW(TypeError) << "default of parameter `" << name_
                             << "`: expected None, bool, int, float or string, got "
                             << default_value_.GetTypeKey();
    TVM_FFI_UNREACHABLE();
  }
  // Returns the shortest text that reads back as the same number, and is not the text of an int.
  static std::string NumberText(double number) {
    char text[32];
    for (int digits = 15; digits <= 17; ++digits) {
      std::snprintf(text, sizeof(text), "%.*g", digits, number);
      if (std::strtod(text, nullptr) == number) break;
    }
    bool is_float = std::strpbrk(text, ".enif") != nullptr;
    return std::string(text) + (is_float ? "" : ".0");
  }

  const char* name_;
  Any default_value_;
  bool has_default_ = false;
};

// Trait that sets the default value of a field.
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
// Lower-case name of DefaultValue.
using default_value = DefaultValue;

// Trait that sets the default factory of a field, a function without parameters that is called for
// each object.
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
// Lower-case name of DefaultFactory.
using default_factory = DefaultFactory;

// Trait that sets bits of TVMFFIFieldFlagBitMask in the flags of a field.
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
  // Former names, kept for source code written for earlier releases.
  static AttachFieldFlag SEqHashDefRecursive() { return SEqHashDefPattern(); }
  static AttachFieldFlag SEqHashDefNonRecursive() { return SEqHashDefSimple(); }

  void Apply(FieldInfoBuilder* info) const { info->flags |= flag_; }

 private:
  int32_t flag_;
};

namespace detail {
// Base class of traits that set the field flag kFlag if the constructor argument equals kSetWhen.
template <int32_t kFlag, bool kSetWhen>
class FieldFlagSwitch : public InfoTrait {
 public:
  explicit FieldFlagSwitch(bool enabled) : is_set_(enabled == kSetWhen) {}
  void Apply(FieldInfoBuilder* info) const {
    if (is_set_) info->flags |= kFlag;
  }

 private:
  bool is_set_;
};
}  // namespace detail

// Trait that sets whether ReprPrint prints the field.
class repr : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskReprOff, false> {
 public:
  explicit repr(bool enabled) : FieldFlagSwitch(enabled) {}
};
// Trait that sets whether RecursiveEq, RecursiveLt, ... compare the field.
class compare : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskCompareOff, false> {
 public:
  explicit compare(bool enabled) : FieldFlagSwitch(enabled) {}
};
// Trait that sets whether RecursiveHash includes the field.
class hash : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskHashOff, false> {
 public:
  explicit hash(bool enabled) : FieldFlagSwitch(enabled) {}
};
// Trait that sets whether the field's constructor parameter is keyword-only.
class kw_only : public detail::FieldFlagSwitch<kTVMFFIFieldFlagBitMaskKwOnly, true> {
 public:
  explicit kw_only(bool enabled) : FieldFlagSwitch(enabled) {}
};

// init<Args...>() declares a constructor.  init(false) disables the automatic constructor of a
// type, or excludes a field from its parameters.
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

// True if a def() with trailing arguments of the types Extra names no parameter or each of the
// `num_parameters` parameters.
template <typename... Extra>
constexpr bool NamesAllOrNone(size_t num_parameters) {
  size_t num_names = (size_t{0} + ... + (std::is_same_v<Extra, arg> ? 1 : 0));
  return num_names == 0 || num_names == num_parameters;
}

template <typename T>
inline constexpr bool is_init_v = false;
template <typename... Args>
inline constexpr bool is_init_v<init<Args...>> = true;

// Selects the overload whose parameters are Args, or else the only overload whose parameters begin
// with Args.  const_ selects a const member function; const_ can be omitted if the const member
// function is the only overload with the parameters Args.  The call operators below differ in their
// qualifiers (none, `const`, `const volatile`).  They are called on a non-const object, so overload
// resolution prefers them in this order.
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

// ---- Callables of methods ---------------------------------------------------------------------

// Callable that calls a member function; its first parameter is the object.
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
inline constexpr size_t num_parameters_v =
    FunctionInfo<decltype(AsCallable(std::declval<F>()))>::num_args;

template <typename F>
std::string SchemaOf() {
  return FunctionInfo<decltype(AsCallable(std::declval<F>()))>::TypeSchema();
}

// ---- C functions of fields and creators -------------------------------------------------------

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

// ---- Trailing arguments of def() --------------------------------------------------------------

template <typename Builder, typename Extra>
void ApplyExtra(Builder* info, const Extra& extra) {
  if constexpr (std::is_base_of_v<InfoTrait, Extra>) {
    extra.Apply(info);
  } else {
    static_assert(std::is_convertible_v<const Extra&, const char*>,
                  "a trailing argument of def() must be a trait or the documentation");
    info->doc = AsByteArray(extra);
  }
}

// Returns the metadata of a field or method as JSON.  The caller stores the address of the JSON
// text in info->metadata, so the result must stay alive until the field or method is registered.
template <typename Builder>
TVM_FFI_COLD_CODE std::string FinishMetadata(Builder* info, const std::string& schema) {
  info->metadata_.insert(info->metadata_.begin(), {"type_schema", String(schema)});
  return Metadata::ToJSON(info->metadata_);
}

inline TVMFFIByteArray ToByteArray(const std::string& text) {
  return TVMFFIByteArray{text.data(), text.size()};
}

// `is_member` is true if the first parameter is the object of a method.
template <typename... Extra>
MethodInfoBuilder MakeMethodInfo(const char* name, bool is_member, int64_t flags,
                                 const Function& function, const Extra&... extra) {
  MethodInfoBuilder info{};
  if (is_member && (std::is_same_v<Extra, arg> || ...)) {
    arg::Declare(arg::kReceiverSignature, &info);
  }
  info.name = AsByteArray(name);
  info.flags = flags;
  TypeTraits<Function>::CopyToAnyView(function, &info.method);
  (ApplyExtra(&info, extra), ...);
  return info;
}

}  // namespace detail

// Select an overload: overload_cast<int, String>(&f), overload_cast<int>(&C::f, const_).
template <typename... Args>
inline detail::OverloadCast<Args...> overload_cast{};
inline constexpr auto const_ = std::true_type{};

// Returns the offset of a data member in bytes, relative to the object's header.
template <typename Class, typename T>
int64_t GetFieldByteOffsetToObject(T Class::* member) {
  // `probe` is used only to compute an offset and is never dereferenced.
  const Class* probe = reinterpret_cast<const Class*>(uintptr_t{64});
  int64_t from_start =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(&(probe->*member)) - uintptr_t{64});
  return from_start - detail::ObjectUnsafe::GetObjectOffsetToSubclass<Class>();
}

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_
