// SPDX-License-Identifier: Apache-2.0
// Part of any.h: hash and equality of values as map keys.
//
// Maps store these hashes and are shared between libraries that were compiled separately, so the
// hash of a value must never change.
#ifndef TVM_FFI_ANY_HASH_DETAIL_H_
#define TVM_FFI_ANY_HASH_DETAIL_H_

#include <tvm/ffi/any.h>

namespace tvm {
namespace ffi {
namespace detail {

// Returns the value of a type in an attribute column (array of attribute values by type index), or
// nullptr if `column` is null or has no value for the type.  Other threads may register attributes
// concurrently: they store the array before the size, the values of a larger array before its
// pointer, and the payload of a value before its type index.  The acquire loads make these stores
// visible in the same order.
inline const TVMFFIAny* FindAttr(const TVMFFITypeAttrColumn* column, int32_t type_index) {
  if (column == nullptr) return nullptr;
  int32_t offset = type_index - column->begin_index;
  if (offset < 0 || offset >= __atomic_load_n(&column->size, __ATOMIC_ACQUIRE)) return nullptr;
  const TVMFFIAny* value = __atomic_load_n(&column->data, __ATOMIC_ACQUIRE) + offset;
  return __atomic_load_n(&value->type_index, __ATOMIC_ACQUIRE) != kTVMFFINone ? value : nullptr;
}

inline const TVMFFITypeAttrColumn* FindAttrColumn(std::string_view name) {
  TVMFFIByteArray bytes{name.data(), name.size()};
  return TVMFFIGetTypeAttrColumn(&bytes);
}

// Empty attribute column.  RememberAttrColumn caches its address if no column with the requested
// name exists.
TVM_FFI_HIDDEN_ inline constexpr TVMFFITypeAttrColumn kNoAttrColumn{nullptr, 0, 0};

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline const TVMFFITypeAttrColumn* RememberAttrColumn(
    const TVMFFITypeAttrColumn** cell, std::string_view name) {
  const TVMFFITypeAttrColumn* column = FindAttrColumn(name);
  if (column == nullptr) column = &kNoAttrColumn;
  __atomic_store_n(cell, column, __ATOMIC_RELEASE);
  return column;
}

// Returns the value of a type in the attribute column with this name, or nullptr if the column or
// the value does not exist.  *cell caches the address of the column.  *cell is a zero-initialized
// static variable of the caller, because JIT linkers do not support the guard that a computed
// initializer would need.
inline const TVMFFIAny* FindAttrIn(const TVMFFITypeAttrColumn** cell, std::string_view name,
                                   int32_t type_index) {
  const TVMFFITypeAttrColumn* column = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
  if (TVM_FFI_PREDICT_FALSE(column == nullptr)) column = RememberAttrColumn(cell, name);
  return FindAttr(column, type_index);
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowBadHook(const char* name) {
  MessageStream text;
  text << "`" << name << "` must be a native function pointer or ffi.Function";
  ThrowError("TypeError", text);
}

// Calls a type hook (a type attribute with a function, such as `__any_hash__`) that is stored as a
// Function object.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline Any CallHookFunction(TVMFFIObject* function,
                                                              const AnyView* args, int32_t count) {
  using FCppCall = void (*)(const void*, const AnyView*, int32_t, Any*);
  const TVMFFIFunctionCell* cell = TVMFFIFunctionGetCellPtr(function);
  Any result;
  void* cpp_call = __atomic_load_n(&cell->cpp_call, __ATOMIC_RELAXED);
  if (cpp_call != nullptr) {
    reinterpret_cast<FCppCall>(cpp_call)(function, args, count, &result);
  } else {
    CheckSafeCall(cell->safe_call(function, reinterpret_cast<const TVMFFIAny*>(args), count,
                                  AnyUnsafe::TVMFFIAnyPtrFromAny(result)));
  }
  return result;
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowBadHookResult(const char* name, const Any& result) {
  if (result.type_index() == kTVMFFIError)
    throw AnyUnsafe::CopyFromAnyViewAfterCheck<Error>(result);
  MessageStream text;
  text << "`" << name << "` must return an int or bool, got " << result.GetTypeKey();
  ThrowError("TypeError", text);
}

// Returns the Int or Bool result of a type hook as an integer; throws the result if it is an Error,
// and TypeError if it has another type.
inline int64_t TakeHookResult(const char* name, const Any& result) {
  int32_t index = result.type_index();
  if (TVM_FFI_PREDICT_FALSE(index != kTVMFFIInt && index != kTVMFFIBool)) {
    ThrowBadHookResult(name, result);
  }
  return AnyUnsafe::TVMFFIAnyPtrFromAny(result)->v_int64;
}

inline TVMFFIByteArray TextContent(const TVMFFIAny* value) {
  return value->type_index < kTVMFFIStaticObjectBegin ? TVMFFISmallBytesGetContentByteArray(value)
                                                      : *TVMFFIBytesGetByteArrayPtr(value->v_obj);
}

inline bool TextEqual(const TVMFFIAny* lhs, const TVMFFIAny* rhs) {
  TVMFFIByteArray l = TextContent(lhs);
  TVMFFIByteArray r = TextContent(rhs);
  return Bytes::memequal(l.data, r.data, l.size, r.size);
}

}  // namespace detail

// Hash function of values as map keys.  Strings, bytes and numbers are hashed by content.  Objects
// are hashed by the `__any_hash__` hook of their type, or by address if the type has no hook.
struct AnyHash {
  uint64_t operator()(const Any& src) const {
    return Combine(src, [&](const TVMFFIAny* hook) { return CallHook(hook, src); });
  }
  // Computes the hash of `src`.  If the type of `src` has an `__any_hash__` hook, call_hook(hook)
  // must call this hook, which may run arbitrary code.
  template <typename CallHookFunc>
  TVM_FFI_INLINE static uint64_t Combine(const Any& src, const CallHookFunc& call_hook) {
    const TVMFFIAny* value = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(src);
    int32_t index = value->type_index;
    switch (index) {
      case kTVMFFISmallStr:
        return detail::StableHashCombine(kTVMFFIStr, detail::StableHashSmallStrBytes(value));
      case kTVMFFISmallBytes:
        return detail::StableHashCombine(kTVMFFIBytes, detail::StableHashSmallStrBytes(value));
      case kTVMFFIStr:
      case kTVMFFIBytes: {
        const TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(value->v_obj);
        return detail::StableHashCombine(Key(index),
                                         detail::StableHashBytes(bytes->data, bytes->size));
      }
      default:
        break;
    }
    if (index >= kTVMFFIStaticObjectBegin) {
      if (const TVMFFIAny* hook = FindHook(index)) {
        return detail::StableHashCombine(Key(index), call_hook(hook));
      }
    }
    return detail::StableHashCombine(Key(index), value->v_uint64);
  }
  TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE static uint64_t CallHook(const TVMFFIAny* hook,
                                                             const Any& src) {
    if (hook->type_index == kTVMFFIOpaquePtr) {
      using FHash = TVMFFIAny (*)(const Any&);
      return static_cast<uint64_t>(detail::TakeHookResult(
          "__any_hash__",
          detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(reinterpret_cast<FHash>(hook->v_ptr)(src))));
    }
    if (hook->type_index != kTVMFFIFunction) detail::ThrowBadHook("__any_hash__");
    AnyView args[] = {src};
    return static_cast<uint64_t>(
        detail::TakeHookResult("__any_hash__", detail::CallHookFunction(hook->v_obj, args, 1)));
  }

