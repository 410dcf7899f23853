// SPDX-License-Identifier: Apache-2.0
// EnumDef: defines one instance of an enumeration type and sets its attributes.
//
//   TVM_FFI_STATIC_INIT_BLOCK() {
//     refl::EnumDef<ColorObj>("RED").set_attr("wavelength_nm", 700);
//     refl::EnumDef<LevelObj>("HIGH", 3);  // LevelObj derives from IntEnumObj
//   }
#ifndef TVM_FFI_REFLECTION_ENUM_DEF_H_
#define TVM_FFI_REFLECTION_ENUM_DEF_H_

#include <tvm/ffi/enum.h>
#include <tvm/ffi/reflection/registry.h>

namespace tvm {
namespace ffi {
namespace reflection {
namespace detail {

// Returns the EnumState (the list of instances) of an enumeration type; creates the EnumState on
// first use.
inline EnumState GetOrMakeEnumState(int32_t type_index) {
  AnyView value = TypeAttrColumn(type_attr::kEnumState)[type_index];
  if (value == nullptr) {
    auto state = ObjectUnsafe::ObjectRefFromObjectPtr<EnumState>(make_object<EnumStateObj>());
    RegisterTypeAttr(type_index, type_attr::kEnumState.name, state);
    return state;
  }
  // Get the type index by a function call.  During static initialization, the static type index of
  // EnumStateObj may not be initialized yet.
  if (value.type_index() != EnumStateObj::_GetOrAllocRuntimeTypeIndex()) {
    TVM_FFI_THROW(TypeError) << "type attribute `" << type_attr::kEnumState.name << "` of `"
                             << TypeIndexToTypeKey(type_index)
                             << "`: expected `ffi.EnumState`, got `" << value.GetTypeKey() << "`";
  }
  return ObjectUnsafe::ObjectRefFromObjectPtr<EnumState>(
      ObjectUnsafe::ObjectPtrFromUnowned<Object>(value.CopyToTVMFFIAny().v_obj));
}

// Adds an enumeration instance to `state`; lookups by its integer index and by its string index
// find the instance afterwards.
inline void AddEnumInstance(int32_t type_index, const EnumState& state, const ObjectRef& entry,
                            int64_t int_index, const String& str_index) {
  if (state->indexes.count(int_index) != 0 || state->indexes.count(str_index) != 0) {
    TVM_FFI_THROW(ValueError) << "enum `" << TypeIndexToTypeKey(type_index)
                              << "`: an instance with index " << int_index << " or name `"
                              << str_index.c_str() << "` exists already";
  }
  List<ObjectRef> entries = state->entries;
  Dict<Any, ObjectRef> indexes = state->indexes;
  entries.push_back(entry);
  indexes.Set(int_index, entry);
  indexes.Set(str_index, entry);
}

}  // namespace detail

// The constructor defines the instance `name` of an enumeration.  EnumCls is the object class or
// its reference class.
template <typename EnumCls>
class EnumDef {
  using ObjectClass = typename detail::EnumClass<EnumCls>::Object;
  static_assert(std::is_base_of_v<EnumObj, ObjectClass>,
                "EnumDef requires a class that derives from EnumObj");

 public:
  // Defines an instance whose integer index is the number of existing instances.
  explicit EnumDef(const char* name) : EnumDef(name, State()) {}
  // Defines an instance of an IntEnum with the given value as its integer index.
  template <typename Int, typename = std::enable_if_t<std::is_integral_v<Int>>>
  EnumDef(const char* name, Int value) : EnumDef(name, static_cast<int64_t>(value), State()) {
    static_assert(std::is_base_of_v<IntEnumObj, ObjectClass>,
                  "EnumDef(name, value) requires a class that derives from IntEnumObj");
  }

  // Set an attribute of the instance; an earlier value is replaced.
  template <typename T>
  EnumDef& set_attr(const char* name, T&& value) {
    String key(name);
    Dict<String, Dict<ObjectRef, Any>> attrs = state_->attrs;
    auto column = attrs.Get(key);
    if (!column.has_value()) {
      column = Dict<ObjectRef, Any>();
      attrs.Set(key, *column);
    }
    column->Set(entry_, detail::AttrValue(std::forward<T>(value), name));
    return *this;
  }
  template <typename T, typename Value>
  EnumDef& set_attr(const AttrKey<T>& key, Value&& value) {
    return set_attr(key.name, std::forward<Value>(value));
  }
  // Sets an attribute to a native function that callers call directly, without packed arguments.
  template <auto kFunction, typename FType>
  EnumDef& set_native_fn_attr(const AttrKey<NativeFunctionView<FType>>& key) {
    return set_attr(key.name, NativeFunctionView<FType>::template FromNative<kFunction>());
  }

  static bool IsDefined(const String& name) { return State()->indexes.count(name) != 0; }

 private:
  EnumDef(const char* name, const EnumState& state)
      : EnumDef(name, static_cast<int64_t>(state->entries.size()), state) {}
  EnumDef(const char* name, int64_t index, EnumState state) : state_(std::move(state)) {
    ObjectPtr<ObjectClass> entry = make_object<ObjectClass>();
    entry->_int_index = index;
    entry->_str_index = String(name);
    entry_ = ObjectRef(ObjectPtr<Object>(std::move(entry)));
    detail::AddEnumInstance(TypeIndex(), state_, entry_, index, String(name));
  }
  static int32_t TypeIndex() { return ObjectClass::_GetOrAllocRuntimeTypeIndex(); }
  static EnumState State() { return detail::GetOrMakeEnumState(TypeIndex()); }

  EnumState state_;
  ObjectRef entry_;
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_ENUM_DEF_H_
