# SPDX-License-Identifier: Apache-2.0
"""What type checkers know about types defined in Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="no mypy")

PROGRAM = """
from tvm_ffi import Object
from tvm_ffi.dataclasses import KW_ONLY, field, py_class

@py_class("typing.Point")
class Point(Object):
    x: int
    y: float = 0
    tags: list[str] = field(default_factory=list)
    _: KW_ONLY
    name: str = ""

@py_class
class Named(Point):
    z: int = field(default=3, init=False)

point = Point(1, 2.5, name="a")
Point("x")
Point(1, 2, [], "b")
Named(1, z=4)
reveal_type(point.tags)
reveal_type(Named)
"""
EXPECTED = """\
18: error: Argument 1 to "Point" has incompatible type "str"; expected "int"  [arg-type]
19: error: Too many positional arguments for "Point"  [call-arg]
20: error: Unexpected keyword argument "z" for "Named"  [call-arg]
21: note: Revealed type is "list[str]"
"""


def test_mypy_checks_calls_and_fields(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line.removeprefix("program.py:") for line in done.stdout.splitlines()]
    lines = [line.replace("builtins.", "") for line in lines]
    assert lines[:4] == EXPECTED.splitlines(), done.stdout + done.stderr
    assert (
        "def (x: int, y: float =, tags: list[str] =, *, name: str =) -> program.Named" in (lines[4])
    )
