# SPDX-License-Identifier: Apache-2.0
"""Values in recordings: classes, and the reader of their words (`record_values.cc`)."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, Union

from .._binding.values import Device, device_class
from .._dtype import dtype

__all__ = [
    "MAPS",
    "DamagedValueError",
    "RecordedContainer",
    "RecordedError",
    "RecordedObject",
    "RecordedTensor",
    "RecordedText",
    "Words",
    "describe",
    "is_compact",
    "tensors_in",
]

Content = Union[bytes, int, None]  # the elements in row-major order, or their digest


class DamagedValueError(Exception):
    """The words are not a value."""


class RecordedTensor(NamedTuple):
    """A tensor as it was passed.

    Attributes
    ----------
    data : int
        The address in the field `data`; two tensors with the same memory have the same addresses.
    byte_offset : int
        Offset of the first element from `data`.
    shape : tuple of int
        The extents.
    strides : tuple of int or None
        In elements, also negative; None if the field was null.
    dtype, device : dtype, Device
        As in `Tensor`.
    is_object : bool
        True for a Tensor, False for a ``DLTensor*``.
    content : bytes, int or None
        The elements in row-major order, or their XXH64 digest as int, or None.
    """

    data: int
    byte_offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: dtype
    device: Device
    is_object: bool
    content: bytes | int | None

    @property
    def range(self) -> tuple[int, int]:
        """The addresses of the first byte of the elements, and of the byte after the last one."""
        first = self.data + self.byte_offset
        if 0 in self.shape:
            return first, first
        size = max(self.dtype.bits * self.dtype.lanes, 8) // 8
        if self.strides is None:
            count = 1
            for extent in self.shape:
                count *= extent
            return first, first + (count * self.dtype.bits * self.dtype.lanes + 7) // 8
        spans = [(n - 1) * stride * size for n, stride in zip(self.shape, self.strides)]
        low = sum(span for span in spans if span < 0)
        high = sum(span for span in spans if span > 0)
        return first + low, first + high + size


class RecordedText(NamedTuple):
    """A string or bytes that was longer than the limit of the recording; `text` is its start."""

    text: str | bytes


class RecordedContainer(NamedTuple):
    """An Array, List, Map, Dict or Shape; the elements of a Map are pairs."""

    type_key: str
    address: int
    elements: tuple[Any, ...]


class RecordedObject(NamedTuple):
    """An object whose content is not recorded, or a pointer with the type key ``void*``."""

    type_key: str
    address: int


class RecordedError(NamedTuple):
    """An error; `kind` is the name of its class."""

    kind: str
    message: str


_NONE, _INT, _BOOL, _FLOAT, _POINTER, _DTYPE, _DEVICE, _DLTENSOR, _RAW_STR, _BYTE_ARRAY = range(10)
_SMALL_STR, _SMALL_BYTES, _UNCHANGED, _STR, _BYTES, _ERROR = 11, 12, 13, 65, 66, 67
_SHAPE, _TENSOR = 69, 70
_CONTAINERS = {71: "ffi.Array", 72: "ffi.Map", 75: "ffi.List", 76: "ffi.Dict"}
MAPS = ("ffi.Map", "ffi.Dict")
_FIRST_OBJECT = 64
_NO_CONTENT, _DIGEST_CONTENT, _BYTES_CONTENT = range(3)
_MAX_DEPTH = 8
# Address of the object, data, dtype, device type and index, 1 if there are strides, byte offset.
_TENSOR_FIELDS = struct.Struct("<QQ4siiiQ").unpack


class Words:
    """The words of the payload of a record."""

    def __init__(self, payload: bytes, tensors: dict[bytes, RecordedTensor] | None = None) -> None:
        self._payload = payload
        self._offset = 0
        self._tensors = {} if tensors is None else tensors  # without contents, by their words

    @property
    def is_at_end(self) -> bool:
        """True if all words were read."""
        return self._offset == len(self._payload)

    def _take(self, size: int) -> bytes:
        end = self._offset + size
        if end > len(self._payload):
            raise DamagedValueError
        taken = self._payload[self._offset : end]
        self._offset = end
        return taken

    def word(self) -> int:
        """Return the next word."""
        return int.from_bytes(self._take(8), "little")

    def pair(self) -> tuple[int, int]:
        """Return the low and the high half of the next word, as signed integers."""
        low, high = struct.unpack("<ii", self._take(8))
        return low, high

    def integers(self, count: int) -> tuple[int, ...]:
        """Return the next words as signed integers."""
        if count < 0:
            raise DamagedValueError
        return struct.unpack(f"<{count}q", self._take(8 * count))

    def content_bytes(self) -> bytes:
        """Return bytes that follow their number."""
        size = self.word()
        return self._take(-(-size // 8) * 8)[:size]

    def text(self) -> str:
        """Return a string that follows its number of bytes."""
        return self.content_bytes().decode("utf-8", "backslashreplace")

    def content(self) -> Content:
        """Return the content of a tensor."""
        kind = self.word()
        if kind == _NO_CONTENT:
            return None
        if kind == _DIGEST_CONTENT:
            return self.word()
        if kind == _BYTES_CONTENT:
            return self.content_bytes()
        raise DamagedValueError

    def value(self, depth: int = 0) -> Any:
        """Return the next value."""
        type_index, extra = self.pair()
        if type_index in (_DLTENSOR, _TENSOR):
            return self._tensor(type_index == _TENSOR, extra)
        if type_index in (_RAW_STR, _STR, _BYTE_ARRAY, _BYTES):
            content = self.content_bytes()
            is_text = type_index in (_RAW_STR, _STR)
            text = content.decode("utf-8", "surrogateescape") if is_text else content
            return RecordedText(text) if extra else text
        if type_index == _SHAPE:
            return RecordedContainer("ffi.Shape", 0, self.integers(self.word()))
        if type_index in _CONTAINERS:
            return self._container(_CONTAINERS[type_index], depth)
        if type_index == _ERROR:
            self.word()
            return RecordedError(self.text(), self.text())
        if type_index >= _FIRST_OBJECT:
            address = self.word()
            return RecordedObject(self.text(), address)
        return self._scalar(type_index, extra, self._take(8))

    def _tensor(self, is_object: bool, ndim: int) -> RecordedTensor:
        start = self._offset
        fields = self._take(40)
        _, data, dtype_bits, device_type, device_index, has_strides, byte_offset = _TENSOR_FIELDS(
            fields
        )
        shape = self.integers(ndim)
        strides = self.integers(ndim) if has_strides else None
        end = self._offset
        content = self.content()
        key = self._payload[start:end] + bytes([is_object, ndim & 255])
        if content is None and key in self._tensors:
            return self._tensors[key]
        try:
            element = dtype.from_dlpack_data_type(struct.unpack("<BBH", dtype_bits))
            device = device_class()(device_type, device_index)
        except (TypeError, ValueError, OverflowError) as error:
            raise DamagedValueError from error
        if min(shape, default=0) < 0:
            raise DamagedValueError
        tensor = RecordedTensor(
            data, byte_offset, shape, strides, element, device, is_object, content
        )
        if content is None:
            self._tensors[key] = tensor
        return tensor

    def _container(self, type_key: str, depth: int) -> RecordedContainer:
        address, count = self.word(), self.word()
        if depth >= _MAX_DEPTH or count * 16 > len(self._payload):
            raise DamagedValueError
        if type_key in MAPS:
            pairs = ((self.value(depth + 1), self.value(depth + 1)) for _ in range(count))
            return RecordedContainer(type_key, address, tuple(pairs))
        elements = tuple(self.value(depth + 1) for _ in range(count))
        return RecordedContainer(type_key, address, elements)

    def _scalar(self, type_index: int, size: int, payload: bytes) -> Any:
        number = int.from_bytes(payload, "little", signed=True)
        if type_index in (_NONE, _UNCHANGED):
            return None
        if type_index == _INT:
            return number
        if type_index == _BOOL:
            return number != 0
        if type_index == _FLOAT:
            return struct.unpack("<d", payload)[0]
        if type_index == _POINTER:
            return RecordedObject("void*", number & (2**64 - 1)) if number else None
        if type_index in (_SMALL_STR, _SMALL_BYTES) and 0 <= size < 8:
            content = payload[:size]
            return (
                content
                if type_index == _SMALL_BYTES
                else (content.decode("utf-8", "surrogateescape"))
            )
        try:
            if type_index == _DTYPE:
                return dtype.from_dlpack_data_type(struct.unpack("<BBH", payload[:4]))
            if type_index == _DEVICE:
                return device_class()(*struct.unpack("<ii", payload))
        except (TypeError, ValueError, OverflowError):
            pass
        raise DamagedValueError


def tensors_in(value: Any) -> list[RecordedTensor]:
    """Return the tensors in a value, in the order in which the recorder counts them."""
    if isinstance(value, RecordedTensor):
        return [value]
    if not isinstance(value, RecordedContainer):
        return []
    found = []
    for element in value.elements:
        for part in element if value.type_key in MAPS else (element,):
            found += tensors_in(part)
    return found


def describe(value: Any) -> str:
    """Return a value as short text."""
    if isinstance(value, RecordedTensor):
        text = f"{value.dtype}[{', '.join(map(str, value.shape))}]"
        if value.strides is not None and not is_compact(value):
            text += f" strides [{', '.join(map(str, value.strides))}]"
        return text if str(value.device) == "cpu:0" else f"{text}@{value.device}"
    if isinstance(value, RecordedContainer):
        if value.type_key in MAPS:
            pairs = (f"{describe(key)}: {describe(item)}" for key, item in value.elements[:8])
            return f"{{{', '.join(pairs)}{', ...' * (len(value.elements) > 8)}}}"
        items = ", ".join(map(describe, value.elements[:8]))
        return f"[{items}{', ...' * (len(value.elements) > 8)}]"
    if isinstance(value, RecordedObject):
        return f"{value.type_key} at {value.address:#x}"
    if isinstance(value, RecordedError):
        return f"{value.kind}: {value.message}"
    if isinstance(value, RecordedText):
        return f"{value.text[:60]!r}..."
    if isinstance(value, (str, bytes)) and type(value) is not dtype:
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}..."
    return str(value)


def is_compact(tensor: RecordedTensor) -> bool:
    expected = 1
    for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides or ())):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True
