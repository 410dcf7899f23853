// SPDX-License-Identifier: Apache-2.0
// Function: a callable that any language can create and any language can call.
//
// A FunctionObj has a C entry (safe_call), which every caller may use, and optionally a C++ entry
// (cpp_call), through which C++ exceptions propagate.  The first argument of both is the function
// object itself.
#ifndef TVM_FFI_FUNCTION_H_
#define TVM_FFI_FUNCTION_H_

#include <tvm/ffi/function_detail.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/signature_detail.h>

// TVM_FFI_SAFE_CALL_BEGIN() ... TVM_FFI_SAFE_CALL_END() enclose the body of a function with the C
// calling convention.  The function returns 0 at the end of the body, and -1 with a pending error
// if an exception is thrown.
#define TVM_FFI_SAFE_CALL_BEGIN() \
  try {                           \
  (void)0

// Ends the body that TVM_FFI_SAFE_CALL_BEGIN begins.
#define TVM_FFI_SAFE_CALL_END()                         \
  return 0;                                             \
  }                                                     \
  catch (...) {                                         \
    return ::tvm::ffi::detail::RaiseCurrentException(); \
  }                                                     \
  TVM_FFI_UNREACHABLE()

// Calls a C function, and throws the pending error if the function returns a nonzero code.
#define TVM_FFI_CHECK_SAFE_CALL(expr)          \
  {                                            \
    ::tvm::ffi::detail::CheckSafeCall((expr)); \
  }

// If this macro is nonzero, the export macros below also export metadata and documentation.  Build
// tools define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT for source files that do not define it.
#ifndef TVM_FFI_DLL_EXPORT_INCLUDE_METADATA
#ifdef TVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA TVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT
#else
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 0
#endif
#endif

namespace tvm {
namespace ffi {

// Object class of Function: the object header and a TVMFFIFunctionCell.
class FunctionObj : public Object, public TVMFFIFunctionCell {
 public:
  using FCall = void (*)(const FunctionObj*, const AnyView*, int32_t, Any*);

  static constexpr int32_t _type_index = kTVMFFIFunction;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIFunction, FunctionObj, Object)

  // Calls the function, through its C++ entry (cpp_call) if that is not null.  *result must not own
  // a reference.
  void CallPacked(const AnyView* args, int32_t num_args, Any* result) const {
    // Another thread may replace the entries (tvm/ffi/extra/c_observe.h), so each is read once.
    void* call = __atomic_load_n(&cpp_call, __ATOMIC_RELAXED);
    if (TVM_FFI_PREDICT_TRUE(call != nullptr)) {
      reinterpret_cast<FCall>(call)(this, args, num_args, result);
    } else {
      detail::CheckSafeCall(CallSafely(args, num_args, result));
    }
  }
  // Calls the C entry (safe_call) and returns its status.  If the status is not 0, the error is
  // pending in the thread's error slot.
  int CallSafely(const AnyView* args, int32_t num_args, Any* result) const {
    TVMFFISafeCallType call = __atomic_load_n(&safe_call, __ATOMIC_RELAXED);
    return call(detail::ObjectUnsafe::GetHeader(this), reinterpret_cast<const TVMFFIAny*>(args),
                num_args, detail::AnyUnsafe::TVMFFIAnyPtrFromAny(*result));
  }

 protected:
  FunctionObj() : TVMFFIFunctionCell{} {}
};

// The borrowed arguments of a packed call: a pointer to an array of AnyViews, and their number.
class PackedArgs {
 public:
  PackedArgs(const AnyView* data, int32_t size) : data_(data), size_(size) {}
  int size() const { return size_; }
  const AnyView* data() const { return data_; }
  AnyView operator[](int i) const { return data_[i]; }
  PackedArgs Slice(int begin, int end = -1) const {
    return PackedArgs(data_ + begin, (end == -1 ? size_ : end) - begin);
  }
  // Stores views of `args` in `data`.  The arguments must outlive the views.
  template <typename... Args>
  static void Fill(AnyView* data, Args&&... args) {
    [[maybe_unused]] size_t i = 0;
    ((data[i++] = AnyView(std::forward<Args>(args))), ...);
  }

