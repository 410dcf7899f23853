# SPDX-License-Identifier: Apache-2.0
"""Export of a recorded call as a Python script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._binding.values import Device
from .._dtype import dtype
from ._recorded_values import (
    MAPS,
    RecordedContainer,
    RecordedError,
    RecordedObject,
    RecordedTensor,
    RecordedText,
    describe,
    tensors_in,
)
from ._recording import RecordedCall

__all__ = ["call_script"]

_LINE = 64  # bytes of contents in a line


def call_script(call: RecordedCall) -> str:
    """Return a Python script that makes the call with the recorded arguments.

    Parameters
    ----------
    call : RecordedCall
        The call.

    Raises
    ------
    ValueError
        If an argument is an object, a pointer, an error or a string that was cut, which a script
        cannot create.

    Notes
    -----
    Tensors without recorded contents are zero.
    """
    tensors = [tensor for argument in call.arguments for tensor in tensors_in(argument)]
    names = {id(tensor): f"t{i}" for i, tensor in enumerate(tensors)}
    arguments = [_expression(call, value, names) for value in call.arguments]
    lines = [
        f'"""Call {call.number} of a recording: {_in_docstring(call.name)}."""',
        "",
        "import tvm_ffi",
        "from tvm_ffi.observe import RecordedTensor, ReplayMemory",
        "",
    ]
    for tensor in tensors:
        lines += _tensor_lines(names[id(tensor)], tensor)
    lines += [
        f"memory = ReplayMemory([{', '.join(names.values())}])",
        "arguments = [",
        *(f"    {argument}," for argument in arguments),
        "]",
        "",
        *_function_lines(call),
        f"# In the recording: {_one_line(call)}",
        "print(function(*arguments))",
    ]
    for i, argument in enumerate(call.arguments):
        if isinstance(argument, RecordedTensor):
            lines.append(f'print("argument {i}:", arguments[{i}].numpy())')
    return "\n".join(lines) + "\n"


def _function_lines(call: RecordedCall) -> list[str]:
    is_ours = Path(call.library).is_relative_to(Path(__file__).parents[1])
    if is_ours or not call.library:
        return [f"function = tvm_ffi.get_global_func({call.name!r})"]
    return [
        f"name, library = {call.name!r}, {call.library!r}",
        "module = tvm_ffi.load_module(library)",
        "is_global = not module.implements_function(name)",
        "function = tvm_ffi.get_global_func(name) if is_global else module[name]",
    ]


def _in_docstring(text: str) -> str:
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in text)


def _one_line(call: RecordedCall) -> str:
    if call.status is None:
        return "the call did not end"
    text = describe(call.result)
    return "".join(c if c.isprintable() else " " for c in text)


def _tensor_lines(name: str, tensor: RecordedTensor) -> list[str]:
    lines = [f"{name} = RecordedTensor("]
    for field, value in tensor._asdict().items():
        if field == "content" and isinstance(value, bytes):
            lines.append("    content=bytes.fromhex(")
            pieces = [value[i : i + _LINE].hex() for i in range(0, len(value), _LINE)] or [""]
            lines += [f'        "{piece}"' for piece in pieces]
            lines.append("    ),")
        else:
            lines.append(f"    {field}={_literal(value)},")
    return [*lines, ")"]


def _literal(value: Any) -> str:
    if isinstance(value, dtype):
        return f"tvm_ffi.dtype({str(value)!r})"
    if isinstance(value, Device):
        return f"tvm_ffi.device({str(value)!r})"
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):  # noqa: PLR0124
        return f'float("{value}")'
    return repr(value)


def _expression(call: RecordedCall, value: Any, names: dict[int, str]) -> str:
    if isinstance(value, RecordedTensor):
        return f"memory.filled({names[id(value)]})"
    if isinstance(value, RecordedContainer):
        pairs = value.elements if value.type_key in MAPS else [(part,) for part in value.elements]
        parts = [_expression(call, part, names) for pair in pairs for part in pair]
        return f"tvm_ffi.get_global_func({value.type_key!r})({', '.join(parts)})"
    if isinstance(value, (RecordedObject, RecordedError, RecordedText)):
        raise ValueError(
            f"call {call.number} of {call.name}: a script cannot create the argument "
            f"{describe(value)}"
        )
    return _literal(value)
