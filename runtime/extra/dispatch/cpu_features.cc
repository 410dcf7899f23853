// SPDX-License-Identifier: Apache-2.0
#include "dispatch/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tvm::ffi::extra::dispatch {

#if defined(__x86_64__)

namespace {

enum CpuidRegister { kEbx, kEcx };

// Bits of the register XCR0: the registers that the system saves when it changes threads.
constexpr uint32_t kAvxState = 0x06, kAvx512State = 0xe6;

struct Feature {
  const char* name;
  uint32_t leaf;  // of the instruction CPUID
  CpuidRegister word;
  int bit;
  uint32_t state;  // bits of XCR0 without which the feature is not usable
};

// ORDER cpu-features.
constexpr Feature kFeatures[] = {
    {"ssse3", 1, kEcx, 9, 0},
    {"sse4.1", 1, kEcx, 19, 0},
    {"sse4.2", 1, kEcx, 20, 0},
    {"popcnt", 1, kEcx, 23, 0},
    {"avx", 1, kEcx, 28, kAvxState},
    {"avx2", 7, kEbx, 5, kAvxState},
    {"bmi", 7, kEbx, 3, 0},
    {"bmi2", 7, kEbx, 8, 0},
    {"fma", 1, kEcx, 12, kAvxState},
    {"avx512f", 7, kEbx, 16, kAvx512State},
    {"avx512bw", 7, kEbx, 30, kAvx512State},
    {"avx512cd", 7, kEbx, 28, kAvx512State},
    {"avx512dq", 7, kEbx, 17, kAvx512State},
    {"avx512vl", 7, kEbx, 31, kAvx512State},
    {"avx512vnni", 7, kEcx, 11, kAvx512State},
};

struct CpuidResult {
  uint32_t eax = 0, words[2] = {0, 0}, edx = 0;  // words: EBX and ECX
};

// Returns zeros for a leaf that the processor does not have.
CpuidResult Cpuid(uint32_t leaf) {
  CpuidResult result;
  __get_cpuid_count(leaf, 0, &result.eax, &result.words[kEbx], &result.words[kEcx], &result.edx);
  return result;
}

// Returns the low half of XCR0; 0 if the system does not use that register.
uint32_t SavedState() {
  constexpr uint32_t kUsesXsave = uint32_t{1} << 27;
  if ((Cpuid(1).words[kEcx] & kUsesXsave) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace

// Asks the processor, because `__builtin_cpu_supports` needs a library of the compiler that not
// every toolchain has.
Array<String> CpuFeatures() {
  Array<String> found{"x86-64"};
  const uint32_t state = SavedState();
  for (const Feature& feature : kFeatures) {
    bool has_bit = (Cpuid(feature.leaf).words[feature.word] >> feature.bit & 1) != 0;
    if (has_bit && (state & feature.state) == feature.state) found.push_back(feature.name);
  }
  return found;
}

#else

Array<String> CpuFeatures() { return {}; }

#endif

}  // namespace tvm::ffi::extra::dispatch
