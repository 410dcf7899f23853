# SPDX-License-Identifier: Apache-2.0
"""Compile C++ to an object file, link it into this process, and call its functions."""

import subprocess
from pathlib import Path

import tvm_ffi_orcjit

import tvm_ffi

SOURCE = """
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>

using namespace tvm::ffi;

Map<String, Array<int64_t>> count_up(const String& name, int64_t end) {
  Array<int64_t> numbers;
  for (int64_t i = 0; i < end; ++i) numbers.push_back(i);
  return {{name, numbers}, {"a longer name that is on the heap", {}}};
}

String caught(int64_t number) {
  try {
    if (number < 0) TVM_FFI_THROW(ValueError) << "negative: " << number;
  } catch (const Error& error) {
    return error.kind();
  }
  return "none";
}

void refuse() { TVM_FFI_THROW(IndexError) << "out of reach"; }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(count_up, count_up);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(caught, caught);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(refuse, refuse);
"""

Path("functions.cc").write_text(SOURCE)
includes = {tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path()}
flags = ["-std=c++17", "-O2", "-fPIC", *(f"-I{folder}" for folder in includes)]
subprocess.run(["g++", *flags, "-c", "functions.cc", "-o", "functions.o"], check=True)

module = tvm_ffi_orcjit.default_session().load_module("functions.o")
for _ in range(100):
    made = module.count_up("numbers", 40)
    assert list(made["numbers"]) == list(range(40)), made
    assert len(made["a longer name that is on the heap"]) == 0
assert (module.caught(-1), module.caught(1)) == ("ValueError", "none")
try:
    module.refuse()
except IndexError as error:
    assert str(error) == "out of reach", error
else:
    raise AssertionError("an error was lost")
print("done")
