# SPDX-License-Identifier: Apache-2.0
"""Conversion and checks of values with `TypeSchema`."""

from __future__ import annotations

import collections
import collections.abc
import ctypes
import enum
import fractions
import numbers
import types

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.core import CAny, TypeSchema, _to_py_class_value

INT, STR, FLOAT, ANY = (TypeSchema(origin) for origin in ("int", "str", "float", "Any"))


def converted(schema, value):
    """Check and convert a value, and return the result as a Python object."""
    schema.check_value(value)
    result = schema.convert(value)
    assert isinstance(result, CAny)
    return _to_py_class_value(result)


def refusal(schema, value):
    """Return the error message for a refused value, without the common prefix."""
    messages = []
    for method, step in ((schema.check_value, "check"), (schema.convert, "conversion")):
        with pytest.raises(TypeError) as caught:
            method(value)
        prefix = f"type {step} failed for {schema!r}: "
        assert str(caught.value).startswith(prefix)
        messages.append(str(caught.value)[len(prefix) :])
    assert messages[0] == messages[1]
    return messages[0]


def returning(name, value):
    """Return an object whose class has a method with this name; the method returns the value."""
    return type("P", (), {name: lambda self: value})()


class Number(enum.IntEnum):
    ONE = 1


class Pairs(collections.abc.Mapping):
    """A mapping class that does not derive from dict."""

    def __init__(self, **pairs):
        self._pairs = pairs

    def __getitem__(self, key):
        return self._pairs[key]

    def __iter__(self):
        return iter(self._pairs)

    def __len__(self):
        return len(self._pairs)


# ---- plain values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "value", "expected"),
    [
        ("None", None, None),
        ("int", 3, 3),
        ("int", True, 1),
        ("int", -(2**63), -(2**63)),
        ("int", np.int32(4), 4),
        ("int", np.bool_(True), 1),
        ("int", Number.ONE, 1),
        ("int", returning("__tvm_ffi_int__", 7), 7),
        ("float", 1.5, 1.5),
        ("float", 3, 3.0),
        ("float", True, 1.0),
        ("float", 2**70, 2.0**70),
        ("float", np.float32(1.5), 1.5),
        ("float", fractions.Fraction(1, 2), 0.5),
        ("float", returning("__tvm_ffi_float__", 2.5), 2.5),
        ("bool", False, False),
        ("bool", 2**70, True),
        ("bool", np.bool_(True), True),
        ("str", "text", "text"),
        ("str", "", ""),
        ("str", tvm_ffi.dtype("int8"), "int8"),
        ("bytes", b"\0", b"\0"),
        ("bytes", bytearray(b"ab"), b"ab"),
        ("dtype", "int32", tvm_ffi.dtype("int32")),
        ("dtype", core.DataType("int32"), tvm_ffi.dtype("int32")),
        ("dtype", np.dtype("float32"), tvm_ffi.dtype("float32")),
        ("dtype", returning("__dlpack_data_type__", (0, 32, 1)), tvm_ffi.dtype("int32")),
        ("Device", "cpu:0", tvm_ffi.device("cpu", 0)),
        ("Device", tvm_ffi.device("cuda", 1), tvm_ffi.device("cuda", 1)),
        ("Device", returning("__dlpack_device__", (1, 0)), tvm_ffi.device("cpu", 0)),
    ],
)
def test_plain_values(origin, value, expected):
    result = converted(TypeSchema(origin), value)
    assert (type(result), result) == (type(expected), expected)


@pytest.mark.parametrize(
    ("value", "address"),
    [
        (None, None),
        (ctypes.c_void_p(16), 16),
        (ctypes.c_void_p(), None),
        (returning("__tvm_ffi_opaque_ptr__", 9), 9),
        (returning("__cuda_stream__", (0, 11)), 11),
    ],
)
def test_pointers(value, address):
    schema = TypeSchema("ctypes.c_void_p")
    assert schema.convert(value).type_index == 4
    assert converted(schema, value).value == address


