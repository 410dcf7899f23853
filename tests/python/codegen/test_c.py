# SPDX-License-Identifier: Apache-2.0
"""The text of wrappers in C."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tvm_ffi import libinfo
from tvm_ffi.codegen import c

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
