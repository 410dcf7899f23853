# SPDX-License-Identifier: Apache-2.0
"""Checks of callers: a right program passes; each mistake breaks its rule and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "conformance" / "src"))

from tvm_ffi_conformance.__main__ import main  # noqa: E402
from tvm_ffi_conformance.callers.library import build  # noqa: E402
from tvm_ffi_conformance.callers.run import run_caller  # noqa: E402

SOURCE = Path(__file__).resolve().parent / "programs" / "caller.c"
# Mistake, broken rules, and text in the detail of the first.
MISTAKES = [
    ("padding", {"any.padding"}, "args[1]"),
    ("result_not_cleared", {"call.result-cleared"}, "slot with type index 1, not zeros"),
    ("bool_payload", {"any.bool"}, "args[0]: bool with payload 0x2"),
    ("unknown_type_index", {"any.type-index"}, "args[0]: type index 40"),
    ("function_leaked", {"object.leaked"}, "ffi.Function ffi.Array: 1 reference(s)"),
    ("result_leaked", {"object.leaked"}, "ffi.Array"),
    ("result_released_twice", {"object.released-too-often"}, "ffi.Array object"),
    ("argument_released", {"object.used-after-release"}, "ffi.Array object"),
    ("error_leaked", {"object.leaked"}, "ffi.Error"),
    ("error_not_taken", {"error.not-taken"}, "IndexError"),
    ("error_at_end", {"error.not-taken"}, "IndexError"),
    ("error_on_a_thread", {"error.not-taken"}, "IndexError"),
    ("kind_is_null", {"error.kind"}, "the kind is null"),
    ("count_read_after_release", {"object.used-after-release"}, "written after the release"),
    ("null_handle", {"object.null-handle", "error.not-taken"}, "obj: the handle is null"),
]  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("caller")
    library = build(folder)
    command = ["cc", "-pthread", f"-I{ROOT / 'include'}", "-o", str(folder / "caller"), str(SOURCE)]
    subprocess.run([*command, str(library)], check=True)
    library.unlink()  # only the command may provide the library
    return str(folder / "caller")


def test_right_program_passes(program):
    results = run_caller([program, "right"])
    assert {entry.id: entry.detail for entry in results.failures} == {}
    assert "load_error" not in results.subject
    assert len(results.entries) > 30


@pytest.mark.parametrize(("mistake", "rules", "text"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_mistake_is_found(program, mistake, rules, text):
    results = run_caller([program, mistake])
    assert {entry.id for entry in results.failures} == {f"caller.{rule}" for rule in rules}
    assert not rules or text in results.failures[0].detail


@pytest.mark.parametrize(
    ("mistake", "verdict", "detail"),
    [
        ("status", "exit", "exit status 3"),
        ("crash", "crash", "died of SIGABRT"),
        ("hang", "hang", "no end within 2 s"),
    ],
)
def test_end_of_the_program_is_a_result(program, mistake, verdict, detail):
    end = run_caller([program, mistake], limit=2 if mistake == "hang" else 60).entries[0]
    assert (end.id, end.verdict, end.detail) == ("caller.end", verdict, detail)


def test_command_prints_the_rule_and_writes_results(program, tmp_path, capsys):
    status = main(["caller", "--json", str(tmp_path / "a.json"), "--", program, "padding"])
    assert status == 1
    printed = capsys.readouterr().out
    assert "fail caller.any.padding" in printed
    assert "Always zero the zero_padding field" in printed
    assert main(["verify", str(tmp_path / "a.json")]) == 0


def test_program_that_uses_no_runtime(capsys):
    assert main(["caller", "--", "true"]) == 2
    assert "no libtvm_ffi.so" in capsys.readouterr().out


def test_command_is_required(capsys):
    assert main(["caller"]) == 2
    assert "expected a command after --" in capsys.readouterr().err
