# SPDX-License-Identifier: Apache-2.0
"""Cases: JSON, printing, structural and recursive comparison, copies."""

from __future__ import annotations

import json
import math

from ... import abi
from .. import hashing
from ..case import Options, Topic, equal, expect
from ..subject import Runtime
from ..values import Object, Raw, device, dtype

parse = Topic("json.parse", "16.5")
stringify = Topic("json.stringify", "16.5")
printing = Topic("repr", "10.7", since="0.1.9")
structural = Topic("structural", "10.6")
recursive = Topic("recursive", "10.7", since="0.1.10")
copying = Topic("copy", "10.7", since="0.1.9")

# Texts that Python's json reads; its value is the expectation.
TEXTS = {
    "null": "null", "true": "true", "false": "false", "zero": "0", "int": "42", "negative": "-7",
    "int64_max": "9223372036854775807", "int64_min": "-9223372036854775808", "float": "1.5",
    "exponent": "1e3", "negative_exponent": "25e-2", "small": "5e-324", "text": '"abc"', "empty_text": '""',
    "escapes": r'"\"\\\/\b\f\n\r\t"', "unicode_escape": r'"\u00e9"', "surrogate_pair": r'"\ud83d\ude00"',
    "utf8": '"größe 😀"', "long_text": '"' + "x" * 500 + '"', "array": "[1, 2, 3]", "empty_array": "[]",
    "nested": "[[1], [2, [3]]]", "object": '{"a": 1, "b": [2]}', "empty_object": "{}",
    "duplicate": '{"a": 1, "a": 2}', "spaces": ' \t\r\n[ 1 , 2 ] \n', "deep": "[" * 100 + "]" * 100,
    "infinity": "Infinity", "minus_infinity": "-Infinity", "mixed": '[null, true, 1, 1.0, "a", {"k": []}]',
    "object_spaces": '{ "a" : 1 , \n "b" : { } }', "last_digit": "[10,20]", "nul_escape": r'"a\u0000b"', "key_escape": r'{"\u0061": 1}',
}  # fmt: skip


def as_value(found: object) -> object:
    """Return a JSON value in the form that `Runtime.python` gives."""
    return tuple(map(as_value, found)) if isinstance(found, list) else (
        {key: as_value(value) for key, value in found.items()} if isinstance(found, dict) else found
    )  # fmt: skip


@parse.each("{}", list(TEXTS.items()), "Parse reads JSON; arrays become Array, objects Map.")
def parses(runtime: Runtime, text: str) -> None:
    found, expected = runtime.result("ffi.json.Parse", text), as_value(json.loads(text))
    equal("value", found, expected)
    equal("type", type(found), type(expected))


@parse.case("nan", "NaN is accepted.")
def nan(runtime: Runtime) -> None:
    expect(math.isnan(runtime.result("ffi.json.Parse", "NaN")), "expected a NaN")


@parse.each("lenient.{}", [("minus_zero", "-0", 0), ("leading_zero", "01", 1), ("plus", "+1", 1),
                           ("leading_point", ".5", 0.5), ("trailing_point", "1.", 1.0)],
            "Lenient forms of numbers are accepted.")  # fmt: skip
def lenient(runtime: Runtime, text: str, expected: object) -> None:
    equal("value", runtime.result("ffi.json.Parse", text), expected)


WRONG = [
    ("empty", "", "Expecting value"), ("word", "nul", "Expecting value"), ("trailing_comma", "[1,]", ""),
    ("missing_comma", "[1 2]", "Expecting ',' delimiter"), ("open_array", "[1", ""), ("open_object", '{"a": 1', ""),
    ("single_quotes", "{'a': 1}", "Expecting property name enclosed in double quotes"),
    ("key_without_quotes", "{a: 1}", "Expecting property name enclosed in double quotes"),
    ("trailing_text", "1 2", "Extra data"), ("control_character", '"a\nb"', "Invalid control character at"),
    ("bad_escape", r'"\x41"', "Invalid \\escape"), ("lone_surrogate", r'"\ud800"', ""),
    ("open_text", '"abc', ""), ("short_unicode", r'"\u12"', ""), ("missing_colon", '{"a" 1}', ""),
    ("too_large", "1e400", ""), ("too_large_negative", "[-12e308]", ""), ("comma_first", "[,1]", "Expecting value"), ("two_commas", "[1,,2]", ""), ("only_minus", "-", ""),
]  # fmt: skip


