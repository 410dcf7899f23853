# SPDX-License-Identifier: Apache-2.0
"""Cases: data types as text, in both directions."""

from __future__ import annotations

import ctypes

from ... import abi
from ..case import Topic, equal, expect
from ..subject import Runtime, byte_array, text_content
from ..values import bits

dtypes = Topic("dtype", "6.3")

EXACT = {
    "float8_e3m4": (7, 8), "float8_e4m3": (8, 8), "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8), "float8_e4m3fnuz": (11, 8), "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8), "float8_e8m0fnu": (14, 8), "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6), "float4_e2m1fn": (17, 4),
}  # fmt: skip
WIDTHS = {
    ("int", 0): (1, 2, 4, 7, 8, 12, 16, 24, 32, 64, 128, 255),
    ("uint", 1): (1, 2, 4, 7, 8, 12, 16, 24, 32, 64, 128, 255),
    ("float", 2): (16, 32, 64, 80, 128),
    ("bfloat", 4): (16, 32),
    ("bool", 6): (1, 2, 4, 16, 32),
}
LANES = (2, 3, 4, 8, 16, 32, 64, 1000, 32767)
SCALABLE = (2, 4, 8, 16, 32767)


def plain_rows() -> list[tuple]:
    """Return canonical texts: name, text, code, bits, lanes."""
    rows = [
        (f"{base}{width}", code, width, 1)
        for (base, code), all_ in WIDTHS.items()
        for width in all_
    ]
    rows += [("bool", 6, 8, 1), ("handle", 3, 64, 1)]
    rows += [(text, code, width, 1) for text, (code, width) in EXACT.items()]
    for base, code, width in (
        ("int32", 0, 32),
        ("float16", 2, 16),
        ("bool", 6, 8),
        ("bfloat16", 4, 16),
    ):
        rows += [(f"{base}x{lanes}", code, width, lanes) for lanes in LANES]
        rows += [(f"{base}xvscalex{lanes}", code, width, 65536 - lanes) for lanes in SCALABLE]
    rows += [(f"{text}x{lanes}", *EXACT[text], lanes) for text in EXACT for lanes in (2, 16)]
    return [(text, text, *rest) for text, *rest in rows]


