# SPDX-License-Identifier: Apache-2.0
"""Generated C++ operators, called by programs in a process with Python.

``tests/frameworks`` runs a program without Python, which takes a minute to compile.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi import libinfo

torch = pytest.importorskip("torch")


def compile_operators(source, library, folder):
    """Return the path of the operators' library, linked with the library of the functions."""
    (folder / "operators.cc").write_text(source, encoding="utf-8")
    torch_folder = Path(torch.__file__).parent / "lib"
    runtime = Path(libinfo.find_libtvm_ffi())
    command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", "-shared", "-fPIC"]
    command += ["-Wall", "-Wextra", "-Werror", str(folder / "operators.cc"), str(library)]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    command += [f"-L{torch_folder}", "-ltorch_cpu", f"-L{runtime.parent}", "-ltvm_ffi"]
    command += [f"-Wl,-rpath,{path}" for path in (library.parent, torch_folder, runtime.parent)]
    subprocess.run([*command, "-o", str(folder / "operators.so")], check=True)
    return folder / "operators.so"


PROGRAM = """
import ctypes, json, sys, torch
ctypes.CDLL(sys.argv[1])
import tvm_ffi, tvm_ffi.interop.torch as interop
module = tvm_ffi.load_module(sys.argv[2])

def program(x):
    y, z, options = torch.zeros(3), torch.zeros(3), torch.zeros(4)
    module.scaled(x, y, factor=3.0)
    module.added(y, z)
    module.chosen(options)
    module.chosen(options[2:], x, 2.5, 8, True)
    return z, options

run = torch.compile(program, fullgraph=True, backend="aot_eager")
z, options = run(torch.tensor([1.0, 2.0, 3.0]))
matrix, turned = torch.arange(6, dtype=torch.int32).reshape(2, 3), torch.zeros(3, 2).int()
interop.operator_of(module.transposed)(matrix, turned, 2)
try:
    interop.operator_of(module.failing)(matrix[0].float(), torch.zeros(3))
except RuntimeError as error:
    text = str(error)
grid, doubled = torch.arange(6.0).reshape(2, 3), torch.zeros(2, 6)
interop.operator_of(module.scaled_rows)(grid, doubled[:, 3:])
interop.operator_of(module.scaled_rows)(grid, doubled[:, ::2])
assert doubled.tolist() == [[0, 0, 2, 0, 4, 4], [6, 0, 8, 6, 10, 10]], doubled
base = torch.arange(5.0)
try:
    interop.operator_of(module.scaled)(base[:4], base[1:])
except RuntimeError as error:
    text += "; " + str(error)
kernels = torch._C._dispatch_dump(interop.operator_of(module.scaled).name())
print(json.dumps([z.tolist(), options.tolist(), turned.tolist(), text, "operators.cc" in kernels]))
"""


def test_programs_call_operators_of_a_library(interop, functions, torch_library, tmp_path):
    """Regression: generated operators did not check their arguments."""
    names = ("scaled", "added", "transposed", "failing", "chosen", "scaled_rows")
    source = interop.operators_source(getattr(functions, name) for name in names)
    library = compile_operators(source, torch_library, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library), str(torch_library)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    overlap = (
        "ValueError: scaled() argument 'y': the array shares memory with argument 'x', and the "
        "function writes into it; pass arrays that do not overlap"
    )
    assert json.loads(done.stdout) == [
        [3.0, 6.0, 9.0],
        [-1.0, 70.0, 1.0, 2581.0],
        [[0, 3], [1, 4], [2, 5]],
        "ValueError: no luck today; " + overlap,
        True,
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("doubled", "expected a function without results, got `doubled"),
        ("optional", "parameter 'text': expected a tensor, number or bool"),
        ("joined", "parameter 'parts': expected a tensor, number or bool"),
        ("nameless", "`nameless` has no signature"),
    ],
)
def test_functions_without_a_cpp_operator(interop, functions, name, message):
    with pytest.raises(interop.UntraceableError, match=message):
        interop.operators_source([getattr(functions, name)])


def test_registered_operators_have_no_cpp_operator(interop, functions):
    interop.register(functions.added, "test_cpp::added")
    with pytest.raises(interop.UntraceableError, match=r"test_cpp::added: .*torch\.register"):
        interop.operators_source([functions.added])
