# SPDX-License-Identifier: Apache-2.0
"""Signatures from annotations and from metadata, and as the types of functions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Callable, Optional

import pytest

import tvm_ffi
from tvm_ffi import Array, Map, Signature, Tensor, TensorLike
from tvm_ffi._schema.json_form import schema_to_json
from tvm_ffi.core import TypeSchema


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
        (with_keywords, r"'\*\*names' collects keywords"),
        (with_unknown, "annotation of parameter 'x'|Cannot convert"),
        (with_wrong_text, "annotation of parameter 'x': character 9 .*: expected"),
        (with_wrong_default, "default of parameter 'x': a tensor has no default but None"),
        (with_missing_name, "annotation of .* cannot be read: name 'NotThere' is not defined"),
    ],
)
def test_annotations_that_stand_for_nothing(function, error):
    with pytest.raises(TypeError, match=error):
        Signature.from_function(function)


class Float32:
    """What an annotation of jaxtyping is: a class with these attributes."""

    dtypes = ("float32",)
    array_type = object


@pytest.mark.parametrize(
    ("dims", "shape"),
    [
        ("n m", ("n", "m")),
        ("", ()),
        ("... 3", ("...", 3)),
        ("*batch n", ("...", "n")),
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


def test_jaxtyping_itself():
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


def test_types_of_functions_have_no_names():
    schema = TypeSchema.from_annotation(Callable[[Tensor, int, Array[int]], str])
    found = Signature.from_type_schema(schema, "f")
    assert str(found) == "f(_0: unknown Tensor, _1: int, _2: unknown Array[int], /) -> str"
    assert schema_to_json(found.to_type_schema()) == schema.to_json()
    assert not found.has_names


def test_a_function_that_declares_nothing():
    schema = TypeSchema.from_json_str(
        '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}]}}'
    )
    assert str(Signature.from_type_schema(schema)) == "(*args: unknown Any) -> int"
    with pytest.raises(ValueError, match="expected the type of a function, got int"):
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


def test_metadata_that_say_something_else():
    with pytest.raises(ValueError, match="'signature' in the metadata must be text, got int"):
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
def test_signatures_as_types(text, params):
    schema = Signature.parse(text).to_type_schema()
    found = TypeSchema.from_json_obj(schema_to_json(schema))
    assert [repr(param) for param in found.named_args["params"]] == params


def test_nothing_native_is_needed():
    """The package can be used where no library of ours is: it reads, prints and compares."""
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
