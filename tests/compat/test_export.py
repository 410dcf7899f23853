# SPDX-License-Identifier: Apache-2.0
"""Exported libraries, loaded by both implementations."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scratch_environment import run_program, without_search_paths

import tvm_ffi
from tvm_ffi.module import CustomModule

pytestmark = pytest.mark.skipif(shutil.which("ld") is None, reason="the linker ld is not installed")

SOURCE = """
#include <tvm/ffi/c_api.h>

int seven(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 7};
  return 0;
}
"""

# The loader creates a new module for each payload, so that the module tree is visible.
SCRIPT = """
import sys
import tvm_ffi

payloads = []

def load(payload):
    payloads.append(bytes(payload))
    return tvm_ffi.system_lib(f"module_{len(payloads)}_")

tvm_ffi.register_global_func("ffi.Module.load_from_bytes.test.exported", load)
top = tvm_ffi.load_module(sys.argv[1])
print([len(payload) for payload in payloads], payloads[1])
named = [tvm_ffi.system_lib(f"module_{i}_") for i in (1, 2, 3)]
print("top is module 1:", top.same_as(named[0]))
for module in (top, *top.imports):
    number = [i for i, other in enumerate(named, 1) if module.same_as(other)] or ["code"]
    print(*number, "imports", [i for x in module.imports for i, o in enumerate(named, 1)
                               if x.same_as(o)], len(module.imports))
print("seven:", top.get_function("seven", query_imports=True)())
"""

SHOWN = """\
[4, 2, 100000] b'\\x00\\xff'
top is module 1: True
1 imports [2, 3] 3
2 imports [3] 1
3 imports [] 0
code imports [] 0
seven: 7
"""


class Exported(CustomModule, kind="test.exported"):
    """A module with a payload and imports."""

    def __init__(self, content, *imports):
        self.content = content
        for module in imports:
            self.import_module(module)

    def save_to_bytes(self):
        return self.content


@pytest.fixture(scope="module")
def library(tmp_path_factory, ours) -> Path:
    """Export a diamond of modules together with code."""
    folder = tmp_path_factory.mktemp("exported")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = [f"-I{path}" for path in ours.include_folders]
    command = [*compiler, "-std=c11", "-fPIC", *include, "-c", "-xc", "-"]
    subprocess.run([*command, "-o", str(folder / "code.o")], input=SOURCE, text=True, check=True)
    end = Exported(b"e" * 100_000)
    top = Exported(b"top!", Exported(b"\x00\xff", end), end)
    return tvm_ffi.export_library(
        folder / "out.so", top, objects=folder / "code.o", functions={"seven": "seven"}
    )


def test_this_runtime_loads_the_export(library):
    assert run_program([sys.executable, "-c", SCRIPT, str(library)], os.environ) == SHOWN


def test_the_incumbent_loads_the_export(library, incumbent_python):
    environment = without_search_paths()
    assert run_program([incumbent_python, "-c", SCRIPT, str(library)], environment) == SHOWN
