// SPDX-License-Identifier: Apache-2.0
// USDT probes: a `nop` and an ELF note (`.note.stapsdt`) that names its address, the provider
// "tvm_ffi", the probe and the registers of its arguments.  bpftrace, perf and SystemTap read the
// notes and replace a `nop` only while a probe is in use.  On other processors and object formats
// than ELF on x86-64 and AArch64, a probe is nothing.
#ifndef TVM_FFI_RUNTIME_PLATFORM_PROBE_H_
#define TVM_FFI_RUNTIME_PLATFORM_PROBE_H_

#include <cstdint>

namespace tvm::ffi::platform {

// An argument of a probe.
inline uint64_t ProbeWord(int64_t value) { return static_cast<uint64_t>(value); }
inline uint64_t ProbeWord(const void* value) { return reinterpret_cast<uintptr_t>(value); }

}  // namespace tvm::ffi::platform

#if defined(__ELF__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))

// The layout of the note: the sizes of the owner and of the description, the type 3, the owner
// "stapsdt", the description.  The description has the addresses of the `nop`, of the section
// .stapsdt.base and of a semaphore (none), and three strings.  A tool compares the second address
// with the section's to find the shift of a prelinked file.
#define TVM_FFI_PROBE_ASSEMBLY(name, arguments)                           \
  "990: nop\n"                                                            \
  ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
  ".balign 4\n"                                                           \
  ".4byte 992f-991f, 994f-993f, 3\n"                                      \
  "991: .asciz \"stapsdt\"\n"                                             \
  "992: .balign 4\n"                                                      \
  "993: .8byte 990b\n"                                                    \
  ".8byte _.stapsdt.base\n"                                               \
  ".8byte 0\n"                                                            \
  ".asciz \"tvm_ffi\"\n"                                                  \
  ".asciz \"" name                                                        \
  "\"\n"                                                                  \
  ".asciz \"" arguments                                                   \
  "\"\n"                                                                  \
  "994: .balign 4\n"                                                      \
  ".popsection\n"                                                         \
  ".ifndef _.stapsdt.base\n"                                              \
  ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n"                                                \
  ".hidden _.stapsdt.base\n"                                              \
  "_.stapsdt.base: .space 1\n"                                            \
  ".size _.stapsdt.base, 1\n"                                             \
  ".popsection\n"                                                         \
  ".endif\n"

// Each argument is in a register of 8 bytes.
#define TVM_FFI_PROBE2(name, a, b)                            \
  __asm__ volatile(TVM_FFI_PROBE_ASSEMBLY(name, "8@%0 8@%1")  \
                   :                                          \
                   : "r"(::tvm::ffi::platform::ProbeWord(a)), \
                     "r"(::tvm::ffi::platform::ProbeWord(b)))
#define TVM_FFI_PROBE4(name, a, b, c, d)                                                  \
  __asm__ volatile(                                                                       \
      TVM_FFI_PROBE_ASSEMBLY(name, "8@%0 8@%1 8@%2 8@%3")                                 \
      :                                                                                   \
      : "r"(::tvm::ffi::platform::ProbeWord(a)), "r"(::tvm::ffi::platform::ProbeWord(b)), \
        "r"(::tvm::ffi::platform::ProbeWord(c)), "r"(::tvm::ffi::platform::ProbeWord(d)))

#else

#define TVM_FFI_PROBE2(name, a, b) (static_cast<void>(a), static_cast<void>(b))
#define TVM_FFI_PROBE4(name, a, b, c, d) \
  (static_cast<void>(a), static_cast<void>(b), static_cast<void>(c), static_cast<void>(d))

#endif

#endif  // TVM_FFI_RUNTIME_PLATFORM_PROBE_H_
