# SPDX-License-Identifier: Apache-2.0
"""The command line of the reference, and its behaviour at the ends of a process."""

from __future__ import annotations

import subprocess

RUN = ("-m", "tvm_ffi_conformance", "call")
BUILD = ("-m", "tvm_ffi_conformance", "reference")


def test_command_line_calls_a_function(start, kernel_folder):
    result = start(
        *RUN, str(kernel_folder / "right.so"), "add_one", "float32[3]=1,2,3", "float32[3]"
    )

    assert result.stdout.splitlines() == [
        "result: None",
        "argument 0: float32[3]: [1.0, 2.0, 3.0]",
        "argument 1: float32[3]: [2.0, 3.0, 4.0]",
        "no violations",
    ]
    assert result.returncode == 0


def test_command_line_reports_violations(start, kernel_folder):
    result = start(*RUN, str(kernel_folder / "broken.so"), "any__bool")

    assert result.returncode == 1
    assert "violation: any__bool, result: bool with payload 0x2\n" in result.stdout
    assert '    any.bool (c-abi.md, "3. TVMFFIAny"): ' in result.stdout


def test_command_line_reports_a_failed_call(start, kernel_folder):
    result = start(*RUN, str(kernel_folder / "right_cpp.so"), "greet", "")

    assert (result.returncode, result.stdout) == (
        2,
        "failed: ValueError: `name` is empty\nno violations\n",
    )


def test_command_line_refuses_a_type_of_elements(start, kernel_folder):
    result = start(*RUN, str(kernel_folder / "right.so"), "add_one", "float33[3]")

    assert result.returncode == 2
    assert "float33[3]: expected one of int8, " in result.stdout


def test_command_line_names_a_missing_symbol(start, kernel_folder):
    result = start(*RUN, str(kernel_folder / "right.so"), "absent")

    assert result.returncode == 2
    assert "the module has no function 'absent': no symbol __tvm_ffi_" in result.stdout


def test_the_folder_of_the_reference_is_created(start, tmp_path):
    result = start(*BUILD, str(tmp_path / "new" / "folder"))

    assert result.stdout == f"{tmp_path / 'new' / 'folder' / 'libtvm_ffi.so'}\n"


def test_a_kernel_that_is_linked_against_the_runtime_finds_the_reference(
    start, kernel_folder, tmp_path
):
    """A library with DT_NEEDED libtvm_ffi.so binds to the reference by its SONAME."""
    built = start(*BUILD, str(tmp_path))
    assert built.returncode == 0, built.stderr
    kernel = tmp_path / "linked.so"
    source = tmp_path / "linked.c"
    source.write_text(
        "int TVMFFIErrorSetRaisedFromCStr(const char*, const char*);\n"
        "int __tvm_ffi_fail(void* h, const void* a, int n, void* r) {\n"
        '  TVMFFIErrorSetRaisedFromCStr("ValueError", "linked"); return -1; }\n',
        encoding="utf-8",
    )
    flags = ["-shared", "-fPIC", f"-L{tmp_path}", "-ltvm_ffi"]
    subprocess.run(["cc", "-o", str(kernel), str(source), *flags], check=True)
    result = start(*RUN, str(kernel), "fail")

    assert result.stdout == "failed: ValueError: linked\nno violations\n"


def test_a_second_runtime_is_refused(start, tmp_path):
    built = start(*BUILD, str(tmp_path))
    assert built.returncode == 0, built.stderr
    program = (
        "import ctypes, sys\n"
        "from tvm_ffi_conformance.reference import Reference\n"
        f"ctypes.CDLL({str(tmp_path / 'libtvm_ffi.so')!r})\n"
        "Reference()\n"
    )
    result = start("-c", program)

    assert result.returncode == 1
    assert "expected a process without a runtime, but libtvm_ffi.so is loaded" in result.stderr


def test_objects_may_be_released_after_python_has_ended(start, kernel_folder):
    """Static destructors run after Python: C functions and deleters then do nothing."""
    program = (
        "from tvm_ffi_conformance.reference import Reference\n"
        "reference = Reference()\n"
        f"module = reference.load({str(kernel_folder / 'right_cpp.so')!r})\n"
        "module.keep_until_exit('a string of the heap')\n"
        "print('done')\n"
    )
    result = start("-c", program)

    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_the_reference_imports_no_implementation(start):
    program = (
        "import sys\n"
        "import tvm_ffi_conformance.reference\n"
        "print([name for name in sys.modules if name.split('.')[0] in {'tvm_ffi', 'numpy'}])\n"
    )

    assert start("-c", program).stdout == "[]\n"
