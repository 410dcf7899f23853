# SPDX-License-Identifier: Apache-2.0
"""The library under test: the file named by ``TVM_FFI_LIBRARY``, or the package's library."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

import pytest

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)


class ByteArray(ctypes.Structure):
    """``TVMFFIByteArray``: a borrowed byte string."""

    # Not c_char_p, because reading a c_char_p copies only up to the first NUL, and strings may
    # contain NULs.
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))

    @classmethod
    def of(cls, text: str) -> ByteArray:
        """Return a view of the UTF-8 bytes of `text`; the bytes live as long as the view."""
        content = ctypes.create_string_buffer(text.encode())
        array = cls(ctypes.addressof(content), len(content) - 1)
        array.content = content
        return array


class AnyValue(ctypes.Structure):
    """``TVMFFIAny``: index, padding or small length, 8 bytes of payload."""

    _fields_ = (
        ("type_index", ctypes.c_int32),
        ("small_length", ctypes.c_uint32),
        ("payload", ctypes.c_uint64),
    )


class RaisedError(Exception):
    """A pending error of the library, as ``KIND: MESSAGE``."""


class Library:
    """The C functions that the tests call, with Python strings and exceptions."""

    # Makes the helpers available to test files, which cannot import this file.
    byte_array = staticmethod(ByteArray.of)
    any_value = AnyValue
    raised_error = RaisedError

    def __init__(self, path: Path) -> None:
        self.path = path
        self.functions = ctypes.CDLL(str(path))

    def check(self, code: int) -> None:
        """Raise the pending error if `code` is not 0."""
        if code == 0:
            return
        error = ctypes.c_void_p()
        self.functions.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
        assert error.value is not None, "the call failed but left no pending error"
        kind = self._text_at(error.value + 24)
        message = self._text_at(error.value + 40)
        self.functions.TVMFFIObjectDecRef(error)
        raise RaisedError(f"{kind}: {message}")

    def take_text(self, value: AnyValue) -> str:
        """Return the content of an owned string, and release the string."""
        if value.type_index == ABI["type_index"]["kTVMFFISmallStr"]:
            return value.payload.to_bytes(8, "little")[: value.small_length].decode()
        assert value.type_index == ABI["type_index"]["kTVMFFIStr"], value.type_index
        text = self._text_at(value.payload + 24)
        self.functions.TVMFFIObjectDecRef(ctypes.c_void_p(value.payload))
        return text

    def call_global(self, name: str, *texts: str) -> AnyValue:
        """Call a global function whose arguments are strings; return its owned result."""
        function = ctypes.c_void_p()
        self.check(
            self.functions.TVMFFIFunctionGetGlobal(
                ctypes.byref(ByteArray.of(name)), ctypes.byref(function)
            )
        )
        assert function.value is not None, f"no global function is named {name}"
        contents = [ctypes.c_char_p(text.encode()) for text in texts]
        raw_str = ABI["type_index"]["kTVMFFIRawStr"]
        arguments = (AnyValue * len(texts))(
            *(AnyValue(raw_str, 0, ctypes.cast(c, ctypes.c_void_p).value) for c in contents)
        )
        result = AnyValue()
        code = self.functions.TVMFFIFunctionCall(
            function, arguments, len(texts), ctypes.byref(result)
        )
        self.functions.TVMFFIObjectDecRef(function)
        self.check(code)
        return result

    @staticmethod
    def _text_at(address: int) -> str:
        cell = ByteArray.from_address(address)
        return ctypes.string_at(cell.data, cell.size).decode() if cell.size else ""


def _find_library() -> Path:
    configured = os.environ.get("TVM_FFI_LIBRARY")
    if configured:
        return Path(configured).resolve(strict=True)
    libinfo = pytest.importorskip(
        "tvm_ffi.libinfo", reason="set TVM_FFI_LIBRARY or install the package"
    )
    return Path(libinfo.find_libtvm_ffi())


@pytest.fixture(scope="session")
def library() -> Library:
    """Return the library under test."""
    return Library(_find_library())
