// SPDX-License-Identifier: Apache-2.0
// Everything in the C++ headers that depends on the operating system, its object-file format or the
// C++ library's exception handling.
#ifndef TVM_FFI_PLATFORM_DETAIL_H_
#define TVM_FFI_PLATFORM_DETAIL_H_

#include <cstddef>
#include <cstdlib>
#include <new>

#ifdef _WIN32
#include <malloc.h>
#endif
#ifdef __GLIBCXX__
#include <bits/cxxabi_forced.h>
#endif

// Attribute of helper functions that may differ between versions of these headers.  With hidden
// visibility, the loader does not share one copy of such a function between libraries that were
// built with different versions.  Windows never shares such copies.
#ifdef _WIN32
#define TVM_FFI_HIDDEN_
#else
#define TVM_FFI_HIDDEN_ __attribute__((visibility("hidden")))
#endif

namespace tvm {
namespace ffi {
namespace detail {

// The exception class of a thread that is cancelled or calls pthread_exit.  Code that catches a
// ForcedUnwinding must rethrow it.  With another C++ library than libstdc++, nothing throws this
// class, because the library does not name its own.
#ifdef __GLIBCXX__
using ForcedUnwinding = __cxxabiv1::__forced_unwind;
#else
class ForcedUnwinding {};
#endif

// Returns memory that AlignedFree frees; throws std::bad_alloc if the allocation fails.
inline void* AlignedAlloc(size_t size, size_t align) {
  void* memory = nullptr;
#ifdef _WIN32
  memory = _aligned_malloc(size, align);
#else
  if (align <= alignof(std::max_align_t)) {
    memory = std::malloc(size);
  } else if (posix_memalign(&memory, align, size) != 0) {
    memory = nullptr;
  }
#endif
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

inline void AlignedFree(void* memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_PLATFORM_DETAIL_H_
