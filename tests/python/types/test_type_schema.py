# SPDX-License-Identifier: Apache-2.0
"""`TypeSchema`: construction, equality, JSON, annotations, `repr` and subtypes."""

from __future__ import annotations

import collections.abc
import copy
import ctypes
import json
import pickle
import sys
import typing
from typing import Any, Callable, Optional, Union

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.core import TypeSchema

INT, STR, BOOL = TypeSchema("int"), TypeSchema("str"), TypeSchema("bool")


# ---- construction ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "index"),
    [
        ("None", 0),
        ("int", 1),
        ("bool", 2),
        ("float", 3),
        ("ctypes.c_void_p", 4),
        ("dtype", 5),
        ("Device", 6),
        ("Object", 64),
        ("str", 65),
        ("bytes", 66),
        ("Callable", 68),
        ("Tensor", 70),
        ("Array", 71),
        ("Map", 72),
        ("List", 75),
        ("Dict", 76),
        ("ffi.Shape", 69),
        ("Any", -1),
        ("tuple", -3),
        ("no.such.type", -3),
    ],
)
def test_the_type_index_follows_from_the_origin(origin, index):
    assert TypeSchema(origin).origin_type_index == index
    assert TypeSchema(origin, origin_type_index=12).origin_type_index == 12


def test_unions_have_a_special_type_index():
    assert TypeSchema("Optional", (INT,)).origin_type_index == -2
    assert TypeSchema("Union", (INT, STR)).origin_type_index == -2


def test_container_arguments_are_optional():
    any_ = TypeSchema("Any")
    for origin, args in (("Array", (any_,)), ("List", (any_,)), ("Map", (any_, any_))):
        assert TypeSchema(origin).args == args
        assert TypeSchema(origin, ()).args == args
    assert TypeSchema("int").args == ()
    assert TypeSchema("tuple").args is None
    assert TypeSchema("tuple", ()).args == ()


