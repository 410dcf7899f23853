# SPDX-License-Identifier: Apache-2.0
"""Static types of constructors and fields of a `py_class`, checked by mypy."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="mypy is not installed")

PROGRAM = """
from typing import Generic, TypeVar
from tvm_ffi import Object
from tvm_ffi.dataclasses import KW_ONLY, field, py_class

T = TypeVar("T")

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

@py_class
class Box(Object, Generic[T]):
    content: T

point = Point(1, 2.5, name="a")
Point("x")
Point(1, 2, [], "b")
Named(1, z=4)
reveal_type(point.tags)
reveal_type(Box(1).content)
Box[str](1)
reveal_type(Named)
"""
EXPECTED = """\
25: error: Argument 1 to "Point" has incompatible type "str"; expected "int"  [arg-type]
26: error: Too many positional arguments for "Point"  [call-arg]
27: error: Unexpected keyword argument "z" for "Named"  [call-arg]
28: note: Revealed type is "list[str]"
29: note: Revealed type is "int"
30: error: Argument 1 to "Box" has incompatible type "int"; expected "str"  [arg-type]
"""


def test_mypy_checks_calls_and_fields(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line.removeprefix("program.py:") for line in done.stdout.splitlines()]
    lines = [line.replace("builtins.", "") for line in lines]
    assert lines[:6] == EXPECTED.splitlines(), done.stdout + done.stderr
    assert (
        "def (x: int, y: float =, tags: list[str] =, *, name: str =) -> program.Named" in (lines[6])
    )
