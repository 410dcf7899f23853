# SPDX-License-Identifier: Apache-2.0
"""A program frozen by PyInstaller: the hook of the package adds what the analysis does not find."""

import subprocess
import sys
from pathlib import Path

from tvm_ffi import libinfo

KERNEL = """
#include <tvm/ffi/c_api.h>
TVM_FFI_DLL_EXPORT int __tvm_ffi_first(
    void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* out) {
  const DLTensor* x = args[0].type_index == kTVMFFITensor
      ? TVMFFITensorGetDLTensorPtr(args[0].v_obj) : (const DLTensor*)args[0].v_ptr;
  (void)self, (void)n;
  out->type_index = kTVMFFIFloat, out->zero_padding = 0;
  out->v_float64 = *(const double*)x->data;
  return 0;
}
"""
PROGRAM = """
import sys
import numpy
import tvm_ffi
print(tvm_ffi.load_module(sys.argv[1]).first(numpy.array([2.5])), tvm_ffi.Array([1, 2]))
print(sys.frozen, any(name == "torch" or name == "pytest" for name in sys.modules))
"""

Path("kernel.c").write_text(KERNEL, encoding="utf-8")
Path("program.py").write_text(PROGRAM, encoding="utf-8")
include = [f"-I{path}" for path in libinfo.include_paths()]
subprocess.run(["cc", "-fPIC", "-shared", "kernel.c", *include, "-o", "kernel.so"], check=True)
options = ["--noconfirm", "--log-level", "ERROR"]
subprocess.run([sys.executable, "-m", "PyInstaller", *options, "program.py"], check=True)
command = ["dist/program/program", "./kernel.so"]
printed = subprocess.run(command, check=True, env={}, stdout=subprocess.PIPE, text=True).stdout
assert printed == "2.5 (1, 2)\nTrue False\n", printed
print("done")
