# SPDX-License-Identifier: Apache-2.0
"""Views: `TVMFFIAny` values that cases make by hand, without the runtime."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from .. import abi


class Object(NamedTuple):
    """A handle and its type index."""

    handle: int
    index: int


class Raw(NamedTuple):
    """An Any by type index, padding and payload, each as given."""

    index: int
    payload: int = 0
    padding: int = 0


def view(value: Any) -> abi.TVMFFIAny:
    """Return a view of a Python value: None, bool, int, float, `Raw`, `Object` or an Any."""
    if isinstance(value, abi.TVMFFIAny):
        return value
    out = abi.TVMFFIAny()
    if isinstance(value, Raw):
        out.type_index, out.zero_padding = value.index, value.padding
        out.v_uint64 = value.payload & 0xFFFFFFFFFFFFFFFF
    elif isinstance(value, Object):
        out.type_index, out.v_obj = value.index, value.handle
    elif isinstance(value, bool):
        out.type_index, out.v_int64 = abi.kTVMFFIBool, value
    elif isinstance(value, int):
        out.type_index, out.v_int64 = abi.kTVMFFIInt, value
    elif isinstance(value, float):
        out.type_index, out.v_float64 = abi.kTVMFFIFloat, value
    elif value is not None:
        raise TypeError(f"view: expected a plain value, got {type(value).__name__}")
    return out


def bits(value: abi.TVMFFIAny) -> bytes:
    """Return the 16 bytes of an Any."""
    return ctypes.string_at(ctypes.addressof(value), 16)


def small(content: bytes, index: int = abi.kTVMFFISmallStr) -> Raw:
    """Return a small string, or small bytes, of at most 7 bytes."""
    return Raw(index, int.from_bytes(content, "little"), len(content))


def raw_string(text: bytes) -> abi.TVMFFIAny:
    """Return a view of a NUL-terminated C string."""
    buffer = ctypes.create_string_buffer(text)
    out = view(Raw(abi.kTVMFFIRawStr, ctypes.addressof(buffer)))
    out.owner = buffer
    return out


def byte_array_view(content: bytes) -> abi.TVMFFIAny:
    """Return a view of a `TVMFFIByteArray`."""
    buffer = (ctypes.c_char * (len(content) + 1)).from_buffer_copy(content + b"!")
    array = abi.TVMFFIByteArray(ctypes.addressof(buffer), len(content))
    out = view(Raw(abi.kTVMFFIByteArrayPtr, ctypes.addressof(array)))
    out.owner = (buffer, array)
    return out


def dtype(code: int, bits_: int, lanes: int = 1) -> Raw:
    """Return a DataType value."""
    return Raw(abi.kTVMFFIDataType, code | bits_ << 8 | lanes << 16)


def device(kind: int, number: int = 0) -> Raw:
    """Return a Device value."""
    return Raw(abi.kTVMFFIDevice, kind | number << 32)


def pointer(address: int) -> Raw:
    """Return an OpaquePtr value."""
    return Raw(abi.kTVMFFIOpaquePtr, address)


class Managed:
    """A DLPack tensor made by the kit, whose deleter counts its calls.

    Parameters
    ----------
    shape, strides : sequence of int
        Extents; strides in elements, or None for a null pointer.
    versioned : bool
        Struct `DLManagedTensorVersioned` instead of `DLManagedTensor`.
    """

    def __init__(
        self, shape: tuple[int, ...] = (2, 3), strides: tuple[int, ...] | None = None, *,
        versioned: bool = True, dtype: tuple[int, int, int] = (2, 32, 1),
        device: tuple[int, int] = (abi.kDLCPU, 0), byte_offset: int = 0, flags: int = 0,
        misalign: int = 0, version: tuple[int, int] = abi.DLPACK_VERSION, data: int | None = None,
    ) -> None:  # fmt: skip
        self.deleted = 0
        self.memory = ctypes.create_string_buffer(65536 + 512)
        self.aligned = -(-ctypes.addressof(self.memory) // 256) * 256
        struct = abi.DLManagedTensorVersioned if versioned else abi.DLManagedTensor
        self.struct = struct()
        self._deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._delete)
        self.struct.manager_ctx = 0x77
        self.struct.deleter = ctypes.cast(self._deleter, ctypes.c_void_p).value
        if versioned:
            self.struct.version.major, self.struct.version.minor = version
            self.struct.flags = flags
        tensor = self.struct.dl_tensor
        tensor.data = self.aligned + misalign if data is None else data
        tensor.device.device_type, tensor.device.device_id = device
        tensor.ndim, tensor.byte_offset = len(shape), byte_offset
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = dtype
        self.shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        tensor.shape = ctypes.addressof(self.shape)
        self.strides = None
        if strides is not None:
            self.strides = (ctypes.c_int64 * max(1, len(strides)))(*strides)
            tensor.strides = ctypes.addressof(self.strides)
        self.tensor = tensor

    def _delete(self, _address: int) -> None:
        self.deleted += 1

    @property
    def address(self) -> int:
        """Address of the managed struct."""
        return ctypes.addressof(self.struct)