 private:
  const AnyView* data_;
  int32_t size_;
};

namespace detail {

// True if TypeTraits<T>::kViewIsNewObject exists and is true: an AnyView of a T may refer to a new
// object, which needs an owner until the call returns.
template <typename T, typename = void>
inline constexpr bool view_is_new_object_v = false;
template <typename T>
inline constexpr bool
    view_is_new_object_v<T, std::void_t<decltype(TypeTraitsNoCR<T>::kViewIsNewObject)>> =
        TypeTraitsNoCR<T>::kViewIsNewObject;

// Returns the argument itself, or, if view_is_new_object_v<T>, an Any that owns the new object.
template <typename T>
std::conditional_t<view_is_new_object_v<T>, Any, T&&> OwnArgument(T&& arg) {
  return static_cast<std::conditional_t<view_is_new_object_v<T>, Any, T&&>>(std::forward<T>(arg));
}

// Returns the size of the argument array for `count` arguments.  It is at least 1, because a C++
// array must have an element.
constexpr size_t ArraySize(size_t count) { return count > 0 ? count : 1; }

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowResultInUse() {
  ThrowError("InternalError",
             std::string_view("the result slot of a call must not hold an object on entry"));
}

// True if a packed callable (a C++ callable that receives its arguments as AnyViews) overwrites the
// bytes of its result slot without releasing the previous object in the slot.
template <typename TCallable>
inline constexpr bool overwrites_result_v = false;

// Calls a function with a temporary result slot, because *rv holds an object on entry.  *rv keeps
// that object until the call returns, because an argument may be a view of the object.
TVM_FFI_FAILURE_ inline void CallWithNewResult(FunctionObj::FCall call, const FunctionObj* self,
                                               const AnyView* args, int32_t num_args, Any* rv) {
  Any result;
  call(self, args, num_args, &result);
  *rv = std::move(result);
}

// A FunctionObj that contains a packed callable, which receives its arguments as AnyViews.
template <typename TCallable>
class FunctionObjImpl : public FunctionObj {
 public:
  template <typename... Args>
  explicit FunctionObjImpl(std::in_place_t, Args&&... args)
      : callable_(std::forward<Args>(args)...) {
    safe_call = SafeCall;
    cpp_call = reinterpret_cast<void*>(CppCall);
  }
  TCallable* callable() { return &callable_; }

 private:
  static void CppCall(const FunctionObj* self, const AnyView* args, int32_t num_args, Any* rv) {
    TCallable& callable = static_cast<const FunctionObjImpl*>(self)->callable_;
    if constexpr (overwrites_result_v<TCallable>) {
      if (TVM_FFI_PREDICT_FALSE(rv->type_index() >= kTVMFFIStaticObjectBegin)) {
        return CallWithNewResult(CppCall, self, args, num_args, rv);
      }
    }
    if constexpr (std::is_invocable_v<TCallable&, PackedArgs, Any*>) {
      callable(PackedArgs(args, num_args), rv);
    } else {
      callable(args, num_args, rv);
    }
  }
  static int SafeCall(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    try {
      if (result->type_index >= kTVMFFIStaticObjectBegin) ThrowResultInUse();
      Any rv;
      CppCall(ObjectUnsafe::RawObjectPtrFromUnowned<FunctionObjImpl>(
                  static_cast<TVMFFIObject*>(handle)),
              reinterpret_cast<const AnyView*>(args), num_args, &rv);
      *result = AnyUnsafe::MoveAnyToTVMFFIAny(std::move(rv));
      return 0;
    } catch (...) {
      return RaiseCurrentException();
    }
  }

  mutable TCallable callable_;
};

// Packed callable that converts the arguments for a typed callable and converts its result.
template <typename F>
struct TypedCallable {
  F callable;
  std::string name;

