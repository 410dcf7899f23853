# SPDX-License-Identifier: Apache-2.0
"""DLPack structs in ctypes, for tests with malformed and third-party tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

LEGACY_NAME = b"dltensor"
VERSIONED_NAME = b"dltensor_versioned"
READ_ONLY = 1
CPU = (1, 0)
FLOAT32 = (2, 32, 1)

# ctypes.pythonapi is shared by all modules: JAX declares other argument types for PyCapsule_New.
_python = ctypes.PyDLL("python", handle=ctypes.pythonapi._handle)
_new_capsule = _python.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_capsule_name = _python.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = (ctypes.py_object,)
_capsule_pointer = _python.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)

_names: dict[bytes, bytes] = {}
_exported: list[Source] = []  # one entry per export that no consumer has deleted

Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Device(ctypes.Structure):
    """``DLDevice``."""

    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class DataType(ctypes.Structure):
    """``DLDataType``."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Legacy(ctypes.Structure):
    """``DLManagedTensor``."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter))


class Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


def capsule(address: int, name: bytes) -> Any:
    """Return a capsule. Its name is kept alive, because the capsule contains only the address."""
    name = _names.setdefault(name, name)
    return _new_capsule(address, name, None)


def capsule_name(value: Any) -> bytes:
    """Return a capsule's name."""
    return _capsule_name(value)


def read_versioned(value: Any) -> Versioned:
    """Return the struct of a ``dltensor_versioned`` capsule; the capsule owns the struct."""
    return Versioned.from_address(_capsule_pointer(value, VERSIONED_NAME))


class Source:
    """A producer of 12 float32 numbers 0, 1, ...; a test may set any field of the tensor.

    Attributes
    ----------
    deleted : int
        Number of deleter calls by consumers.
    arguments : dict or None
        Keyword arguments of the last call of ``__dlpack__``.
    """

    def __init__(
        self,
        shape: Sequence[int] = (3, 4),
        strides: Sequence[int] | None = (4, 1),
        *,
        ndim: int | None = None,
        dtype: tuple[int, int, int] = FLOAT32,
        device: tuple[int, int] = CPU,
        version: tuple[int, int] | None = (1, 3),
        flags: int = 0,
        byte_offset: int = 0,
        has_data: bool = True,
        has_shape: bool = True,
        has_deleter: bool = True,
    ) -> None:
        self.data = (ctypes.c_float * 12)(*range(12))
        self.extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.steps = strides and (ctypes.c_int64 * len(strides))(*strides)
        self.deleted = 0
        self.arguments: dict[str, Any] | None = None
        self.managed = Legacy() if version is None else Versioned(*version, flags=flags)
        self.deleter = Deleter(self._delete)
        if has_deleter:
            self.managed.deleter = self.deleter
        tensor = self.managed.tensor
        tensor.data = ctypes.addressof(self.data) if has_data else None
        tensor.device = Device(*device)
        tensor.ndim = len(shape) if ndim is None else ndim
        tensor.dtype = DataType(*dtype)
        if has_shape:
            tensor.shape = self.extents
        if self.steps:
            tensor.strides = self.steps
        tensor.byte_offset = byte_offset

    def _delete(self, managed: int) -> None:
        assert managed == ctypes.addressof(self.managed)
        self.deleted += 1
        if self in _exported:
            _exported.remove(self)

    @property
    def address(self) -> int:
        """Address of the tensor's data."""
        return ctypes.addressof(self.data)

    def new_capsule(self) -> Any:
        """Return a capsule over the struct, without a destructor."""
        name = LEGACY_NAME if isinstance(self.managed, Legacy) else VERSIONED_NAME
        return capsule(ctypes.addressof(self.managed), name)

    def __dlpack__(self, **arguments: Any) -> Any:
        """Export like an array library: the memory is kept until a consumer calls the deleter."""
        self.arguments = arguments
        _exported.append(self)
        return self.new_capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device in the tensor struct."""
        device = self.managed.tensor.device
        return device.type, device.id


# ---- exchange API --------------------------------------------------------------------------

_Allocate = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
_FromPython = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
_ToPython = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
_Borrow = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Tensor))
_CurrentStream = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class ExchangeTable(ctypes.Structure):
    """The struct ``DLPackExchangeAPI``; functions that a test omits are NULL."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", _Allocate),
        ("from_python", _FromPython),
        ("to_python", _ToPython),
        ("borrow", _Borrow),
        ("current_stream", _CurrentStream),
    )


def _python_object(address: int) -> Any:
    return ctypes.cast(address, ctypes.py_object).value


def _no_allocation(prototype: int, out: int, context: int, set_error: int) -> int:
    return -1


class Framework:
    """A made-up array library: an exchange API for `Source` objects.

    Attributes
    ----------
    tensor_class : type
        Its tensor class, a subclass of `Source`.
    stream : int
        Current stream that the exchange API returns.
    stream_queries : list of (int, int)
        Devices whose current stream was queried.
    num_returned : int
        Number of results that the exchange API refused.
    """

    def __init__(self, *, owning: bool = False, major: int = 1, stream: int = 0x5EED) -> None:
        self.stream = stream
        self.stream_code = 0
        self.export_code = 0
        self.stream_queries: list[tuple[int, int]] = []
        self.num_returned = 0
        self.table = ExchangeTable(
            major,
            3,
            None,
            _Allocate(_no_allocation),
            _FromPython(self._from_python),
            _ToPython(self._to_python),
            _Borrow(0) if owning else _Borrow(self._borrow),
            _CurrentStream(self._current_stream),
        )
        self.tensor_class = type(
            "MadeUpTensor",
            (Source,),
            {
                "__dlpack_c_exchange_api__": capsule(self.address, b"dlpack_exchange_api"),
                "framework": self,  # the capsule does not own the struct of functions
            },
        )

    @property
    def address(self) -> int:
        """Address of the exchange API."""
        return ctypes.addressof(self.table)

    def _borrow(self, value: int, out: Any) -> int:
        out[0] = _python_object(value).managed.tensor
        return self.export_code

    def _from_python(self, value: int, out: Any) -> int:
        out[0] = ctypes.addressof(_python_object(value).managed)
        return self.export_code

    def _to_python(self, managed: int, out: Any) -> int:
        """Refuse to create a tensor, so that results are tensors of this package."""
        self.num_returned += 1
        return -1

    def _current_stream(self, device_type: int, device_id: int, out: Any) -> int:
        self.stream_queries.append((device_type, device_id))
        out[0] = self.stream
        return self.stream_code
