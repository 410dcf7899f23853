# SPDX-License-Identifier: Apache-2.0
"""Text of dtypes, compared with the vectors of the contract in both directions."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path
from typing import Any

import pytest

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)
PARSE = ABI["dtype_vectors"]["parse"]
FORMAT = ABI["dtype_vectors"]["format"]


class DataType(ctypes.Structure):
    """``DLDataType``."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


def parse(library: Any, text: str) -> DataType:
    """Return the dtype that the library reads from `text`."""
    dtype = DataType(0xAA, 0xAA, 0xAAAA)
    library.check(
        library.functions.TVMFFIDataTypeFromString(
            ctypes.byref(library.byte_array(text)), ctypes.byref(dtype)
        )
    )
    return dtype


def print_dtype(library: Any, dtype: DataType) -> str:
    """Return the text that the library prints for `dtype`."""
    text = library.any_value()
    library.check(library.functions.TVMFFIDataTypeToString(ctypes.byref(dtype), ctypes.byref(text)))
    return library.take_text(text)


@pytest.mark.parametrize("vector", [v for v in PARSE if "error" not in v], ids=lambda v: v["input"])
def test_text_is_parsed_and_printed_back(library: Any, vector: dict[str, Any]) -> None:
    dtype = parse(library, vector["input"])
    assert (dtype.code, dtype.bits, dtype.lanes) == (
        vector["code"],
        vector["bits"],
        vector["lanes"],
    )
    assert print_dtype(library, dtype) == vector["to_string"]


@pytest.mark.parametrize("vector", [v for v in PARSE if "error" in v], ids=lambda v: v["input"])
def test_malformed_text_raises_the_documented_error(library: Any, vector: dict[str, Any]) -> None:
    with pytest.raises(library.raised_error, match=f"^{re.escape(vector['error'])}"):
        parse(library, vector["input"])


@pytest.mark.parametrize("vector", FORMAT, ids=lambda v: f"{v['code']}-{v['bits']}-{v['lanes']}")
def test_dtype_prints_as_documented(library: Any, vector: dict[str, Any]) -> None:
    dtype = DataType(vector["code"], vector["bits"], vector["lanes"])
    if vector["result"].startswith("ERR "):
        with pytest.raises(library.raised_error, match=f"^{re.escape(vector['result'][4:])}"):
            print_dtype(library, dtype)
    else:
        assert print_dtype(library, dtype) == vector["result"]


@pytest.mark.parametrize(
    ("text", "lanes"),
    [
        pytest.param("int8x32767", 32767, id="fixed"),
        pytest.param("int8xvscalex32768", 32768, id="scalable"),
    ],
)
def test_largest_lanes_are_kept(library: Any, text: str, lanes: int) -> None:
    dtype = parse(library, text)
    assert dtype.lanes == lanes
    assert print_dtype(library, dtype) == text


@pytest.mark.parametrize("text", ["int8x32768", "int8x65535", "int8xvscalex32769"])
def test_lanes_that_would_print_as_another_type_are_rejected(library: Any, text: str) -> None:
    """Lanes are read as int16: 32768 fixed lanes would be read back as scalable ones."""
    with pytest.raises(
        library.raised_error, match=r"^ValueError: Lanes value [0-9]+ is out of range"
    ):
        parse(library, text)
