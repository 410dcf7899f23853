# SPDX-License-Identifier: Apache-2.0
"""Writer of recordings from calls: the inverse of `Recording`, for parts of recordings."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .._binding.values import Device
from .._dtype import dtype
from ._observer import UNNAMED
from ._recorded_values import (
    MAPS,
    Content,
    RecordedContainer,
    RecordedError,
    RecordedObject,
    RecordedTensor,
    RecordedText,
)
from ._recording import CONTENTS, RecordedCall

__all__ = ["write_recording"]

_UNIT = 1 << 16
_MODULUS = 2**64 - 1
_LIBRARY, _FUNCTION, _CALL, _RESULT = 1, 2, 3, 4
_INDICES = {"ffi.Array": 71, "ffi.Map": 72, "ffi.List": 75, "ffi.Dict": 76}


def write_recording(calls: Sequence[RecordedCall], path: str | os.PathLike[str]) -> None:
    """Write calls to a file that `Recording` reads."""
    records: list[bytes] = []
    libraries: dict[str, int] = {}
    functions: dict[tuple[str, str], int] = {}
    for call in calls:
        if call.library not in libraries:
            libraries[call.library] = len(libraries)
            digest = call.library_digest
            text = _bytes(call.library.encode("utf-8", "surrogateescape"))
            records.append(_record(_LIBRARY, _words(libraries[call.library], digest) + text))
        key = call.name, call.library
        if key not in functions:
            functions[key] = len(functions)
            name = "" if call.name == UNNAMED else call.name
            text = _bytes(name.encode("utf-8", "surrogateescape"))
            records.append(
                _record(_FUNCTION, _words(functions[key], libraries[call.library]) + text)
            )
        head = _words(call.number) + struct.pack("<II", functions[key], call.thread)
        head += _words(call.caller, call.stream, len(call.arguments))
        records.append(_record(_CALL, head + b"".join(map(_value, call.arguments))))
        if call.status is None:
            continue
        result = _words(call.number) + struct.pack("<iI", call.status, len(call.contents))
        result += _value(call.result)
        for (argument, index), content in call.contents.items():
            result += struct.pack("<II", argument, index) + _content(content)
        records.append(_record(_RESULT, result))
    chunk = b"".join(records)
    size = -(-(32 + len(chunk) + 8) // _UNIT) * _UNIT
    with Path(path).open("wb") as file:
        file.write(_header().ljust(_UNIT, b"\0"))
        file.write((b"TVMCHUNK" + _words(size, 2, 1) + chunk).ljust(size, b"\0"))


def _header() -> bytes:
    words = b"TVMREC\r\n" + struct.pack("<II", 0x01020304, 8)
    words += _words(1, _UNIT, os.getpid(), 0, CONTENTS.index("all"), 2**62, 0)
    return words + _words(int.from_bytes(words, "little") % _MODULUS)


def _record(kind: int, payload: bytes) -> bytes:
    first = _words(16 + len(payload) | kind << 56)
    # A checksum of 0 would mark the record as unfinished.
    checksum = int.from_bytes(first + bytes(8) + payload, "little") % _MODULUS or _MODULUS
    return first + _words(checksum) + payload


def _words(*words: int) -> bytes:
    return b"".join((word % 2**64).to_bytes(8, "little") for word in words)


def _bytes(content: bytes) -> bytes:
    return _words(len(content)) + content + bytes(-len(content) % 8)


def _pair(type_index: int, extra: int = 0) -> bytes:
    return struct.pack("<ii", type_index, extra)


def _content(content: Content) -> bytes:
    if content is None:
        return _words(0)
    return _words(1, content) if isinstance(content, int) else _words(2) + _bytes(content)


def _value(value: Any) -> bytes:
    """Return the words of a value; strings become String objects."""
    if isinstance(value, RecordedTensor):
        return _tensor(value)
    if isinstance(value, RecordedContainer):
        if value.type_key == "ffi.Shape":
            return _pair(69) + _words(len(value.elements), *value.elements)
        head = _pair(_INDICES[value.type_key]) + _words(value.address, len(value.elements))
        pairs: Iterable[Any] = value.elements
        if value.type_key in MAPS:
            pairs = [part for pair in value.elements for part in pair]
        return head + b"".join(map(_value, pairs))
    if isinstance(value, RecordedObject):
        if value.type_key == "void*":
            return _pair(4) + _words(value.address)
        return _pair(64) + _words(value.address) + _bytes(value.type_key.encode())
    if isinstance(value, RecordedError):
        texts = (text.encode("utf-8", "surrogateescape") for text in value)
        return _pair(67) + _words(0) + b"".join(map(_bytes, texts))
    if isinstance(value, dtype):
        fields = value.type_code, value.bits, value.lanes
        return _pair(5) + struct.pack("<BBHi", *fields, 0)
    if isinstance(value, Device):
        return _pair(6) + struct.pack("<ii", value.dlpack_device_type(), value.index)
    return _scalar(value)


def _scalar(value: Any) -> bytes:
    is_cut = isinstance(value, RecordedText)
    text = value.text if is_cut else value
    if isinstance(text, str):
        return _pair(65, is_cut) + _bytes(text.encode("utf-8", "surrogateescape"))
    if isinstance(text, bytes):
        return _pair(66, is_cut) + _bytes(text)
    if value is None:
        return _pair(0) + _words(0)
    if isinstance(value, float):
        return _pair(3) + struct.pack("<d", value)
    return _pair(2 if isinstance(value, bool) else 1) + _words(value)


def _tensor(tensor: RecordedTensor) -> bytes:
    element, device = tensor.dtype, tensor.device
    strides = tensor.strides or ()
    return b"".join(
        (
            _pair(70 if tensor.is_object else 7, len(tensor.shape)),
            _words(0, tensor.data),
            struct.pack("<BBH", element.type_code, element.bits, element.lanes),
            struct.pack("<iii", device.dlpack_device_type(), device.index,
                        tensor.strides is not None),
            _words(tensor.byte_offset, *tensor.shape, *strides),
            _content(tensor.content),
        )
    )  # fmt: skip