# Texts that print in another form: id, text, code, bits, lanes, printed.
OTHER = [
    ("empty", "", 3, 0, 0, ""), ("void", "void", 3, 0, 0, ""), ("int", "int", 0, 32, 1, "int32"),
    ("uint", "uint", 1, 32, 1, "uint32"), ("float", "float", 2, 32, 1, "float32"),
    ("bfloat", "bfloat", 4, 16, 1, "bfloat16"), ("bool8", "bool8", 6, 8, 1, "bool"),
    ("handle64", "handle64", 3, 64, 1, "handle"), ("handle32", "handle32", 3, 32, 1, "handle"),
    ("int0", "int0", 0, 32, 1, "int32"), ("int32x1", "int32x1", 0, 32, 1, "int32"),
    ("intx4", "intx4", 0, 32, 4, "int32x4"), ("boolx1", "boolx1", 6, 8, 1, "bool"),
    ("zero_bits_and_lanes", "int0x20", 0, 32, 20, "int32x20"),
    ("leading_zero_lanes", "int32x04", 0, 32, 4, "int32x4"),
    ("fp4_underscore_lanes", "float4_e2m1fn_x2", 17, 4, 2, "float4_e2m1fnx2"),
]  # fmt: skip
SHORT = [
    (text, text, code, width, 1, printed)
    for text, code, width, printed in [
        ("i8", 0, 8, "int8"), ("i16", 0, 16, "int16"), ("i32", 0, 32, "int32"), ("i64", 0, 64, "int64"),
        ("u8", 1, 8, "uint8"), ("u16", 1, 16, "uint16"), ("u32", 1, 32, "uint32"),
        ("u64", 1, 64, "uint64"), ("f16", 2, 16, "float16"), ("f32", 2, 32, "float32"),
        ("f64", 2, 64, "float64"), ("bf16", 4, 16, "bfloat16"),
        ("fp8_e4m3fn", 10, 8, "float8_e4m3fn"), ("f8_e4m3fn", 10, 8, "float8_e4m3fn"),
        ("fp8_e5m2", 12, 8, "float8_e5m2"), ("f8_e4m3", 8, 8, "float8_e4m3"),
        ("fp8_e8m0fnu", 14, 8, "float8_e8m0fnu"), ("f6_e2m3fn", 15, 6, "float6_e2m3fn"),
        ("fp6_e3m2fn", 16, 6, "float6_e3m2fn"), ("fp4_e2m1fn", 17, 4, "float4_e2m1fn"),
        ("f4_e2m1fn", 17, 4, "float4_e2m1fn"),
    ]
]  # fmt: skip
# Wrong texts: id, text, start of the message.
LANES_ERROR = "Invalid lanes specification in dtype"
WRONG = [
    ("lanes_zero", "float32x0", LANES_ERROR), ("lanes_missing", "int32x", LANES_ERROR),
    ("scalable_lanes_zero", "float32xvscalex0", LANES_ERROR),
    ("lanes_65536", "float32x65536", "Lanes value 65536 is out of range for uint16_t in dtype"),
    ("bits_256", "int256", "Bits value 256 is out of range for uint8_t in dtype"),
    ("complex", "complex", "unknown dtype `complex`"),
    ("complex64", "complex64", "unknown dtype `complex64`"),
    ("upper_case", "INT32", "unknown dtype `INT32`"), ("capitalized", "Float32", "unknown dtype"),
    ("trailing_space", "int32 ", "unknown dtype `int32 `"),
    ("leading_space", " int32", "unknown dtype ` int32`"),
    ("swapped_name", "e4m3_float8", "unknown dtype `e4m3_float8`"),
    ("unknown_word", "tensor", "unknown dtype `tensor`"), ("digits_only", "32", "unknown dtype"),
    ("negative_bits", "int-8", ""), ("two_lanes", "int32x2x2", ""), ("text_after", "float32_", ""),
    ("negative_lanes", "int32x-4", ""), ("plus_lanes", "int32x+4", ""),
    ("nul_inside", "int\x0032", ""), ("not_ascii", "int\uff13\uff12", ""), ("long_bits", "int99999999999999999999", ""),
    ("long_lanes", "int32x99999999999999999999", ""),
    ("custom", "custom[foo]32", "Function dtype.get_custom_type_code not found"),
    ("custom_open", "custom[foo", ""),
]  # fmt: skip
FORMAT = [
    ("lanes_0", 0, 32, 0, "int32"), ("void", 3, 0, 0, ""), ("bool1", 6, 1, 1, "bool1"),
    ("bool_4_lanes", 6, 8, 4, "boolx4"), ("handle_8_bits", 3, 8, 1, "handle"),
    ("int0", 0, 0, 1, "int0"), ("uint255", 1, 255, 1, "uint255"),
    ("float8_e3m4_2_lanes", 7, 8, 2, "float8_e3m4x2"),
    ("scalable_2", 1, 8, 65534, "uint8xvscalex2"), ("lanes_32767", 1, 8, 32767, "uint8x32767"),
    ("scalable_1", 2, 32, 65535, "float32"),
]  # fmt: skip
UNPRINTABLE = [
    ("complex", 5, 64, "DLDataType contains unknown type_code=5"),
    ("code_18", 18, 8, "DLDataType contains unknown type_code=18"),
    ("code_128", 128, 8, "DLDataType contains unknown type_code=128"),
    ("code_129", 129, 8, "Function dtype.get_custom_type_name not found"),
    ("code_255", 255, 8, "Function dtype.get_custom_type_name not found"),
]


def parse(runtime: Runtime, text: str) -> tuple[int, int, int]:
    """Return code, bits and lanes of a text."""
    out = abi.DLDataType()
    runtime.check(
        runtime.TVMFFIDataTypeFromString(ctypes.byref(byte_array(text.encode())), ctypes.byref(out))
    )
    return out.code, out.bits, out.lanes


def print_(runtime: Runtime, code: int, width: int, lanes: int) -> abi.TVMFFIAny:
    """Return the text of a data type."""
    out = abi.TVMFFIAny()
    source = abi.DLDataType(code, width, lanes)
    runtime.check(runtime.TVMFFIDataTypeToString(ctypes.byref(source), ctypes.byref(out)))
    return out


@dtypes.each("parse.{}", plain_rows(), "`{}` has its code, bits and lanes.")
def parses(runtime: Runtime, text: str, code: int, width: int, lanes: int) -> None:
    equal(f"code, bits and lanes of {text!r}", parse(runtime, text), (code, width, lanes))


