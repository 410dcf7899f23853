# SPDX-License-Identifier: Apache-2.0
"""Environment variables read at run time, with invalid values."""

from __future__ import annotations

import os
import re

import pytest

VALUES = {
    "empty": "",
    "nonsense": "nonsense",
    "long number": "9" * 100_000,
    "long text": "x" * 100_000,
    "huge": "99999999999999999999",
    "beyond int": "4294967297",
    "negative": "-1",
    "fraction": "1.5",
    "not UTF-8": os.fsdecode(b"\xff\xfe"),
    "two lines": "a\nb",
    "space": " ",
}


def run(run_python, code, **environment):
    result = run_python(code, **environment)
    assert result.stderr == "", result.stderr[-1000:]
    assert result.returncode == 0
    return result.stdout


def test_invalid_backtrace_limits_are_ignored(run_python):
    """Regression: numbers too large for int were passed to atoi, whose result is undefined."""
    code = """
import traceback, tvm_ffi
try:
    tvm_ffi.get_global_func("ffi.GetGlobalFuncMetadata")("no such function")
except RuntimeError as error:
    print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
"""
    usual = run(run_python, code)
    assert "Metadata" in usual
    for value in VALUES.values():
        assert run(run_python, code, TVM_TRACEBACK_LIMIT=value) == usual


def test_repr_shows_addresses_only_if_the_variable_is_1(run_python):
    code = "import tvm_ffi\nprint(tvm_ffi.Array([tvm_ffi.convert_func(len)]))\n"
    assert re.search("0x[0-9a-f]+", run(run_python, code, TVM_FFI_REPR_WITH_ADDR="1"))
    usual = run(run_python, code)
    for value in VALUES.values():
        assert run(run_python, code, TVM_FFI_REPR_WITH_ADDR=value) == usual


@pytest.mark.parametrize("name", ["nonsense", "long number", "long text", "not UTF-8", "two lines"])
def test_errors_name_the_variable_and_are_short(run_python, name):
    result = run_python("import tvm_ffi", TVM_FFI_RELEASE_GIL_BY_DEFAULT=VALUES[name])
    last = result.stderr.strip().splitlines()[-1]
    if name == "long number" and result.returncode == 0:
        return  # Python before 3.11 reads this variable
    assert last.startswith("ValueError: TVM_FFI_RELEASE_GIL_BY_DEFAULT must be 0 or 1, got ")
    assert len(last) < 400


@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "PATH"])
def test_invalid_folders_are_skipped(run_python, variable):
    code = "from tvm_ffi import libinfo\nprint(libinfo.find_libtvm_ffi())\n"
    usual = run(run_python, code)
    for value in VALUES.values():
        assert run(run_python, code, **{variable: value}) == usual
