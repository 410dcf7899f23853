// SPDX-License-Identifier: Apache-2.0
// Compiler attributes, load-time initialization blocks and the stable hash.  All C++ headers of
// tvm/ffi include this header.
//
// The code that runs after a failed check is in cold functions that are not inlined
// (TVM_FFI_FAILURE_), so that the checks and argument conversions of a kernel expand to few
// instructions.
#ifndef TVM_FFI_BASE_DETAIL_H_
#define TVM_FFI_BASE_DETAIL_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/endian.h>
#include <tvm/ffi/platform_detail.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>

#ifdef _MSC_VER
#define TVM_FFI_INLINE [[msvc::forceinline]] inline
#define TVM_FFI_NO_INLINE [[msvc::noinline]]
#define TVM_FFI_COLD_CODE
#define TVM_FFI_PRINTF_(format, arguments)
#define TVM_FFI_UNREACHABLE() __assume(false)
#define TVM_FFI_PREDICT_TRUE(cond) (cond)
#define TVM_FFI_PREDICT_FALSE(cond) (cond)
#define TVM_FFI_UNSAFE_ASSUME(cond) __assume(cond)
#define TVM_FFI_FUNC_SIG __FUNCSIG__
#else
// Function attributes: TVM_FFI_INLINE functions are always inlined, TVM_FFI_NO_INLINE functions
// never; TVM_FFI_COLD_CODE functions are placed away from hot code.
#define TVM_FFI_INLINE inline __attribute__((always_inline))
#define TVM_FFI_NO_INLINE __attribute__((noinline))
#define TVM_FFI_COLD_CODE __attribute__((cold))
// Attribute of functions with a printf format.  The macro arguments are the positions, counted from
// 1, of the format parameter and of the first formatted argument.  The format has the conversions
// of GNU, such as %zu, on all systems; only GCC for Windows calls them by another name.
#if defined(__MINGW32__) && !defined(__clang__)
#define TVM_FFI_PRINTF_(format_at, arguments_at) \
  __attribute__((format(gnu_printf, format_at, arguments_at)))
#else
#define TVM_FFI_PRINTF_(format_at, arguments_at) \
  __attribute__((format(printf, format_at, arguments_at)))
#endif
// Compiler hints: code that is never reached, and conditions that are likely true, likely false or
// always true.  TVM_FFI_FUNC_SIG is the name of the enclosing function with its types.
#define TVM_FFI_UNREACHABLE() __builtin_unreachable()
#define TVM_FFI_PREDICT_TRUE(cond) __builtin_expect(static_cast<bool>(cond), 1)
#define TVM_FFI_PREDICT_FALSE(cond) __builtin_expect(static_cast<bool>(cond), 0)
#define TVM_FFI_UNSAFE_ASSUME(cond)       \
  do {                                    \
    if (!(cond)) __builtin_unreachable(); \
  } while (false)
#define TVM_FFI_FUNC_SIG __PRETTY_FUNCTION__
#endif

// Defined in builds with ThreadSanitizer.  ThreadSanitizer does not understand memory fences, so an
// atomic load replaces each fence.
#ifdef __SANITIZE_THREAD__
#define TVM_FFI_THREAD_SANITIZER_
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TVM_FFI_THREAD_SANITIZER_
#endif
#endif

// Function attributes that disable checks of UndefinedBehaviorSanitizer.  TVM_FFI_NO_NULL_CHECK_
// disables the check for null references, TVM_FFI_NO_CLASS_CHECK_ disables the check of the dynamic
// type of an object.  Functions need it if they access an object after its destructor has run.
#ifdef _MSC_VER
#define TVM_FFI_NO_NULL_CHECK_
#define TVM_FFI_NO_CLASS_CHECK_
#else
#define TVM_FFI_NO_NULL_CHECK_ __attribute__((no_sanitize("null")))
#define TVM_FFI_NO_CLASS_CHECK_ __attribute__((no_sanitize("vptr")))
#endif

// Attributes of a function on a failure path: never inlined, placed away from hot code, private to
// the library.
#define TVM_FFI_FAILURE_ TVM_FFI_HIDDEN_ TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE

#define TVM_FFI_STR_CONCAT_(a, b) a##b
// Joins two identifiers, each of which may be a macro.
#define TVM_FFI_STR_CONCAT(a, b) TVM_FFI_STR_CONCAT_(a, b)
#define TVM_FFI_QUOTED__(text) #text
#define TVM_FFI_QUOTED_(macro) TVM_FFI_QUOTED__(macro)

// Attribute of a function that runs when the library is loaded, possibly before the dynamic
// initializers of the file.
#define TVM_FFI_RUN_AT_LOAD_ __attribute__((constructor))