  // Calls the callable.  *rv must not hold an object on entry.
  void operator()(PackedArgs args, Any* rv) const {
    CallTyped(callable, name.c_str(), reinterpret_cast<const TVMFFIAny*>(args.data()), args.size(),
              AnyUnsafe::TVMFFIAnyPtrFromAny(*rv));
  }
};
template <typename F>
inline constexpr bool overwrites_result_v<TypedCallable<F>> =
    !std::is_void_v<typename FunctionInfo<F>::RetType>;

// A function object may capture another one, so function objects can be nested deeply.  Callables
// with a trivial destructor own no references, so they cannot be nested.
template <typename TCallable>
struct NestsDeeply<FunctionObjImpl<TCallable>, void>
    : std::bool_constant<!std::is_trivially_destructible_v<TCallable>> {};
template <typename F>
struct NestsDeeply<FunctionObjImpl<TypedCallable<F>>, void>
    : std::bool_constant<!std::is_trivially_destructible_v<F>> {};

template <typename F>
inline constexpr bool is_packed_callable_v = std::is_invocable_v<F&, PackedArgs, Any*> ||
                                             std::is_invocable_v<F&, const AnyView*, int32_t, Any*>;

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowFunctionNotFound(std::string_view name) {
  MessageStream text;
  text << "Function " << name << " not found";
  ThrowError("ValueError", text);
}

}  // namespace detail

// Reference to a function of any language; may be null.  Calls convert arguments and results.
class Function : public ObjectRef {
 public:
  class Registry;

  Function(std::nullptr_t) {}  // NOLINT(*)
  template <typename F,
            typename = std::enable_if_t<!std::is_base_of_v<ObjectRef, std::decay_t<F>> &&
                                        detail::is_packed_callable_v<std::decay_t<F>>>>
  explicit Function(F&& packed_call) : Function(FromPacked(std::forward<F>(packed_call))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Function, ObjectRef, FunctionObj);

  // Returns a Function for a callable that takes (PackedArgs, Any*) or (const AnyView*, int32_t,
  // Any*).
  template <typename F>
  static Function FromPacked(F&& packed_call) {
    using Callable = std::decay_t<F>;
    static_assert(detail::is_packed_callable_v<Callable>,
                  "a packed callable takes (PackedArgs, Any*) or (const AnyView*, int32_t, Any*)");
    return Function(ObjectPtr<FunctionObj>(make_object<detail::FunctionObjImpl<Callable>>(
        std::in_place, std::forward<F>(packed_call))));
  }
  // Returns a Function and a pointer to the callable inside it.  The pair converts to a tuple;
  // returning a std::tuple would make every kernel include <tuple>.
  template <typename Callable, typename... Args>
  static auto FromPackedInplace(Args&&... args) {
    auto object =
        make_object<detail::FunctionObjImpl<Callable>>(std::in_place, std::forward<Args>(args)...);
    Callable* callable = object->callable();
    return std::make_pair(Function(ObjectPtr<FunctionObj>(std::move(object))), callable);
  }
  // Returns a Function for a callable whose parameters and result have conversion traits.  The name
  // appears in error messages.
  template <typename F>
  static Function FromTyped(F&& callable, std::string name = std::string()) {
    using Callable = detail::TypedCallable<std::decay_t<F>>;
    return FromPacked(Callable{std::forward<F>(callable), std::move(name)});
  }
  // Returns a Function that calls safe_call with `self` as its handle.  Consumes `self`, which
  // `deleter` releases.
  static Function FromExternC(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void*)) {
    TVMFFIObjectHandle out;
    detail::CheckSafeCall(TVMFFIFunctionCreate(self, safe_call, deleter, &out));
    return FromOwnedHandle(out);
  }

