# SPDX-License-Identifier: Apache-2.0
"""A second TVM FFI runtime in the process, loaded before or after the package."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_ffi import libinfo

ABI = Path(__file__).resolve().parents[2] / "abi" / "abi.json"

LOAD_FIRST = """
import ctypes, sys
ctypes.CDLL({path!r}, ctypes.{scope})
import tvm_ffi
print(tvm_ffi.Array([1]))
"""


@pytest.fixture(scope="module")
def other_runtime(build_once) -> Path:
    """Return a library with all functions of the C ABI, which do nothing."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        pytest.skip("no C compiler")

    def build(folder: Path) -> None:
        names = json.loads(ABI.read_text(encoding="utf-8"))["functions"]
        source = folder / "other.c"
        source.write_text("\n".join(f"void* {name}(void) {{ return 0; }}" for name in names))
        library = str(folder / "other_runtime.so")
        options = ["-shared", "-fPIC", "-Wl,-soname,libtvm_ffi.so", "-o", library]
        subprocess.run([*compiler, str(source), *options], check=True)

    return build_once("other_runtime", build) / "other_runtime.so"


@pytest.mark.parametrize("scope", ["RTLD_GLOBAL", "RTLD_LOCAL"])
def test_the_import_error_names_another_implementation(run_python, other_runtime, scope):
    """The loader uses a library that is already loaded for the one that the binding needs."""
    result = run_python(LOAD_FIRST.format(path=str(other_runtime), scope=scope))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.strip().rpartition("\n")[2] == (
        f"ImportError: this process has already loaded the library {other_runtime} of another "
        "implementation of the TVM FFI, and two implementations cannot be used in one process; "
        "import tvm_ffi before the module that loads the other implementation, or uninstall the "
        "other one"
    )


@pytest.mark.parametrize("scope", ["RTLD_GLOBAL", "RTLD_LOCAL"])
def test_a_copy_of_this_runtime_works(run_python, tmp_path, scope):
    copy = shutil.copy(libinfo.find_libtvm_ffi(), tmp_path / "copy.so")
    result = run_python(LOAD_FIRST.format(path=str(copy), scope=scope))
    assert (result.returncode, result.stdout) == (0, "(1,)\n"), result.stderr


LOAD_LATER = """
import ctypes, shutil, sys, tvm_ffi
def load(number):
    # Each call loads another file, as a module that is alive is not loaded again.
    return tvm_ffi.load_module(shutil.copy(sys.argv[1], f"{folder}/{{number}}.so"))
assert load(0).count(1, 2) == 2
{later}
for number in range(1, 6):
    assert load(number).count(1, 2) == 2
print(tvm_ffi.Array([1]))
"""


@pytest.mark.parametrize("scope", ["RTLD_GLOBAL", "RTLD_LOCAL"])
def test_one_warning_about_another_implementation_loaded_later(
    run_python, other_runtime, tmp_path, scope
):
    """Libraries loaded through this runtime are not affected."""
    later = f"ctypes.CDLL({str(other_runtime)!r}, ctypes.{scope})"
    result = run_python(LOAD_LATER.format(folder=tmp_path, later=later))
    assert (result.returncode, result.stdout) == (0, "(1,)\n"), result.stderr
    assert result.stderr == (
        f"warning: {other_runtime} is a second copy of the TVM FFI runtime in this process; "
        "libraries linked to one copy cannot use types and functions of the other; remove this "
        "copy, or the library that loads it\n"
    )


def test_one_warning_about_each_copy(run_python, other_runtime, tmp_path):
    copies = [shutil.copy(other_runtime, tmp_path / f"runtime{i}.so") for i in range(3)]
    later = "\n".join(f"ctypes.CDLL({str(copy)!r})" for copy in copies)
    result = run_python(LOAD_LATER.format(folder=tmp_path, later=later))
    warned = [line.split(" is a second copy")[0] for line in result.stderr.splitlines()]
    assert warned == [f"warning: {copy}" for copy in copies], result.stderr


def test_a_process_with_one_runtime_is_not_warned(run_python, tmp_path):
    result = run_python(LOAD_LATER.format(folder=tmp_path, later=""))
    assert (result.returncode, result.stderr) == (0, "")
