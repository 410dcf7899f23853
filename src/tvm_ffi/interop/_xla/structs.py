# SPDX-License-Identifier: Apache-2.0
"""What a custom call of XLA sees, as `ctypes` has it: what ``runtime/xla/xla_ffi.h`` declares."""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from typing import Any

__all__ = [
    "Api",
    "ApiVersion",
    "Array",
    "Attributes",
    "Buffer",
    "Buffers",
    "ByteSpan",
    "CallFrame",
    "ErrorCreateArguments",
    "Extension",
    "Handler",
    "Metadata",
    "MetadataExtension",
    "Scalar",
]


def _sized(*fields: tuple[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields of a struct that can grow."""
    return [("struct_size", c_size_t), ("extension_start", c_void_p), *fields]


class Extension(Structure):
    """What a struct may point to that has no field for it."""

    _fields_ = [("struct_size", c_size_t), ("type", c_int32), ("next", c_void_p)]


class ApiVersion(Structure):
    """A version of the interface."""

    _fields_ = _sized(("major_version", c_int), ("minor_version", c_int))


class Metadata(Structure):
    """What a handler says about itself."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("api_version", ApiVersion),
        ("traits", c_uint32),
        ("state_type_id", c_int64),
    ]


class MetadataExtension(Structure):
    """The question for it."""

    _fields_ = [("base", Extension), ("metadata", POINTER(Metadata))]


class Buffer(Structure):
    """Memory of the runtime's, compact and row-major."""

    _fields_ = _sized(
        ("dtype", c_int32), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))
    )


class ByteSpan(Structure):
    """A text."""

    _fields_ = [("ptr", c_void_p), ("len", c_size_t)]


class Scalar(Structure):
    """A number."""

    _fields_ = [("dtype", c_int32), ("value", c_void_p)]


class Array(Structure):
    """Numbers."""

    _fields_ = [("dtype", c_int32), ("size", c_size_t), ("data", c_void_p)]


class Buffers(Structure):
    """Operands, or outputs."""

    _fields_ = _sized(
        ("size", c_int64), ("types", POINTER(c_int32)), ("values", POINTER(POINTER(Buffer)))
    )


class Attributes(Structure):
    """Names and values, sorted by name."""

    _fields_ = _sized(
        ("size", c_int64),
        ("types", POINTER(c_int32)),
        ("names", POINTER(POINTER(ByteSpan))),
        ("values", POINTER(c_void_p)),
    )


class ErrorCreateArguments(Structure):
    """What an error is made of."""

    _fields_ = _sized(("message", c_char_p), ("code", c_int32))


class Api(Structure):
    """The beginning of the table of the runtime's functions."""

    _fields_ = _sized(
        ("api_version", ApiVersion),
        ("internal_api", c_void_p),
        ("error_create", CFUNCTYPE(c_void_p, POINTER(ErrorCreateArguments))),
    )


class CallFrame(Structure):
    """One call."""

    _fields_ = _sized(
        ("api", POINTER(Api)),
        ("ctx", c_void_p),
        ("stage", c_int32),
        ("args", Buffers),
        ("rets", Buffers),
        ("attrs", Attributes),
    )


Handler = CFUNCTYPE(c_void_p, POINTER(CallFrame))
