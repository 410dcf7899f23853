# SPDX-License-Identifier: Apache-2.0
"""A library with embedded modules, loaded by both implementations."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from scratch_environment import run_program, without_search_paths

SOURCE = Path(__file__).resolve().parents[1] / "runtime" / "embedding_library.c"

# The loader of the C library creates a new module for each payload; the library calls a global
# function by its name.
SCRIPT = """
import sys
import tvm_ffi

loaded = []

def load(payload):
    loaded.append(bytes(payload).decode())
    return tvm_ffi.system_lib(loaded[-1] + "_")

for kind in "ab":
    tvm_ffi.register_global_func("ffi.Module.load_from_bytes." + kind, load)
tvm_ffi.register_global_func("answer", lambda: 42)
top = tvm_ffi.load_module(sys.argv[1])
library, left = top.imports
end = tvm_ffi.system_lib("end_")
print("loaded:", *loaded)
print("first is module 0:", top.same_as(tvm_ffi.system_lib("top_")))
print("the other import:", left.same_as(tvm_ffi.system_lib("left_")))
print("shared:", [m.same_as(end) for x in (library, left) for m in x.imports], len(end.imports))
print("generated code:", library["call_import"]("answer"))
"""

SHOWN = """\
loaded: top left end
first is module 0: True
the other import: True
shared: [True, True] 0
generated code: 42
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory, ours):
    """Compile the library, which binds to the runtime of the loading process."""
    target = tmp_path_factory.mktemp("embedding") / "embedding.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = [f"-I{path}" for path in ours.include_folders]
    command = [*compiler, "-fPIC", "-shared", *include, str(SOURCE), "-o", str(target)]
    subprocess.run(command, check=True)
    return str(target)


def test_this_runtime_rebuilds_the_module_tree(library):
    assert run_program([sys.executable, "-c", SCRIPT, library], os.environ) == SHOWN


def test_the_incumbent_rebuilds_the_module_tree(library, incumbent_python):
    assert run_program([incumbent_python, "-c", SCRIPT, library], without_search_paths()) == SHOWN