@pytest.mark.parametrize(
    ("origin", "value", "message"),
    [
        ("None", 0, "expected None, got int"),
        ("int", None, "expected int, got None"),
        ("int", 1.0, "expected int, got float"),
        ("int", "1", "expected int, got str"),
        ("int", tvm_ffi.Array([]), "expected int, got ffi.Array"),
        ("int", tvm_ffi.Object(), "expected int, got Object"),
        ("float", "1", "expected float, got str"),
        ("float", 1j, "expected float, got complex"),
        ("float", 10**400, "float() failed for int: int too large to convert to float"),
        ("bool", 1.0, "expected bool, got float"),
        ("bool", "", "expected bool, got str"),
        ("str", b"", "expected str, got bytes"),
        ("str", bytearray(), "expected str, got bytes"),
        ("bytes", "", "expected bytes, got str"),
        ("bytes", memoryview(b""), "expected bytes, got memoryview"),
        ("dtype", "nonsense", "expected dtype, got invalid dtype string 'nonsense'"),
        ("dtype", 3, "expected dtype, got int"),
        ("Device", "nonsense", "expected Device, got invalid device string 'nonsense'"),
        ("Device", np.zeros(1), "expected Device, got ndarray"),
        ("ctypes.c_void_p", 16, "expected ctypes.c_void_p, got int"),
        ("Tensor", [1.0], "expected Tensor, got list"),
        ("Callable", 3, "expected Callable, got int"),
        ("Callable", tvm_ffi.Array([]), "expected Callable, got ffi.Array"),
        ("ffi.Module", None, "expected ffi.Module, got None"),
    ],
)
def test_plain_refusals(origin, value, message):
    assert refusal(TypeSchema(origin), value) == message


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, np.uint64(2**64 - 1)])
def test_integers_that_are_too_large(value):
    message = f"integer {value} out of int64 range [-9223372036854775808, 9223372036854775807]"
    assert refusal(INT, value) == message
    assert refusal(INT, returning("__tvm_ffi_int__", int(value))) == message
    big = TypeSchema.from_json_obj({"type": "ffi.BigInt"})
    assert converted(big, value) == value
    assert converted(big, 5) == 5


def test_any_accepts_the_values_of_a_call():
    for value in (None, True, 3, 2**70, 1.5, "text", b"bytes"):
        result = converted(ANY, value)
        assert (type(result), result) == (type(value), value)
    opaque = {1, 2}
    assert converted(ANY, opaque) is opaque
    assert converted(ANY, [1, [2]]) == tvm_ffi.Array([1, [2]])
    array = tvm_ffi.Array([1])
    assert converted(ANY, array).same_as(array)
    message = refusal(ANY, np.dtype("datetime64[s]"))
    assert message.startswith("expected Any, got DateTime64DType: ")


# ---- objects ---------------------------------------------------------------------------------


def test_tensors():
    schema = TypeSchema("Tensor")
    tensor = tvm_ffi.from_dlpack(np.arange(3.0))
    assert schema.convert(tensor).type_index == 70
    assert converted(schema, tensor).same_as(tensor)
    array = np.arange(4.0)
    assert schema.convert(array).type_index == 70
    assert converted(schema, array).shape == (4,)


def test_functions():
    schema = TypeSchema("Callable", (INT, INT))
    assert converted(schema, lambda x: x + 1)(4) == 5
    assert schema.convert(int).type_index == 68
    function = tvm_ffi.convert(len)
    assert converted(schema, function).same_as(function)


def test_any_object():
    schema = TypeSchema("Object")
    for value, index in (([1], 71), ({}, 72), ("longer than small strings", 65), (2**70, 78)):
        assert schema.convert(value).type_index == index
    for value, kind in ((3, "int"), ("short", "str"), (None, "None")):
        assert refusal(schema, value).partition("\n")[0] == f"expected Object, got {kind}"


def test_types_with_a_conversion_hook():
    shape = converted(TypeSchema("ffi.Shape"), [1, 2])
    assert (type(shape), shape) == (tvm_ffi.Shape, (1, 2))
    assert refusal(TypeSchema("ffi.Shape"), None) == (
        "expected ffi.Shape, got None\n"
        "  __ffi_convert__ failed:\n"
        "    Cannot cast from `None` to `ffi.Shape`"
    )
    error = converted(TypeSchema("ffi.Error"), ValueError("why"))
    assert (type(error), error.message) == (core.Error, "why")


