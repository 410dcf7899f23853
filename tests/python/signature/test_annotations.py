# SPDX-License-Identifier: Apache-2.0
"""Signatures from annotations and metadata, and conversion to function types."""

from __future__ import annotations

import copy
import enum
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Callable, Optional, get_type_hints

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Array, Map, Signature, Tensor, TensorLike
from tvm_ffi._schema.json_form import schema_to_json
from tvm_ffi.core import TypeSchema
from tvm_ffi.signature import EMPTY, Expression, Parameter, ScalarType, TensorType, ValueType


def annotated(x: Annotated[Tensor, "float32[n]"], y: Annotated[Tensor, "out float32[n]"]) -> None:
    """Copy."""


def plain(x: Tensor, n: int, /, *names: str, scale: float = 2) -> Map[str, Any]:
    raise NotImplementedError


def loose(x, y=None):
    raise NotImplementedError


def optional(x: Optional[Annotated[Tensor, "in int8[n]"]] = None) -> Optional[int]:  # noqa: UP045
    raise NotImplementedError


def of_any_framework(
    x: TensorLike,
    y: Annotated[Optional[TensorLike], "out float32[n] | None"] = None,  # noqa: UP045
) -> None:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (annotated, "annotated(x: float32[n], y: out float32[n]) doc 'Copy.'"),
        (
            plain,
            "plain(x: unknown Tensor, n: int, /, *names: str, scale: float = 2.0) -> Map[str, Any]",
        ),
        (loose, "loose(x: unknown Any, y: unknown Any = None) -> Any"),
        (optional, "optional(x: int8[n] | None = None) -> int | None"),
        (of_any_framework, "of_any_framework(x: unknown Tensor, y: out float32[n] | None = None)"),
        (lambda x: x, "(x: unknown Any) -> Any"),
    ],
)
def test_annotations(function, text):
    assert str(Signature.from_function(function)) == text


def with_keywords(**names: int) -> None:
    raise NotImplementedError


def with_unknown(x: object()) -> None:  # type: ignore[valid-type]
    raise NotImplementedError


def with_wrong_text(x: Annotated[Tensor, "float32[n"]) -> None:
    raise NotImplementedError


def with_wrong_default(x: Tensor = 1) -> None:  # type: ignore[assignment]
    raise NotImplementedError


def with_missing_name(x: NotThere) -> None:  # type: ignore[name-defined]  # noqa: F821
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (with_keywords, r"'\*\*names': a signature must declare each keyword"),
        (with_unknown, "annotation of parameter 'x'|Cannot convert"),
        (with_wrong_text, "annotation of parameter 'x': character 9 .*: expected"),
        (with_wrong_default, "default of parameter 'x': the only default of a tensor is None"),
        (with_missing_name, "annotation of .* cannot be read: name 'NotThere' is not defined"),
    ],
)
def test_invalid_annotations_are_refused(function, error):
    with pytest.raises(TypeError, match=error):
        Signature.from_function(function)


class Float32:
    """A fake of a jaxtyping annotation: a class with the same attributes."""

    dtypes = ("float32",)
    array_type = object


@pytest.mark.parametrize(
    ("dims", "shape"),
    [
        ("n m", ("n", "m")),
        ("", ()),
        ("... 3", ("...", 3)),
        ("*batch n", ("*batch", "n")),
        ("*_batch n", ("...", "n")),
        ("_ #n _x", ("_", "_", "_")),
        ("rows=4 n", (4, "n")),
    ],
)
def test_jaxtyping(dims, shape):
    annotation = type("Annotation", (Float32,), {"dim_str": dims})

    def function(x):
        raise NotImplementedError

    function.__annotations__ = {"x": annotation}
    found = Signature.from_function(function).parameters[0]
    assert (found.type.dtype, found.type.shape) == ("float32", shape)
    assert found.direction == "unknown"


def test_the_jaxtyping_package():
    jaxtyping = pytest.importorskip("jaxtyping", reason="jaxtyping is not installed")
    numpy = pytest.importorskip("numpy")

    def function(x, y):
        raise NotImplementedError

    function.__annotations__ = {
        "x": jaxtyping.Float32[numpy.ndarray, "n m"],
        "y": jaxtyping.Int[numpy.ndarray, "... 2*n"],
    }
    found = Signature.from_function(function)
    assert str(found.parameters[0].type.dtype) == "float32"
    assert str(found.parameters[1].type.shape[1]) == "2*n"


def test_function_types_have_no_parameter_names():
    schema = TypeSchema.from_annotation(Callable[[Tensor, int, Array[int]], str])
    found = Signature.from_type_schema(schema, "f")
    assert str(found) == "f(_0: unknown Tensor, _1: int, _2: unknown Array[int], /) -> str"
    assert schema_to_json(found.to_type_schema()) == schema.to_json()
    assert not found.has_names


def test_functions_without_annotations():
    schema = TypeSchema.from_json_str(
        '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}]}}'
    )
    assert str(Signature.from_type_schema(schema)) == "(*args: unknown Any) -> int"
    with pytest.raises(ValueError, match="expected a function type, got the type int"):
        Signature.from_type_schema(TypeSchema("int"))


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({}, None),
        ({"signature": "(x: int)"}, "f(x: int)"),
        ({"signature": "g(x: int)", "type_schema": "wrong"}, "g(x: int)"),
        ({"type_schema": "wrong"}, None),
        (
            {"type_schema": json.dumps({"type": "ffi.Function", "args": [{"type": "None"}]})},
            "f(*args: unknown Any)",
        ),
    ],
)
def test_metadata(metadata, text):
    found = Signature.from_metadata(metadata, "f")
    assert (None if found is None else str(found)) == text