  // Return the global function with this name.  If the name is not registered, GetGlobal returns
  // std::nullopt and GetGlobalRequired throws ValueError.  Name is std::string_view, std::string,
  // String or a C string.
  template <typename Name, typename Result = Function>
  static std::optional<Result> GetGlobal(const Name& name) {
    Result function = FindGlobal(detail::ViewOf(name));
    if (!function.defined()) return std::nullopt;
    return function;
  }
  template <typename Name>
  static Function GetGlobalRequired(const Name& name) {
    Function function = FindGlobal(detail::ViewOf(name));
    if (!function.defined()) detail::ThrowFunctionNotFound(detail::ViewOf(name));
    return function;
  }
  static void SetGlobal(std::string_view name, Function function, bool override = false) {
    TVMFFIByteArray bytes{name.data(), name.size()};
    detail::CheckSafeCall(TVMFFIFunctionSetGlobal(
        &bytes, detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function), override));
  }
  template <typename Name = String>
  static std::vector<Name> ListGlobalNames();
  template <typename Name>
  static void RemoveGlobal(const Name& name) {
    GetGlobalRequired("ffi.FunctionRemoveGlobal")(name);
  }

  // Calls a C function without creating a Function.
  template <typename... Args>
  static Any InvokeExternC(void* handle, TVMFFISafeCallType safe_call, Args&&... args) {
    if constexpr ((detail::view_is_new_object_v<Args> || ...)) {
      return InvokeExternC(handle, safe_call, detail::OwnArgument(std::forward<Args>(args))...);
    } else {
      return InvokeWithViews(handle, safe_call, std::forward<Args>(args)...);
    }
  }

  template <typename... Args>
  Any operator()(Args&&... args) const {
    if constexpr ((detail::view_is_new_object_v<Args> || ...)) {
      return (*this)(detail::OwnArgument(std::forward<Args>(args))...);
    } else {
      return CallWithViews(std::forward<Args>(args)...);
    }
  }
  void CallPacked(const AnyView* args, int32_t num_args, Any* result) const {
    get()->CallPacked(args, num_args, result);
  }
  void CallPacked(PackedArgs args, Any* result) const {
    get()->CallPacked(args.data(), args.size(), result);
  }
  // Calls the function and returns its result as a T.  Errors, including errors of the conversion
  // to T, become part of the result.
  template <typename T = Any, typename... Args>
  Expected<T> CallExpected(Args&&... args) const;

  bool operator==(std::nullptr_t) const { return !defined(); }
  bool operator!=(std::nullptr_t) const { return defined(); }
  using ObjectRef::operator==;
  using ObjectRef::operator!=;

 private:
  // CallWithViews and InvokeWithViews are separate functions because GCC before 14 constructs
  // `result` in the caller's memory only if it is declared in the outermost block of a function.
  template <typename... Args>
  Any CallWithViews(Args&&... args) const {
    AnyView packed[detail::ArraySize(sizeof...(Args))] = {AnyView(std::forward<Args>(args))...};
    Any result;
    CallPacked(packed, static_cast<int32_t>(sizeof...(Args)), &result);
    return result;
  }
  template <typename... Args>
  static Any InvokeWithViews(void* handle, TVMFFISafeCallType safe_call, Args&&... args) {
    AnyView packed[detail::ArraySize(sizeof...(Args))] = {AnyView(std::forward<Args>(args))...};
    Any result;
    detail::CheckSafeCall(safe_call(handle, reinterpret_cast<const TVMFFIAny*>(packed),
                                    static_cast<int32_t>(sizeof...(Args)),
                                    detail::AnyUnsafe::TVMFFIAnyPtrFromAny(result)));
    return result;
  }
  // Returns a null Function if the name is not registered.
  static Function FindGlobal(std::string_view name) {
    TVMFFIByteArray bytes{name.data(), name.size()};
    TVMFFIObjectHandle out;
    detail::CheckSafeCall(TVMFFIFunctionGetGlobal(&bytes, &out));
    return FromOwnedHandle(out);
  }
  static Function FromOwnedHandle(TVMFFIObjectHandle handle) {
    return Function(
        detail::ObjectUnsafe::ObjectPtrFromOwned<FunctionObj>(static_cast<TVMFFIObject*>(handle)));
  }
};