@parse.each("wrong.{}", WRONG, "Wrong text is a ValueError with the place.")
def wrong(runtime: Runtime, text: str, message: str) -> None:
    with runtime.fails("ValueError", message):
        runtime.call("ffi.json.Parse", text)


@parse.case("wrong.place", "The message names line, column and character.")
def place(runtime: Runtime) -> None:
    with runtime.fails("ValueError", "line 2 column 4 (char 5)"):
        runtime.call("ffi.json.Parse", "[\n1, x]")


PRINTED = [
    ("none", None, "null"), ("true", True, "true"), ("int", -5, "-5"), ("float_integral", 1.0, "1.0"),
    ("float_minus_zero", -0.0, "-0.0"), ("float_tenth", 0.1, "0.10000000000000001"), ("float_large", 1e20, "1e+20"),
    ("nan", Raw(3, 0x7FF8 << 48), "NaN"), ("infinity", math.inf, "Infinity"), ("minus_infinity", -math.inf, "-Infinity"),
    ("text", "abc", '"abc"'), ("slash", "a/b", r'"a\/b"'), ("quotes", 'a"b\\', r'"a\"b\\"'),
    ("newline", "a\nb", r'"a\nb"'), ("utf8", "é😀", '"é😀"'), ("array", (1, 2), "[1,2]"), ("empty_array", (), "[]"),
    ("map", {"a": 1}, '{"a":1}'), ("empty_map", {}, "{}"), ("nested", {"a": (1, {"b": None})}, '{"a":[1,{"b":null}]}'),
    ("list", [1, 2], "[1,2]", Options(since="0.1.11")),
]  # fmt: skip


@stringify.each("{}", PRINTED, "Stringify prints compact JSON.", since="0.1.1")
def prints(runtime: Runtime, value: object, expected: str) -> None:
    equal("text", runtime.result("ffi.json.Stringify", value, None), expected)


INDENTED = [
    ("array", (1, 2), "[\n  1,\n  2\n]"), ("map", {"a": 1}, '{\n  "a": 1\n}'), ("empty_array", (), "[\n]"),
    ("empty_map", {}, "{\n}"), ("nested", ((1,),), "[\n  [\n    1\n  ]\n]"),
]  # fmt: skip


@stringify.each("indent.{}", INDENTED, "The indented form.", since="0.1.1")
def indented(runtime: Runtime, value: object, expected: str) -> None:
    equal("text", runtime.result("ffi.json.Stringify", value, 2), expected)


@stringify.each("wrong.{}", [("int_key", {1: 2}), ("bytes", b"abcdefgh"), ("function", "function")],
                "Other values are a ValueError.", since="0.1.1")  # fmt: skip
def stringify_wrong(runtime: Runtime, value: object) -> None:
    given = Object(runtime.make(lambda views: None), 68) if value == "function" else value
    with runtime.fails("ValueError"):
        runtime.call("ffi.json.Stringify", given, None)


@stringify.each("round_trip.{}", [row for row in TEXTS.items() if row[0] not in ("infinity", "minus_infinity")],
                "Parse of the printed text gives the value.", since="0.1.1")  # fmt: skip
def round_trip(runtime: Runtime, text: str) -> None:
    printed = runtime.result("ffi.json.Stringify", runtime.call("ffi.json.Parse", text), None)
    equal("value", as_value(json.loads(printed)), as_value(json.loads(text)))


SHOWN = [
    ("none", None, "None"), ("true", True, "True"), ("int", -3, "-3"), ("float", 1.5, "1.5"), ("text", "a\"b", '"a\\"b"'),
    ("newline", "a\nb", '"a\\nb"'), ("bytes", b"a\x01\"", 'b"a\\x01\\x22"'), ("empty_array", (), "()"),
    ("array_of_one", (1,), "(1,)"), ("array", (1, 2), "(1, 2)"), ("list", [1, 2], "[1, 2]"), ("empty_list", [], "[]"),
    ("map", {"a": 1}, '{"a": 1}'), ("empty_map", {}, "{}"), ("dtype", dtype(2, 32), "float32"),
    ("device", device(2, 1), "cuda:1"), ("nested", ((1,), ["x"]), '((1,), ["x"])'),
    ("device_unknown_name", device(1, 0), "cpu:0"), ("dtype_lanes", dtype(0, 8, 4), "int8x4"),
]  # fmt: skip