def test_invalid_metadata_is_refused():
    with pytest.raises(
        ValueError, match="member 'signature' of the metadata must be a str, got int"
    ):
        Signature.from_metadata({"signature": 1})


@pytest.mark.parametrize(
    ("text", "params"),
    [
        (
            "f(x: float32[n], n: int32, s: float64, t: str) -> float32[n]",
            ["Tensor", "int", "float", "str"],
        ),
        ("f(x: int8 | None, y: Tensor | None)", ["int | None", "Tensor | None"]),
    ],
)
def test_signatures_convert_to_function_types(text, params):
    schema = Signature.parse(text).to_type_schema()
    found = TypeSchema.from_json_obj(schema_to_json(schema))
    assert [repr(param) for param in found.named_args["params"]] == params


def test_the_native_library_is_not_needed():
    """The package reads, prints and compares signatures without the native library."""
    root = Path(tvm_ffi.__file__).parent
    program = f"""
import sys, types
package = types.ModuleType("tvm_ffi")
package.__path__ = [{str(root)!r}]
sys.modules["tvm_ffi"] = package
from tvm_ffi.signature import Signature
assert str(Signature.parse("f(x: Tensor[n])")) == "f(x: Tensor[n])"
assert not any("_binding" in name for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(lambda value: pickle.loads(pickle.dumps(value)), id="pickle"),
        pytest.param(copy.deepcopy, id="deepcopy"),
        pytest.param(copy.copy, id="copy"),
    ],
)
def test_copies_are_equal(again):
    """Regression: copies had another object for "no default", and thus a default."""
    signature = Signature.parse(
        "f(x: {float16, float32}[n, cdiv(n, 2)] compact align 16 on cuda:1, y: out T[n] | None, "
        "k: int = 3, *rest: Any) -> (z: T[n], int) where T in (int8, int32) raises ValueError "
        "non_blocking doc 'text'"
    )
    made = again(signature)
    assert made == signature
    assert str(made) == str(signature)
    assert [one.is_required for one in made.parameters] == [True, True, False, False]
    with pytest.raises(TypeError, match="missing 2 required positional arguments: 'x' and 'y'"):
        made.check()
    assert again(EMPTY) is EMPTY


class Mode(enum.IntEnum):
    """A class of numbers that a user defines."""

    FAST = 1


class Word(str, enum.Enum):
    """A class of strings that a user defines."""

    AXIS = "axis"


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (int, Mode.FAST, 1),
        (float, Mode.FAST, 1.0),
        (float, np.float64(0.5), 0.5),
        (str, Word.AXIS, "axis"),
        (tvm_ffi.dtype, tvm_ffi.dtype("float32"), "float32"),
        (Any, Word.AXIS, "axis"),
        (Array[int], [Mode.FAST, 2], (1, 2)),
    ],
)
def test_defaults_become_builtin_values(annotation, default, expected):
    """Regression: the signature's text contained the class's own text, which the parser rejects."""

    def function(x):
        raise NotImplementedError

    function.__annotations__["x"] = annotation
    function.__defaults__ = (default,)
    signature = Signature.from_function(function)
    (parameter,) = signature.parameters
    assert (parameter.default, type(parameter.default)) == (expected, type(expected))
    assert Signature.parse(str(signature)).parameters == signature.parameters


def test_names_and_extents_may_be_enum_members():
    tensor = TensorType(Word.AXIS, ("n", Mode.FAST, Expression("+", ("n", Mode.FAST))))
    signature = Signature(
        (Parameter(Word.AXIS, tensor),),
        name=Word.AXIS,
        doc=Word.AXIS,
        dtype_variables={Word.AXIS: ("int8",)},
    )
    assert str(signature) == "axis(axis: axis[n, 1, n + 1]) where axis in (int8) doc 'axis'"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: Signature((1,)),
            "parameters must be a tuple of Parameter, got an element of type int",
        ),
        (
            lambda: Signature((), ("int",)),
            "results must be a tuple of Result, got an element of type str",
        ),
        (lambda: Signature((), errors="ValueError"), "errors must be a tuple of str, got the text"),
        (lambda: Signature((), doc=5), "doc must be a str or None, got int"),
        (
            lambda: Expression("+", (None, 1)),
            "an operand must be an int, a name or an Expression, got NoneType",
        ),
        (lambda: TensorType("int8", "nm"), "a shape must be a tuple of extents, got the str 'nm'"),
        (lambda: TensorType("int8", device=tvm_ffi.device("cpu")), "device must be a str, got D"),
        (lambda: TensorType(5), "dtype must be a str, a tuple of them or None, got int"),
        (lambda: ScalarType(5), "dtype must be a str, got int"),
        (lambda: ValueType("int"), "schema must be a TypeSchema, got str"),
    ],
)
def test_members_of_another_type_are_type_errors(make, text):
    with pytest.raises(TypeError, match=text):
        make()


@pytest.mark.parametrize("type_", ["float32", "float", "float64 | None"])
def test_a_default_too_large_for_a_float_is_a_value_error(type_):
    """Regression: OverflowError, also for metadata of libraries, whose functions then failed."""
    with pytest.raises(ValueError, match="does not fit"):
        Signature.parse(f"f(x: {type_} = {'9' * 350})")


@pytest.mark.skipif(sys.version_info < (3, 10), reason="annotations use the syntax of 3.10")
def test_annotations_of_the_constructor_can_be_evaluated():
    """Regression: the module in which `dataclass` makes the constructor lacked their names."""
    hints = get_type_hints(Signature.__init__)
    assert hints["parameters"] == tuple[Parameter, ...]
