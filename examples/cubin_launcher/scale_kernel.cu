// SPDX-License-Identifier: Apache-2.0
// The device code.  It is compiled by itself: any compiler that makes a cubin could have done it.
#include <cstdint>

// C linkage, so that the kernel is found by this name.
extern "C" __global__ void scale_f32(const float* x, float factor, float* y, int64_t size) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < size) y[i] = factor * x[i];
}