@printing.each("{}", SHOWN, "ReprPrint gives the text of the value.", since="0.1.13")
def shows(runtime: Runtime, value: object, expected: str) -> None:
    equal("text", runtime.result("ffi.ReprPrint", value), expected)


@printing.case("shape", "A shape prints as Shape(...).", since="0.1.13")
def shows_shape(runtime: Runtime) -> None:
    equal("text", runtime.result("ffi.ReprPrint", runtime.call("ffi.Shape", 1, 2)), "Shape(1, 2)")


@printing.case("cycle", "A cycle prints as three dots.", since="0.1.13")
def shows_cycle(runtime: Runtime) -> None:
    value = runtime.call("ffi.List", 1)
    runtime.call("ffi.ListAppend", value, value)
    equal("text", runtime.result("ffi.ReprPrint", value), "[1, ...]")


VALUES = [
    ("none", None, 0x9E3779B9), ("int", 1, hashing.plain(1, 1)), ("bool", True, hashing.plain(2, 1)),
    ("float", 1.0, hashing.floating(1.0)), ("minus_zero", -0.0, hashing.floating(-0.0)),
    ("nan", Raw(3, (0x7FF8 << 48) | 5), 0x7FF800009E377A7A), ("text", "abc", hashing.text(b"abc")),
    ("long_text", "hello world", hashing.text(b"hello world")), ("long_bytes", b"hello world", hashing.binary(b"hello world")),
    ("dtype", dtype(2, 32), hashing.plain(5, 0x12002)), ("device", device(2, 3), hashing.plain(6, 2 | 3 << 32)),
    ("array", (1, 2), 0x272E749E71A30B7D), ("empty_array", (), hashing.fold("ffi.Array", [])),
    ("array_of_text", ("abc", "hello world"), hashing.fold("ffi.Array", [hashing.text(b"abc"), hashing.text(b"hello world")])),
    ("nested", ((1,), 2), hashing.fold("ffi.Array", [hashing.fold("ffi.Array", [hashing.plain(1, 1)]), hashing.plain(1, 2)])),
    ("map", {"a": 1}, 0x789957CE07A4A2CA),
    ("list", [1, 2], 0x8B9192678514B352, Options(since="0.1.9")),
]  # fmt: skip


@structural.each("hash.{}", VALUES, "StructuralHash follows the rules of section 10.6.")
def hashes(runtime: Runtime, value: object, expected: int) -> None:
    equal(
        "hash", runtime.result("ffi.StructuralHash", value, False, False) & hashing.MASK, expected
    )


@structural.case("hash.shape", "A shape hashes key, size and extents.")
def hash_shape(runtime: Runtime) -> None:
    found = runtime.result("ffi.StructuralHash", runtime.call("ffi.Shape", 1, 2), False, False)
    equal("hash", found & hashing.MASK, 0x03F3CCFB7A943717)


