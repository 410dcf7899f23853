# SPDX-License-Identifier: Apache-2.0
"""XLA's structs for custom calls as `ctypes` structures, as in ``runtime/xla/xla_ffi.h``."""

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
    """Return the fields of an extensible XLA struct, which begins with the size of the struct."""
    return [("struct_size", c_size_t), ("extension_start", c_void_p), *fields]


class Extension(Structure):
    """Header of an XLA extension struct; extensions form a linked list."""

    _fields_ = [("struct_size", c_size_t), ("type", c_int32), ("next", c_void_p)]


class ApiVersion(Structure):
    """Version of XLA's C interface for custom calls."""

    _fields_ = _sized(("major_version", c_int), ("minor_version", c_int))


class Metadata(Structure):
    """A handler's version and traits, which the handler fills in."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("api_version", ApiVersion),
        ("traits", c_uint32),
        ("state_type_id", c_int64),
    ]


class MetadataExtension(Structure):
    """Extension of a call frame by which XLA requests a handler's metadata."""

    _fields_ = [("base", Extension), ("metadata", POINTER(Metadata))]


class Buffer(Structure):
    """A compact, row-major array whose memory XLA owns."""

    _fields_ = _sized(
        ("dtype", c_int32), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))
    )


class ByteSpan(Structure):
    """A string that XLA owns, without a terminating NUL."""

    _fields_ = [("ptr", c_void_p), ("len", c_size_t)]


class Scalar(Structure):
    """An attribute that is a number."""

    _fields_ = [("dtype", c_int32), ("value", c_void_p)]


class Array(Structure):
    """An attribute that is an array of numbers."""

    _fields_ = [("dtype", c_int32), ("size", c_size_t), ("data", c_void_p)]


class Buffers(Structure):
    """The arrays of a custom call: its operands or its outputs."""

    _fields_ = _sized(
        ("size", c_int64), ("types", POINTER(c_int32)), ("values", POINTER(POINTER(Buffer)))
    )


class Attributes(Structure):
    """The attributes of a custom call, sorted by name."""

    _fields_ = _sized(
        ("size", c_int64),
        ("types", POINTER(c_int32)),
        ("names", POINTER(POINTER(ByteSpan))),
        ("values", POINTER(c_void_p)),
    )


class ErrorCreateArguments(Structure):
    """Arguments of XLA's function ``error_create``: message and status code."""

    _fields_ = _sized(("message", c_char_p), ("code", c_int32))


class Api(Structure):
    """The first fields of XLA's function table; later fields are not used."""

    _fields_ = _sized(
        ("api_version", ApiVersion),
        ("internal_api", c_void_p),
        ("error_create", CFUNCTYPE(c_void_p, POINTER(ErrorCreateArguments))),
    )


class CallFrame(Structure):
    """The arguments of a handler: operands, outputs and attributes of one custom call."""

    _fields_ = _sized(
        ("api", POINTER(Api)),
        ("ctx", c_void_p),
        ("stage", c_int32),
        ("args", Buffers),
        ("rets", Buffers),
        ("attrs", Attributes),
    )


Handler = CFUNCTYPE(c_void_p, POINTER(CallFrame))
