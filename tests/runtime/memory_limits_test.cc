// SPDX-License-Identifier: Apache-2.0
// Sizes that exceed all memory, and memory that must not grow with use.
#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <cstring>
#include <thread>

#include "raised.h"
#include "values.h"

namespace {

// The content is never read, because a string of this size cannot be copied.
TVMFFIByteArray BytesOfSize(size_t size) {
  TVMFFIByteArray bytes;
  bytes.data = "x";
  bytes.size = size;
  return bytes;
}

}  // namespace

// Regression: the size of the memory block overflowed, and the content was copied past the end of
// the block.
TEST_CASE("a string of an impossible size is rejected") {
  for (size_t below : {0, 1, 16, 17, 24, 40, 41, 64}) {
    TVMFFIByteArray bytes = BytesOfSize(SIZE_MAX - below);
    TVMFFIAny out = GarbageAny();
    CHECK_RAISES(TVMFFIStringFromByteArray(&bytes, &out), "MemoryError", "out of memory");
    CHECK_RAISES(TVMFFIBytesFromByteArray(&bytes, &out), "MemoryError", "out of memory");
    TVMFFIAny view = Pointer(kTVMFFIByteArrayPtr, &bytes);
    CHECK_RAISES(TVMFFIAnyViewToOwnedAny(&view, &out), "MemoryError", "out of memory");
    CHECK_EQ(out.type_index, GarbageAny().type_index);
  }
}

#if defined(__x86_64__) && defined(__GLIBC__)
#define HAS_MALLINFO2 __GLIBC_PREREQ(2, 33)
#else
#define HAS_MALLINFO2 0
#endif
#if HAS_MALLINFO2

namespace {

// Machine code `sub rsp, 8; call rdi; add rsp, 8; ret`, as a JIT compiler might emit it.
constexpr unsigned char kStub[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                   0x48, 0x83, 0xc4, 0x08, 0xc3, 0xcc};

void TakeBacktrace() { TVMFFIBacktrace(nullptr, 0, nullptr, 0); }

size_t AllocatedBytes() {
  struct mallinfo2 usage = mallinfo2();
  return usage.uordblks + usage.hblkhd;
}

}  // namespace

// Regression: each code address of a backtrace stayed in a cache forever.
TEST_CASE("backtraces of new code use bounded memory") {
  constexpr size_t kCount = 100000;
  constexpr size_t kSize = kCount * sizeof(kStub);
  void* code = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  auto* stubs = static_cast<unsigned char*>(code);
  for (size_t i = 0; i < kCount; ++i) std::memcpy(stubs + i * sizeof(kStub), kStub, sizeof(kStub));
  CHECK_EQ(mprotect(code, kSize, PROT_READ | PROT_EXEC), 0);
  using Stub = void (*)(void (*)());
  TakeBacktrace();
  size_t before = AllocatedBytes();
  for (size_t i = 0; i < kCount; ++i) {
    reinterpret_cast<Stub>(stubs + i * sizeof(kStub))(&TakeBacktrace);
  }
  CHECK(AllocatedBytes() < before + (size_t{2} << 20));
  munmap(code, kSize);
}

#endif
