# SPDX-License-Identifier: Apache-2.0
"""The command ``tvm-ffi``: output, error messages and exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import elf_files
import pytest

import tvm_ffi

pytest.importorskip("rich", reason="rich is not installed")

from tvm_ffi.cli._inspect_text import print_report
from tvm_ffi.cli._module_tree import module_lines
from tvm_ffi.inspection import FunctionReport, LibraryReport, ModuleReport

MODULE = (sys.executable, "-W", "error", "-m", "tvm_ffi")
STUBS = (sys.executable, "-W", "error", "-m", "tvm_ffi.stub.cli")
SCRIPT = Path(sysconfig.get_path("scripts")) / "tvm-ffi"


def run(*arguments, folder, program=MODULE, **variables):
    done = subprocess.run(
        [*map(str, program), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three libraries: valid, with unsupported requirements, and truncated."""
    good = [("__tvm_ffi_add", True), ("__tvm_ffi__doc_add", True), ("TVMFFIObjectDecRef", False)]
    bad = [*good, ("__tvm_ffi_b\x1b[31md", True), ("_ZN3tvm3ffi5LaterEv", False)]
    for name, symbols in {"good": good, "bad": bad}.items():
        data = elf_files.library(machine=elf_files.S390 + 1000, symbols=symbols)
        (tmp_path / f"{name}.so").write_bytes(data)
    (tmp_path / "broken.so").write_bytes(data[:100])
    return tmp_path


def test_a_terminal_without_columns_does_not_hide_the_report(folder):
    """Regression: nothing was printed."""
    expected = run("inspect", "good.so", folder=folder)
    assert run("inspect", "good.so", folder=folder, COLUMNS="0") == expected


def test_report(folder):
    status, printed, complaints = run("inspect", "good.so", folder=folder)
    assert (status, complaints) == (0, "")
    assert printed == (
        "good.so\n"
        "  machine       1022, 64-bit, not this machine\n"
        f"  size          {(folder / 'good.so').stat().st_size} bytes\n"
        "  runtime       TVM FFI ABI 0.1.16 can load it\n"
        "  built against any release\n"
        "\n"
        "Functions (1)\n"
        "  add\n"
        "      documentation: only readable by running the library\n"
        "\n"
        "ABI symbols (1 needed, 0 missing)\n"
        "  provided  TVMFFIObjectDecRef\n"
    )


def test_report_of_an_unsupported_library(folder):
    """The exit status is 1; control characters in the names of symbols are escaped."""
    status, printed, complaints = run("inspect", "bad.so", folder=folder)
    assert (status, complaints) == (1, "")
    assert "  runtime       TVM FFI ABI 0.1.16 CANNOT load it\n" in printed
    assert "  b\\x1b[31md\n" in printed
    assert "  MISSING  tvm::ffi::Later\n" in printed
    assert printed.endswith(
        "\nProblems\n  the library needs tvm::ffi::Later, which the runtime does not provide\n"
    )


def module(*imports: int, kind: str = "kind") -> ModuleReport:
    return ModuleReport(kind, 1000, imports)


def test_modules_as_a_tree():
    """Regression: ``see above`` was printed before the first expansion of a shared module."""
    modules = [module(1, 2), module(3), module(3, 4, 3), module(4), ModuleReport("_lib", None)]
    expected = """\
0: kind, 1,000 bytes
├── 1: kind, 1,000 bytes
│   └── 3: kind, 1,000 bytes
│       └── 4: _lib
└── 2: kind, 1,000 bytes
    ├── 3: kind, 1,000 bytes (see above)
    ├── 4: _lib (see above)
    └── 3: kind, 1,000 bytes (see above)"""
    assert "\n".join(module_lines(modules)) == expected
    as_ascii = expected.replace("├", "+").replace("└", "`").replace("│", "|").replace("─", "-")
    assert "\n".join(module_lines(modules, is_ascii=True)) == as_ascii


def test_modules_in_a_long_chain():
    """Regression: modules after the twentieth were cut off, and indentation took quadratic time."""
    chain = [module(index + 1) for index in range(5000)] + [module()]
    lines = list(module_lines([*chain[:-1], module()]))
    assert [int(line.strip(" └─").partition(":")[0]) for line in lines if "below" not in line] == [
        *range(5001)
    ]
    assert max(map(len, lines)) < 120


def test_modules_with_long_names():
    """Regression: the name was repeated in each line about the module: 260 KB became gigabytes."""
    lines = module_lines([module(*[1] * 1000), module(kind="k" * 100_000)])
    assert sum(map(len, lines)) < 200 * 1000


def test_documentation_of_many_lines(capsys):
    """Regression: each line was rendered by rich: half a minute for a megabyte."""
    function = FunctionReport("f", None, "a\n" * 500_000 + "\x1b", None, ())
    began = time.process_time()
    print_report(
        LibraryReport("x.so", 0, "x86_64", 64, True, True, "0.1.16", functions=(function,))
    )
    assert time.process_time() - began < 15
    assert capsys.readouterr().out.endswith("\n      a\n      \\x1b\n")


def test_json(folder):
    status, printed, _ = run("inspect", "--json", "bad.so", folder=folder)
    report = json.loads(printed)
    assert status == 1
    assert report["path"] == "bad.so"
    assert report["is_served"] is False
    assert [function["name"] for function in report["functions"]] == ["add", "b\x1b[31md"]


