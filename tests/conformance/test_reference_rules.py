# SPDX-License-Identifier: Apache-2.0
"""The reference notices each broken rule and names the rule, the function and the argument."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tvm_ffi_conformance.reference.rules import RULES

from tvm_ffi.observe import _rules as debug_rules

SOURCE = Path(__file__).resolve().parent / "kernels" / "broken.c"
SYMBOLS = re.findall(r"^KERNEL\((\w+)\)", SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
ABORTING = "type__ancestors"

# Rules that each kernel breaks, where these are not the rule of its name alone.
EXPECTED = {
    "padding_not_written": {"any.padding"},
    "padding_of_an_element": {"any.padding"},
    "tensor_pointer_as_result": {"call.result-borrowed"},
    "byte_array_as_result": {"call.result-borrowed"},
    "rvalue_reference_as_result": {"call.result-borrowed"},
    # The object in the slot belongs to nobody.
    "call__result_on_error": {"call.result-on-error", "object.leaked"},
    "argument_released": {"object.released-too-often"},
    "argument_retained": {"object.leaked"},
    "inline_release_of_a_deleted_object": {"object.released-too-often"},
    "deleted_object_as_result": {"object.used-after-release"},
}


def rule_of(symbol: str) -> str:
    return symbol.replace("__", ".").replace("_", "-")


PROGRAM = """
nothing = reference.function("nothing", lambda: None)
tensor = reference.tensor("float32", [3], [1, 2, 3])
value = error_of(kernels("broken")[{symbol!r}], "a string of the heap", nothing, tensor, 3)
value = None
"""


@pytest.fixture(scope="module")
def broken(run_programs):
    """Return the violations of each kernel: lists of rule, function, argument, detail."""
    symbols = [symbol for symbol in SYMBOLS if symbol != ABORTING]
    results = run_programs([PROGRAM.format(symbol=symbol) for symbol in symbols])
    return {symbol: result["violations"] for symbol, result in zip(symbols, results)}


def test_each_rule_has_a_kernel_that_breaks_it():
    assert {rule_of(symbol) for symbol in SYMBOLS} >= set(RULES)


@pytest.mark.parametrize("symbol", [symbol for symbol in SYMBOLS if symbol != ABORTING])
def test_a_broken_rule_is_noticed(broken, symbol):
    assert {entry[0] for entry in broken[symbol]} == EXPECTED.get(symbol, {rule_of(symbol)})


@pytest.mark.parametrize(
    ("symbol", "function", "argument", "detail"),
    [
        ("any__bool", "any__bool", "result", "bool with payload 0x2"),
        (
            "padding_of_an_element",
            "padding_of_an_element",
            "result[0]",
            "zero_padding of the value with type index 1 is 0x9",
        ),
        (
            "call__result_cleared",
            "TVMFFIFunctionCall called by call__result_cleared",
            "result",
            "slot with type index 0, not zeros",
        ),
        (
            "call__arguments_constant",
            "call__arguments_constant",
            "args[3]",
            "the callee changed it",
        ),
        (
            "object__leaked",
            "TVMFFIStringFromByteArray called by object__leaked",
            "ffi.String",
            "1 strong and 0 weak reference(s) remain",
        ),
        (
            "object__used_after_release",
            "TVMFFIObjectIncRef called by object__used_after_release",
            "obj",
            (
                "ffi.String object created by TVMFFIStringFromByteArray called by "
                "object__used_after_release is deleted"
            ),
        ),
        (
            "argument_released",
            "TVMFFIObjectDecRef called by argument_released",
            "ffi.String object created by outside a call",
            "the caller still owns 1 reference(s), the callee released them",
        ),
    ],
)
def test_a_violation_names_function_and_argument(broken, symbol, function, argument, detail):
    assert [function, argument, detail] in [entry[1:] for entry in broken[symbol]]


def test_a_function_that_cannot_report_an_error_ends_the_process(start, kernel_folder):
    result = start(
        *("-m", "tvm_ffi_conformance", "call"), str(kernel_folder / "broken.so"), ABORTING
    )

    assert result.returncode == 255
    assert "Exception caught during TVMFFITypeGetOrAllocIndex:\n" in result.stderr
    assert "broken.Type: depth 3 below a parent of depth 0" in result.stderr
    assert "type.ancestors (c-abi.md" in result.stderr


def test_a_handle_of_another_type_is_refused_by_the_export_of_tensors(run_programs):
    program = """
import ctypes
from tvm_ffi_conformance import abi
out, error = ctypes.c_void_p(), ctypes.c_void_p()
text = reference.runtime.strings.new(b"a string of the heap", abi.kTVMFFIStr)
status = reference.library.TVMFFITensorToDLPackVersioned(text, ctypes.byref(out))
reference.library.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
cell = abi.TVMFFIErrorCell.from_address(error.value + abi.HEADER_SIZE)
value = [status, out.value, ctypes.string_at(cell.message.data, cell.message.size).decode()]
reference.runtime.objects.decref(error.value)
reference.runtime.objects.decref(text)
"""
    message = "`from`: expected ffi.Tensor, got ffi.String"

    assert run_programs([program]) == [{"value": [-1, None, message], "violations": []}]


def test_a_view_of_a_negative_extent_is_refused(run_programs):
    program = """
import ctypes
from tvm_ffi_conformance import abi
out, error = ctypes.c_void_p(), ctypes.c_void_p()
numbers = (ctypes.c_int64 * 2)(-1, 1)
shape = ctypes.addressof(numbers)
prototype = abi.DLTensor(ndim=1, shape=shape, strides=shape + 8)
tensor = reference.tensor("float32", [3], [1, 2, 3])
status = reference.library.TVMFFITensorCreateUnsafeView(
    tensor.handle, ctypes.addressof(prototype), ctypes.byref(out)
)
reference.library.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
reference.runtime.objects.decref(error.value)
value = [status, out.value]
"""
    (result,) = run_programs([program])

    assert result["value"] == [-1, None]
    assert [entry[0] for entry in result["violations"]] == ["tensor.shape"]


def test_rules_name_their_source():
    documents = {
        "abi-overview.rst",
        "abi-overview-2025.txt",
        "c-abi.md",
        "stable-c-abi.rst",
    }

    assert {rule.document for rule in RULES.values()} <= documents
    assert all(rule.heading and rule.sentence.endswith(".") for rule in RULES.values())


def test_the_debug_context_states_the_same_rules():
    """The package and the kit are separate distributions, so each has a table."""
    # The debug context checks that the kind is registered, which only a host language knows.
    shared = set(RULES) & set(debug_rules.RULES) - {"error.kind"}
    assert len(shared) == 21

    def facts(rule):
        return rule.document, rule.heading, rule.sentence

    for name in shared:
        assert facts(debug_rules.RULES[name]) == facts(RULES[name])
