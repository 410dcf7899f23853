// SPDX-License-Identifier: Apache-2.0
// Key hooks: functions for the attribute columns `__any_hash__` and `__any_equal__`.
//
// Clients call a pointer in these columns from inlined code, with the calling convention of the
// headers they were compiled with.  Headers up to 0.1.14 declare `int64_t hash(const Any&)` and
// `bool equal(const Any&, const Any&)`; in later headers both return a TVMFFIAny.  A client that
// calls a pointer with the wrong convention reads the type index as the hash, or the hash as the
// type index.  All clients call a Function in the column in the same way, so the column stores one.
//
// The function calls the pointer and determines the convention from the result.  On processors that
// return 16 bytes in two registers, the first register has the result of the earlier convention, or
// the type index and 32 zero bits of the later convention:
//
//   hook    later convention    earlier convention
//   equal   Bool or Error       the low byte is 0 or 1, which are not the indices of Bool and Error
//   hash    Int or Error        any number; ambiguous if it is the index of Int or Error, 1 or 67
//
// If a hash is ambiguous, the type's equality hook, called with the same object, decides.
#include "key_hooks.h"

#include <atomic>

#include "error.h"
#include "function.h"

namespace tvm::ffi::runtime {
namespace {

constexpr std::string_view kHashColumn = "__any_hash__";
constexpr std::string_view kEqualColumn = "__any_equal__";

// The two registers in which a hook returns its result.  A result of 8 bytes is in the first
// register.
struct RawResult {
  uint64_t first;
  uint64_t second;
};
static_assert(sizeof(RawResult) == sizeof(TVMFFIAny), "both are returned in the same registers");

#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__aarch64__) || \
    (defined(__riscv) && __riscv_xlen == 64)
constexpr bool kReturnsInRegisters = true;
#else
constexpr bool kReturnsInRegisters = false;  // on other processors, hooks stay function pointers
#endif

enum class Convention { kUnknown, kEarlier, kLater };

struct KeyHook : FunctionObject {
  void* native = nullptr;  // the function pointer that was registered
  // The calling convention of a hash hook; kUnknown until a call has determined the convention.
  // Equality hooks do not use this field.
  std::atomic<Convention> convention{Convention::kUnknown};
};

// Returns true if the first register contains `type_index`.  This is the case after a call of a
// hook with the later convention, which returns a TVMFFIAny, if the TVMFFIAny has this type.
bool HasTypeIndex(const RawResult& raw, int32_t type_index) {
  return raw.first == static_cast<uint64_t>(type_index);
}

// Returns the error that a hook returned as an owned TVMFFIAny.  The caller must ensure that the
// hook returns its result as a TVMFFIAny (the later calling convention).
Value AdoptError(const RawResult& raw) {
  TVMFFIAny error = NoneAny();
  error.type_index = kTVMFFIError;
  error.v_uint64 = raw.second;
  return Value::Adopt(error);
}

[[noreturn]] void RaiseHookError(const RawResult& raw) {
  TVMFFIErrorSetRaised(AdoptError(raw).raw().v_obj);
  RaisePending(-1);
}

// Disables the function sanitizer of Clang, which would report the calls below: they call hooks
// through a function type that differs from the declared type of the hook.
#ifdef __clang__
#define CALLS_EITHER_CONVENTION __attribute__((no_sanitize("function")))
#else
#define CALLS_EITHER_CONVENTION
#endif

CALLS_EITHER_CONVENTION RawResult CallNativeEqual(const KeyHook* hook, const TVMFFIAny* lhs,
                                                  const TVMFFIAny* rhs) {
  using Equal = RawResult (*)(const TVMFFIAny*, const TVMFFIAny*);
  return reinterpret_cast<Equal>(hook->native)(lhs, rhs);
}

CALLS_EITHER_CONVENTION RawResult CallNativeHash(const KeyHook* hook, const TVMFFIAny* key) {
  using Hash = RawResult (*)(const TVMFFIAny*);
  return reinterpret_cast<Hash>(hook->native)(key);
}

int CallEqual(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return GuardBoundary([&] {
    if (num_args != 2) Raise("TypeError", "__any_equal__ takes 2 arguments, got ", num_args);
    RawResult raw = CallNativeEqual(static_cast<KeyHook*>(static_cast<TVMFFIObject*>(function)),
                                    args, args + 1);
    if (HasTypeIndex(raw, kTVMFFIError)) RaiseHookError(raw);
    bool is_later = HasTypeIndex(raw, kTVMFFIBool);
    *result = IntAny(is_later ? raw.second != 0 : (raw.first & 0xff) != 0);
    result->type_index = kTVMFFIBool;
  });
}

// Returns the equality hook of the type if the hook was registered as a function pointer, else
// null.
const KeyHook* EqualHookOf(int32_t type_index) {
  TVMFFIByteArray name{kEqualColumn.data(), kEqualColumn.size()};
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  int32_t size = column == nullptr ? 0 : __atomic_load_n(&column->size, __ATOMIC_ACQUIRE);
  if (type_index >= size) return nullptr;
  const TVMFFIAny* value = __atomic_load_n(&column->data, __ATOMIC_ACQUIRE) + type_index;
  if (__atomic_load_n(&value->type_index, __ATOMIC_ACQUIRE) != kTVMFFIFunction) return nullptr;
  auto* function = static_cast<FunctionObject*>(value->v_obj);
  // The deleter identifies hooks that AttrToStore has created; an observer replaces safe_call.
  bool is_key_hook = function->deleter == detail::DeleterOf<KeyHook>();
  return is_key_hook ? static_cast<KeyHook*>(function) : nullptr;
}

// Returns true if the hash hook has the later calling convention (it returns a TVMFFIAny).  The
// caller cannot determine the convention from the result alone.
bool IsLater(KeyHook* hook, const TVMFFIAny* key) {
  Convention convention = hook->convention.load(std::memory_order_relaxed);
  if (convention != Convention::kUnknown) return convention == Convention::kLater;
  const KeyHook* equal = EqualHookOf(key->type_index);
  if (equal == nullptr) return true;  // a guess, which is not stored in the hook
  RawResult raw = CallNativeEqual(equal, key, key);
  bool has_failed = HasTypeIndex(raw, kTVMFFIError);
  if (has_failed) Value released = AdoptError(raw);
  bool is_later = has_failed || HasTypeIndex(raw, kTVMFFIBool);
  hook->convention.store(is_later ? Convention::kLater : Convention::kEarlier,
                         std::memory_order_relaxed);
  return is_later;
}

int CallHash(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return GuardBoundary([&] {
    if (num_args != 1) Raise("TypeError", "__any_hash__ takes 1 argument, got ", num_args);
    auto* hook = static_cast<KeyHook*>(static_cast<TVMFFIObject*>(function));
    RawResult raw = CallNativeHash(hook, args);
    bool is_ambiguous = HasTypeIndex(raw, kTVMFFIInt) || HasTypeIndex(raw, kTVMFFIError);
    if (!is_ambiguous && hook->convention.load(std::memory_order_relaxed) != Convention::kEarlier) {
      hook->convention.store(Convention::kEarlier, std::memory_order_relaxed);
    }
    bool is_later = is_ambiguous && IsLater(hook, args);
    if (is_later && HasTypeIndex(raw, kTVMFFIError)) RaiseHookError(raw);
    *result = IntAny(static_cast<int64_t>(is_later ? raw.second : raw.first));
  });
}

}  // namespace

Value AttrToStore(std::string_view name, const TVMFFIAny& value) {
  bool is_hash = name == kHashColumn;
  bool is_pointer = value.type_index == kTVMFFIOpaquePtr && value.v_ptr != nullptr;
  if (!kReturnsInRegisters || !is_pointer || !(is_hash || name == kEqualColumn)) {
    return Value::FromView(value);
  }
  Ref<KeyHook> hook = NewObject<KeyHook>(kTVMFFIFunction, 0);
  hook->safe_call = is_hash ? &CallHash : &CallEqual;
  hook->cpp_call = nullptr;
  hook->native = value.v_ptr;
  return Value::FromObject(std::move(hook));
}

}  // namespace tvm::ffi::runtime
