# SPDX-License-Identifier: Apache-2.0
"""Chapter 6b, data types: the text form of DLDataType."""

from __future__ import annotations

import re
from typing import Any

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import at, text_at
from .values import Raised

Triple = tuple[int, int, int]  # code, bits, lanes as uint16

# c-abi.md, "6.3 Strings, bytes, integers, dtype": base names with code and default bits.
_BASES = {
    "int": (abi.kDLInt, 32), "uint": (abi.kDLUInt, 32), "float": (abi.kDLFloat, 32),
    "bfloat": (abi.kDLBfloat, 16), "bool": (abi.kDLBool, 8), "handle": (abi.kDLOpaqueHandle, 64),
}  # fmt: skip
_SHORT = {"i": "int", "u": "uint", "f": "float", "bf": "bfloat"}
# Names that fix the width, in the order of their codes.
_EXACT_NAMES = """
8_e3m4 8_e4m3 8_e4m3b11fnuz 8_e4m3fn 8_e4m3fnuz 8_e5m2 8_e5m2fnuz 8_e8m0fnu
6_e2m3fn 6_e3m2fn 4_e2m1fn
"""
_EXACT = {f"float{n}": (getattr(abi, f"kDLFloat{n}"), int(n[0])) for n in _EXACT_NAMES.split()}
_EXACT_NAME = re.compile(r"(?:float|fp|f)([468]_e\d+m\d+(?:b11)?(?:fnuz|fnu|fn)?)(.*)", re.DOTALL)
_BASE_NAME = re.compile(r"(bfloat|bool|float|handle|int|uint|bf|f|i|u)([0-9]*)(.*)", re.DOTALL)
_MAX_LANES, _MAX_BITS = 65535, 255
_FIRST_CUSTOM = 129


def parse_dtype(text: str) -> Triple:
    """Return code, bits and lanes of a data type in text form."""
    # c-abi.md, "6.3 Strings, bytes, integers, dtype": empty text and `void` mean 3, 0, 0.
    if text in {"", "void"}:
        return abi.kDLOpaqueHandle, 0, 0
    exact = _EXACT_NAME.fullmatch(text)
    if exact and f"float{exact[1]}" in _EXACT:
        code, bits = _EXACT[f"float{exact[1]}"]
        rest = exact[2]
        if code == abi.kDLFloat4_e2m1fn and rest.startswith("_x"):  # `_xN` is accepted, too
            rest = rest[1:]
        return code, bits, _lanes(text, rest)
    base = _BASE_NAME.fullmatch(text)
    if base is None:
        raise Raised("ValueError", f"unknown dtype `{text}`")
    name, digits, rest = base.groups()
    if name in _SHORT and not digits:
        raise Raised("ValueError", f"unknown dtype `{text}`")
    code, default = _BASES[_SHORT.get(name, name)]
    bits = int(digits or 0) or default
    if bits > _MAX_BITS:
        detail = f"Bits value {bits} is out of range for uint8_t in dtype `{text}`"
        raise Raised("ValueError", detail)
    return code, bits, _lanes(text, rest)


def _lanes(text: str, rest: str) -> int:
    """Return the lanes that the end of a data type describes."""
    if not rest:
        return 1
    lanes = re.fullmatch(r"x(vscalex)?([0-9]*)", rest)
    if lanes is None:
        raise Raised("ValueError", f"unknown dtype `{text}`")
    number = int(lanes[2] or 0)
    if number == 0:
        raise Raised("ValueError", f"Invalid lanes specification in dtype `{text}`")
    if number > _MAX_LANES:
        detail = f"Lanes value {number} is out of range for uint16_t in dtype `{text}`"
        raise Raised("ValueError", detail)
    # Scalable lanes hold -N as uint16.
    return -number & 0xFFFF if lanes[1] else number


def format_dtype(code: int, bits: int, lanes: int) -> str:
    """Return the text form of a data type."""
    if (code, bits, lanes) == (abi.kDLOpaqueHandle, 0, 0):
        return ""
    signed = lanes - 0x10000 if lanes >= 0x8000 else lanes
    suffix = f"x{signed}" if signed > 1 else f"xvscalex{-signed}" if signed < -1 else ""
    for name, (exact_code, _) in _EXACT.items():
        if code == exact_code:
            return name + suffix
    for name, (base_code, _) in _BASES.items():
        if code == base_code:
            bare = name == "handle" or (name == "bool" and bits == 8)
            return (name if bare else f"{name}{bits}") + suffix
    raise Raised("ValueError", f"DLDataType contains unknown type_code={code}")


class DataTypes(Chapter):
    """The two C functions for the text form of data types, custom ones included."""

    def _ask(self, name: str, argument: Any) -> Any:
        """Return the answer of a global function that the runtime does not define."""
        # c-abi.md, "16.6 Names the runtime calls but does not define".
        handle = self.runtime.functions.globals.get(name)
        if handle is None:
            raise Raised("ValueError", f"Function {name} not found")
        return self.runtime.convert.call(handle, (argument,))

    def parse(self, text: str) -> Triple:
        """Return code, bits and lanes of a data type; `custom[NAME]bits` too."""
        custom = re.fullmatch(r"custom\[(.*?)\]([0-9]+)(.*)", text)
        if custom is None:
            return parse_dtype(text)
        code = self._ask("dtype.get_custom_type_code", custom[1])
        return code, int(custom[2]), _lanes(text, custom[3])

    def format(self, code: int, bits: int, lanes: int) -> str:
        """Return the text form of a data type; custom ones too."""
        if code < _FIRST_CUSTOM:
            return format_dtype(code, bits, lanes)
        name = self._ask("dtype.get_custom_type_name", code)
        return f"custom[{name}]{bits}" + (f"x{lanes}" if lanes > 1 else "")

    def TVMFFIDataTypeFromString(self, str_: int, out: int) -> None:
        dtype = at(abi.DLDataType, out)
        dtype.code, dtype.bits, dtype.lanes = self.parse(text_at(str_))

    def TVMFFIDataTypeToString(self, dtype: int, out: int) -> None:
        value = at(abi.DLDataType, dtype)
        text = self.format(value.code, value.bits, value.lanes)
        self.runtime.strings.store_text(text.encode(), out)
