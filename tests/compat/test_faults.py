# SPDX-License-Identifier: Apache-2.0
"""Debug context: faults of kernels that are built with the incumbent's headers."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import numpy as np
import pytest

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


def array():
    return np.ones(4, "float32")


def tensor():
    return tvm_ffi.from_dlpack(array())


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
    arguments = [make() for make in make_arguments]
    with tvm_ffi.debug(name, not_finite=True) as found, contextlib.suppress(Exception):
        faulty[name](*arguments)
    if name == "leave_stream":
        faulty[name](0)
    assert [(fault.function, fault.rule.id, fault.argument) for fault in found] == [
        (name, rule, argument)
    ]


def test_tensors_that_a_function_keeps_are_leaks(faulty):
    with tvm_ffi.debug() as found:
        for _ in range(3):
            faulty.leak_tensor(tensor())
    assert [(fault.function, fault.rule.id) for fault in found] == [
        ("leak_tensor", "object.leaked")
    ]
