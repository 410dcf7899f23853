// SPDX-License-Identifier: Apache-2.0
// OverloadObjectDef: ObjectDef for classes with overloaded methods.
//
// All overloads of a name share one Function, which tries them in order of registration.  Each
// overload has a separate entry with its signature in the type's method table.
#ifndef TVM_FFI_REFLECTION_OVERLOAD_H_
#define TVM_FFI_REFLECTION_OVERLOAD_H_

#include <tvm/ffi/reflection/registry.h>

#include <tuple>

namespace tvm {
namespace ffi {
namespace reflection {
namespace detail {

// Base class of overloads, independent of their C++ types.  Its objects are not passed to other
// libraries, so the class needs no type index.
class OverloadBase : public Object {
 public:
  // Reason why an overload cannot be called with the arguments.  If `describe` is null, the number
  // of arguments is wrong; otherwise the argument at `position` does not convert to the parameter.
  struct Mismatch {
    int position = 0;
    std::string (*describe)(const TVMFFIAny*) = nullptr;
  };
  using FCall = void (*)(const OverloadBase*, const char* name, const AnyView*, int32_t, Any*);
  // Calls the overload.  Returns false and stores the reason if the arguments do not convert to the
  // parameters.  Exceptions of the callable propagate.  If the result pointer is null, only
  // converts the arguments and does not call.
  using FTryCall = bool (*)(const OverloadBase*, const AnyView*, int32_t, Any*, Mismatch*);

  FCall call = nullptr;
  FTryCall try_call = nullptr;
  const Signature* signature = nullptr;
};

// Load converts one argument of a call to the parameter type T and stores the converted value; Take
// moves the stored value out for the call of the overload.
template <typename T>
class OverloadArgument {
 public:
  bool Load(const TVMFFIAny* arg) {
    value_ = TypeTraits<T>::TryCastFromAnyView(arg);
    return value_.has_value();
  }
  T Take() { return *std::move(value_); }
  static std::string Describe(const TVMFFIAny* arg) {
    return TypeTraits<T>::GetMismatchTypeInfo(arg);
  }

 private:
  std::optional<T> value_;
};

template <>
class OverloadArgument<AnyView> {
 public:
  bool Load(const TVMFFIAny* arg) {
    value_ = AnyView::CopyFromTVMFFIAny(*arg);
    return true;
  }
  AnyView Take() const { return value_; }
  static std::string Describe(const TVMFFIAny*) { return std::string(); }

 private:
  AnyView value_;
};

template <typename T>
using OverloadArgumentOf =
    OverloadArgument<std::conditional_t<is_any_v<std::remove_const_t<std::remove_reference_t<T>>>,
                                        AnyView, std::remove_const_t<std::remove_reference_t<T>>>>;

// Overload whose callable has the type F.
template <typename F>
class TypedOverload : public OverloadBase {
  using Info = FunctionInfo<F>;

 public:
  explicit TypedOverload(F f) : callable_(std::move(f)) {
    call = Call;
    try_call = [](const OverloadBase* self, const AnyView* args, int32_t num_args, Any* rv,
                  Mismatch* mismatch) {
      return static_cast<const TypedOverload*>(self)->TryCall(
          static_cast<typename Info::FType*>(nullptr), std::make_index_sequence<Info::num_args>(),
          args, num_args, rv, mismatch);
    };
    signature = SignatureOf<typename Info::FType>::value;
  }

 private:
  static void Call(const OverloadBase* self, const char* name, const AnyView* args,
                   int32_t num_args, Any* rv) {
    TVMFFIAny result;
    SetIntPayload(&result, kTVMFFINone, 0);
    CallTyped(static_cast<const TypedOverload*>(self)->callable_, name,
              reinterpret_cast<const TVMFFIAny*>(args), num_args, &result);
    *rv = AnyUnsafe::MoveTVMFFIAnyToAny(&result);
  }

  template <typename R, typename... Args, size_t... I>
  bool TryCall(R (*)(Args...), std::index_sequence<I...>, const AnyView* packed, int32_t num_args,
               Any* rv, Mismatch* mismatch) const {
    if (num_args != signature->num_parameters) return false;
    [[maybe_unused]] const auto* raw = reinterpret_cast<const TVMFFIAny*>(packed);
    std::tuple<OverloadArgumentOf<Args>...> args;
    bool fits = (LoadOrExplain(&std::get<I>(args), raw + I, static_cast<int>(I), mismatch) && ...);
    if (!fits || rv == nullptr) return fits;
    if constexpr (std::is_void_v<R>) {
      callable_(std::get<I>(args).Take()...);
    } else {
      *rv = Any(callable_(std::get<I>(args).Take()...));
    }
    return true;
  }
  template <typename Argument>
  static bool LoadOrExplain(Argument* argument, const TVMFFIAny* raw, int position,
                            Mismatch* mismatch) {
    if (argument->Load(raw)) return true;
    mismatch->position = position;
    mismatch->describe = &Argument::Describe;
    return false;
  }

  F callable_;
};

template <typename F>
ObjectPtr<OverloadBase> CreateNewOverload(F&& f) {
  auto callable = AsCallable(std::forward<F>(f));
  return make_object<TypedOverload<decltype(callable)>>(std::move(callable));
}

// Packed callable of an overloaded name.  Calls the first overload to whose parameters the
// arguments convert.
class OverloadedFunction {
 public:
  explicit OverloadedFunction(std::string name) : name_(std::move(name)) {}

