# SPDX-License-Identifier: Apache-2.0
"""Download size: libtvm_ffi and the package's extension modules, stripped, in bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from environment import Interpreter, library_of
from results import Cell, Row, Samples, Unavailable
from scratch_environment import SetupError

# Prints the package's extension modules: the files in its folders and the modules it has loaded.
_LIST_EXTENSIONS = """
import importlib.machinery, json, pathlib, sys, tvm_ffi
suffixes = tuple(s for s in importlib.machinery.EXTENSION_SUFFIXES if s != ".so")
files = [f for folder in tvm_ffi.__path__ for f in pathlib.Path(folder).rglob("*.so")]
files += [pathlib.Path(getattr(m, "__file__", None) or "") for name, m in sys.modules.items()
          if name.partition(".")[0] == "tvm_ffi"]
print(json.dumps(sorted({str(f.resolve()) for f in files if f.name.endswith(suffixes)})))
"""


def measure_size(interpreters: Sequence[Interpreter]) -> list[Row]:
    """Return the size rows; each cell has one value."""
    library = Row("library_size", "libtvm_ffi.so, stripped", "bytes")
    total = Row("total_size", "libtvm_ffi.so + extensions", "bytes")
    for interpreter in interpreters:
        library.cells[interpreter.name], total.cells[interpreter.name] = _sizes(interpreter)
    return [library, total]


def _sizes(interpreter: Interpreter) -> tuple[Cell, Cell]:
    try:
        library = library_of(interpreter)
        extensions = [Path(path) for path in json.loads(interpreter.run("-c", _LIST_EXTENSIONS))]
        sizes = [_stripped_size(path) for path in (library, *extensions)]
    except SetupError as error:
        reason = Unavailable(str(error))
        return reason, reason
    return Samples([sizes[0]]), Samples([sum(sizes)])


def _stripped_size(path: Path) -> int:
    """Return the size in bytes after ``strip --strip-unneeded``."""
    if shutil.which("strip") is None:
        raise SetupError("strip: command not found")
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / path.name
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped, path], check=True)
        return stripped.stat().st_size