@pytest.mark.parametrize(
    ("origin", "args", "message"),
    [
        ("Optional", (), "Optional must have exactly one type argument, got 0"),
        ("Optional", (INT, STR), "Optional must have exactly one type argument, got 2"),
        ("Union", (INT,), "Union must have at least two type arguments, got 1"),
        ("Array", (INT, STR), "Array must have 0 or 1 type argument, got 2"),
        ("list", (INT, STR), "list must have 0 or 1 type argument, got 2"),
        ("Map", (INT,), "Map must have 0 or 2 type arguments, got 1"),
        ("Dict", (INT, STR, BOOL), "Dict must have 0 or 2 type arguments, got 3"),
        ("", (), "schema type must be a nonempty string, got ''"),
    ],
)
def test_wrong_numbers_of_arguments(origin, args, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        TypeSchema(origin, args)


def test_parts_must_be_schemas():
    for args in ((3,), "x", 3, (INT, None)):
        with pytest.raises(TypeError, match="schema arguments must be TypeSchema instances"):
            TypeSchema("foo", args)
    with pytest.raises(TypeError, match="fallback"):
        TypeSchema("foo", fallback=3)
    with pytest.raises(TypeError, match="named_args must be a map of names to type lists"):
        TypeSchema("foo", named_args=[INT])
    with pytest.raises(TypeError, match="named_args values must be lists of type schemas"):
        TypeSchema("foo", named_args={"x": INT})


def test_named_and_positional_forms_of_callables_are_equal():
    named = TypeSchema("Callable", named_args={"return": [INT], "params": [STR, BOOL]})
    assert named == TypeSchema("Callable", (INT, STR, BOOL))
    assert named.args == ()
    assert named.named_args == {"return": (INT,), "params": (STR, BOOL)}
    assert TypeSchema("Callable", (INT,)).named_args == {"return": (INT,)}
    assert TypeSchema("Callable").named_args is None


@pytest.mark.parametrize(
    ("args", "named_args", "message"),
    [
        ((), {"params": (INT,)}, "group 'return' of Callable must contain exactly one type"),
        ((), {"return": (INT, STR)}, "group 'return' of Callable must contain exactly one type"),
        ((), {}, "group 'return' of Callable must contain exactly one type"),
        (
            (INT,),
            {"return": (INT,)},
            "Callable has only the groups 'return' and 'params' in named_args",
        ),
        (
            (),
            {"return": (INT,), "x": ()},
            "Callable has only the groups 'return' and 'params' in named_args",
        ),
    ],
)
def test_groups_of_a_function(args, named_args, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        TypeSchema("Callable", args, named_args=named_args)


def test_equality_is_by_content_without_the_type_key():
    assert TypeSchema("Array", (INT,)) == TypeSchema("Array", [INT])
    assert TypeSchema("int", type_key="ffi.BigInt") == INT
    assert TypeSchema("foo", fallback=INT) != TypeSchema("foo")
    assert TypeSchema("foo", named_args={"x": ()}) != TypeSchema("foo")
    assert TypeSchema("tuple") != TypeSchema("tuple", ())
    assert INT != "int"
    with pytest.raises(TypeError, match="unhashable"):
        hash(INT)


def test_copies_and_pickles():
    schema = TypeSchema("Callable", (INT, TypeSchema("Map", (STR, BOOL))))
    for other in (copy.copy(schema), copy.deepcopy(schema), pickle.loads(pickle.dumps(schema))):
        assert other == schema
        assert repr(other) == "Callable[[Map[str, bool]], int]"


# ---- JSON ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("void*", "ctypes.c_void_p"),
        ("DataType", "dtype"),
        ("DLTensor*", "Tensor"),
        ("ObjectRValueRef", "Object"),
        ("const char*", "str"),
        ("TVMFFIByteArray*", "bytes"),
        ("ffi.String", "str"),
        ("ffi.SmallStr", "str"),
        ("ffi.Bytes", "bytes"),
        ("ffi.SmallBytes", "bytes"),
        ("ffi.Object", "Object"),
        ("ffi.Tensor", "Tensor"),
        ("ffi.Function", "Callable"),
        ("ffi.OpaquePyObject", "Any"),
        ("ffi.BigInt", "int"),
        ("std::string", "str"),
        ("std::function", "Callable"),
        ("ffi.Shape", "ffi.Shape"),
        ("std::pair", "std::pair"),
    ],
)
def test_names_in_json(name, origin):
    assert TypeSchema.from_json_obj({"type": name}).origin == origin


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        ({"type": "Optional", "args": [{"type": "int"}]}, "int | None"),
        ({"type": "Variant", "args": [{"type": "int"}, {"type": "ffi.String"}]}, "int | str"),
        ({"type": "Tuple"}, "tuple"),
        ({"type": "Tuple", "args": []}, "tuple[()]"),
        ({"type": "std::tuple", "args": [{"type": "int"}]}, "tuple[int]"),
        ({"type": "std::vector", "args": [{"type": "float"}]}, "Array[float]"),
        (
            {"type": "std::unordered_map", "args": [{"type": "int"}, {"type": "Any"}]},
            "Map[int, Any]",
        ),
        ({"type": "ffi.Array", "args": [{"type": "ffi.Dict"}]}, "Array[Dict[Any, Any]]"),
        (
            {
                "type": "ffi.Function",
                "named_args": {"return": [{"type": "int"}], "params": [{"type": "ffi.Array"}]},
            },
            "Callable[[Array[Any]], int]",
        ),
        (
            {"type": "ffi.Function", "args": [{"type": "None"}, {"type": "int"}]},
            "Callable[[int], None]",
        ),
        ({"type": "ffi.Function"}, "Callable[..., Any]"),
        ({"type": "no.such.type", "fallback": {"type": "ffi.Object"}}, "Object"),
        ({"type": "std::array", "args": [{"type": "int"}, 4]}, "std::array[int]"),
        ({"type": "int", "later": "addition"}, "int"),
    ],
)
def test_json_as_text(obj, text):
    assert repr(TypeSchema.from_json_obj(obj)) == text
    assert repr(TypeSchema.from_json_str(json.dumps(obj))) == text


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (3, "expected schema dict with 'type' key, got int"),
        ({}, "expected schema dict with 'type' key, got dict"),
        (None, "expected schema dict with 'type' key, got NoneType"),
        ({"type": 3}, "member 'type' of a type schema must be a string, got int"),
        ({"type": "x", "fallback": None}, "expected schema dict with 'type' key, got NoneType"),
        ({"type": "x", "named_args": []}, "named_args must be a map of names to type lists"),
        ({"type": "x", "named_args": {"a": {"type": "int"}}}, "must map names to type lists"),
    ],
)
def test_malformed_json(obj, message):
    with pytest.raises(TypeError, match=message):
        TypeSchema.from_json_obj(obj)


def test_invalid_json_is_refused():
    with pytest.raises(json.JSONDecodeError):
        TypeSchema.from_json_str("{")


