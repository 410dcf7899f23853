# SPDX-License-Identifier: Apache-2.0
"""The ahead-of-time program: its README, shared libraries and undefined symbols."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

NAME = "aot_program"
EXPECTED = (Path(__file__).parent / "expected" / f"{NAME}.txt").read_text(encoding="utf-8")
# Shared libraries that every C++ program may need.
SYSTEM_LIBRARIES = {"libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0"}
SYSTEM_LIBRARIES |= {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"}
# Undefined symbols that show that a program loads libraries at run time.
LOADING = {"dlopen", "dlmopen", "dlsym", "dlvsym"}

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed"),
    pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf"),
]


@pytest.fixture
def build(example, run):
    """Return a function that builds the example with an option of tvm-ffi-config."""

    def build(option: str, *flags: str) -> Path:
        folder = example(NAME)
        options = run("tvm-ffi-config", "--cflags", option, cwd=folder).split()
        command = ["cc", "-std=c11", *flags, "main.c", "kernels.c", *options, "-o", NAME]
        run(*command, cwd=folder)
        return folder / NAME

    return build


def needed_libraries(run, program: Path) -> set[str]:
    text = run("readelf", "--dynamic", "--wide", program, cwd=program.parent)
    return set(re.findall(r"\(NEEDED\)[^\[]*\[([^\]]*)\]", text))


def undefined_symbols(run, program: Path) -> set[str]:
    text = run("readelf", "--dyn-syms", "--wide", program, cwd=program.parent)
    return set(re.findall(r" UND (\w+)", text))


@pytest.mark.parametrize("index", [0, 1])
def test_commands_of_the_readme(example, run, readme_blocks, index):
    block = readme_blocks(NAME, "sh")[index]
    if "cmake" in block and run("sh", "-c", "command -v cmake || true", cwd=Path()) == "":
        pytest.skip("CMake is not installed")
    output = run("sh", "-euc", block, cwd=example(NAME))
    assert output.endswith(EXPECTED)
    assert readme_blocks(NAME, "") == [EXPECTED]
    assert len(readme_blocks(NAME, "sh")) == 2


def test_the_program_loads_no_library_and_uses_no_python(build, run):
    program = build("--minimallibs")
    assert needed_libraries(run, program) <= SYSTEM_LIBRARIES
    assert not undefined_symbols(run, program) & LOADING
    assert not any(name.startswith(("Py", "_Py")) for name in undefined_symbols(run, program))
    assert run(program, cwd=program.parent) == EXPECTED


def test_a_program_with_the_complete_runtime_loads_libraries(build, run):
    """Without the linker flags, the program loads libraries: the previous test can fail."""
    program = build("--staticlibs")
    assert needed_libraries(run, program) <= SYSTEM_LIBRARIES
    assert undefined_symbols(run, program) & LOADING == {"dlopen", "dlsym"}
    assert run(program, cwd=program.parent) == EXPECTED


def test_a_static_program_needs_no_shared_library(build, run):
    """The static program has no dynamic loader; the linker would warn about calls of dlopen."""
    try:
        program = build("--minimallibs", "-static", "-Wl,--fatal-warnings")
    except AssertionError as error:
        if "cannot find -lc" in str(error) or "cannot find -lstdc++" in str(error):
            pytest.skip("the standard libraries are not installed as archives")
        raise
    assert "INTERP" not in run("readelf", "--segments", "--wide", program, cwd=program.parent)
    assert needed_libraries(run, program) == set()
    assert run(program, cwd=program.parent) == EXPECTED


KERNEL = """
#include <tvm/ffi/extra/c_host_call.h>

int __tvm_ffi_check(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)self, (void)args, (void)num_args;
  static void* slot;
  if (TVMFFIEnvCheckSignals() || TVMFFIHandleInitOnce(&slot, 0)) return -1;
  return TVMFFIHostIsReadOnly(0) || TVMFFIHostMoveResults(result, 0, 0);
}
"""
LOADER = """
#include <stdio.h>
#include <tvm/ffi/c_api.h>

static int load(void) {
  TVMFFIByteArray name = {"ffi.Module.load_from_file.so", 28};
  TVMFFIAny args[2] = {{0}}, module = {0};
  TVMFFIObjectHandle function = 0;
  args[0].type_index = args[1].type_index = kTVMFFIRawStr;
  args[0].v_c_str = "./kernel.so";
  args[1].v_c_str = "";
  if (TVMFFIFunctionGetGlobal(&name, &function) != 0) return -1;
  return TVMFFIFunctionCall(function, args, 2, &module);
}

int main(void) {
  TVMFFIObjectHandle error;
  if (load() == 0) return puts("loaded") < 0;
  TVMFFIErrorMoveFromRaised(&error);
  return puts(TVMFFIErrorGetCellPtr(error)->message.data) < 0;
}
"""


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "it needs `TVMFFI"),
        (("-rdynamic",), "loaded\n"),
    ],
)
def test_kernels_load_into_a_static_program_that_exports_symbols(run, tmp_path, flags, message):
    """Regression: the message named a later ABI; exported programs lacked functions of the ABI."""
    (tmp_path / "kernel.c").write_text(KERNEL)
    (tmp_path / "main.c").write_text(LOADER)
    options = run("tvm-ffi-config", "--cflags", "--staticlibs", cwd=tmp_path).split()
    run("cc", "-fPIC", "-shared", "kernel.c", options[0], "-o", "kernel.so", cwd=tmp_path)
    run("cc", "main.c", *flags, *options, "-o", "main", cwd=tmp_path)
    printed = run("./main", cwd=tmp_path)
    assert message in printed
    if not flags:
        assert printed.endswith(
            ", but the program, which contains the runtime, exports no symbols; link the program "
            "with -rdynamic (in CMake: set its property ENABLE_EXPORTS)\n"
        )