template <typename T, typename... Args>
Expected<T> Function::CallExpected(Args&&... args) const {
  if constexpr ((detail::view_is_new_object_v<Args> || ...)) {
    return CallExpected<T>(detail::OwnArgument(std::forward<Args>(args))...);
  }
  AnyView packed[detail::ArraySize(sizeof...(Args))] = {AnyView(std::forward<Args>(args))...};
  Any result;
  if (get()->CallSafely(packed, static_cast<int32_t>(sizeof...(Args)), &result) != 0) {
    return detail::MoveFromSafeCallRaised();
  }
  if constexpr (std::is_void_v<T>) {
    if (result.type_index() == kTVMFFIError)
      return detail::AnyUnsafe::MoveFromAnyAfterCheck<Error>(std::move(result));
    return Expected<void>();
  } else if constexpr (std::is_same_v<T, Any>) {
    if (result.type_index() == kTVMFFIError)
      return detail::AnyUnsafe::MoveFromAnyAfterCheck<Error>(std::move(result));
    return result;
  } else {
    std::optional<T> value = result.template try_cast<T>();
    if (value.has_value()) return *std::move(value);
    if (result.type_index() == kTVMFFIError)
      return detail::AnyUnsafe::MoveFromAnyAfterCheck<Error>(std::move(result));
    return Error("TypeError",
                 "CallExpected: result type mismatch, expected " + detail::Type2Str<T>::v() +
                     ", but got " + result.GetTypeKey(),
                 std::string());
  }
}

template <typename Name>
std::vector<Name> Function::ListGlobalNames() {
  Function names =
      GetGlobalRequired(Name("ffi.FunctionListGlobalNamesFunctor"))().template cast<Function>();
  int64_t count = detail::AnyUnsafe::CopyFromAnyViewAfterCheck<int64_t>(names(-1));
  std::vector<Name> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(names(i).template cast<Name>());
  return result;
}

// Returns the type index of a registered type key; throws InternalError if the key is not
// registered.
inline int32_t TypeKeyToIndex(std::string_view type_key) {
  TVMFFIByteArray bytes{type_key.data(), type_key.size()};
  int32_t index;
  detail::CheckSafeCall(TVMFFITypeKeyToIndex(&bytes, &index));
  return index;
}

// A Function with a C++ signature.  Construction from a Function does not check that the function
// has this signature.
template <typename R, typename... Args>
class TypedFunction<R(Args...)> {
  template <typename F>
  using IfCallable =
      std::enable_if_t<std::is_invocable_r_v<R, F&, Args...> && !std::is_base_of_v<ObjectRef, F> &&
                       !std::is_same_v<F, TypedFunction>>;
  // Callable with the signature R(Args...) that calls an F.  The parameter and result types of F
  // may differ from Args and R.
  template <typename F>
  struct Adapter {
    mutable F callable;
    R operator()(Args... args) const {
      if constexpr (std::is_void_v<R>) {
        callable(std::forward<Args>(args)...);
      } else {
        return callable(std::forward<Args>(args)...);
      }
    }
  };

 public:
  using TSelf = TypedFunction<R(Args...)>;

  TypedFunction() = default;
  TypedFunction(std::nullptr_t) {}                                // NOLINT(*)
  TypedFunction(Function packed) : packed_(std::move(packed)) {}  // NOLINT(*)
  template <typename F, typename = IfCallable<F>>
  TypedFunction(F callable)  // NOLINT(*)
      : packed_(Function::FromTyped(Adapter<F>{std::move(callable)})) {}
  template <typename F, typename = IfCallable<F>>
  TypedFunction(F callable, std::string name)
      : packed_(Function::FromTyped(Adapter<F>{std::move(callable)}, std::move(name))) {}
  template <typename F, typename = IfCallable<F>>
  TSelf& operator=(F callable) {
    return *this = TSelf(std::move(callable));
  }
  TSelf& operator=(Function packed) {
    packed_ = std::move(packed);
    return *this;
  }
  TSelf& operator=(std::nullptr_t) { return *this = Function(); }

  R operator()(Args... args) const {
    if constexpr (std::is_void_v<R>) {
      packed_(std::forward<Args>(args)...);
    } else if constexpr (std::is_same_v<R, Any>) {
      return packed_(std::forward<Args>(args)...);
    } else {
      return packed_(std::forward<Args>(args)...).template cast<R>();
    }
  }
  operator Function() const { return packed_; }  // NOLINT(*)
  const Function& packed() const& { return packed_; }
  Function&& packed() && { return std::move(packed_); }
  bool operator==(std::nullptr_t) const { return packed_ == nullptr; }
  bool operator!=(std::nullptr_t) const { return packed_ != nullptr; }
  static std::string TypeSchema() { return detail::FunctionInfo<R(Args...)>::TypeSchema(); }

