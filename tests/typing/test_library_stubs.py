# SPDX-License-Identifier: Apache-2.0
"""Stubs of library functions: type checkers accept correct calls and reject wrong ones."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi import libinfo

SOURCE = """
#include <tvm/ffi/extra/c_signature.h>

#define EXPORT(name)                                                                             \\
  TVM_FFI_DLL_EXPORT int __tvm_ffi_##name(void* handle, const TVMFFIAny* args, int32_t num_args, \\
                                          TVMFFIAny* result) {                                   \\
    (void)handle, (void)args, (void)num_args, (void)result;                                      \\
    return 0;                                                                                    \\
  }

EXPORT(softmax)
TVM_FFI_DLL_EXPORT_SIGNATURE(softmax,
                             "softmax(x: float32[n, m], y: out float32[n, m], "
                             "temperature: float = 1.0)")
EXPORT(make)
TVM_FFI_DLL_EXPORT_SIGNATURE(make,
                             "make(shape: Shape, dtype: dtype = 'float32', *, "
                             "device: Device = 'cpu') -> Tensor")
EXPORT(save)
TVM_FFI_DLL_EXPORT_SIGNATURE(save, "save(path: str, parts: Map[str, Array[Tensor]], "
                                   "progress: Callable[[int], bool] | None = None) -> int")
"""

REGISTER = """\
import tvm_ffi

tvm_ffi.register_global_func(
    "kernels.scale",
    lambda x, factor=2.0: None,
    signature="scale(x: inout float32[n], *, factor: float = 2.0)",
)
tvm_ffi.register_global_func("kernels.undeclared", lambda x: None)
"""

REGISTERED = """\
# tvm-ffi-stubgen(begin): import-section
# tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(begin): global/kernels
# tvm-ffi-stubgen(end)
"""

# Type checkers must report the lines with a comment.
PROGRAM = """\
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import registered
import tvm_ffi

import kernels

if TYPE_CHECKING:
    from kernels_class import Kernels

x = np.zeros((2, 3), np.float32)
y = tvm_ffi.from_dlpack(x)
kernels.softmax(x, y)
kernels.softmax(x, y=y, temperature=2)
kernels.softmax(temperature=0.5, y=x, x=y)
kernels.softmax(x < 1, tvm_ffi.readonly(np.memmap("file", np.float32)))
kernels.softmax(x)  # missing
kernels.softmax(x, [1.0])  # not a tensor
kernels.softmax(x, y, temprature=0.5)  # unknown
kernels.softmax(x, y, "warm")  # not a number
kernels.softmax(x, y, 1.0, 2.0)  # too many
kernels.sotfmax(x, y)  # no such function



class DeclaredLikeJaxArray:
    def __dlpack__(self) -> object:
        return None


kernels.softmax(DeclaredLikeJaxArray(), x)

size: int = kernels.make([2, 3]).shape[0]
kernels.make((2, 3), "int8", device="cuda:1")
kernels.make(tvm_ffi.Shape((2, 3)), tvm_ffi.dtype("int8"), device=tvm_ffi.device("cpu"))
kernels.make(2)  # not a sequence
kernels.make([2], 8)  # not a dtype
kernels.make([2], "int8", "cpu")  # keyword-only
name: str = kernels.make([2])  # another result type


def done(part: int) -> bool:
    return part > 2


count: int = kernels.save(Path("file"), {"a": [x, y]})
kernels.save("file", {}, done)
kernels.save("file", {}, progress=None)
kernels.save("file", {"a": [1]})  # not a tensor
kernels.save("file", {}, lambda part: "done")  # another result type

module = cast("Kernels", tvm_ffi.load_module("libkernels.so"))
module.softmax(x, y, temperature=0.5)
module.softmax(x, y, temprature=0.5)  # unknown
names: tuple[str, ...] = module.functions

registered.scale(x, factor=3)
registered.undeclared(x, 1, "a")
registered.scale(x, 3)  # keyword-only
"""
WRONG = [i for i, line in enumerate(PROGRAM.splitlines(), 1) if "  # " in line]

PROGRAM_TORCH = """\
import torch

import kernels

x = torch.zeros(2, 3)
kernels.softmax(x, y=torch.empty_like(x))
kernels.softmax(x, y=x.tolist)  # not a tensor
"""


def run(*command: object, cwd: Path) -> str:
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(cwd), "MYPYPATH": str(cwd)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the programs and the stubs that they import."""
    folder = tmp_path_factory.mktemp("stubs")
    (folder / "kernels.c").write_text(SOURCE, encoding="utf-8")
    (folder / "registering.py").write_text(REGISTER, encoding="utf-8")
    (folder / "registered.py").write_text(REGISTERED, encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "with_torch.py").write_text(PROGRAM_TORCH, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = [f"-I{path}" for path in libinfo.include_paths()]
    options = ["-std=c11", "-shared", "-fPIC", *include]
    assert run(*compiler, *options, "kernels.c", "-o", "libkernels.so", cwd=folder) == ""
    stubgen = (sys.executable, "-m", "tvm_ffi.stub.cli")
    library = ("--library", "libkernels.so", "--output")
    assert run(*stubgen, *library, "kernels.pyi", cwd=folder) == ""
    assert run(*stubgen, *library, "kernels_class.pyi", "--class", "Kernels", cwd=folder) == ""
    assert run(*stubgen, "--imports", "registering", "registered.py", cwd=folder) == ""
    return folder


def lines_with_errors(pattern: str, output: str) -> list[int]:
    return sorted({int(line) for line in re.findall(pattern, output, re.M)})


def mypy(folder: Path, program: str) -> list[int]:
    pytest.importorskip("mypy", reason="mypy is not installed")
    output = run(sys.executable, "-m", "mypy", "--strict", program, cwd=folder)
    assert program in output, output
    return lines_with_errors(rf"^{re.escape(program)}:(\d+): error:", output)


def pyright(folder: Path, program: str) -> list[int]:
    pytest.importorskip("pyright", reason="no pyright")
    command = (sys.executable, "-m", "pyright", "--pythonpath", sys.executable, program)
    output = run(*command, cwd=folder)
    if program not in output:
        pytest.skip(f"pyright does not run here: {output[-200:]}")
    return lines_with_errors(rf"{re.escape(program)}:(\d+):\d+ - error", output)


@pytest.mark.parametrize("check", [mypy, pyright])
def test_only_wrong_calls_are_errors(folder, check):
    assert check(folder, "program.py") == WRONG


@pytest.mark.parametrize("check", [mypy, pyright])
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")
def test_torch_tensors_are_arguments(folder, check):
    assert check(folder, "with_torch.py") == [7]
