# SPDX-License-Identifier: Apache-2.0
"""`tvm-ffi new`: from a C file to a wheel that is installed in another environment."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest
from installed_wheel import write_installed_wheel

import tvm_ffi._new_package

SOFTMAX = Path(tvm_ffi._new_package.__file__).parent / "template" / "softmax.c"

# Calls of the package with keyword arguments and defaults; the softmax of [0, ln 3] is [1/4, 3/4].
CALL = """\
import numpy as np
import tvm_ffi

softmax = tvm_ffi.load_module("./libsoftmax.so").softmax
x = np.log(np.array([[1, 3]], dtype=np.float32))
y = np.empty_like(x)
softmax(x=x, y=y)
np.testing.assert_allclose(y, [[0.25, 0.75]], rtol=1e-6)
softmax(x * 2, temperature=2.0, y=y)
np.testing.assert_allclose(y, [[0.25, 0.75]], rtol=1e-6)
"""
CALL_TORCH = """\
import torch

out = torch.empty(1, 2)
softmax(torch.tensor([[1.0, 3.0]]).log(), y=out, temperature=1)
torch.testing.assert_close(out, torch.tensor([[0.25, 0.75]]))
"""

# This program runs in a fresh environment without NumPy.
USE = """\
import inspect, sys
import softmax_kernels, tvm_ffi
print(inspect.signature(softmax_kernels.softmax).parameters["temperature"].default)
try:
    softmax_kernels.softmax(temprature=2.0)
except TypeError as error:
    print(error)
print({module.__file__.startswith(sys.prefix) for module in (softmax_kernels, tvm_ffi)})
"""

# An application of the package; the type checker must report its last two calls.
APPLICATION = """\
import numpy as np
import torch
from softmax_kernels import softmax

x = np.zeros((2, 3), np.float32)
softmax(x, y=x, temperature=0.5)
softmax(torch.zeros(2, 3), torch.empty(2, 3))
softmax(x, y=x, temprature=0.5)
softmax(x, temperature=0.5)
"""

IN_CPP = """\
#include <tvm/ffi/function.h>

int64_t Twice(int64_t x) { return 2 * x; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(twice, Twice, "twice(x: int) -> int");
"""

# Calls the function as native code does, without the binding's checks of signatures.
NATIVE_CALL = """\
import ctypes
import tvm_ffi, twice

class Value(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("zero", ctypes.c_int32),
                ("content", ctypes.c_int64)]

library = ctypes.CDLL(twice.__path__[0] + "/twice.so")
result = Value()
assert library.__tvm_ffi_twice(None, ctypes.byref(Value(1, 0, 21)), 1, ctypes.byref(result)) == 0
print(result.content)
runtime = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
assert library.__tvm_ffi_twice(None, ctypes.byref(Value(3, 0, 0)), 1, ctypes.byref(result)) == -1
error = ctypes.c_void_p()
runtime.TVMFFIErrorMoveFromRaised(ctypes.byref(error))


class Cell(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("kind_size", ctypes.c_size_t),
                ("message", ctypes.c_char_p)]


print(Cell.from_address(error.value + 24).message.decode())
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed"),
    pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed"),
    pytest.mark.skipif(
        importlib.util.find_spec("scikit_build_core") is None, reason="no scikit-build-core"
    ),
]


@pytest.fixture
def offline(run):
    """Return a function that runs the commands of a new package's README without a network."""

    def build(folder: Path) -> str:
        text = (folder / "README.md").read_text(encoding="utf-8")
        commands = text.split("```sh\n")[1].split("```")[0]
        # This environment provides the build tools, pytest and NumPy, because pip cannot install
        # them without a network.
        commands = commands.replace("python -m pip install scikit-build-core cmake ninja\n", "")
        commands = re.sub(r"(dist/\*\.whl) .*", r"\1", commands)
        site = folder / "site"
        return run(
            *("sh", "-euc", commands),
            cwd=folder,
            timeout_s=120,
            PIP_NO_INDEX="1",
            PIP_NO_DEPS="1",
            PIP_TARGET=str(site),
            PYTHONPATH=str(site),
        )

    return build


def test_a_softmax_in_c_becomes_a_wheel(run, offline, tmp_path):
    source = shutil.copy(SOFTMAX, tmp_path)
    build = 'cc -std=c11 -O2 -fPIC -shared "$1" $(tvm-ffi-config --cflags) -o libsoftmax.so -lm'
    run("sh", "-euc", build, "sh", source, cwd=tmp_path)
    has_torch = importlib.util.find_spec("torch") is not None
    run("python", "-c", CALL + (CALL_TORCH if has_torch else ""), cwd=tmp_path)

    run("tvm-ffi", "new", "softmax-kernels", cwd=tmp_path)
    folder = tmp_path / "softmax-kernels"
    output = offline(folder)
    assert "8 passed" in output
    assert "Success: no issues found in 2 source files" in output
    (folder / "site" / "application.py").write_text(APPLICATION, encoding="utf-8")
    command = ["python", "-m", "mypy", "--strict", "application.py"]
    output = run(*command, cwd=folder / "site", status=1)
    errors = [line for line in output.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in errors] == (["8", "9"] if has_torch else ["2", "8", "9"])
    assert "did you mean" in errors[0].lower()
    assert 'Missing positional argument "y"' in errors[1]

    write_installed_wheel(folder / "dist")
    environment = tmp_path / "environment"
    run("python", "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    python = environment / "bin" / "python"
    options = ["--no-index", "--find-links", folder / "dist", "--disable-pip-version-check"]
    command = ["python", "-m", "pip", "--python", python, "install", *options, "softmax-kernels"]
    run(*command, cwd=tmp_path, PYTHONPATH="")
    default, error, is_in_environment = run(
        python, "-c", USE, cwd=tmp_path, PYTHONPATH=""
    ).splitlines()
    assert default == "1.0"
    assert "did you mean 'temperature'?" in error
    assert is_in_environment == "{True}"


def test_a_file_in_cpp_becomes_a_package(run, offline, tmp_path):
    (tmp_path / "twice.cc").write_text(IN_CPP, encoding="utf-8")
    run("tvm-ffi", "new", "twice", "--from", "twice.cc", "--folder", "made", cwd=tmp_path)
    assert "4 passed" in offline(tmp_path / "made")
    code = "import twice; print(twice.twice(x=21))"
    site = str(tmp_path / "made" / "site")
    assert run("python", "-c", code, cwd=tmp_path, PYTHONPATH=site) == "42\n"
    output = run("python", "-c", NATIVE_CALL, cwd=tmp_path, PYTHONPATH=site)
    assert output == "42\ntwice() argument 'x': expected int, got float\n"
