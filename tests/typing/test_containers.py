# SPDX-License-Identifier: Apache-2.0
"""Static types of containers and of public names, checked by mypy and pyright in strict mode."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

# The comments are the types that mypy prints, without module names; pyright prints the same types.
PROGRAM = """\
import tvm_ffi
from tvm_ffi import Array, Dict, List, Map, Tensor

array = Array([1, 2])
table = Map({"a": 1.5})
numbers = List([1])
names = Dict({"a": 1})


def first(arrays: Array[int], tensors: Map[str, Tensor]) -> Tensor:
    reveal_type(arrays[0])  # int
    reveal_type(tensors["a"])  # Tensor
    return tensors["a"]


wider: Array[object] = array
reveal_type(array)  # Array[int]
reveal_type(array[1:])  # list[int]
reveal_type([x for x in array])  # list[int]
reveal_type(table)  # Map[str, float]
reveal_type(table.get("a"))  # float | None
reveal_type(table.get("a", "b"))  # float | str
reveal_type(dict(table.items()))  # dict[str, float]
reveal_type(list(table))  # list[str]
reveal_type(numbers.pop())  # int
reveal_type(names)  # Dict[str, int]
reveal_type(names["a"])  # int
reveal_type(List[str]())  # List[str]
reveal_type(tvm_ffi.float32)  # dtype
reveal_type(tvm_ffi.bool)  # dtype
reveal_type(tvm_ffi.CAny())  # CAny
reveal_type(tvm_ffi.structural_equal(1, 2))  # bool
reveal_type(tvm_ffi.access_path.AccessPath.root().to_steps())  # Array[AccessStep]
numbers.append("x")  # error
names[1] = 2  # error
first(Array(["a"]), Map({}))  # error
"""
REVEALED = [line.partition("# ")[2] for line in PROGRAM.splitlines() if "reveal_type" in line]
WRONG = [i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# error")]


def check_program(folder: Path, *command: str) -> str:
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def test_mypy(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    output = check_program(tmp_path, sys.executable, "-m", "mypy", "--strict", "program.py")
    revealed = re.findall(r'Revealed type is "(.*)"', output)
    assert [re.sub(r"[\w.]+\.|builtins\.", "", text) for text in revealed] == REVEALED, output
    assert [int(line) for line in re.findall(r"^program\.py:(\d+): error:", output, re.M)] == WRONG


def test_pyright(tmp_path):
    pytest.importorskip("pyright", reason="no pyright")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
    command = (sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "program.py")
    output = check_program(tmp_path, *command)
    if "program.py" not in output:
        pytest.skip(f"pyright does not run here: {output[-200:]}")
    assert re.findall(r'Type of ".*" is "(.*)"', output) == REVEALED, output
    errors = re.findall(r"program\.py:(\d+):\d+ - error", output)
    assert sorted({int(line) for line in errors}) == WRONG, output