 private:
  Function packed_;
};

template <typename F>
inline constexpr bool use_default_type_traits_v<TypedFunction<F>> = false;

template <typename F>
struct TypeTraits<TypedFunction<F>> : TypeTraitsBase {
  static constexpr int32_t field_static_type_index = kTVMFFIFunction;
  static void CopyToAnyView(const TypedFunction<F>& src, TVMFFIAny* result) {
    TypeTraits<Function>::CopyToAnyView(src.packed(), result);
  }
  static void MoveToAny(TypedFunction<F> src, TVMFFIAny* result) {
    TypeTraits<Function>::MoveToAny(std::move(src).packed(), result);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) { return src->type_index == kTVMFFIFunction; }
  static TypedFunction<F> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return TypeTraits<Function>::CopyFromAnyViewAfterCheck(src);
  }
  static TypedFunction<F> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return TypeTraits<Function>::MoveFromAnyAfterCheck(src);
  }
  static std::optional<TypedFunction<F>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFINone && !CheckAnyStrict(src)) return std::nullopt;
    return std::optional<TypedFunction<F>>(CopyFromAnyViewAfterCheck(src));
  }
  static std::string TypeStr() { return detail::FunctionInfo<F>::Sig(); }
  static std::string TypeSchema() { return TypedFunction<F>::TypeSchema(); }
};

}  // namespace ffi
}  // namespace tvm

// ---- Exports ----------------------------------------------------------------------------------

#define TVM_FFI_EXPORT_SYMBOL_(Symbol, statements)                                      \
  extern "C" {                                                                          \
  TVM_FFI_DLL_EXPORT int Symbol([[maybe_unused]] void* self,                            \
                                [[maybe_unused]] const TVMFFIAny* args,                 \
                                [[maybe_unused]] int32_t num_args, TVMFFIAny* result) { \
    try {                                                                               \
      statements;                                                                       \
    } catch (...) {                                                                     \
      return ::tvm::ffi::detail::RaiseCurrentException();                               \
    }                                                                                   \
  }                                                                                     \
  }

