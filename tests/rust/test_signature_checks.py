# SPDX-License-Identifier: Apache-2.0
"""Argument checks of Rust exports: same results and messages as `Signature.check`.

The cases are those of the generated C wrappers.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi import Signature, cpp
from tvm_ffi.core import ObjectRValueRef

from ..python.codegen import test_agreement as cases

# Signatures with extent expressions; the macro export! does not support them, see test_export.py.
WITH_EXPRESSIONS = {"sums", "quotients", "extremes", "products", "optional"}
MAYBE = "maybe(x: float32*[n] | None, y: Tensor[n] | None = None, /, n: int | None = None)"
DEFAULTS = (
    "defaults(a: int = -3, b: float = 2.5e1, c: str = 'a long text', d: bool = True, *, "
    "e: str = 'x', f: int)"
)
SIGNATURES = {
    name: text for name, text in cases.SIGNATURES.items() if name not in WITH_EXPRESSIONS
} | {
    "maybe": MAYBE,
    "defaults": DEFAULTS,
    "nothing_else": "nothing_else(x: float32[n])",
    "written": "written(x: Tensor, y: out Tensor, z: inout Tensor | None = None)",
    "slices": "slices(x: out float32*[n] on cpu, y: float32*[n] on cpu, z: inout float32*[m], "
    "m: int)",
    "spaces": "spaces(x: Tensor on cpu : 1 | None, y: Tensor on cuda | None = None)",
    "unknown_access": "unknown_access(x: unknown Tensor, y: unknown Tensor)",
}

EXPORT = 'pytvmffi::export!({name}, "{text}");\nfn {name}({parameters}) {{}}\n'


def source_of(signatures: dict[str, str]) -> str:
    """Return the source of a library whose functions do nothing."""
    exports = []
    for name, text in signatures.items():
        count = len(Signature.parse(text).parameters)
        parameters = ", ".join(["_: pytvmffi::AnyView<'_>"] * count)
        escaped = text.replace('"', '\\"')
        exports.append(EXPORT.format(name=name, text=escaped, parameters=parameters))
    return "\n".join(exports)


@pytest.fixture(scope="session")
def library(build_library):
    return tvm_ffi.load_module(build_library("agreement", source_of(SIGNATURES)))


@pytest.fixture(scope="session")
def callers(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield cpp.load_inline("callers", c_sources=cases.RAW_CALLS.read_text(encoding="utf-8"))


def compare(library, callers, name, args):
    """Return the outcome of `Signature.check`; assert that the Rust function has the same one."""
    function = getattr(library, name)
    checked = cases.outcome(Signature.parse(SIGNATURES[name]).check, args)
    assert cases.outcome(function, args) == checked
    if not any(map(cases.is_converted, args)):
        assert cases.outcome(callers.forward, (function, *args)) == checked
    return checked


TABLE = [row for row in cases.TABLE if row[0] in SIGNATURES] + [
    ("maybe", (None,), None),
    ("maybe", (), "missing 1 required positional argument: 'x'"),
    ("maybe", (cases.zeros(3), None, 2), "'n': must be n = 3, got 2"),
    ("maybe", (None, cases.zeros(3), 2), "'n': must be n = 3, got 2"),
    ("maybe", (3,), "'x': expected float32[n] compact | None, got int"),
    ("spaces", (cases.zeros(2),), "'x': expected device cpu:1, got cpu:0"),
    ("spaces", (None, cases.zeros(2)), "'y': expected device cuda, got cpu:0"),
]


@pytest.mark.parametrize(
    ("name", "args", "text"), [pytest.param(*row, id=f"{row[0]}-{row[2]}") for row in TABLE]
)
def test_the_function_and_the_check_give_the_expected_message(library, callers, name, args, text):
    outcome = compare(library, callers, name, args)
    if text is None:
        assert outcome is None
    else:
        assert outcome is not None
        assert text in outcome[1]


# Calls with random arguments exclude `spaces`, because messages contain types as written.
@given(
    st.sampled_from(sorted(set(SIGNATURES) - {"defaults", "spaces"})),
    st.lists(cases.HOSTILE, max_size=6),
)
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_function_agrees_with_the_check_on_hostile_arguments(library, callers, name, args):
    compare(library, callers, name, args)


@given(cases.nearly_right())
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_function_agrees_with_the_check_on_nearly_correct_arguments(library, callers, case):
    if case[0] in SIGNATURES:
        compare(library, callers, *case)


# ---- Tensors that the function writes ------------------------------------------------------------

WHOLE, OTHER = cases.zeros(4), cases.zeros(4)
GRID = cases.zeros(3, 4)


def repeated(*shape):
    """Return a writable array whose rows have the same address."""
    strides = (0, *cases.zeros(*shape).strides[1:])
    return np.lib.stride_tricks.as_strided(cases.zeros(64), shape, strides)


def overlap(name, parameter, other):
    return (
        f"{name}() argument '{parameter}': the array shares memory with argument '{other}', and "
        "the function writes into it; pass arrays that do not overlap"
    )


def repeats(name, parameter, strides):
    return (
        f"{name}() argument '{parameter}': expected an array without repeated elements, because "
        f"the function writes into it, got strides {strides}"
    )


# Rows: function, arguments, and the expected error message or None.
WRITTEN = [
    ("written", (WHOLE, OTHER), None),
    ("written", (WHOLE, WHOLE), overlap("written", "y", "x")),
    ("written", (WHOLE[:2], WHOLE[1:]), overlap("written", "y", "x")),
    ("written", (WHOLE[1:], WHOLE[:2]), overlap("written", "y", "x")),
    ("written", (WHOLE[:2], WHOLE[2:]), None),
    ("written", (WHOLE[2:], WHOLE[:2]), None),
    ("written", (OTHER, WHOLE, WHOLE), overlap("written", "z", "y")),
    ("written", (WHOLE, OTHER, WHOLE), overlap("written", "z", "x")),
    ("written", (WHOLE, WHOLE, WHOLE), overlap("written", "y", "x")),
    ("written", (WHOLE, OTHER, None), None),
    # Empty tensors have no memory; tensors with gaps share the first element or may be interleaved.
    ("written", (WHOLE[:0], WHOLE), None),
    ("written", (WHOLE, WHOLE[2:2]), None),
    ("written", (WHOLE[::2], WHOLE[1::2]), None),
    ("written", (WHOLE[::2], WHOLE[::2]), overlap("written", "y", "x")),
    ("written", (WHOLE[::2], WHOLE[:3]), overlap("written", "y", "x")),
    ("written", (WHOLE[::-1], WHOLE), None),
    ("written", (GRID[:, :2], GRID[:, 2:]), None),
    ("written", (GRID[:2], GRID[1:]), overlap("written", "y", "x")),
    ("written", (WHOLE, WHOLE.view(np.uint8)[15:]), overlap("written", "y", "x")),
    ("written", (WHOLE.view(np.uint8)[:7], WHOLE[1:]), overlap("written", "y", "x")),
    ("written", (WHOLE.view(np.uint8)[:8], WHOLE[2:]), None),
    ("slices", (WHOLE, OTHER, OTHER, 4), overlap("slices", "z", "y")),
    ("slices", (WHOLE, WHOLE, WHOLE, 4), overlap("slices", "x", "y")),
    ("slices", (WHOLE, OTHER, WHOLE[1:], 3), overlap("slices", "z", "x")),
    ("slices", (WHOLE, WHOLE, WHOLE, 3), "slices() argument 'm': must be m = 4, got 3"),
    ("unknown_access", (WHOLE, WHOLE), None),
    # A stride of 0 repeats elements unless the extent is 1 or the tensor is empty.
    ("written", (WHOLE, repeated(3, 2)), repeats("written", "y", "(0, 1)")),
    ("written", (WHOLE, repeated(3)), repeats("written", "y", "(0,)")),
    ("written", (repeated(3, 2), WHOLE), None),
    ("written", (WHOLE, repeated(1, 2)), None),
    ("written", (WHOLE, repeated(3, 0)), None),
    ("written", (WHOLE, OTHER, repeated(2, 3)), repeats("written", "z", "(0, 1)")),
    (
        "written",
        (WHOLE, repeated(*[2] * 9)),
        repeats("written", "y", "(0, 128, 64, 32, 16, 8, 4, 2, ...)"),
    ),
    (
        "slices",
        (repeated(3), OTHER, OTHER, 4),
        "slices() argument 'x': expected a compact tensor, got strides (0,)",
    ),
]


@pytest.mark.parametrize(("name", "args", "text"), WRITTEN)
def test_a_written_tensor_shares_no_memory_and_has_no_repeated_elements(
    library, callers, name, args, text
):
    outcome = compare(library, callers, name, args)
    assert outcome == (None if text is None else (ValueError, text))


def test_moved_arguments_are_checked(library, callers):
    moved = ObjectRValueRef(tvm_ffi.from_dlpack(cases.zeros(2)))
    compare(library, callers, "vectors", (moved, cases.zeros(2), 2))


@pytest.mark.parametrize(
    ("tensor", "offset", "text"),
    [
        (0, 0, None),
        (0, 4, None),
        (0, 2, "expected an address aligned to 4 bytes, got remainder 2"),
        (1, 0, "expected the address of the first element, got NULL"),
        (2, 0, "expected float32[n] compact, got NULL"),
    ],
)
def test_dltensor_arguments_are_checked(library, callers, tensor, offset, text):
    args = (cases.zeros(2), offset, tensor, cases.zeros(2), 2)
    outcome = cases.outcome(callers.call_with_view, (library.vectors, *args))
    assert outcome is None if text is None else outcome[1] == f"vectors() argument 'x': {text}"


def test_alignment_is_checked_for_dltensor_arguments(library, callers):
    cases.check_raw_addresses(callers.call_with_view, lambda name: getattr(library, name))


@pytest.mark.parametrize(
    ("type_index", "name"), [(-1, "value of an unknown type"), (40, "value of an unknown type"),
                             (10, "None"), (13, "ffi.Unchanged")]
)  # fmt: skip
def test_values_with_invalid_type_indices_are_refused(library, callers, type_index, name):
    with pytest.raises(TypeError) as caught:
        callers.call_with_invalid(library.vectors, type_index)
    assert str(caught.value) == "vectors() missing 2 required positional arguments: 'y' and 'n'"
    with pytest.raises(TypeError) as caught:
        callers.call_with_invalid(library.nothing_else, type_index)
    assert str(caught.value) == f"nothing_else() argument 'x': expected float32[n], got {name}"


def test_an_error_names_missing_keyword_only_arguments(library, callers):
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'f'"):
        callers.forward(library.defaults, 1)
    assert library.defaults(f=2) is None


def test_the_metadata_contains_the_complete_signature(library):
    for name, text in SIGNATURES.items():
        assert library.get_function_signature(name) == Signature.parse(text)