@pytest.mark.parametrize(
    ("schema", "obj"),
    [
        (INT, {"type": "int"}),
        (TypeSchema("tuple"), {"type": "tuple"}),
        (TypeSchema("tuple", ()), {"type": "tuple", "args": []}),
        (TypeSchema("List"), {"type": "List", "args": [{"type": "Any"}]}),
        (
            TypeSchema("Callable", (INT, STR)),
            {
                "type": "Callable",
                "named_args": {"return": [{"type": "int"}], "params": [{"type": "str"}]},
            },
        ),
        (TypeSchema("foo", fallback=INT), {"type": "foo", "fallback": {"type": "int"}}),
        (TypeSchema("int", type_key="ffi.BigInt"), {"type": "ffi.BigInt"}),
    ],
)
def test_to_json_and_back(schema, obj):
    assert schema.to_json() == obj
    assert TypeSchema.from_json_obj(obj) == schema


def test_deep_nesting_is_a_recursion_error():
    obj: dict[str, Any] = {"type": "int"}
    for _ in range(100_000):
        obj = {"type": "ffi.Array", "args": [obj]}
    with pytest.raises(RecursionError):
        TypeSchema.from_json_obj(obj)
    schema = INT
    for _ in range(100_000):
        schema = TypeSchema("Array", (schema,))
    for use in (repr, TypeSchema.to_json, lambda x: x.check_value([])):
        with pytest.raises(RecursionError):
            use(schema)
    while obj.get("args"):  # some Python versions cannot free dicts nested so deeply
        obj = obj.pop("args")[0]


# ---- type indices ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "origin"),
    [
        (-1, "Any"),
        (0, "None"),
        (4, "ctypes.c_void_p"),
        (7, "Tensor"),
        (8, "str"),
        (10, "Object"),
        (12, "bytes"),
        (67, "ffi.Error"),
        (68, "Callable"),
        (74, "ffi.OpaquePyObject"),
        (78, "int"),
    ],
)
def test_from_type_index(index, origin):
    schema = TypeSchema.from_type_index(index)
    assert (schema.origin, schema.origin_type_index) == (origin, index)


def test_from_type_index_with_arguments():
    assert TypeSchema.from_type_index(71, (INT,)) == TypeSchema("Array", (INT,))
    with pytest.raises(ValueError, match="Map must have 0 or 2 type arguments, got 1"):
        TypeSchema.from_type_index(72, (INT,))


def test_unknown_type_indices_are_refused():
    for index in (-2, -3, 63, 100, 2**31 - 1, -(2**31)):
        with pytest.raises(ValueError, match=f"no type is registered with index {index}$"):
            TypeSchema.from_type_index(index)


# ---- annotations -----------------------------------------------------------------------------


class Exporting:
    def __dlpack__(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (None, "None"),
        (type(None), "None"),
        (Any, "Any"),
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
        (str, "str"),
        (bytes, "bytes"),
        (core.String, "str"),
        (core.Bytes, "bytes"),
        (list, "List[Any]"),
        (dict, "Dict[Any, Any]"),
        (tuple, "tuple"),
        (list[int], "List[int]"),
        (dict[str, list[int]], "Dict[str, List[int]]"),
        (tuple[int, str], "tuple[int, str]"),
        (tuple[()], "tuple[()]"),
        (tuple[int, ...], "Array[int]"),
        (typing.List[int], "List[int]"),  # noqa: UP006
        (typing.List, "List[Any]"),  # noqa: UP006
        (typing.Dict[str, int], "Dict[str, int]"),  # noqa: UP006
        (typing.Tuple, "tuple"),  # noqa: UP006
        (typing.Tuple[int, ...], "Array[int]"),  # noqa: UP006
        (typing.Tuple[()], "tuple[()]"),  # noqa: UP006
        (Optional[int], "int | None"),
        (Union[int, str], "int | str"),
        (Union[int, None, str], "int | str | None"),
        (Union[int, bool], "int | bool"),
        (Callable, "Callable[..., Any]"),
        (Callable[..., int], "Callable[..., int]"),
        (Callable[[], None], "Callable[[], None]"),
        (Callable[[int, str], bool], "Callable[[int, str], bool]"),
        (collections.abc.Callable, "Callable[..., Any]"),
        (collections.abc.Callable[[int], str], "Callable[[int], str]"),
        (tvm_ffi.Array, "Array[Any]"),
        (tvm_ffi.List, "List[Any]"),
        (tvm_ffi.Map, "Map[Any, Any]"),
        (tvm_ffi.Dict, "Dict[Any, Any]"),
        (tvm_ffi.Tensor, "Tensor"),
        (tvm_ffi.Function, "Callable[..., Any]"),
        (tvm_ffi.Object, "Object"),
        (tvm_ffi.Module, "ffi.Module"),
        (tvm_ffi.Shape, "ffi.Shape"),
        (core.Error, "ffi.Error"),
        (tvm_ffi.dtype, "dtype"),
        (core.DataType, "dtype"),
        (tvm_ffi.Device, "Device"),
        (ctypes.c_void_p, "ctypes.c_void_p"),
        (np.ndarray, "Tensor"),
        (Exporting, "Tensor"),
    ],
    ids=str,
)
def test_from_annotation(annotation, text):
    assert repr(TypeSchema.from_annotation(annotation)) == text


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the syntax is new in Python 3.10")
def test_unions_with_a_bar():
    union = eval("int | None | str", {})
    assert TypeSchema.from_annotation(union) == TypeSchema(
        "Optional", (TypeSchema("Union", (INT, STR)),)
    )


