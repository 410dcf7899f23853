# SPDX-License-Identifier: Apache-2.0
"""`wrap_library`: wrappers of libraries that do not use the ABI."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tvm_ffi import libinfo
from tvm_ffi.codegen import c, make_wrapper, wrap_library
from tvm_ffi.inspection import inspect_library

SOURCE = """
#include <stdint.h>
void scale(const float* x, float* y, int32_t n, float a) {
  for (int32_t i = 0; i < n; ++i) y[i] = a * x[i];
}
int fail(int32_t code) { return code; }
"""
# The C declaration does not show that `x` is only read.
HEADER = "#include <stdint.h>\nvoid scale(float* x, float* y, int32_t n, float a);\n"
SCALE = "scale(x: float32*[n], y: out float32*[n], n: int32, a: float32 = 2.0)"


@pytest.fixture(scope="module")
def plain(c_compiler, tmp_path_factory):
    """Return a C library."""
    folder = tmp_path_factory.mktemp("plain library")
    (folder / "scale.h").write_text(HEADER, encoding="utf-8")
    (folder / "plain.c").write_text(SOURCE, encoding="utf-8")
    command = [
        c_compiler,
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "libplain.so"),
        str(folder / "plain.c"),
    ]
    subprocess.run(command, check=True)
    return folder / "libplain.so"


def test_functions_check_their_arguments(plain):
    module = wrap_library(plain, [SCALE, make_wrapper("fail(code: int32)", returns="status")])
    y = np.zeros(2, np.float32)
    module.scale(np.array([1, 2], np.float32), y, 2)
    assert y.tolist() == [2, 4]
    with pytest.raises(ValueError, match=r"^scale\(\) argument 'y': shape\[0\] must be n = 2, got"):
        module.scale(y, np.zeros(3, np.float32), 2)
    with pytest.raises(RuntimeError, match=r"^fail\(\) failed: fail returned 7$"):
        module.fail(7)


def test_headers_are_compared_with_signatures(plain):
    options = {"includes": ["scale.h"], "include_paths": [str(plain.parent)]}
    module = wrap_library(plain, [SCALE], **options)
    assert module.scale(np.zeros(1, np.float32), np.zeros(1, np.float32), 1) is None
    with pytest.raises(RuntimeError, match="too few arguments to function"):
        wrap_library(plain, ["scale(x: float32*[n], y: out float32*[n])"], **options)


def test_headers_may_omit_const(c_compiler, plain, tmp_path):
    text = c.source_of([make_wrapper(SCALE)], includes=["scale.h"])
    (tmp_path / "wrapper.c").write_text(text, encoding="utf-8")
    command = [c_compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]
    command += [
        f"-I{plain.parent}",
        f"-I{libinfo.find_include_path()}",
        str(tmp_path / "wrapper.c"),
    ]
    subprocess.run([*command, "-o", str(tmp_path / "wrapper.o")], check=True)


def test_the_wrapper_library_can_be_distributed(plain, tmp_path):
    """A program that does not know the signature loads the library from another folder."""
    target = tmp_path / "wrapped.so"
    wrap_library(plain, [SCALE], output=target)
    program = (
        "import sys, tvm_ffi, numpy as np\n"
        "y = np.zeros(2, np.float32)\n"
        "tvm_ffi.load_module(sys.argv[1]).scale(np.ones(2, np.float32), y, 2, 3.0)\n"
        "print(y.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(target)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[3.0, 3.0]\n"
    (function,) = inspect_library(target).functions
    assert function.name == "scale"


def test_the_output_may_be_in_the_current_folder(plain, tmp_path, monkeypatch):
    """Regression: a name without a folder was searched on the loader's path."""
    monkeypatch.chdir(tmp_path)
    module = wrap_library(plain, [SCALE], output="wrapped.so")
    assert (tmp_path / "wrapped.so").is_file()
    y = np.zeros(2, np.float32)
    module.scale(np.ones(2, np.float32), y, 2, 3.0)
    assert y.tolist() == [3, 3]


def test_the_library_is_found_in_the_folder_of_the_wrappers(plain, tmp_path):
    elsewhere = tmp_path / "libcopy.so"
    shutil.copyfile(plain, elsewhere)
    target = tmp_path / "wrapped.so"
    wrap_library(elsewhere, [SCALE], output=target)
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.move(elsewhere, moved)
    shutil.move(target, moved)
    program = "import sys, tvm_ffi; print(tvm_ffi.load_module(sys.argv[1]).scale)"
    command = [sys.executable, "-c", program, str(moved / "wrapped.so")]
    assert "Function" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_missing_functions_are_named(plain):
    with pytest.raises(ValueError, match=r"has no function 'scal'; did you mean 'scale'\?"):
        wrap_library(plain, ["scal(x: float32*[n])"])


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "libtext.so"
    path.write_text("text", encoding="utf-8")
    with pytest.raises(ValueError, match="libtext.so"):
        wrap_library(path, [SCALE])
    with pytest.raises(FileNotFoundError):
        wrap_library(Path(tmp_path / "libnone.so"), [SCALE])


def test_python_shows_the_signature(plain):
    module = wrap_library(plain, [SCALE])
    assert len(inspect.signature(module.scale).parameters) == 4
