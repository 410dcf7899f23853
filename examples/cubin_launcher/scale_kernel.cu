// SPDX-License-Identifier: Apache-2.0
// Device code of scale.cc.  It is compiled separately, by any compiler that generates cubins.
#include <cstdint>

// With C linkage, the kernel's symbol is scale_f32; the C++ compiler would mangle the name.
extern "C" __global__ void scale_f32(const float* x, float factor, float* y, int64_t size) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < size) y[i] = factor * x[i];
}
