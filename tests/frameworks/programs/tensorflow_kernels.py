# SPDX-License-Identifier: Apache-2.0
"""C++ kernels for the programs that use TensorFlow."""

from __future__ import annotations

import tvm_ffi.cpp

KERNELS = """
#include <cstring>
using tvm::ffi::TensorView;

void Scale(TensorView x, TensorView y, double factor) {
  const float* in = static_cast<const float*>(x.data_ptr());
  float* out = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = static_cast<float>(factor * in[i]);
}

void Concat(TensorView a, TensorView b, TensorView y) {
  std::memcpy(y.data_ptr(), a.data_ptr(), 4 * a.numel());
  std::memcpy(static_cast<float*>(y.data_ptr()) + a.numel(), b.data_ptr(), 4 * b.numel());
}

void Increment(TensorView x) {
  float* data = static_cast<float*>(x.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) data[i] += 1;
}

tvm::ffi::Tensor Same(tvm::ffi::Tensor x) { return x; }

void Fail(TensorView x, tvm::ffi::String kind, TensorView y) {
  throw tvm::ffi::Error(std::string(kind), "no such luck", "");
}
"""
SIGNATURES = {
    "Scale": "Scale(x: float32[n, m], y: out float32[n, m], factor: float = 2.0)",
    "Concat": "Concat(a: float32[n], b: float32[m], y: out float32[n + m])",
    "Increment": "Increment(x: inout float32[...])",
    "Same": "Same(x: float32[...]) -> float32[...]",
    "Fail": "Fail(x: float32[n], kind: str, y: out float32[n])",
}


module = tvm_ffi.cpp.load_inline("tensorflow_kernels", cpp_sources=KERNELS, functions=SIGNATURES)