def test_type_keys_of_types_with_a_conversion_rule():
    assert converted(TypeSchema("ffi.String"), "short") == "short"
    assert converted(TypeSchema("ffi.Array"), [1]) == tvm_ffi.Array([1])
    assert converted(TypeSchema("ffi.Map"), {"a": 1}) == tvm_ffi.Map({"a": 1})
    assert TypeSchema("DLTensor*").convert(np.zeros(1)).type_index == 70
    assert converted(TypeSchema("DataType"), "int8") == "int8"


def test_unknown_origins_are_refused_for_every_value():
    unknown = TypeSchema("no.such.type")
    for schema in (unknown, TypeSchema("Array", (unknown,)), TypeSchema("Union", (INT, unknown))):
        with pytest.raises(TypeError, match=r"^unknown TypeSchema origin: 'no\.such\.type'$"):
            schema.check_value([])


# ---- containers ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [[1, True], (1, True), tvm_ffi.Array([1, True])])
@pytest.mark.parametrize("origin", ["Array", "List"])
def test_sequences(origin, value):
    result = converted(TypeSchema(origin, (INT,)), value)
    assert type(result).__name__ == origin
    assert [(type(x), x) for x in result] == [(int, 1), (int, 1)]


def test_elements_are_converted():
    assert [type(x) for x in converted(TypeSchema("List", (FLOAT,)), [1, True, 2.5])] == [float] * 3
    nested = TypeSchema("Array", (TypeSchema("List", (STR,)),))
    assert [type(x) for x in converted(nested, [["a"], ()])] == [tvm_ffi.List] * 2


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TypeSchema("Array", (INT,)), tvm_ffi.Array([1, 2])),
        (TypeSchema("Array"), tvm_ffi.Array([1, "x"])),
        (TypeSchema("Array", (TypeSchema("Array", (INT,)),)), tvm_ffi.Array([[1], [2]])),
        (TypeSchema("List", (STR,)), tvm_ffi.List(["a"])),
        (TypeSchema("tuple", (INT, STR)), tvm_ffi.Array([1, "a"])),
        (TypeSchema("tuple"), tvm_ffi.Array([1, "a"])),
        (TypeSchema("Map", (STR, INT)), tvm_ffi.Map({"a": 1})),
        (TypeSchema("Dict", (STR, INT)), tvm_ffi.Dict({"a": 1})),
        (TypeSchema("Dict"), tvm_ffi.Dict({"a": 1})),
        (TypeSchema("Dict", (STR, TypeSchema("List"))), tvm_ffi.Dict({"a": tvm_ffi.List([1])})),
    ],
    ids=repr,
)
def test_containers_are_shared_if_nothing_changes(schema, value):
    assert converted(schema, value).same_as(value)


def test_a_container_of_another_kind_is_copied():
    values = tvm_ffi.List([1])
    assert not converted(TypeSchema("Array", (INT,)), values).same_as(values)
    pairs = tvm_ffi.Map({1: 2})
    result = converted(TypeSchema("Dict", (INT, FLOAT)), pairs)
    assert (type(result), dict(result.items())) == (tvm_ffi.Dict, {1: 2.0})


def test_tuples():
    pair = TypeSchema("tuple", (INT, STR))
    for value in ((1, "a"), [1, "a"], tvm_ffi.List([1, "a"])):
        assert converted(pair, value) == tvm_ffi.Array([1, "a"])
    assert converted(TypeSchema("tuple"), [1, 2, 3]) == tvm_ffi.Array([1, 2, 3])
    assert len(converted(TypeSchema("tuple", ()), [])) == 0
    assert refusal(pair, [1]) == "expected tuple of length 2, got list of length 1"
    assert refusal(pair, tvm_ffi.Array([])) == "expected tuple of length 2, got Array of length 0"
    assert refusal(pair, {1, "a"}) == "expected tuple, got set"


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        collections.OrderedDict(a=1),
        types.MappingProxyType({"a": 1}),
        Pairs(a=1),
        tvm_ffi.Map({"a": 1}),
    ],
)
@pytest.mark.parametrize("args", [(STR, INT), (ANY, ANY)])
def test_mappings(value, args):
    for origin in ("Map", "Dict"):
        result = converted(TypeSchema(origin, args), value)
        assert type(result).__name__ == origin
        assert dict(result.items()) == {"a": 1}


