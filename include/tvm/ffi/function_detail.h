// SPDX-License-Identifier: Apache-2.0
// Conversion of packed arguments to the parameters of a C++ function, and of its result.
//
// A typed function uses one conversion routine per argument *type*, which all parameter positions
// and functions share, and one static table with the names of its types.  If a call fails, cold
// code that exists once per library builds the message from that table.
#ifndef TVM_FFI_FUNCTION_DETAIL_H_
#define TVM_FFI_FUNCTION_DETAIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/expected.h>

namespace tvm {
namespace ffi {

class Function;
template <typename FType>
class TypedFunction;

namespace detail {

// True if TypeTraits<T> has the function TypeSchema(), which is optional in traits that users
// write.
template <typename T, typename = void>
inline constexpr bool has_type_schema_v = false;
template <typename T>
inline constexpr bool has_type_schema_v<T, std::void_t<decltype(TypeTraits<T>::TypeSchema())>> =
    true;

template <typename T>
struct TypeSchemaImpl {
  static std::string v() {
    if constexpr (std::is_void_v<T>) {
      return SchemaOfKey(StaticTypeKey::kTVMFFINone);
    } else if constexpr (has_type_schema_v<T>) {
      return TypeTraits<T>::TypeSchema();
    } else {
      return SchemaOfKey(StaticTypeKey::kTVMFFIAny);
    }
  }
};

// ---- Signatures -------------------------------------------------------------------------------

using TypeTextFunction = std::string (*)();

// Name or JSON schema of a parameter type.  If `text` is not nullptr, it is the name of the type
// and also the type key in the schema.  If `text` is nullptr, put(out, compute, quote) writes the
// name (`quote` is nullptr) or the schema (`quote` is the quotation mark to write).
struct TypeName {
  const char* text;
  void (*put)(MessageStream* out, TypeTextFunction compute, const char* quote);
  TypeTextFunction compute;
};

TVM_FFI_FAILURE_ inline void PutComputedName(MessageStream* out, TypeTextFunction compute,
                                             const char*) {
  *out << compute();
}

template <typename T>
constexpr TypeName NameOf() {
  constexpr const char* kText = type_name_v<typename Type2Str<T>::Value>;
  if constexpr (kText != nullptr) {
    return {kText, nullptr, nullptr};
  } else {
    return {nullptr, &PutComputedName, &Type2Str<T>::v};
  }
}

// Names of the parameter types, then of the result type.  The table has hidden visibility, because
// otherwise all libraries in a process would use the table of the library that was loaded first.
template <typename R, typename... Args>
TVM_FFI_HIDDEN_ inline constexpr TypeName kSignatureNames[] = {NameOf<Args>()..., NameOf<R>()};

struct Signature {
  const TypeName* names;
  int32_t num_parameters;
};
template <typename R, typename... Args>
TVM_FFI_HIDDEN_ inline constexpr Signature kSignature = {kSignatureNames<R, Args...>,
                                                         static_cast<int32_t>(sizeof...(Args))};

TVM_FFI_FAILURE_ inline void PutName(MessageStream* out, const TypeName& name) {
  if (name.text != nullptr) {
    out->Print("%s", name.text);
  } else {
    name.put(out, name.compute, nullptr);
  }
}

// Writes a signature such as (0: int, 1: Array<int>) -> str
TVM_FFI_FAILURE_ inline void FormatSignature(const Signature& signature, MessageStream* out) {
  out->Print("(");
  for (int32_t i = 0; i < signature.num_parameters; ++i) {
    out->Print("%s%d: ", i > 0 ? ", " : "", static_cast<int>(i));
    PutName(out, signature.names[i]);
  }
  out->Print(") -> ");
  PutName(out, signature.names[signature.num_parameters]);
}

// ---- Schemas ----------------------------------------------------------------------------------
// To save compile time, each exported function has only a table of TypeNames, and the code that
// formats these tables as JSON is compiled once per library.

// Quotation marks of JSON strings: kQuote for JSON text, kQuoteInString for JSON text that is the
// content of another JSON string.
inline constexpr const char* kQuote = "\"";
inline constexpr const char* kQuoteInString = "\\\"";

// Writes text with the escapes of a JSON string, without quotes.
TVM_FFI_FAILURE_ inline void PutEscapedJSON(std::string_view text, MessageStream* out) {
  for (char byte : text) {
    int c = static_cast<unsigned char>(byte);
    out->Print(c == '"' || c == '\\' ? "\\%c" : c < 0x20 ? "\\u%04x" : "%c", c);
  }
}

TVM_FFI_FAILURE_ inline void PutComputedSchema(MessageStream* out, TypeTextFunction compute,
                                               const char* quote) {
  std::string text = compute();
  if (*quote == '"') {
    *out << text;
  } else {
    PutEscapedJSON(text, out);
  }
}

template <typename T>
constexpr TypeName SchemaOf() {
  if constexpr (std::is_void_v<T>) {
    return {StaticTypeKey::kTVMFFINone, nullptr, nullptr};
  } else if constexpr (is_any_v<T>) {
    return {StaticTypeKey::kTVMFFIAny, nullptr, nullptr};
  } else if constexpr (type_name_v<T> != nullptr) {
    return {type_name_v<T>, nullptr, nullptr};
  } else {
    return {nullptr, &PutComputedSchema, &TypeSchemaImpl<T>::v};
  }
}

template <typename R, typename... Args>
TVM_FFI_HIDDEN_ inline constexpr TypeName kSchemas[] = {
    SchemaOf<std::remove_const_t<std::remove_reference_t<Args>>>()...,
    SchemaOf<std::remove_const_t<std::remove_reference_t<R>>>()};
template <typename R, typename... Args>
TVM_FFI_HIDDEN_ inline constexpr Signature kSignatureSchema = {
    kSchemas<R, Args...>, static_cast<int32_t>(sizeof...(Args))};

TVM_FFI_FAILURE_ inline void PutSchema(MessageStream* out, const TypeName& schema,
                                       const char* quote) {
  if (schema.text != nullptr) {
    out->Print("{%stype%s:%s%s%s}", quote, quote, quote, schema.text, quote);
  } else {
    schema.put(out, schema.compute, quote);
  }
}

// Writes a schema such as
// {"type":"ffi.Function","named_args":{"return":[{"type":"str"}],"params":[{"type":"int"}]}}
TVM_FFI_FAILURE_ inline void FormatFunctionSchema(const Signature& schema, const char* quote,
                                                  MessageStream* out) {
  out->Print("{%stype%s:%sffi.Function%s,%snamed_args%s:{%sreturn%s:[", quote, quote, quote, quote,
             quote, quote, quote, quote);
  PutSchema(out, schema.names[schema.num_parameters], quote);
  out->Print("],%sparams%s:[", quote, quote);
  for (int32_t i = 0; i < schema.num_parameters; ++i) {
    if (i > 0) out->Print(",");
    PutSchema(out, schema.names[i], quote);
  }
  out->Print("]}}");
}

// True for parameter types T, const T, const T& and T&&.  T& is not supported, because a converted
// argument is a temporary value.
template <typename T>
inline constexpr bool is_argument_v =
    (is_any_v<std::remove_const_t<std::remove_reference_t<T>>> ||
     TypeTraitsNoCR<T>::convert_enabled) &&
    (!std::is_lvalue_reference_v<T> || std::is_const_v<std::remove_reference_t<T>>);

template <typename T>
inline constexpr bool is_result_v = std::is_void_v<T> || std::is_same_v<T, Any> ||
                                    (TypeTraits<T>::convert_enabled && !std::is_reference_v<T>);

template <typename R, typename... Args>
struct FunctionInfoOf {
  using FType = R(Args...);
  using ArgType = std::tuple<Args...>;  // <utility> declares std::tuple; users include <tuple>
  using RetType = R;
  static constexpr size_t num_args = sizeof...(Args);
  static constexpr bool unpacked_supported = (is_argument_v<Args> && ...) && is_result_v<R>;