// Begins the definition of function `Name`, which runs when the library is loaded; a block in
// braces follows.
#ifdef _MSC_VER
#define TVM_FFI_STATIC_INIT_BLOCK_(Name)                                          \
  static void Name();                                                             \
  [[maybe_unused]] static const int TVM_FFI_STR_CONCAT(Name, Done) = (Name(), 0); \
  static void Name()
#else
#define TVM_FFI_STATIC_INIT_BLOCK_(Name)   \
  TVM_FFI_RUN_AT_LOAD_ static void Name(); \
  static void Name()
#endif
// TVM_FFI_STATIC_INIT_BLOCK() { ... } runs when the library is loaded, possibly before the dynamic
// initializers of the file.  A file may contain several blocks.
#define TVM_FFI_STATIC_INIT_BLOCK() \
  TVM_FFI_STATIC_INIT_BLOCK_(TVM_FFI_STR_CONCAT(TVMFFIStaticInitBlock, __COUNTER__))

// Declares the default copy and move operations in the body of a class.
#define TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName) \
  TypeName(const TypeName& other) = default;                  \
  TypeName(TypeName&& other) noexcept = default;              \
  TypeName& operator=(const TypeName& other) = default;       \
  TypeName& operator=(TypeName&& other) noexcept = default

// TVM_FFI_LOG_EXCEPTION_CALL_BEGIN() and TVM_FFI_LOG_EXCEPTION_CALL_END(Name) enclose code that has
// no caller to catch its exceptions, such as load-time blocks.  A std::exception is printed to
// stderr and ends the process.
#define TVM_FFI_LOG_EXCEPTION_CALL_BEGIN() \
  try {                                    \
  (void)0
#define TVM_FFI_LOG_EXCEPTION_CALL_END(Name)                            \
  }                                                                     \
  catch (const ::std::exception& err) {                                 \
    ::std::fprintf(stderr, "Exception in " #Name ": %s\n", err.what()); \
    ::std::exit(-1);                                                    \
  }

// On platforms with 32-bit pointers, clears the payload before a pointer is stored, because values
// are compared as 16 bytes and the pointer does not set all 8 bytes of the payload.
#define TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(anyptr) \
  do {                                               \
    if (sizeof(void*) < 8) (anyptr)->v_int64 = 0;    \
  } while (false)

namespace tvm {
namespace ffi {
namespace detail {

// A vector type of 16 bytes.  Compilers keep it in one vector register if the CPU has vector
// registers.
typedef uint64_t Block16 __attribute__((vector_size(16)));

// Calls f(index, argument) for each argument in order; the first index is 0.
template <typename F, typename... Args>
void for_each(const F& f, Args&&... args) {
  [[maybe_unused]] size_t i = 0;
  (f(i++, std::forward<Args>(args)), ...);
}

template <typename T>
uint64_t StableHashCombine(uint64_t key, const T& value) {
  return key ^ (static_cast<uint64_t>(value) + 0x9e3779b9 + (key << 6) + (key >> 2));
}

// Returns the stable hash of `size` bytes.  Files and the maps of separately compiled libraries
// store such hashes, so the result must never change.
inline uint64_t StableHashBytes(const void* data, size_t size) {
  constexpr uint64_t kMultiplier = 1099511628211ULL;
  constexpr uint64_t kModulus = 2147483647ULL;
  const char* bytes = static_cast<const char*>(data);
  uint64_t hash = 0;
  while (size > 0) {
    uint64_t word = 0;
    size_t count = size < 8 ? size : 8;
    std::memcpy(&word, bytes, count);
    if (!TVM_FFI_LITTLE_ENDIAN) ByteSwap(&word, sizeof(word), 1);
    hash = (hash * kMultiplier + word) % kModulus;
    bytes += count;
    size -= count;
  }
  return hash;
}

// Same as StableHashBytes for the content of a SmallStr or SmallBytes.  The whole payload is hashed
// as one 8-byte word, because its unused bytes are 0.
inline uint64_t StableHashSmallStrBytes(const TVMFFIAny* value) {
  uint64_t word = value->v_uint64;
  if (!TVM_FFI_LITTLE_ENDIAN) ByteSwap(&word, sizeof(word), 1);
  return word % 2147483647ULL;
}

// TypeSchemaImpl<T>::v() returns the JSON schema of T; defined in function_detail.h.
template <typename T>
struct TypeSchemaImpl;

template <typename T>
using TypeSchema = TypeSchemaImpl<std::remove_const_t<std::remove_reference_t<T>>>;

}  // namespace detail

// Former name of namespace `detail`, for source code written for earlier releases.
namespace details = detail;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_BASE_DETAIL_H_
