// SPDX-License-Identifier: Apache-2.0
// Clients call a pointer in these columns from inlined code, by the convention they were compiled
// for.  Headers up to 0.1.14 have `int64_t hash(const Any&)` and `bool equal(const Any&, const
// Any&)`; later ones have both return a TVMFFIAny.  So whoever meets the other convention misreads
// it: the type index for a hash, or a hash for a type index.  A Function in the column is called
// alike by all of them.
//
// Which convention a pointer has, its answers tell.  Where 16 bytes come back in two registers, an
// answer of the earlier convention is in the first of them, and that is where the later one has
// the type index and 32 zero bits:
//
//   equal    later: Bool or Error.    earlier: its low byte is 0 or 1, which is neither of them.
//   hash     later: Int or Error.     earlier: any number, so the two look alike when it is 1
//   or 67.
//
// A hash that looks alike is settled by the type's equality, asked about the same object.
#include "key_hooks.h"

#include <atomic>

#include "error.h"
#include "function.h"

namespace tvm::ffi::runtime {
namespace {

constexpr std::string_view kHashColumn = "__any_hash__";
constexpr std::string_view kEqualColumn = "__any_equal__";

// Both conventions at once: an answer of 8 bytes is the first of two registers.
struct Answer {
  uint64_t first;
  uint64_t second;
};
static_assert(sizeof(Answer) == sizeof(TVMFFIAny), "returned in the same registers");

#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__aarch64__)
constexpr bool kReturnsInRegisters = true;
#else
constexpr bool kReturnsInRegisters = false;  // pointers are left as they are
#endif

enum class Convention { kUnknown, kEarlier, kLater };

struct KeyHook : FunctionObject {
  void* native = nullptr;
  // By which it has been seen to answer.  Only a hash has to remember.
  std::atomic<Convention> convention{Convention::kUnknown};
};

bool LooksLike(const Answer& answer, int32_t type_index) {
  return answer.first == static_cast<uint64_t>(type_index);
}

// The error that a hook of the later convention answered with; the answer owned it.
Value AdoptError(const Answer& answer) {
  TVMFFIAny error = NoneAny();
  error.type_index = kTVMFFIError;
  error.v_uint64 = answer.second;
  return Value::Adopt(error);
}

[[noreturn]] void RaiseAnswer(const Answer& answer) {
  TVMFFIErrorSetRaised(AdoptError(answer).raw().v_obj);
  RaisePending(-1);
}

// The pointers are called by a type that is none of the two they may have; Clang compares.
#ifdef __clang__
#define CALLS_EITHER_CONVENTION __attribute__((no_sanitize("function")))
#else
#define CALLS_EITHER_CONVENTION
#endif

CALLS_EITHER_CONVENTION Answer AskEqual(const KeyHook* hook, const TVMFFIAny* lhs,
                                        const TVMFFIAny* rhs) {
  using Equal = Answer (*)(const TVMFFIAny*, const TVMFFIAny*);
  return reinterpret_cast<Equal>(hook->native)(lhs, rhs);
}

CALLS_EITHER_CONVENTION Answer AskHash(const KeyHook* hook, const TVMFFIAny* key) {
  using Hash = Answer (*)(const TVMFFIAny*);
  return reinterpret_cast<Hash>(hook->native)(key);
}

int CallEqual(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return GuardBoundary([&] {
    if (num_args != 2) Raise("TypeError", "__any_equal__ takes 2 arguments, got ", num_args);
    Answer answer =
        AskEqual(static_cast<KeyHook*>(static_cast<TVMFFIObject*>(function)), args, args + 1);
    if (LooksLike(answer, kTVMFFIError)) RaiseAnswer(answer);
    bool is_later = LooksLike(answer, kTVMFFIBool);
    *result = IntAny(is_later ? answer.second != 0 : (answer.first & 0xff) != 0);
    result->type_index = kTVMFFIBool;
  });
}

// The type's equality, when it came as a pointer.
const KeyHook* EqualHookOf(int32_t type_index) {
  TVMFFIByteArray name{kEqualColumn.data(), kEqualColumn.size()};
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  int32_t size = column == nullptr ? 0 : __atomic_load_n(&column->size, __ATOMIC_ACQUIRE);
  if (type_index >= size) return nullptr;
  const TVMFFIAny* value = __atomic_load_n(&column->data, __ATOMIC_ACQUIRE) + type_index;
  if (__atomic_load_n(&value->type_index, __ATOMIC_ACQUIRE) != kTVMFFIFunction) return nullptr;
  auto* function = static_cast<FunctionObject*>(value->v_obj);
  return function->safe_call == &CallEqual ? static_cast<KeyHook*>(function) : nullptr;
}

// Whether a hash that looks like an answer of the later convention is one.
bool IsLater(KeyHook* hook, const TVMFFIAny* key) {
  Convention seen = hook->convention.load(std::memory_order_relaxed);
  if (seen != Convention::kUnknown) return seen == Convention::kLater;
  const KeyHook* equal = EqualHookOf(key->type_index);
  if (equal == nullptr) return true;  // most likely; not remembered, for it is a guess
  Answer answer = AskEqual(equal, key, key);
  bool has_failed = LooksLike(answer, kTVMFFIError);
  if (has_failed) Value dropped = AdoptError(answer);
  bool is_later = has_failed || LooksLike(answer, kTVMFFIBool);
  hook->convention.store(is_later ? Convention::kLater : Convention::kEarlier,
                         std::memory_order_relaxed);
  return is_later;
}

int CallHash(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return GuardBoundary([&] {
    if (num_args != 1) Raise("TypeError", "__any_hash__ takes 1 argument, got ", num_args);
    auto* hook = static_cast<KeyHook*>(static_cast<TVMFFIObject*>(function));
    Answer answer = AskHash(hook, args);
    bool is_ambiguous = LooksLike(answer, kTVMFFIInt) || LooksLike(answer, kTVMFFIError);
    if (!is_ambiguous && hook->convention.load(std::memory_order_relaxed) != Convention::kEarlier) {
      hook->convention.store(Convention::kEarlier, std::memory_order_relaxed);
    }
    bool is_later = is_ambiguous && IsLater(hook, args);
    if (is_later && LooksLike(answer, kTVMFFIError)) RaiseAnswer(answer);
    *result = IntAny(static_cast<int64_t>(is_later ? answer.second : answer.first));
  });
}

}  // namespace

Value StoredAttr(std::string_view name, const TVMFFIAny& value) {
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
