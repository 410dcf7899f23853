# SPDX-License-Identifier: Apache-2.0
"""Debug context: faults of kernels that are written in Rust."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_faults import array, call_and_report, leaks_of, tensor

import tvm_ffi

pytestmark = pytest.mark.undebugged("the context of the process changes the faults")


@pytest.fixture(scope="session")
def faulty(build_library):
    path = build_library("faults", Path(__file__).with_name("faults.rs").read_text("utf-8"))
    return tvm_ffi.load_module(path)


# Each row: kernel, its arguments, the rule and the argument in the report.
FAULTS = [
    ("negate_input", [array, array], "tensor.input-written", "x"),
    ("skip_last", [array], "tensor.output-not-written", "y"),
    ("divide_by_zero", [array], "tensor.not-finite", "y"),
    ("release_tensor", [tensor], "object.released-too-often", "x"),
    ("fail_without_text", [], "error.text", ""),
    ("fail_with_unknown_kind", [], "error.kind", ""),
    ("bool_two", [], "any.bool", "result"),
    ("padding_unwritten", [], "any.padding", "result"),
    ("fail_silently", [], "error.missing", ""),
    ("return_argument", [tensor], "object.released-too-often", "argument 0"),
    ("release_and_succeed", [tensor], "object.released-too-often", "argument 0"),
]


@pytest.mark.parametrize("row", FAULTS, ids=[row[0] for row in FAULTS])
def test_each_fault_is_named_once(faulty, row):
    name, make_arguments, rule, argument = row
    assert call_and_report(faulty, name, make_arguments) == [(name, rule, argument)]


def test_tensors_that_a_function_forgets_are_leaks(faulty):
    assert leaks_of(faulty) == [("leak_tensor", "object.leaked")]


def test_a_write_to_a_released_tensor_is_named(faulty):
    with tvm_ffi.debug() as found:
        x = faulty.make_tensor()
        faulty.remember(x)
        del x
        faulty.write_remembered()
    assert [(fault.function, fault.rule.id) for fault in found] == [
        ("write_remembered", "object.used-after-release")
    ]
    assert found[0].events.startswith("  the object was returned by make_tensor\n")
