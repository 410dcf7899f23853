# SPDX-License-Identifier: Apache-2.0
"""Inspection of libraries with launch plans, and of the device code in them."""

from __future__ import annotations

import shutil
import struct

import pytest

import tvm_ffi
from tvm_ffi._library.cuda_driver_module import read_cuda_driver_module
from tvm_ffi.cli import main
from tvm_ffi.codegen import launch_module, make_launch_plan
from tvm_ffi.inspection import inspect_library
from tvm_ffi.inspection._device_code import cubin_arch

PTX = """.version 8.0
.target sm_80
.visible .entry f(.param .u64 x) { ret; }
"""


@pytest.mark.skipif(shutil.which("ld") is None, reason="the linker ld is not installed")
def test_launch_plans_have_functions_signatures_and_a_loader(tmp_path, capsys):
    """Regression: the functions of a library without code were not shown."""
    path = tmp_path / "plan.so"
    plan = make_launch_plan("fill(x: float32[n], k: int = 3)", PTX, "f", arguments=["x"])
    tvm_ffi.export_library(path, launch_module(plan))
    report = inspect_library(path)
    (module,) = report.modules
    assert (module.kind, module.has_loader) == ("cuda_driver", True)
    (function,) = module.functions
    assert (function.name, function.doc) == ("fill", None)
    assert function.signature == "(x: float32*[n] on cuda, k: int = 3)"
    assert [(code.kind, code.arch, code.size_bytes) for code in report.device_code] == [
        ("ptx", "sm_80", len(PTX))
    ]
    assert main(["inspect", str(path)]) == 0
    printed = capsys.readouterr().out
    heading = "Functions of module 0 (1), loaded by ffi.Module.load_from_bytes.cuda_driver"
    assert f"{heading}\n  fill(x: float32*[n] on cuda, k: int = 3)\n" in printed


@pytest.mark.parametrize("size", [0, 8, 12, 40, 120])
def test_a_damaged_launch_plan_has_no_functions(size):
    plan = make_launch_plan("fill(x: float32[n])", PTX, "f", arguments=["x"])
    content = bytes(launch_module(plan).save_to_bytes())
    images, functions = read_cuda_driver_module(content)
    assert [image.architecture for image in images] == ["sm_80"]
    assert [function.name for function in functions] == ["fill"]
    with pytest.raises(ValueError, match="module of kind `cuda_driver`"):
        read_cuda_driver_module(content[:size])


def header(flags: int) -> bytes:
    """Return the first 64 bytes of a cubin of ABI version 8."""
    ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, flags, 64, 56, 0, 64, 0, 0)


@pytest.mark.parametrize(
    ("number", "command", "arch"),
    [
        (90, b"-arch sm_90 -m 64", "sm_90"),
        (90, b"-arch sm_90a -m 64", "sm_90a"),
        (100, b"-arch sm_100f ", "sm_100f"),
        (100, b"", "sm_100"),
        (100, b"-arch sm_90a ", "sm_100"),
    ],
)
def test_the_suffix_of_an_architecture_is_in_the_command_of_the_assembler(number, command, arch):
    """Regression: CUDA 13 does not set the flag of sm_90a in the header of a cubin."""
    assert cubin_arch(header(0x6000002 | number << 8) + command) == arch
    assert cubin_arch(b"\x7fELF" + command) is None
