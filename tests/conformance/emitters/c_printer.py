# SPDX-License-Identifier: Apache-2.0
"""Wrap a C function by a wrapper in C that this package prints."""

import subprocess
from pathlib import Path

from tvm_ffi import codegen

SOURCE = """\
#include <stdint.h>
void scale(const float* x, float* y, int32_t n, float a) {
  for (int32_t i = 0; i < n; ++i) y[i] = a * x[i];
}
"""
Path("scale.c").write_text(SOURCE)
subprocess.run(["cc", "-shared", "-fPIC", "scale.c", "-o", "libscale.so"], check=True)
signature = "scale(x: float32*[n], y: out float32*[n], n: int32, a: float32 = 2.0)"
codegen.wrap_library("libscale.so", [signature], output="emitted.so")
