# SPDX-License-Identifier: Apache-2.0
"""Exported libraries of Numba kernels, which need neither Python nor Numba."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import libinfo
from tvm_ffi._library.linking import dynamic_symbols
from tvm_ffi.inspection import inspect_library

numba = pytest.importorskip("numba", reason="Numba is not installed")

from tvm_ffi.interop.numba import export_library, kernel  # noqa: E402  (needs Numba)

from .test_numba import SCALE, scale, total  # noqa: E402

PROGRAM = Path(__file__).with_name("call_scale.c")
F32 = np.float32


@pytest.fixture(scope="module")
def scaled():
    return kernel(SCALE)(scale)


def test_function_keeps_its_code_alive():
    def make():
        def add(a):
            return a + 1

        return kernel("add(a: int) -> int")(add)

    function = make()
    gc.collect()
    assert function(1) == 2


@pytest.fixture
def library(scaled, tmp_path):
    native_total = kernel("total(x: float64[n, m]) -> float")(total)
    return export_library(tmp_path / "kernels.so", [scaled, native_total])


def test_library_needs_no_python_symbols(library):
    exported, needed = dynamic_symbols(library)
    assert {"__tvm_ffi_scale", "__tvm_ffi_total"} <= exported
    assert all(name.startswith(("__tvm_ffi_", "_end", "__bss", "_edata")) for name in exported)
    assert [name for name in needed if name.startswith(("Py", "_Py", "NRT_", "numba_"))] == []
    assert all(name.startswith("TVMFFI") for name in needed)


def test_program_without_python_calls_the_library(scaled, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    path = export_library(tmp_path / "libkernels.so", [scaled])
    libraries = Path(libinfo.find_libtvm_ffi()).parent
    command = [compiler, "-std=c11", f"-I{libinfo.find_include_path()}", str(PROGRAM), str(path)]
    command += [f"-L{libraries}", "-ltvm_ffi", f"-Wl,-rpath,{libraries}:{tmp_path}"]
    subprocess.run([*command, "-o", str(tmp_path / "program")], check=True)
    done = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "3 6\n"
        "ValueError: nothing is left of it\n"
        "ValueError: scale() argument 'y': shape[0] must be n = 1, got 2\n"
    )


def test_library_is_loaded_without_numba(library):
    program = (
        "import sys\n"
        "sys.modules['numba'] = sys.modules['llvmlite'] = None\n"
        "import numpy as np, tvm_ffi\n"
        "module = tvm_ffi.load_module(sys.argv[1])\n"
        "print(module.total(x=np.ones((2, 3))), module.get_function_doc('scale'))\n"
    )
    command = [sys.executable, "-c", program, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "6.0 Multiply a matrix.\n"


def test_inspection_of_the_library(library):
    functions = {function.name: function for function in inspect_library(library).functions}
    assert functions["total"].signature == "(x: float64*[n, m] on cpu) -> float"
    assert functions["scale"].doc == "Multiply a matrix."


def test_library_for_a_given_processor(scaled, tmp_path):
    path = export_library(tmp_path / "k.so", [scaled], cpu="x86-64-v2")
    assert "__tvm_ffi_scale" in dynamic_symbols(path)[0]


def test_duplicate_names_in_a_library_are_rejected(scaled, tmp_path):
    with pytest.raises(ValueError, match="duplicate function name 'scale'"):
        export_library(tmp_path / "k.so", [scaled, kernel(SCALE)(scale)])
    export_library(tmp_path / "k.so", [scaled, scaled.module])


def test_library_without_kernels_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="expected at least one module, got none"):
        export_library(tmp_path / "k.so", [])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("other", [scale, 3, tvm_ffi.convert_func(len)])
def test_only_kernels_are_exported(other, tmp_path):
    with pytest.raises(TypeError, match="expected a function made by `kernel`, got"):
        export_library(tmp_path / "k.so", [other])
    assert list(tmp_path.iterdir()) == []


def test_module_of_a_kernel_is_exported_like_other_modules(scaled, tmp_path):
    path = tvm_ffi.export_library(tmp_path / "one.so", scaled.module)
    y = np.zeros((1, 1), F32)
    tvm_ffi.load_module(path).scale(np.ones((1, 1), F32), y)
    assert y.tolist() == [[2]]