 private:
  static uint64_t Key(int32_t index) { return static_cast<uint64_t>(index); }
  static const TVMFFIAny* FindHook(int32_t index) {
    static const TVMFFITypeAttrColumn* column;
    return detail::FindAttrIn(&column, "__any_hash__", index);
  }
};

// Equality of values as map keys: values that are equal have the same AnyHash.
struct AnyEqual {
  bool operator()(const Any& lhs, const Any& rhs) const {
    return Compare(lhs, rhs, [&](const TVMFFIAny* hook) { return CallHook(hook, lhs, rhs); });
  }
  // Returns true if two values are equal.  If their type has an `__any_equal__` hook,
  // call_hook(hook) must call this hook, which may run arbitrary code.
  template <typename CallHookFunc>
  TVM_FFI_INLINE static bool Compare(const Any& lhs, const Any& rhs,
                                     const CallHookFunc& call_hook) {
    const TVMFFIAny* l = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(lhs);
    const TVMFFIAny* r = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(rhs);
    if (std::memcmp(l, r, sizeof(TVMFFIAny)) == 0) return true;
    if (TextKind(l->type_index) != 0) {
      return TextKind(l->type_index) == TextKind(r->type_index) && detail::TextEqual(l, r);
    }
    if (l->type_index != r->type_index || l->type_index < kTVMFFIStaticObjectBegin) return false;
    const TVMFFIAny* hook = FindHook(l->type_index);
    return hook != nullptr && call_hook(hook);
  }
  TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE static bool CallHook(const TVMFFIAny* hook, const Any& lhs,
                                                         const Any& rhs) {
    if (hook->type_index == kTVMFFIOpaquePtr) {
      using FEqual = TVMFFIAny (*)(const Any&, const Any&);
      return detail::TakeHookResult("__any_equal__",
                                    detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(
                                        reinterpret_cast<FEqual>(hook->v_ptr)(lhs, rhs))) != 0;
    }
    if (hook->type_index != kTVMFFIFunction) detail::ThrowBadHook("__any_equal__");
    AnyView args[] = {lhs, rhs};
    return detail::TakeHookResult("__any_equal__",
                                  detail::CallHookFunction(hook->v_obj, args, 2)) != 0;
  }

 private:
  // Returns kTVMFFIStr for both type indices of strings, kTVMFFIBytes for both type indices of
  // bytes, and 0 for all other type indices.
  static int32_t TextKind(int32_t index) {
    if (index == kTVMFFISmallStr || index == kTVMFFIStr) return kTVMFFIStr;
    return index == kTVMFFISmallBytes || index == kTVMFFIBytes ? kTVMFFIBytes : 0;
  }
  static const TVMFFIAny* FindHook(int32_t index) {
    static const TVMFFITypeAttrColumn* column;
    return detail::FindAttrIn(&column, "__any_equal__", index);
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ANY_HASH_DETAIL_H_