@pytest.mark.parametrize(
    "annotation",
    [
        object,
        set,
        bytearray,
        "int",
        3,
        ...,
        type,
        ctypes.c_int,
        np.int32,
        pytest.param(Exporting(), id="object that exports"),
        typing.Sequence[int],
        collections.abc.Mapping,
        typing.Iterable[int],
        typing.TypeVar("T"),
        typing.ClassVar[int],
        list[set],
        Optional[set],
        Callable[[set], int],
        [int],
    ],
    ids=str,
)
def test_unsupported_annotations_are_refused(annotation):
    with pytest.raises(TypeError, match="^Cannot convert .* to TypeSchema$"):
        TypeSchema.from_annotation(annotation)


def test_wrong_numbers_of_type_arguments_are_refused():
    with pytest.raises(TypeError, match="list takes at most 1 type argument, got 2"):
        TypeSchema.from_annotation(list[int, str])  # type: ignore[misc]
    with pytest.raises(TypeError, match="dict requires 0 or 2 type arguments, got 1"):
        TypeSchema.from_annotation(dict[int])  # type: ignore[misc]


def test_unregistered_classes_are_refused():
    class Unregistered(tvm_ffi.Object):
        pass

    for cls in (Unregistered, core.CObject):
        with pytest.raises(TypeError, match="is not registered; use @register_object"):
            TypeSchema.from_annotation(cls)


# ---- repr ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "text", "mapped"),
    [
        (TypeSchema("Optional", (INT,)), "int | None", "OPTIONAL[INT]"),
        (TypeSchema("Union", (INT, STR)), "int | str", "UNION[INT, STR]"),
        (TypeSchema("tuple", ()), "tuple[()]", "TUPLE[()]"),
        (TypeSchema("tuple"), "tuple", "TUPLE"),
        (TypeSchema("Map", (STR, INT)), "Map[str, int]", "MAP[STR, INT]"),
        (TypeSchema("Callable"), "Callable[..., Any]", "CALLABLE[..., Any]"),
        (
            TypeSchema("Callable", (INT, STR, TypeSchema("Array", (BOOL,)))),
            "Callable[[str, Array[bool]], int]",
            "CALLABLE[[STR, ARRAY[BOOL]], INT]",
        ),
        (TypeSchema("foo", (INT,)), "foo[int]", "FOO[INT]"),
        (TypeSchema("foo", (STR,), fallback=INT), "int", "INT"),
        (TypeSchema("ffi.Module", fallback=INT), "ffi.Module", "FFI.MODULE"),
    ],
)
def test_repr_with_and_without_a_name_map(schema, text, mapped):
    assert repr(schema) == text
    assert schema.repr() == schema.output_repr() == schema.input_repr() == text
    assert schema.repr(str.upper) == schema.input_repr(str.upper) == mapped


# ---- subtypes --------------------------------------------------------------------------------


def test_is_subtype_of():
    array = TypeSchema("Array", (INT,))
    assert array.is_subtype_of(tvm_ffi.Array)
    assert array.is_subtype_of(tvm_ffi.Object)
    assert not array.is_subtype_of(tvm_ffi.List)
    assert TypeSchema("Tensor").is_subtype_of(tvm_ffi.Tensor)
    assert TypeSchema("str").is_subtype_of(tvm_ffi.Object)
    assert not TypeSchema("Object").is_subtype_of(tvm_ffi.Array)
    for origin in ("int", "Any", "no.such.type"):
        assert not TypeSchema(origin).is_subtype_of(tvm_ffi.Object)
    for cls in (int, object, core.CObject, 3):
        assert not array.is_subtype_of(cls)