  static std::string Sig() {
    MessageStream out;
    FormatSignature(kSignature<R, Args...>, &out);
    return out.str();
  }
  static std::string TypeSchema() {
    MessageStream out;
    FormatFunctionSchema(kSignatureSchema<R, Args...>, kQuote, &out);
    return out.str();
  }
  static const Signature& Schema() { return kSignatureSchema<R, Args...>; }
};

// Type of a method's receiver: a pointer for object classes, a value for reference classes.
template <typename Class, typename ConstClass>
using ReceiverOf = std::conditional_t<std::is_base_of_v<ObjectRef, Class>, Class, ConstClass*>;

template <typename F, typename = void>
struct FunctionInfo : FunctionInfo<decltype(&F::operator())>::WithoutReceiver {};
template <typename R, typename... Args>
struct FunctionInfo<R(Args...)> : FunctionInfoOf<R, Args...> {};
template <typename R, typename... Args>
struct FunctionInfo<R(Args...) noexcept> : FunctionInfoOf<R, Args...> {};
template <typename R, typename... Args>
struct FunctionInfo<R (*)(Args...)> : FunctionInfoOf<R, Args...> {};
template <typename R, typename... Args>
struct FunctionInfo<R (*)(Args...) noexcept> : FunctionInfoOf<R, Args...> {};
template <typename F>
struct FunctionInfo<F&> : FunctionInfo<F> {};
template <typename F>
struct FunctionInfo<const F, std::enable_if_t<std::is_class_v<F> || std::is_pointer_v<F>>>
    : FunctionInfo<F> {};

#define TVM_FFI_METHOD_INFO_(qualifiers, ConstClass)                \
  template <typename Class, typename R, typename... Args>           \
  struct FunctionInfo<R (Class::*)(Args...) qualifiers>             \
      : FunctionInfoOf<R, ReceiverOf<Class, ConstClass>, Args...> { \
    using WithoutReceiver = FunctionInfoOf<R, Args...>;             \
  }
TVM_FFI_METHOD_INFO_(, Class);
TVM_FFI_METHOD_INFO_(const, const Class);
TVM_FFI_METHOD_INFO_(noexcept, Class);
TVM_FFI_METHOD_INFO_(const noexcept, const Class);
#undef TVM_FFI_METHOD_INFO_

// ---- Arguments --------------------------------------------------------------------------------

// Name and signature of the called function, for error messages.  CallSites are passed by value, in
// registers.
struct CallSite {
  const char* function_name;  // name of the function; "" if the function has no name
  const Signature* signature;
};

// Throws an error for a call that does not match the signature.  If `found` is not nullptr,
// argument `index` does not convert to the type of the parameter, and *found is the name of its
// actual type (TypeError) or describes a number out of range (OverflowError).  If `found` is
// nullptr, the number of arguments, `index`, is wrong (TypeError).
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowCallMismatch(CallSite site, int index,
                                                            const std::string_view* found) {
  const Signature& signature = *site.signature;
  MessageStream text;
  if (found != nullptr) {
    bool is_out_of_range = IsOutOfRange(*found);
    text.Print("%s on argument #%d when calling: `%s",
               is_out_of_range ? "Number out of range" : "Mismatched type", index,
               site.function_name);
    FormatSignature(signature, &text);
    if (is_out_of_range) {
      text.Print("`: %.*s", static_cast<int>(found->size()), found->data());
      ThrowError("OverflowError", text);
    }
    text.Print("`. Expected `");
    PutName(&text, signature.names[index]);
    text.Print("` but got `%.*s`", static_cast<int>(found->size()), found->data());
  } else {
    text.Print("Mismatched number of arguments when calling: `%s", site.function_name);
    FormatSignature(signature, &text);
    text.Print("`. Expected %d but got %d arguments", static_cast<int>(signature.num_parameters),
               index);
  }
  ThrowError("TypeError", text);
}

// Throws TypeError; the message contains the type key of the actual value.
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowTypeMismatch(const TVMFFIAny* arg, int index,
                                                            CallSite site) {
  const TVMFFIByteArray& key = TVMFFIGetTypeInfo(arg->type_index)->type_key;
  std::string_view found(key.data, key.size);
  ThrowCallMismatch(site, index, &found);
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowArgumentMismatch(
    const TVMFFIAny* arg, int index, CallSite site, std::string (*describe)(const TVMFFIAny*)) {
  std::string text = describe(arg);
  std::string_view found(text);
  ThrowCallMismatch(site, index, &found);
}

// Throws OverflowError for an integer argument, which is out of range, or TypeError for another
// one.
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowIntegerMismatch(const TVMFFIAny* arg, int index,
                                                               CallSite site,
                                                               const char* integer_name) {
  if (arg->type_index != kTVMFFIInt) ThrowTypeMismatch(arg, index, site);
  std::string text = DescribeOutOfRange(arg->v_int64, integer_name);
  std::string_view found(text);
  ThrowCallMismatch(site, index, &found);
}

// Same as ThrowIntegerMismatch, for an argument that does not convert to float.
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowFloatMismatch(const TVMFFIAny* arg, int index,
                                                             CallSite site) {
  if (arg->type_index != kTVMFFIFloat) ThrowTypeMismatch(arg, index, site);
  std::string text = DescribeOutOfRange(arg->v_float64);
  std::string_view found(text);
  ThrowCallMismatch(site, index, &found);
}

// Converts one argument to T; throws TypeError or OverflowError if the conversion fails.  A library
// has one instantiation of this function per type T.
template <typename T>
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE T CastArgument(const TVMFFIAny* arg, int index, CallSite site) {
  if constexpr (std::is_arithmetic_v<T>) {
    T value{};
    if (TVM_FFI_PREDICT_FALSE(!TypeTraits<T>::TryRead(arg, &value))) {
      if constexpr (std::is_integral_v<T>) {
        ThrowIntegerMismatch(arg, index, site, IntegerName<T>());
      } else {
        ThrowFloatMismatch(arg, index, site);
      }
    }
    return value;
  } else {
    std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(arg);
    if (TVM_FFI_PREDICT_FALSE(!value.has_value())) {
      if constexpr (type_name_v<T> != nullptr) {
        ThrowTypeMismatch(arg, index, site);
      } else {
        ThrowArgumentMismatch(arg, index, site, &TypeTraits<T>::GetMismatchTypeInfo);
      }
    }
    return *std::move(value);
  }
}

// Same as CastArgument, but first tests the common case that the argument is a T already, which
// needs no cast and constructs the value in place.
template <typename T>
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE T ReadArgument(const TVMFFIAny* arg, int index, CallSite site) {
  if (TVM_FFI_PREDICT_TRUE(TypeTraits<T>::CheckAnyStrict(arg))) {
    return TypeTraits<T>::CopyFromAnyViewAfterCheck(arg);
  }
  return CastArgument<T>(arg, index, site);
}

// Reads an argument for a parameter of type T.  The inline code reads scalars of the exact type;
// other arguments need a call.
template <typename T, typename Enable = void>
struct ArgumentReader {
  static T Read(const TVMFFIAny* arg, int index, CallSite site) {
    if constexpr (is_any_v<T>) {
      return AnyView::CopyFromTVMFFIAny(*arg);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (TVM_FFI_PREDICT_TRUE(arg->type_index == kTVMFFIFloat && FitsFloat<T>(arg->v_uint64))) {
        return static_cast<T>(arg->v_float64);
      }
      return CastArgument<T>(arg, index, site);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (TVM_FFI_PREDICT_TRUE(arg->type_index == kTVMFFIBool)) return arg->v_int64 != 0;
      return CastArgument<T>(arg, index, site);
    } else if constexpr (std::is_integral_v<T>) {
      if (TVM_FFI_PREDICT_TRUE(arg->type_index == kTVMFFIInt && FitsInteger<T>(arg->v_int64))) {
        return static_cast<T>(arg->v_int64);
      }
      return CastArgument<T>(arg, index, site);
    } else if constexpr (TypeTraits<T>::storage_enabled) {
      return ReadArgument<T>(arg, index, site);
    } else {
      return CastArgument<T>(arg, index, site);
    }
  }
};

// An argument that converts implicitly to T when it initializes a parameter of type T.  For user
// code that unpacks the arguments of a packed call without TypedCallable.
template <typename T>
class ArgValueWithContext {
 public:
  ArgValueWithContext(const TVMFFIAny* arg, int index, CallSite site)
      : arg_(arg), index_(index), site_(site) {}
  operator T() { return ArgumentReader<T>::Read(arg_, index_, site_); }  // NOLINT(*)

 private:
  const TVMFFIAny* arg_;
  int index_;
  CallSite site_;
};

// ---- Calls ------------------------------------------------------------------------------------

template <typename FType>
struct SignatureOf;
template <typename R, typename... Args>
struct SignatureOf<R(Args...)> {
  static constexpr const Signature* value = &kSignature<R, Args...>;
};

template <typename T>
using ArgumentReaderOf = ArgumentReader<std::remove_const_t<std::remove_reference_t<T>>>;

// Calls f with converted arguments and overwrites *result, which must not own a reference.  A void
// function leaves *result unchanged.
template <typename R, typename... Args, size_t... I, typename F>
void CallWithArguments(R (*)(Args...), std::index_sequence<I...>, const F& f,
                       [[maybe_unused]] const TVMFFIAny* args, [[maybe_unused]] CallSite site,
                       [[maybe_unused]] TVMFFIAny* result) {
  if constexpr (std::is_void_v<R>) {
    f(ArgumentReaderOf<Args>::Read(args + I, static_cast<int>(I), site)...);
  } else if constexpr (std::is_same_v<R, Any>) {
    *result = AnyUnsafe::MoveAnyToTVMFFIAny(
        f(ArgumentReaderOf<Args>::Read(args + I, static_cast<int>(I), site)...));
  } else {
    TypeTraits<R>::MoveToAny(
        f(ArgumentReaderOf<Args>::Read(args + I, static_cast<int>(I), site)...), result);
  }
}

template <typename F>
void CallTyped(const F& f, const char* name, const TVMFFIAny* args, int32_t num_args,
               TVMFFIAny* result) {
  using Info = FunctionInfo<F>;
  static_assert(Info::unpacked_supported,
                "a parameter or the result has no conversion, or is a non-const reference");
  constexpr int32_t kNumArgs = static_cast<int32_t>(Info::num_args);
  CallSite site{name, SignatureOf<typename Info::FType>::value};
  if (TVM_FFI_PREDICT_FALSE(num_args != kNumArgs)) ThrowCallMismatch(site, num_args, nullptr);
  CallWithArguments(static_cast<typename Info::FType*>(nullptr),
                    std::make_index_sequence<Info::num_args>(), f, args, site, result);
}

// Calls f with `num_args` packed arguments; *rv receives the result unless R is void.
template <typename R, size_t... I, typename F>
void unpack_call(std::index_sequence<I...>, const std::string* optional_name, const F& f,
                 const AnyView* args, int32_t num_args, Any* rv) {
  static_assert(std::is_same_v<R, typename FunctionInfo<F>::RetType>, "R is the result type of f");
  static_assert(sizeof...(I) == FunctionInfo<F>::num_args, "one index per parameter");
  TVMFFIAny result;
  CallTyped(f, optional_name != nullptr ? optional_name->c_str() : "",
            reinterpret_cast<const TVMFFIAny*>(args), num_args, &result);
  if constexpr (!std::is_void_v<R>) *rv = AnyUnsafe::MoveTVMFFIAnyToAny(&result);
}

// Stores the metadata or documentation of an exported function in `out` and returns the status of
// the exported symbol. libtvm_ffi creates the string, so it remains valid after the library of the
// exported function is unloaded.
TVM_FFI_FAILURE_ inline int ReturnText(std::string_view text, TVMFFIAny* out) {
  TVMFFIByteArray bytes{text.data(), text.size()};
  return TVMFFIStringFromByteArray(&bytes, out);
}

TVM_FFI_FAILURE_ inline int ReturnMetadataText(const Signature& schema, TVMFFIAny* out) {
  MessageStream text;
  text.Print("{\"type_schema\":\"");
  FormatFunctionSchema(schema, kQuoteInString, &text);
  text.Print("\"}");
  return ReturnText(text.view(), out);
}

TVM_FFI_FAILURE_ inline int ReturnMetadataText(const Signature& schema, const char* signature,
                                               const char* members, TVMFFIAny* out) {
  MessageStream text;
  text.Print("{\"type_schema\":\"");
  FormatFunctionSchema(schema, kQuoteInString, &text);
  text.Print("\",\"signature\":\"");
  PutEscapedJSON(signature, &text);
  text.Print("\"");
  text.Print("%s", members);
  text.Print("}");
  return ReturnText(text.view(), out);
}

// Type tag for the function argument of an export macro.  F is deduced from a function argument
// instead of decltype: lambda expressions are not allowed in unevaluated operands, and nvcc cannot
// name their types.
template <typename F>
struct ExportedType {};
template <typename F>
ExportedType<std::decay_t<F>> ExportedTypeOf(const F&) {
  return {};
}
template <typename F>
using ExportedTypeFunction = ExportedType<F> (*)();

// Overload for exports without a declared signature: the metadata needs no JSON escapes, so the
// code that writes them is not compiled.
template <typename F>
int ReturnMetadata(ExportedTypeFunction<F>, std::nullptr_t, const char*, TVMFFIAny* out) {
  return ReturnMetadataText(FunctionInfo<F>::Schema(), out);
}
template <typename F>
int ReturnMetadata(ExportedTypeFunction<F>, const char* signature, const char* members,
                   TVMFFIAny* out) {
  return ReturnMetadataText(FunctionInfo<F>::Schema(), signature, members, out);
}

// A row of the section tvm_ffi_exports: a description of an exported symbol for tools that read a
// library without running it. docs/design/export-rows.md lists the kinds.
struct ExportRow {
  const char* name;
  const char* kind;
  const char* text;
};

// Returns a string that contains the function type as the compiler spells it.
template <typename FType>
constexpr const char* CompilerTextOf() {
  return TVM_FFI_FUNC_SIG;
}
template <typename F>
constexpr const char* CompilerTextOfExport(ExportedTypeFunction<F>) {
  return CompilerTextOf<typename FunctionInfo<F>::FType>();
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_FUNCTION_DETAIL_H_
