# SPDX-License-Identifier: Apache-2.0
"""Debug context: faults of kernels that are built with the incumbent's headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kernel_faults import array, call_and_report, leaks_of, tensor

import tvm_ffi

from .libraries import FLAGS, compiler

SOURCE = Path(__file__).resolve().parents[1] / "python" / "observe" / "faults" / "faults.cc"


@pytest.fixture(scope="module")
def faulty(incumbent, tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "faults.so"
    folders = [f"-I{folder}" for folder in incumbent.include_folders]
    command = [*compiler(), *FLAGS, "-shared", *folders, "-o", path, SOURCE]
    subprocess.run(command, check=True)
    return tvm_ffi.load_module(path)


# Each row: kernel, its arguments, the rule and the argument in the report.
FAULTS = [
    ("negate_input", [tensor, array], "tensor.input-written", "x"),
    ("half_of_output", [array, array], "tensor.output-not-written", "y"),
    ("divide_by_zero", [array], "tensor.not-finite", "y"),
    ("release_tensor", [tensor], "object.released-too-often", "argument 0"),
    ("throw_without_text", [], "error.text", ""),
    ("throw_unknown_kind", [], "error.kind", ""),
    ("leave_stream", [lambda: 0x2000], "environment.stream", ""),
    ("mistyped_string", [], "any.object-type", "result"),
]


@pytest.mark.parametrize("row", FAULTS, ids=[row[0] for row in FAULTS])
def test_each_fault_is_named_once(faulty, row):
    name, make_arguments, rule, argument = row
    assert call_and_report(faulty, name, make_arguments) == [(name, rule, argument)]


def test_tensors_that_a_function_keeps_are_leaks(faulty):
    assert leaks_of(faulty) == [("leak_tensor", "object.leaked")]