def test_keys_that_become_equal_and_unhashable_keys():
    different = tvm_ffi.Dict({1: 10, 2: 30})
    different[True] = 20
    assert len(different) == 3
    assert dict(converted(TypeSchema("Map", (INT, INT)), different).items()) == {1: 20, 2: 30}
    lists = TypeSchema("Map", (TypeSchema("List", (INT,)), INT))
    (key,) = converted(lists, {(1, 2): 3})
    assert (type(key), list(key)) == (tvm_ffi.List, [1, 2])


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (TypeSchema("Array", (INT,)), [1, "a"], "element [1]: expected int, got str"),
        (TypeSchema("Array", (INT,)), {1: 2}, "expected Array, got dict"),
        (TypeSchema("List", (INT,)), "text", "expected List, got str"),
        (TypeSchema("list", (INT,)), None, "expected List, got None"),
        (TypeSchema("dict"), [], "expected Dict, got list"),
        (TypeSchema("Map", (STR, INT)), {1: 2}, "key 1: expected str, got int"),
        (TypeSchema("Map", (STR, INT)), {"a": "b"}, "value for key 'a': expected int, got str"),
        (
            TypeSchema("Map", (STR, TypeSchema("Array", (TypeSchema("Optional", (INT,)),)))),
            {"k": [1, None, "x"]},
            "value for key 'k': element [2]: expected int, got str",
        ),
        (
            TypeSchema("Map", (TypeSchema("Array", (INT,)), INT)),
            {("a",): 1},
            "key ('a',): element [0]: expected int, got str",
        ),
        (
            TypeSchema("tuple", (INT, TypeSchema("Array", (STR,)))),
            (1, ["a", 3]),
            "element [1]: element [1]: expected str, got int",
        ),
        (
            TypeSchema("Array", (TypeSchema("Union", (TypeSchema("Array", (INT,)), STR)),)),
            [["x"]],
            "element [0]: expected Array[int] | str, got list",
        ),
    ],
    ids=repr,
)
def test_messages_name_the_element(schema, value, message):
    assert refusal(schema, value) == message


def test_elements_that_cannot_be_passed_are_reported():
    bad = np.dtype("datetime64[s]")
    for value in ([0, bad], (0, bad)):
        start = "element [1]: expected Any, got DateTime64DType: "
        assert refusal(TypeSchema("Array"), value).startswith(start)
    start = "value for key 'a': expected Any, got DateTime64DType: "
    assert refusal(TypeSchema("Map"), {"a": bad}).startswith(start)


def test_exceptions_of_the_value_are_raised_unchanged():
    class Broken(list):
        def __iter__(self):
            raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        TypeSchema("Array", (INT,)).convert(Broken([1]))


class _Unready(numbers.Integral):
    """A number whose conversions raise an exception."""

    def __init__(self, error):
        self.error = error

    def fail(self):
        raise self.error

    __int__ = __bool__ = fail
    for _name in numbers.Integral.__abstractmethods__ - {"__int__"}:
        locals()[_name] = lambda self, *args: 0


@pytest.mark.parametrize("origin", ["int", "float", "bool"])
def test_a_number_whose_conversion_fails_does_not_have_the_type(origin):
    """Regression: `convert` and `check_value` raised the exception of ``__int__``."""
    value = _Unready(KeyError("later"))
    assert refusal(TypeSchema(origin), value) == f"{origin}() failed for _Unready: 'later'"
    with pytest.raises(TypeError, match="type check failed for") as raised:
        TypeSchema(origin).check_value(value)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(MemoryError):
        TypeSchema(origin).convert(_Unready(MemoryError()))


# ---- alternatives ----------------------------------------------------------------------------


def test_optional():
    schema = TypeSchema("Optional", (INT,))
    assert converted(schema, None) is None
    assert converted(schema, True) == 1
    assert refusal(schema, "x") == "expected int, got str"