@dtypes.each("print.{}", plain_rows(), "The data type prints as `{}`.")
def prints(runtime: Runtime, text: str, code: int, width: int, lanes: int) -> None:
    equal("text", text_content(print_(runtime, code, width, lanes)).decode(), text)


@dtypes.each("parse.other.{}", OTHER, "The text is accepted and prints in its canonical form.")
def other(runtime: Runtime, text: str, code: int, width: int, lanes: int, printed: str) -> None:
    equal(f"code, bits and lanes of {text!r}", parse(runtime, text), (code, width, lanes))
    equal("text", text_content(print_(runtime, code, width, lanes)).decode(), printed)


@dtypes.each("parse.short.{}", SHORT, "`{}` is a short spelling.", since="0.1.13")
def short(runtime: Runtime, text: str, code: int, width: int, lanes: int, printed: str) -> None:
    equal(f"code, bits and lanes of {text!r}", parse(runtime, text), (code, width, lanes))
    equal("text", text_content(print_(runtime, code, width, lanes)).decode(), printed)


@dtypes.each("parse.wrong.{}", WRONG, "Bad text is a ValueError.")
def wrong(runtime: Runtime, text: str, message: str) -> None:
    with runtime.fails("ValueError", starts=message):
        got = parse(runtime, text)
        equal(f"value of {text!r}", got, "an error")


@dtypes.case("parse.wrong.output", "Outputs are untouched on failure.", cites="6.1")
def wrong_output(runtime: Runtime) -> None:
    out = abi.DLDataType(9, 9, 9)
    status = runtime.TVMFFIDataTypeFromString(
        ctypes.byref(byte_array(b"nothing")), ctypes.byref(out)
    )
    equal("status", status, -1)
    equal("output", (out.code, out.bits, out.lanes), (9, 9, 9))


@dtypes.each("print.value.{}", FORMAT, "The data type prints by the rules of lanes and names.")
def formats(runtime: Runtime, code: int, width: int, lanes: int, text: str) -> None:
    equal("text", text_content(print_(runtime, code, width, lanes)).decode(), text)


@dtypes.each("print.unknown.{}", UNPRINTABLE, "A code without a name is a ValueError.")
def unprintable(runtime: Runtime, code: int, width: int, message: str) -> None:
    with runtime.fails("ValueError", message):
        print_(runtime, code, width, 1)


@dtypes.each(
    "print.form.{}",
    [("small_of_7", (10, 8, 1), None), ("bool", (6, 8, 1), b"bool"), ("float16", (2, 16, 1), b"float16"),
     ("bfloat16", (4, 16, 1), b"bfloat16"), ("void", (3, 0, 0), b"")],
    "Text of at most 7 bytes is a small string, longer text an object.", cites="20",
)  # fmt: skip
def form(runtime: Runtime, source: tuple[int, int, int], text: bytes | None) -> None:
    value = print_(runtime, *source)
    if text is None or len(text) > 7:
        equal("type index", value.type_index, abi.kTVMFFIStr)
    else:
        expected = (
            (11).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text.ljust(8, b"\0")
        )
        equal("the 16 bytes", bits(value), expected)


@dtypes.case("parse.custom.asks_function", "`custom[NAME]bits` asks dtype.get_custom_type_code.",
             cites="16.6")  # fmt: skip
def custom(runtime: Runtime) -> None:
    asked: list[bytes] = []

    def code(views: list) -> int:
        asked.append(text_content(views[0]))
        return 150

    register(runtime, "dtype.get_custom_type_code", runtime.make(code))
    equal("code, bits and lanes", parse(runtime, "custom[foo]24x2"), (150, 24, 2))
    equal("argument", asked, [b"foo"])


@dtypes.case(
    "print.custom.asks_function", "Codes from 129 ask dtype.get_custom_type_name.", cites="16.6"
)
def custom_name(runtime: Runtime) -> None:
    register(runtime, "dtype.get_custom_type_name", runtime.make(lambda views: "posit"))
    text = text_content(print_(runtime, 150, 16, 1)).decode()
    expect(text.startswith("custom[posit]"), f"expected the name in the text, got {text!r}")


def register(runtime: Runtime, name: str, handle: int, override: int = 0) -> None:
    """Register a global function."""
    runtime.check(
        runtime.TVMFFIFunctionSetGlobal(ctypes.byref(byte_array(name.encode())), handle, override)
    )
