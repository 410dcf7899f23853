# SPDX-License-Identifier: Apache-2.0
"""Type names in error messages: Python names in Python, ABI names in native code."""

from __future__ import annotations

import decimal
import sys
import types

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import testing
from tvm_ffi._binding.object.type_names import (
    public_name,
    with_argument_class,
    with_python_type_names,
)


def test_the_placeholder_of_an_unregistered_type_is_unchanged():
    """Regression: the brackets were taken for those of type arguments."""
    message = "Mismatched type on argument #0. Expected `ffi.Array` but got `{}`"
    assert with_python_type_names(message.format("<unregistered type 63>")) == (
        "Mismatched type on argument #0. Expected `Array` but got `<unregistered type 63>`"
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("text", "str"),
        ("a text that is too long to be a small one", "str"),
        (b"bytes", "bytes"),
        ([1, 2], "Array"),
        ({1: 2}, "Map"),
        (None, "None"),
        (np.zeros(3), "Tensor"),
        (len, "Function"),
        (tvm_ffi.Shape((1, 2)), "Shape"),
        (tvm_ffi.dtype("int8"), "dtype"),
        (tvm_ffi.device("cpu"), "Device"),
        (iter([1]), "list_iterator"),
        (decimal.Context(), "decimal.Context"),
        (object(), "object"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_errors_name_the_python_type_of_an_argument(value, name):
    message = f"`testing.schema_id_int\\(0: int\\) -> int`. Expected `int` but got `{name}`$"
    with pytest.raises(TypeError, match=message):
        testing.schema_id_int(value)


def test_errors_name_the_class_of_an_element():
    take = tvm_ffi.get_global_func("testing.schema_id_arr_int")
    with pytest.raises(TypeError, match=r"got `Array\[index 1: decimal\.Context\]`$"):
        take([1, decimal.Context()])
    with pytest.raises(TypeError, match=r"got `Array\[index 1: str\]`$"):
        take([1, "x"])


def test_native_errors_keep_abi_type_names():
    with pytest.raises(TypeError) as caught:
        testing.schema_id_int("x")
    assert caught.value.__tvm_ffi_error__.message.endswith("but got `ffi.SmallStr`")


def test_exceptions_of_python_code_keep_their_message(kernels):
    text = "Mismatched type on argument #0 when calling: `f`. Expected `x` but got `ffi.SmallStr`"
    raised = TypeError(text)

    def fail():
        raise raised

    with pytest.raises(TypeError) as caught:
        kernels.call(fail)
    assert caught.value is raised
    assert str(caught.value) == text


# ---- Translation of messages ---------------------------------------------------------------------

WRONG_TYPE = "Mismatched type on argument #{} when calling: `{}`. Expected `{}` but got `{}`"


@pytest.mark.parametrize(
    ("native", "python"),
    [
        ("f(0: DLTensor*) -> void*", "f(0: Tensor) -> ctypes.c_void_p"),
        ("f(0: Optional<Map<str, Array<int>>>)", "f(0: Optional[Map[str, Array[int]]])"),
        ("ffi.Array(0: ffi.Array)", "ffi.Array(0: Array)"),  # function named like a type
        ("f(0: my.Type) -> std::string", "f(0: my.Type) -> str"),
        ("f(0: Variant<int, Tuple<int, str>>)", "f(0: Union[int, tuple[int, str]])"),
    ],
)
def test_translation_of_signatures(native, python):
    message = "Mismatched number of arguments when calling: `{}`. Expected 1 but got 0 arguments"
    assert with_python_type_names(message.format(native)) == message.format(python)


@pytest.mark.parametrize(
    ("native", "python"),
    [
        ("ffi.SmallBytes", "bytes"),
        ("const char*", "str"),
        ("DLTensor*", "Tensor"),
        ("Map[some key is ffi.SmallStr, V]", "Map[some key is str, V]"),
        ("Array[size=3]", "Array[size=3]"),
        ("my.Type", "my.Type"),
    ],
)
def test_translation_of_types(native, python):
    message = "Cannot convert from type `{}` to `int`"
    assert with_python_type_names(message.format(native)) == message.format(python)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        (WRONG_TYPE.format(3, "f", "int", "ffi.OpaquePyObject"), [1, 2]),
        (WRONG_TYPE.format(0, "f", "int", "Array[index 9: ffi.OpaquePyObject]"), [[1]]),
        (WRONG_TYPE.format(0, "f", "int", "Array[index 0: ffi.OpaquePyObject]"), [iter([1])]),
        ("about ffi.OpaquePyObject in other words", [1]),
        ("", []),
    ],
)
def test_other_messages_are_unchanged(message, arguments):
    assert with_argument_class(message, arguments) == message


def test_classes_are_named_by_their_public_module(monkeypatch):
    """A pandas Series is defined in a private module, and users import it from `pandas`."""
    package = types.ModuleType("pandas")
    package.Series = type("Series", (), {"__module__": "pandas.core.series"})
    hidden = type("Hidden", (), {"__module__": "pandas.core.series"})
    monkeypatch.setitem(sys.modules, "pandas", package)
    assert public_name(package.Series) == "pandas.Series"
    assert public_name(hidden) == "pandas.core.series.Hidden"
    assert public_name(int) == "int"
    assert public_name(decimal.Decimal) == "decimal.Decimal"
    with pytest.raises(TypeError, match="Expected `int` but got `pandas.Series`"):
        testing.schema_id_int(package.Series())
