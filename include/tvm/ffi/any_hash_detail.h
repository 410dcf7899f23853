// SPDX-License-Identifier: Apache-2.0
// Part of any.h: hash and equality of values as map keys.
//
// Maps that other libraries build store these hashes: every bit of a hash is contract.
#ifndef TVM_FFI_ANY_HASH_DETAIL_H_
#define TVM_FFI_ANY_HASH_DETAIL_H_

#include <tvm/ffi/any.h>

namespace tvm {
namespace ffi {
namespace detail {

// Returns the type's entry in an attribute column, or nullptr.  Other threads may register types
// concurrently.  Each acquire load makes the stores before the loaded one visible: the array before
// the size, the entries before a newer array, and the payload before the type index.
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

// Empty column that is cached if a column does not exist.
TVM_FFI_HIDDEN inline constexpr TVMFFITypeAttrColumn kNoAttrColumn{nullptr, 0, 0};

TVM_FFI_HIDDEN TVM_FFI_NO_INLINE inline const TVMFFITypeAttrColumn* RememberAttrColumn(
    const TVMFFITypeAttrColumn** cell, std::string_view name) {
  const TVMFFITypeAttrColumn* column = FindAttrColumn(name);
  if (column == nullptr) column = &kNoAttrColumn;
  __atomic_store_n(cell, column, __ATOMIC_RELEASE);
  return column;
}

// Returns the type's entry in the column with this name; *cell caches the column.  A cell is a
// static variable without a guard, because JIT linkers do not support guards.
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

// Calls a hook that is a Function object.
TVM_FFI_HIDDEN TVM_FFI_NO_INLINE inline Any CallHookFunction(TVMFFIObject* function,
                                                             const AnyView* args, int32_t count) {
  using FCppCall = void (*)(const void*, const AnyView*, int32_t, Any*);
  const TVMFFIFunctionCell* cell = TVMFFIFunctionGetCellPtr(function);
  Any result;
  if (cell->cpp_call != nullptr) {
    reinterpret_cast<FCppCall>(cell->cpp_call)(function, args, count, &result);
  } else {
    CheckSafeCall(cell->safe_call(function, reinterpret_cast<const TVMFFIAny*>(args), count,
                                  AnyUnsafe::TVMFFIAnyPtrFromAny(result)));
  }
  return result;
}

// Converts the result of a hook: an Int or Bool is returned, an Error is thrown.
inline int64_t TakeHookResult(const Any& result) {
  if (result.type_index() == kTVMFFIError)
    throw AnyUnsafe::CopyFromAnyViewAfterCheck<Error>(result);
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

// Hash function of values as map keys.  Strings, bytes and numbers are hashed by content, objects
// by the hook `__any_hash__` of their type, other objects by address.
struct AnyHash {
  uint64_t operator()(const Any& src) const {
    return Combine(src, [&](const TVMFFIAny* hook) { return CallHook(hook, src); });
  }
  // Computes the hash; call_hook(hook) calls the type's hook, which may run arbitrary code.
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
  TVM_FFI_HIDDEN TVM_FFI_NO_INLINE static uint64_t CallHook(const TVMFFIAny* hook, const Any& src) {
    if (hook->type_index == kTVMFFIOpaquePtr) {
      using FHash = TVMFFIAny (*)(const Any&);
      return static_cast<uint64_t>(detail::TakeHookResult(
          detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(reinterpret_cast<FHash>(hook->v_ptr)(src))));
    }
    if (hook->type_index != kTVMFFIFunction) detail::ThrowBadHook("__any_hash__");
    AnyView args[] = {src};
    return static_cast<uint64_t>(
        detail::TakeHookResult(detail::CallHookFunction(hook->v_obj, args, 1)));
  }

 private:
  static uint64_t Key(int32_t index) { return static_cast<uint64_t>(index); }
  static const TVMFFIAny* FindHook(int32_t index) {
    static const TVMFFITypeAttrColumn* column;
    return detail::FindAttrIn(&column, "__any_hash__", index);
  }
};

// Equality of values as map keys; consistent with AnyHash.
struct AnyEqual {
  bool operator()(const Any& lhs, const Any& rhs) const {
    return Compare(lhs, rhs, [&](const TVMFFIAny* hook) { return CallHook(hook, lhs, rhs); });
  }
  // Compares two values; call_hook(hook) calls the type's hook, which may run arbitrary code.
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
  TVM_FFI_HIDDEN TVM_FFI_NO_INLINE static bool CallHook(const TVMFFIAny* hook, const Any& lhs,
                                                        const Any& rhs) {
    if (hook->type_index == kTVMFFIOpaquePtr) {
      using FEqual = TVMFFIAny (*)(const Any&, const Any&);
      return detail::TakeHookResult(detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(
                 reinterpret_cast<FEqual>(hook->v_ptr)(lhs, rhs))) != 0;
    }
    if (hook->type_index != kTVMFFIFunction) detail::ThrowBadHook("__any_equal__");
    AnyView args[] = {lhs, rhs};
    return detail::TakeHookResult(detail::CallHookFunction(hook->v_obj, args, 2)) != 0;
  }

 private:
  // Returns kTVMFFIStr for strings, kTVMFFIBytes for bytes, and 0 for other type indices.
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
