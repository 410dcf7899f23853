# SPDX-License-Identifier: Apache-2.0
"""A kernel written with the C++ headers, called from Python."""

from __future__ import annotations

import os
import shlex
import subprocess

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import libinfo

SOURCE = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include <string>

namespace ffi = tvm::ffi;

void add_one(ffi::TensorView x, ffi::TensorView y) {
  TVM_FFI_CHECK(x.ndim() == 1, ValueError) << "x must have one dimension, got " << x.ndim();
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) to[i] = from[i] + 1;
}

std::string join(ffi::String left, int64_t times) {
  std::string text;
  for (int64_t i = 0; i < times; ++i) text += left;
  return text;
}

ffi::Function adder(int64_t step) {
  return ffi::Function::FromTyped([step](int64_t value) { return value + step; });
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(join, join);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(adder, adder);
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cpp")
    source, library = folder / "kernels.cc", folder / "kernels.so"
    source.write_text(SOURCE)
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    include = [f"-I{path}" for path in libinfo.include_paths()]
    command = [*compiler, "-std=c++17", "-O2", "-fPIC", "-shared", *include]
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return tvm_ffi.load_module(library)


def test_tensor_arguments_share_memory(kernels):
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    kernels.add_one(x, y)
    assert y.tolist() == [1, 2, 3, 4]


def test_a_failed_check_arrives_with_its_message_and_line(kernels):
    matrix = np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match="x must have one dimension, got 2") as caught:
        kernels.add_one(matrix, matrix)
    assert "kernels.cc" in caught.value.__tvm_ffi_error__.backtrace


def test_strings_and_numbers(kernels):
    assert kernels.join("ab", 3) == "ababab"


def test_wrong_types_name_function_position_and_both_types(kernels):
    with pytest.raises(TypeError, match=r"argument #1.*join\(0: str, 1: int\).*`int`.*`float`"):
        kernels.join("ab", 1.5)
    with pytest.raises(TypeError, match="Expected 2 but got 1 arguments"):
        kernels.join("ab")


def test_a_returned_function_outlives_its_creator(kernels):
    add_five = kernels.get_function("adder")(5)
    assert add_five(2) == 7