def test_difference(folder):
    status, printed, complaints = run("inspect", "--diff", "good.so", "bad.so", folder=folder)
    assert (status, complaints) == (1, "")
    assert printed == (
        "before  good.so\n"
        "after   bad.so\n"
        "\n"
        "Functions added\n"
        "  + b\\x1b[31md\n"
        "\n"
        "ABI symbols newly needed\n"
        "  + _ZN3tvm3ffi5LaterEv\n"
    )
    status, printed, _ = run("inspect", "--diff", "--json", "good.so", "bad.so", folder=folder)
    assert status == 1
    assert json.loads(printed)["symbols_newly_needed"] == ["_ZN3tvm3ffi5LaterEv"]


def test_no_difference(folder):
    status, printed, _ = run("inspect", "--diff", "bad.so", "bad.so", folder=folder)
    assert (status, printed.splitlines()[-1]) == (0, "no difference")


def test_control_characters_in_file_names_are_escaped_in_errors(folder):
    """Regression: errors printed file names unescaped: colours, window titles, additional lines."""
    name = "x\x1b[31mevil\ntvm-ffi: all is well"
    (folder / name).write_bytes(b"no library")
    shown = (
        "tvm-ffi: error: x\\x1b[31mevil\\ntvm-ffi: all is well: byte 0: expected an ELF file, got"
    )
    for arguments in ([name], ["--json", name], ["good.so", "--beside", name]):
        status, printed, complaints = run("inspect", *arguments, folder=folder)
        assert (status, printed) == (2, "")
        assert complaints.startswith(shown)


@pytest.mark.parametrize("program", [MODULE, STUBS])
def test_control_characters_in_unknown_options_are_escaped(folder, program):
    """A shell expands ``*`` to such file names, and argparse prints unknown options unescaped."""
    arguments = ["inspect", "good.so"] if program == MODULE else []
    status, printed, complaints = run(
        *arguments, "--\x1b[31mevil\nwell", folder=folder, program=program
    )
    assert (status, printed) == (2, "")
    assert complaints.endswith("error: unrecognized arguments: --\\x1b[31mevil\\nwell\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["broken.so"], "tvm-ffi: error: broken.so: byte "),
        (["missing.so"], "missing.so"),
        (["--diff", "good.so", "broken.so"], "tvm-ffi: error: broken.so: byte "),
        (["--diff", "good.so"], "expected two libraries to compare, got 1"),
        (["good.so", "bad.so"], "expected one library, got 2"),
        ([], "required"),
    ],
)
def test_errors_have_exit_status_2(folder, arguments, message):
    status, printed, complaints = run("inspect", *arguments, folder=folder)
    assert (status, printed) == (2, "")
    assert message in complaints
    assert "Traceback" not in complaints


def test_beside(folder):
    other = elf_files.library(machine=elf_files.X86_64, symbols=[("_ZN3tvm3ffi5LaterEv", True)])
    (folder / "other.so").write_bytes(other)
    assert run("inspect", "--beside", "other.so", "bad.so", folder=folder)[0] == 0


@pytest.mark.parametrize(
    ("hidden", "options", "status", "message"),
    [
        ("rich", [], 2, 'pip install "pytvmffi[inspect]"'),
        ("rich", ["--json"], 0, ""),
    ],
)
def test_missing_packages(folder, hidden, options, status, message):
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules[{hidden!r}] = None\n")
    found, _, complaints = run(
        "inspect", *options, "good.so", folder=folder, PYTHONPATH=str(folder)
    )
    assert found == status
    assert message in complaints
    assert complaints.count("\n") <= 1


def test_version_and_help(tmp_path):
    expected = f"tvm-ffi {tvm_ffi.__version__}\n"
    assert run("--version", folder=tmp_path) == (0, expected, "")
    assert run("--version", folder=tmp_path, program=[SCRIPT]) == (0, expected, "")
    status, printed, _ = run("inspect", "--help", folder=tmp_path)
    assert status == 0
    meaning = "the installed runtime cannot load the library; with --diff, the libraries differ"
    assert f"  1  {meaning}" in printed
    assert run(folder=tmp_path)[0] == 2


CONFIG = (sys.executable, "-W", "error", "-m", "tvm_ffi.config")
EMBED_CUBIN = (sys.executable, "-W", "error", "-m", "tvm_ffi.utils.embed_cubin")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    ("tool", "program", "arguments"),
    [
        ("tvm-ffi-config", CONFIG, ["--libs"]),
        ("tvm-ffi-config", CONFIG, ["--help"]),
        ("tvm-ffi", MODULE, ["inspect", "good.so"]),
        ("tvm-ffi", MODULE, ["--version"]),
        ("tvm-ffi-stubgen", STUBS, ["--help"]),
        ("python -m tvm_ffi.utils.embed_cubin", EMBED_CUBIN, ["--help"]),
        ("tvm-ffi-stubgen", STUBS, ["--dlls", "no_such_library.so", "file.py"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_output_that_cannot_be_written_is_one_line(folder, tool, program, arguments, unbuffered):
    """Regression: a traceback, a status of 120 or, for the help of argparse, no error at all."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*program, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    message = f"{tool}: error: cannot write the output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, message)


def test_an_output_that_is_closed_early_is_not_an_error(folder):
    """The output pipe is closed early, as in ``tvm-ffi inspect ... | head -1``."""
    command = [*MODULE, "inspect", "--json", "good.so"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