def test_the_first_matching_alternative_is_used():
    for args, value, kind in (
        ((FLOAT, INT), 3, float),
        ((INT, FLOAT), 3, int),
        ((INT, FLOAT), 3.0, float),
        ((STR, TypeSchema("Array", (INT,))), [1], tvm_ffi.Array),
        ((TypeSchema("Array", (INT,)), TypeSchema("List")), ["x"], tvm_ffi.List),
        ((INT, TypeSchema("None")), None, type(None)),
    ):
        assert type(converted(TypeSchema("Union", args), value)) is kind
    union = TypeSchema("Union", (INT, TypeSchema("Map", (STR, INT))))
    assert refusal(union, {"a": "b"}) == "expected int | Map[str, int], got dict"


# ---- protocols -------------------------------------------------------------------------------


def test_value_and_object_protocols():
    assert converted(INT, returning("__tvm_ffi_value__", 5)) == 5
    array = tvm_ffi.Array([1])
    holder = returning("__tvm_ffi_object__", array)
    assert converted(TypeSchema("Array", (INT,)), holder).same_as(array)
    assert converted(TypeSchema("Array", (INT,)), [returning("__tvm_ffi_value__", True)])[0] == 1
    assert refusal(INT, returning("__tvm_ffi_value__", "x")) == "expected int, got str"


def test_protocols_are_looked_up_in_the_class():
    value = type("P", (), {})()
    value.__tvm_ffi_value__ = lambda: 5
    assert refusal(INT, value) == "expected int, got P"


def chain(length):
    value = 5
    for _ in range(length):
        value = returning("__tvm_ffi_value__", value)
    return value


def test_value_protocols_are_followed_for_64_steps():
    assert converted(INT, chain(64)) == 5
    for schema in (INT, ANY):
        assert refusal(schema, chain(65)) == "infinite __tvm_ffi_value__ cycle detected"


def test_a_value_protocol_that_returns_self_is_refused():
    value = type("P", (), {"__tvm_ffi_value__": lambda self: self})()
    assert refusal(INT, value) == "expected int, got P"
    assert refusal(ANY, value) == "failed to convert Any from P"
    for origin in ("ctypes.c_void_p", "Object", "ffi.Module"):
        assert refusal(TypeSchema(origin), value) == f"expected {origin}, got P"


def test_failing_protocols_are_refused():
    def fail(self):
        raise ZeroDivisionError("boom")

    def failing(name):
        return type("P", (), {name: fail})()

    assert refusal(INT, failing("__tvm_ffi_object__")) == "__tvm_ffi_object__() failed for P"
    assert refusal(INT, failing("__tvm_ffi_value__")) == "expected int, got P"
    assert refusal(INT, failing("__tvm_ffi_int__")) == "expected int, got P: boom"
    assert refusal(FLOAT, failing("__tvm_ffi_float__")) == "expected float, got P: boom"
    with pytest.raises(TypeError) as caught:
        INT.convert(failing("__tvm_ffi_object__"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Convertible(tvm_ffi.ObjectConvertible):
    def __init__(self, value):
        self._value = value

    def asobject(self):
        return tvm_ffi.Array([10 // self._value])


def test_convertible_objects():
    schema = TypeSchema("Array", (INT,))
    assert list(converted(schema, Convertible(5))) == [2]
    assert refusal(INT, Convertible(5)) == "expected int, got ffi.Array"
    assert refusal(schema, Convertible(0)) == "asobject() failed for Convertible"


def test_checking_a_moved_object_does_not_move_it():
    array = tvm_ffi.Array([1])
    reference = array._move()
    TypeSchema("Array", (INT,)).check_value(reference)
    assert refusal(INT, reference) == "expected int, got ffi.Array"
    assert list(array) == [1]


def test_hostile_values():
    loop: list[object] = []
    loop.append(loop)
    for schema in (ANY, TypeSchema("Array"), TypeSchema("Map")):
        with pytest.raises(RecursionError):
            schema.check_value({"a": loop} if schema.origin == "Map" else loop)
    deep = INT
    for _ in range(100):
        deep = TypeSchema("Array", (deep,))
    assert refusal(deep, loop).endswith(f"{'element [0]: ' * 100}expected int, got list")