EQUALS = [
    ("ints", 1, 1, True), ("int_bool", 1, True, False), ("arrays", (1, (2,)), (1, (2,)), True),
    ("array_order", (1, 2), (2, 1), False), ("array_length", (1,), (1, 2), False), ("array_list", (1,), [1], False),
    ("maps", {"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ("map_value", {"a": 1}, {"a": 2}, False),
    ("map_key", {"a": 1}, {"b": 1}, False), ("texts", "hello world", "hello world", True),
    ("text_bytes", "abc", b"abc", False), ("nan", Raw(3, 0x7FF8 << 48), Raw(3, (0x7FF8 << 48) | 9), True),
    ("none", None, None, True), ("none_zero", None, 0, False), ("lists", [1, [2]], [1, [2]], True),
]  # fmt: skip


@structural.each("equal.{}", EQUALS, "StructuralEqual compares by content.", since="0.1.9")
def equals(runtime: Runtime, left: object, right: object, expected: bool) -> None:
    equal("equal", runtime.result("ffi.StructuralEqual", left, right, False, False), expected)


@structural.each("mismatch.{}", [row for row in EQUALS if "list" not in row[0]],
                 "GetFirstMismatch gives None for equal values and a pair of paths otherwise.")  # fmt: skip
def mismatch(runtime: Runtime, left: object, right: object, expected: bool) -> None:
    found = runtime.call("ffi.GetFirstStructuralMismatch", left, right, False, False)
    equal("type index of the result", found.type_index, 0 if expected else abi.kTVMFFIArray)


RECURSIVE = [
    ("none", None, 0x9E3779B9), ("int", 1, hashing.plain(1, 1)), ("minus_zero", -0.0, hashing.floating(0.0)),
    ("nan", Raw(3, (0x7FF8 << 48) | 5), 0x7FF800009E377A7A), ("text", "abc", 0x9E9AEC2B),
    ("long_text", "hello world", 0xDEF11395), ("array", (1, 2), 0x272EA68DE7AEE940),
    ("list", [1, 2], 0x8B918C2529F2AF37), ("map", {"a": 1}, 0x196E6E1062F2D137),
]  # fmt: skip


@recursive.each("hash.{}", RECURSIVE, "RecursiveHash of the value.", cites="10.7")
def recursive_hash(runtime: Runtime, value: object, expected: int) -> None:
    equal("hash", runtime.result("ffi.RecursiveHash", value) & hashing.MASK, expected)


ORDER = [
    ("ints_less", 1, 2, -1), ("ints_equal", 2, 2, 0), ("ints_greater", 3, 2, 1), ("floats", 1.5, 2.5, -1),
    ("texts", "abc", "abd", -1), ("text_prefix", "ab", "abc", -1), ("none_first", None, 1, -1),
    ("arrays", (1, 2), (1, 3), -1), ("array_prefix", (1,), (1, 0), -1), ("arrays_equal", (1, 2), (1, 2), 0),
    ("bytes", b"a", b"b", -1), ("bools", False, True, -1),
]  # fmt: skip
COMPARE = {
    "Eq": lambda c: c == 0,
    "Lt": lambda c: c < 0,
    "Le": lambda c: c <= 0,
    "Gt": lambda c: c > 0,
    "Ge": lambda c: c >= 0,
}


@recursive.each("order.{}", [(f"{op}.{name}", op, a, b, sign) for op in COMPARE for name, a, b, sign in ORDER],
                "Values of one type are ordered; None comes first.", since="0.1.11")  # fmt: skip
def order(runtime: Runtime, operator: str, left: object, right: object, sign: int) -> None:
    equal(
        "result", runtime.result(f"ffi.Recursive{operator}", left, right), COMPARE[operator](sign)
    )


@recursive.each("unordered.{}", [("types", 1, "a"), ("nan", Raw(3, 0x7FF8 << 48), 1.0), ("maps", {"a": 1}, {"a": 2})],
                "Values without an order are a TypeError.", since="0.1.11")  # fmt: skip
def unordered(runtime: Runtime, left: object, right: object) -> None:
    with runtime.fails("TypeError"):
        runtime.call("ffi.RecursiveLt", left, right)


COPIES = [
    ("int", 1),
    ("text", "hello world"),
    ("array", (1, (2,))),
    ("map", {"a": (1,)}),
    ("none", None),
    ("bytes", b"ab"),
]


@copying.each("{}.equal", COPIES, "A copy equals the value.")
def copies(runtime: Runtime, value: object) -> None:
    equal("copy", runtime.result("ffi.DeepCopy", value), value)


@copying.case("list.independent", "A copied list is independent, inner lists too.")
def copy_list(runtime: Runtime) -> None:
    inner = runtime.call("ffi.List", 1)
    outer = runtime.call("ffi.List", inner)
    copied = runtime.call("ffi.DeepCopy", outer)
    runtime.call("ffi.ListAppend", inner, 2)
    equal("copy", runtime.python(copied), [[1]])


@copying.case("list.cycle", "A cycle is preserved.")
def copy_cycle(runtime: Runtime) -> None:
    value = runtime.call("ffi.List", 1)
    runtime.call("ffi.ListAppend", value, value)
    copied = runtime.call("ffi.DeepCopy", value)
    expect(copied.v_obj != value.v_obj, "expected another object")
    equal("inner handle", runtime.call("ffi.ListGetItem", copied, 1).v_obj, copied.v_obj)


@copying.case("function", "A function cannot be copied: InternalError.")
def copy_function(runtime: Runtime) -> None:
    with runtime.fails("InternalError", "Cannot deep copy object of type"):
        runtime.call("ffi.DeepCopy", Object(runtime.make(lambda views: None), 68))
