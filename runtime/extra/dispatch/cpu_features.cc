// SPDX-License-Identifier: Apache-2.0
#include "dispatch/cpu_features.h"

namespace tvm::ffi::extra::dispatch {

Array<String> CpuFeatures() {
  Array<String> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The compiler requires a literal as the name of a feature.  ORDER cpu-features.
#define TVM_FFI_CPU_FEATURE_(name) \
  if (__builtin_cpu_supports(name)) found.push_back(name);
  found.push_back("x86-64");
  TVM_FFI_CPU_FEATURE_("ssse3")
  TVM_FFI_CPU_FEATURE_("sse4.1")
  TVM_FFI_CPU_FEATURE_("sse4.2")
  TVM_FFI_CPU_FEATURE_("popcnt")
  TVM_FFI_CPU_FEATURE_("avx")
  TVM_FFI_CPU_FEATURE_("avx2")
  TVM_FFI_CPU_FEATURE_("bmi")
  TVM_FFI_CPU_FEATURE_("bmi2")
  TVM_FFI_CPU_FEATURE_("fma")
  TVM_FFI_CPU_FEATURE_("avx512f")
  TVM_FFI_CPU_FEATURE_("avx512bw")
  TVM_FFI_CPU_FEATURE_("avx512cd")
  TVM_FFI_CPU_FEATURE_("avx512dq")
  TVM_FFI_CPU_FEATURE_("avx512vl")
  TVM_FFI_CPU_FEATURE_("avx512vnni")
#undef TVM_FFI_CPU_FEATURE_
#endif
  return found;
}

}  // namespace tvm::ffi::extra::dispatch
