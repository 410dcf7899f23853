# SPDX-License-Identifier: Apache-2.0
"""What type checkers are told: stubs against the compiled modules, and examples, strictly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="no mypy")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(path.relative_to(EXAMPLES) for path in EXAMPLES.glob("**/*.py"))


def said(*command: str, cwd: Path = ROOT, **variables: str) -> tuple[int, str]:
    """Run a module of mypy; return its exit status and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_stubs_match_the_compiled_modules(tmp_path):
    """Layout conflicts between bases are left out: an extension type has them by nature."""
    allowed = HERE / "allowed_differences.txt"
    command = ["mypy.stubtest", "tvm_ffi", "--concise", "--allowlist", str(allowed)]
    status, output = said(*command, "--ignore-disjoint-bases", cwd=tmp_path)
    assert (status, output) == (0, ""), output


def test_each_allowed_difference_has_a_reason():
    lines = (HERE / "allowed_differences.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.partition("#")[2].strip() == ""] == []


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    """Return a folder in which runs of mypy find what earlier ones learned."""
    return tmp_path_factory.mktemp("mypy_cache")


@pytest.mark.parametrize("example", sorted({path.parts[0] for path in PROGRAMS}))
def test_examples_are_strictly_typed(cache, example):
    """With the settings of the package itself, which pyproject.toml has."""
    files = [str(EXAMPLES / path) for path in PROGRAMS if path.parts[0] == example]
    status, output = said(
        "mypy", "--cache-dir", str(cache), *files, MYPYPATH=str(EXAMPLES / example / "python")
    )
    assert status == 0, output


def test_mistakes_are_noticed(cache, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tvm_ffi\n\n"
        "size: str = tvm_ffi.from_dlpack(0).size(0)\n"
        "tvm_ffi.get_global_func('f', allow_missing=True)(1)\n"
        "tvm_ffi.get_global_func('f')(1)\n",
        encoding="utf-8",
    )
    status, output = said("mypy", "--cache-dir", str(cache), str(program))
    assert status == 1
    assert [line.split(": ")[0].rpartition(":")[2] for line in output.splitlines()[:-1]] == [
        "3",
        "4",
    ], output


def test_classes_for_native_types_have_the_constructors_of_dataclasses(cache, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from tvm_ffi.dataclasses import Object, c_class\n\n\n"
        "@c_class('a.Pair', eq=True, order=True)\n"
        "class Pair(Object):\n"
        "    a: int\n"
        "    b: str\n\n\n"
        "assert Pair(1, 'b') < Pair(1, b='c')\n"
        "Pair(1)\n"
        "Pair('a', 'b')\n",
        encoding="utf-8",
    )
    status, output = said("mypy", "--cache-dir", str(cache), str(program))
    assert status == 1
    assert [line.split(": ")[0].rpartition(":")[2] for line in output.splitlines()[:-1]] == [
        "11",
        "12",
    ], output