  void Add(ObjectPtr<OverloadBase> overload) { overloads_.push_back(std::move(overload)); }

  void operator()(PackedArgs args, Any* rv) const {
    if (overloads_.size() == 1) {
      const OverloadBase* only = overloads_[0].get();
      only->call(only, name_.c_str(), args.data(), args.size(), rv);
      return;
    }
    for (const auto& overload : overloads_) {
      OverloadBase::Mismatch mismatch;
      if (overload->try_call(overload.get(), args.data(), args.size(), rv, &mismatch)) return;
    }
    ThrowNoMatch(args);
  }

 private:
  [[noreturn]] TVM_FFI_FAILURE_ void ThrowNoMatch(PackedArgs args) const {
    MessageStream text;
    text << "No matching overload found when calling: `" << name_ << "` with " << args.size()
         << " arguments:";
    for (size_t i = 0; i < overloads_.size(); ++i) {
      text << "\nOverload #" << i << ": ";
      Explain(*overloads_[i], args, &text);
    }
    ThrowError("TypeError", text);
  }
  void Explain(const OverloadBase& overload, PackedArgs args, MessageStream* text) const {
    OverloadBase::Mismatch mismatch;
    overload.try_call(&overload, args.data(), args.size(), nullptr, &mismatch);
    if (mismatch.describe == nullptr) {
      ExplainCall("number of arguments", overload, text);
      *text << overload.signature->num_parameters << " arguments";
      return;
    }
    const auto* arg = reinterpret_cast<const TVMFFIAny*>(args.data()) + mismatch.position;
    ExplainCall("type on argument #" + std::to_string(mismatch.position), overload, text);
    *text << "`";
    PutName(text, overload.signature->names[mismatch.position]);
    *text << "` but got `" << mismatch.describe(arg) << "`";
  }
  void ExplainCall(const std::string& subject, const OverloadBase& overload,
                   MessageStream* text) const {
    *text << "Mismatched " << subject << " when calling: `" << name_ << " ";
    FormatSignature(*overload.signature, text);
    *text << "`. Expected ";
  }

  std::string name_;
  std::vector<ObjectPtr<OverloadBase>> overloads_;
};

}  // namespace detail

// Same as ObjectDef, but several methods or constructors may have the same name.
template <typename Class>
class OverloadObjectDef : private ObjectDef<Class> {
  using Base = ObjectDef<Class>;

 public:
  using Super = ObjectDef<Class>;

  template <typename... Extra>
  explicit OverloadObjectDef(const Extra&... extra) : Base(extra...) {}

  template <typename T, typename BaseClass, typename... Extra>
  OverloadObjectDef& def_ro(const char* name, T BaseClass::* member, const Extra&... extra) {
    Base::def_ro(name, member, extra...);
    return *this;
  }
  template <typename T, typename BaseClass, typename... Extra>
  OverloadObjectDef& def_rw(const char* name, T BaseClass::* member, const Extra&... extra) {
    Base::def_rw(name, member, extra...);
    return *this;
  }
  template <typename F, typename... Extra>
  OverloadObjectDef& def(const char* name, F&& f, const Extra&... extra) {
    AddOverload(name, 0, std::forward<F>(f), extra...);
    return *this;
  }
  template <typename F, typename... Extra>
  OverloadObjectDef& def_static(const char* name, F&& f, const Extra&... extra) {
    AddOverload(name, kTVMFFIFieldFlagBitMaskIsStaticMethod, std::forward<F>(f), extra...);
    return *this;
  }
  template <typename... Args, typename... Extra>
  OverloadObjectDef& def(init<Args...>, const Extra&... extra) {
    Function function = AddOverload(type_attr::kInit.name, kTVMFFIFieldFlagBitMaskIsStaticMethod,
                                    &init<Args...>::template Execute<Class>, extra...);
    if (!this->has_init_) {
      detail::RegisterTypeAttr(this->type_index_, type_attr::kInit.name, function);
    }
    this->has_init_ = true;
    return *this;
  }
  template <typename Name, typename T>
  OverloadObjectDef& def_type_attr(const Name& name, T&& value) {
    Base::def_type_attr(name, std::forward<T>(value));
    return *this;
  }
  template <typename Ref>
  OverloadObjectDef& def_convert() {
    Base::template def_convert<Ref>();
    return *this;
  }

 private:
  struct Entry {
    std::string name;
    Function function;
    // Borrowed pointer to the overloads, which `function` owns.
    detail::OverloadedFunction* overloads;
  };

  template <typename F, typename... Extra>
  Function AddOverload(const char* name, int64_t flags, F&& f, const Extra&... extra) {
    Entry& entry = FindOrAdd(name);
    entry.overloads->Add(detail::CreateNewOverload(std::forward<F>(f)));
    Base::RegisterMethodFunction(name, flags, entry.function, detail::SchemaOf<F>(), extra...);
    return entry.function;
  }
  Entry& FindOrAdd(const char* name) {
    for (Entry& entry : entries_) {
      if (entry.name == name) return entry;
    }
    auto [function, overloads] = Function::FromPackedInplace<detail::OverloadedFunction>(
        detail::MemberName(Class::_type_key, name));
    entries_.push_back(Entry{name, function, overloads});
    return entries_.back();
  }

  std::vector<Entry> entries_;
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_OVERLOAD_H_
