# SPDX-License-Identifier: Apache-2.0
"""XLA custom call handler for the CPU, written in Python with ctypes.

Builds without libtvm_ffi_xla use this handler, and tests compare it with the C handler.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..._binding.tensor import readonly
from ...registry import get_global_func
from ...serialization import from_json_graph_str
from . import structs as xla
from .attributes import JSON_GRAPH, NONE, OPERAND, OUTPUT
from .element_types import PACKED, WHOLE_BYTES

__all__ = ["handler"]

_STATUSES = {
    "ValueError": 3, "TypeError": 3, "OverflowError": 3, "KeyError": 5, "AttributeError": 5,
    "FileNotFoundError": 5, "PermissionError": 7, "MemoryError": 8, "IndexError": 11,
    "NotImplementedError": 12,
}  # fmt: skip
_INTERNAL = 13
_METADATA = 1
_ARRAY, _SCALAR, _STRING = 1, 3, 4  # values of the C enum XLA_FFI_AttrType


def _dtype(number: int) -> np.dtype[Any]:
    import ml_dtypes

    name = WHOLE_BYTES.get(number)
    if name is None:  # NumPy has no elements smaller than a byte.
        raise NotImplementedError(
            f"the Python handler does not support XLA's element type {PACKED.get(number, number)}"
        )
    return np.dtype(getattr(ml_dtypes, name, name))


def _array(
    address: int | None, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    size_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size_bytes == 0 or address is None:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * size_bytes).from_address(address)
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)


def _arrays(buffers: xla.Buffers) -> list[np.ndarray[Any, Any]]:
    structs = [buffers.values[i].contents for i in range(buffers.size)]
    return [
        _array(buffer.data, _dtype(buffer.dtype), tuple(buffer.dims[: buffer.rank]))
        for buffer in structs
    ]


def _attributes(attributes: xla.Attributes) -> dict[str, Any]:
    """Return the attributes as Python values, in XLA's order."""
    decoded: dict[str, Any] = {}
    for i in range(attributes.size):
        name = _text(attributes.names[i].contents)
        address = attributes.values[i]
        if attributes.types[i] == _STRING:
            decoded[name] = _text(xla.ByteSpan.from_address(address))
        elif attributes.types[i] == _SCALAR:
            scalar = xla.Scalar.from_address(address)
            decoded[name] = _array(scalar.value, _dtype(scalar.dtype), ()).item()
        elif attributes.types[i] == _ARRAY:
            array = xla.Array.from_address(address)
            decoded[name] = _array(array.data, _dtype(array.dtype), (array.size,))
    return decoded


def _text(span: xla.ByteSpan) -> str:
    return ctypes.string_at(span.ptr, span.len).decode() if span.len else ""


def _run(frame: xla.CallFrame, attributes: dict[str, Any]) -> None:
    operands, outputs = _arrays(frame.args), _arrays(frame.rets)
    values, passed_outputs = list(attributes.values()), set()
    arguments: list[Any] = []
    for code in attributes["__arguments"][2:].tolist():
        source, index = code % 16, code // 16
        if source == OPERAND:
            arguments.append(readonly(operands[index]))
        elif source == OUTPUT:
            arguments.append(outputs[index])
            passed_outputs.add(index)
        elif source == NONE:
            arguments.append(None)
        else:
            arguments.append(_constant(source, values[index]))
    returned = get_global_func(attributes["__function"])(*arguments)
    _store(returned, [output for i, output in enumerate(outputs) if i not in passed_outputs])


def _constant(source: int, value: Any) -> Any:
    """Return an argument that is an attribute; an array is a constant of the program."""
    if source == JSON_GRAPH:
        return from_json_graph_str(value)
    return readonly(value) if isinstance(value, np.ndarray) else value


def _store(returned: Any, outputs: list[np.ndarray[Any, Any]]) -> None:
    """Copy the results of a function to those outputs that were not arguments of the function."""
    if not outputs:
        return
    results = [returned] if hasattr(returned, "__dlpack__") else list(returned)
    for result, output in zip(results, outputs):
        output[...] = np.asarray(result)


def _handle(frame_pointer: Any) -> int | None:
    frame = frame_pointer.contents
    api = frame.api.contents if frame.api else None
    if frame.extension_start:
        request = xla.MetadataExtension.from_address(frame.extension_start)
        if request.base.type == _METADATA:
            version = request.metadata.contents.api_version
            version.major_version = api.api_version.major_version if api else 0
            version.minor_version = api.api_version.minor_version if api else 1
            request.metadata.contents.traits = 0
            return None
    name = ""
    try:
        attributes = _attributes(frame.attrs)
        name = attributes["__function"]
        _run(frame, attributes)
    except BaseException as error:  # An exception must not leave a ctypes callback.
        kind = type(error).__name__
        text = f"call_tvm_ffi('{name}'): {kind}: {error}"
        arguments = xla.ErrorCreateArguments(
            struct_size=ctypes.sizeof(xla.ErrorCreateArguments),
            message=text.replace("\0", "\\0").encode(),
            code=_STATUSES.get(kind, _INTERNAL),
        )
        assert api is not None
        xla_error: int | None = api.error_create(ctypes.byref(arguments))
        return xla_error
    return None


handler = xla.Handler(_handle)
