# SPDX-License-Identifier: Apache-2.0
"""The text of wrappers in C."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tvm_ffi import cpp, libinfo
from tvm_ffi.codegen import c, make_wrapper

from .test_agreement import WRAPPERS as IDLE_WRAPPERS
from .test_calls import WRAPPERS


@pytest.mark.parametrize(
    "compiler", ["gcc -std=c11", "g++ -std=c++17", "clang -std=c11", "clang++ -std=c++17"]
)
def test_no_compiler_has_a_word_to_say(tmp_path, compiler):
    program, standard = compiler.split()
    if shutil.which(program) is None:
        pytest.skip(f"no {program}")
    text = c.source_of([*WRAPPERS.values(), *IDLE_WRAPPERS.values()])
    source = tmp_path / ("wrappers.cc" if "++" in program else "wrappers.c")
    source.write_text(text, encoding="utf-8")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = [program, standard, *warnings, "-O2", "-fPIC", f"-I{libinfo.find_include_path()}"]
    command += ["-c", str(source), "-o", str(tmp_path / "wrappers.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == 0


def test_a_long_signature_is_more_than_a_literal_holds():
    doc = "é" * 5000
    text = c.wrapper(f"f(x: int) doc '{doc}'")
    assert max(map(len, text.splitlines())) > 10000
    assert "{102, 40, 120" in text


# ---- what only C has -----------------------------------------------------------------------------


def test_workspaces_and_constants(c_compiler):
    wrapper = make_wrapper(
        "sum_in(x: float32[n], k: int, scale: float) -> float",
        arguments=[
            *("x", "n", "workspace(4*n)", "workspace(k)", "int8 -1", "float32 2.0", "+0.5"),
            *("null", "float32 scale"),
        ],
    )
    callee = (Path(__file__).parent / "callees.c").read_text(encoding="utf-8")
    module = cpp.load_inline("sum_in", c_sources=[c.source_of([wrapper]), callee])
    x = np.arange(5, dtype=np.float32)
    assert module.sum_in(x, 0, 3.0) == 30
    assert module.sum_in(x[:0], 0, 3.0) == 0
    assert module.sum_in(x, 1, 3.0) == -1  # asked for memory, where the function wants none
    text = "sum_in(): workspace(k) must have >= 0 bytes, got -1"
    with pytest.raises(ValueError, match=re.escape(text)):
        module.sum_in(x, -1, 3.0)
    with pytest.raises(MemoryError, match="the size in bits overflows 64 bits"):
        module.sum_in(x, 2**62, 3.0)
    assert module.sum_in(x, 0, 3.0) == 30
