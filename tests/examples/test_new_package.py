# SPDX-License-Identifier: Apache-2.0
"""The way of a kernel's author, from a file in C to a wheel in somebody else's environment."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest
from installed_wheel import write_installed_wheel

import tvm_ffi._new_package

SOFTMAX = Path(tvm_ffi._new_package.__file__).parent / "template" / "softmax.c"

# By name, with and without the default; [0, ln 3] has the softmax [1/4, 3/4].
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

# In the fresh environment there is no NumPy.
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

# What an application's author may write, and what they may not.
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

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler"),
    pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="no mypy"),
    pytest.mark.skipif(
        importlib.util.find_spec("scikit_build_core") is None, reason="no scikit-build-core"
    ),
]


@pytest.fixture
def offline(run):
    """Return a function that does what the README of a new package says, without a network."""

    def build(folder: Path) -> str:
        text = (folder / "README.md").read_text(encoding="utf-8")
        commands = text.split("```sh\n")[1].split("```")[0]
        # No index has pytest and NumPy here, and this environment has them.
        commands = re.sub(r"(dist/\*\.whl) .*", r"\1", commands)
        site = folder / "site"
        return run(
            *("sh", "-euc", commands),
            cwd=folder,
            timeout_s=120,
            PIP_NO_INDEX="1",
            PIP_NO_DEPS="1",
            PIP_NO_BUILD_ISOLATION="0",  # pip reads it as the value of build_isolation
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
    said = offline(folder)
    assert "8 passed" in said
    assert "Success: no issues found in 2 source files" in said
    (folder / "site" / "application.py").write_text(APPLICATION, encoding="utf-8")
    said = run("python", "-m", "mypy", "--strict", "application.py", cwd=folder / "site", status=1)
    wrong = [line for line in said.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in wrong] == (["8", "9"] if has_torch else ["2", "8", "9"])
    assert "did you mean" in wrong[0].lower()
    assert 'Missing positional argument "y"' in wrong[1]

    write_installed_wheel(folder / "dist")
    environment = tmp_path / "environment"
    run("python", "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    python = environment / "bin" / "python"
    options = ["--no-index", "--find-links", folder / "dist", "--disable-pip-version-check"]
    command = ["python", "-m", "pip", "--python", python, "install", *options, "softmax-kernels"]
    run(*command, cwd=tmp_path, PYTHONPATH="")
    default, refusal, places = run(python, "-c", USE, cwd=tmp_path, PYTHONPATH="").splitlines()
    assert default == "1.0"
    assert "did you mean 'temperature'?" in refusal
    assert places == "{True}"


def test_a_file_in_cpp_becomes_a_package(run, offline, tmp_path):
    (tmp_path / "twice.cc").write_text(IN_CPP, encoding="utf-8")
    run("tvm-ffi", "new", "twice", "--from", "twice.cc", "--folder", "made", cwd=tmp_path)
    assert "4 passed" in offline(tmp_path / "made")
    code = "import twice; print(twice.twice(x=21))"
    site = str(tmp_path / "made" / "site")
    assert run("python", "-c", code, cwd=tmp_path, PYTHONPATH=site) == "42\n"