// `Function` occurs once in the expansion, because it may be a lambda expression, and two
// occurrences of a lambda expression have different types.
#define TVM_FFI_EXPORT_FUNCTION_(ExportName, Function)                                             \
  TVM_FFI_EXPORT_SYMBOL_(__tvm_ffi_##ExportName, const auto& tvm_ffi_exported = Function;          \
                         (::tvm::ffi::detail::CallTyped<std::decay_t<decltype(tvm_ffi_exported)>>( \
                             tvm_ffi_exported, #ExportName, args, num_args, result));              \
                         return 0)

// Defines one ExportRow (description of an exported symbol) in a section of the library.  The
// variable is not const, because rows with and without relocated addresses share the section.  It
// is aligned, because a compiler may otherwise leave gaps between rows.
#ifdef __ELF__
#define TVM_FFI_EXPORT_ROW_IN_(Section, Name, Kind, Text)                                  \
  __attribute__((used, aligned(8), section(Section))) static ::tvm::ffi::detail::ExportRow \
      TVM_FFI_STR_CONCAT(TVMFFIExportRow, __COUNTER__) = {Name, Kind, Text};
#else
#define TVM_FFI_EXPORT_ROW_IN_(Section, Name, Kind, Text)
#endif
#define TVM_FFI_EXPORT_ROW_(Name, Kind, Text) \
  TVM_FFI_EXPORT_ROW_IN_("tvm_ffi_exports", Name, Kind, Text)

// Further members of the metadata of a function with a signature, as JSON text after the signature.
// A build that generates a function with checks, __tvm_ffi_NAME, defines __tvm_ffi_NAME as the name
// tvm_ffi_unchecked_NAME while it compiles the user's function.  TVM_FFI_SIGNATURE_UNCHECKED is
// defined by builds whose user wants no checks.
#ifdef TVM_FFI_SIGNATURE_UNCHECKED
#define TVM_FFI_SIGNATURE_MEMBERS_(Symbol) ",\"unchecked\":true"
#else
#define TVM_FFI_SIGNATURE_MEMBERS_(Symbol) \
  (TVM_FFI_QUOTED_(Symbol)[0] == '_' ? "" : ",\"checked\":true")
#endif

// Exports a function and its metadata.  `Signature` is the text of a signature, or nullptr if none
// is declared.
#define TVM_FFI_EXPORT_WITH_METADATA_(ExportName, Function, Signature)                    \
  TVM_FFI_EXPORT_FUNCTION_(ExportName, Function)                                          \
  [[maybe_unused]] static auto TVMFFIExportedType_##ExportName() {                        \
    return ::tvm::ffi::detail::ExportedTypeOf(Function);                                  \
  }                                                                                       \
  TVM_FFI_EXPORT_SYMBOL_(__tvm_ffi__metadata_##ExportName,                                \
                         return ::tvm::ffi::detail::ReturnMetadata(                       \
                             &TVMFFIExportedType_##ExportName, Signature,                 \
                             TVM_FFI_SIGNATURE_MEMBERS_(__tvm_ffi_##ExportName), result)) \
  TVM_FFI_EXPORT_ROW_(#ExportName, "signature",                                           \
                      ::tvm::ffi::detail::CompilerTextOfExport(&TVMFFIExportedType_##ExportName))

// TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(add, my::Add, "add(a: int, b: int = 1) -> int");
// exports the symbol __tvm_ffi_add with the names, defaults, shapes and directions of its
// parameters.  The library contains the signature even if TVM_FFI_DLL_EXPORT_INCLUDE_METADATA is 0.
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(ExportName, Function, Text)           \
  TVM_FFI_EXPORT_WITH_METADATA_(ExportName, Function, Text)                                \
  TVM_FFI_EXPORT_ROW_(#ExportName, "declaration", Text)                                    \
  static_assert(::tvm::ffi::detail::IsSignatureOf(Text, #ExportName),                      \
                "the text is the signature of a function with another name");              \
  static_assert(::tvm::ffi::detail::NumParametersIn(Text) ==                               \
                    ::tvm::ffi::detail::NumParametersOf(&TVMFFIExportedType_##ExportName), \
                "the text has another number of parameters than the function");            \
  static_assert(                                                                           \
      ::tvm::ffi::detail::FindKindMismatch(Text, &TVMFFIExportedType_##ExportName) == -1,  \
      "the parameter with this index is a tensor in the text and a number in the "         \
      "function, or vice versa");

#if TVM_FFI_DLL_EXPORT_INCLUDE_METADATA
#define TVM_FFI_LEVEL_                   \
  TVM_FFI_QUOTED_(TVM_FFI_VERSION_MAJOR) \
  "." TVM_FFI_QUOTED_(TVM_FFI_VERSION_MINOR) "." TVM_FFI_QUOTED_(TVM_FFI_VERSION_PATCH)
// The ExportRow with the ABI level of these headers is in a separate section, because Clang does
// not add rows to a section that a precompiled header has begun.
TVM_FFI_EXPORT_ROW_IN_("tvm_ffi_headers", "", "abi", TVM_FFI_LEVEL_)
// TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, my::Add); exports the symbol __tvm_ffi_add, which every
// language can call.
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC(ExportName, Function) \
  TVM_FFI_EXPORT_WITH_METADATA_(ExportName, Function, nullptr)
// TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(add, "text"); exports the documentation of the exported
// function `add`.
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(ExportName, DocString)                   \
  TVM_FFI_EXPORT_SYMBOL_(__tvm_ffi__doc_##ExportName,                              \
                         return ::tvm::ffi::detail::ReturnText(DocString, result)) \
  TVM_FFI_EXPORT_ROW_(#ExportName, "doc", DocString)
#else
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC(ExportName, Function) \
  TVM_FFI_EXPORT_FUNCTION_(ExportName, Function)
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(ExportName, DocString)
#endif

#endif  // TVM_FFI_FUNCTION_H_
