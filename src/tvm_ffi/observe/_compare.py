# SPDX-License-Identifier: Apache-2.0
"""Comparison of recorded calls: results, errors and contents of tensors, with a tolerance."""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

from .._dtype import dtype
from ._recorded_values import (
    MAPS,
    Content,
    RecordedContainer,
    RecordedError,
    RecordedObject,
    RecordedTensor,
    describe,
    tensors_in,
)
from ._recording import RecordedCall, Recording

__all__ = ["CallDifference", "compare", "content_difference", "contents_after", "value_difference"]

_FLOATS = {"float16": "e", "float32": "f", "float64": "d"}


class CallDifference(NamedTuple):
    """Two calls with different results.

    Attributes
    ----------
    first, second : RecordedCall or None
        The calls; None if the recording has no such call.
    text : str
        The difference, as one sentence without a period.
    """

    first: RecordedCall | None
    second: RecordedCall | None
    text: str


def compare(first: Recording, second: Recording, tolerance: float = 0.0) -> CallDifference | None:
    """Return the first call whose results differ between two recordings, or None.

    The calls of each thread are compared in their order.

    Parameters
    ----------
    first, second : Recording
        The recordings.
    tolerance : float
        Largest difference of two floating-point numbers, relative to the second one if that is
        larger than 1.
    """
    threads: dict[int, tuple[list[RecordedCall], list[RecordedCall]]] = {}
    for i, recording in enumerate((first, second)):
        for call in recording.calls:
            threads.setdefault(call.thread, ([], []))[i].append(call)
    found = []
    for left, right in threads.values():
        for i in range(max(len(left), len(right))):
            one = left[i] if i < len(left) else None
            other = right[i] if i < len(right) else None
            text = _call_difference(one, other, tolerance)
            if text:
                found.append(CallDifference(one, other, text))
                break
    return min(found, key=_number, default=None)


def _number(difference: CallDifference) -> int:
    call = difference.first or difference.second
    return 0 if call is None else call.number


def _call_difference(
    first: RecordedCall | None, second: RecordedCall | None, tolerance: float
) -> str:
    if first is None or second is None:
        return f"only the {'second' if first is None else 'first'} recording has the call"
    if first.name != second.name:
        return f"the function is {first.name} in the first recording, {second.name} in the second"
    if first.status is None or second.status is None:
        if first.status is second.status:
            return ""
        return f"the call ended only in the {'second' if first.status is None else 'first'}"
    text = value_difference("the result", first.result, second.result, tolerance)
    if text:
        return text
    one, other = contents_after(first), contents_after(second)
    for (argument, index), (tensor, content) in one.items():
        if (argument, index) in other:
            where = f"argument {argument}"
            text = content_difference(
                where, tensor.dtype, content, other[argument, index][1], tolerance
            )
            if text:
                return text
    return ""


def contents_after(call: RecordedCall) -> dict[tuple[int, int], tuple[RecordedTensor, Content]]:
    """Return the tensors of the arguments with their contents after the call."""
    return {
        (i, j): (tensor, call.contents.get((i, j), tensor.content))
        for i, argument in enumerate(call.arguments)
        for j, tensor in enumerate(tensors_in(argument))
    }


def value_difference(where: str, first: Any, second: Any, tolerance: float) -> str:
    """Return the difference of two recorded values as text, or ""."""
    differ = f"{where} is {describe(first)}, then {describe(second)}"
    if isinstance(first, RecordedTensor) and isinstance(second, RecordedTensor):
        if (first.dtype, first.shape) != (second.dtype, second.shape):
            return differ
        return content_difference(where, first.dtype, first.content, second.content, tolerance)
    if isinstance(first, RecordedContainer) and isinstance(second, RecordedContainer):
        if len(first.elements) != len(second.elements):
            return differ
        for i, (one, other) in enumerate(zip(first.elements, second.elements)):
            # The elements of a Map are pairs; recorded values are tuples, too.
            is_pair = first.type_key in MAPS
            for part, other_part in zip(one, other) if is_pair else [(one, other)]:
                text = value_difference(f"{where}[{i}]", part, other_part, tolerance)
                if text:
                    return text
        return ""
    if isinstance(first, RecordedObject) and isinstance(second, RecordedObject):
        return "" if first.type_key == second.type_key else differ
    if isinstance(first, RecordedError) and isinstance(second, RecordedError):
        return "" if first == second else differ
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return "" if _is_close(first, second, tolerance) else differ
    return "" if type(first) is type(second) and first == second else differ


def _is_close(first: float, second: float, tolerance: float) -> bool:
    if first == second or (math.isnan(first) and math.isnan(second)):
        return True
    return (
        math.isfinite(first)
        and math.isfinite(second)
        and abs(first - second) <= tolerance * max(1.0, abs(second))
    )


def content_difference(
    where: str, element: dtype, first: Content, second: Content, tolerance: float
) -> str:
    """Return the first difference of the elements of two tensors as text, or ""."""
    if first is None or second is None or type(first) is not type(second) or first == second:
        return ""
    if isinstance(first, int) or isinstance(second, int):
        return f"the contents of {where} have different digests"
    if len(first) != len(second):
        return f"the contents of {where} have different sizes"
    one, other = _numbers(element, first), _numbers(element, second)
    for i, (left, right) in enumerate(zip(one, other)):
        if not _is_close(left, right, tolerance):
            return f"element {i} of {where} is {left:.9g}, then {right:.9g}"
    return ""


def _numbers(element: dtype, content: bytes) -> tuple[float, ...]:
    """Return the elements as numbers; the bytes if the dtype is not a number of Python."""
    name = str(element)
    if name == "bfloat16":
        pairs = (content[i : i + 2] for i in range(0, len(content), 2))
        content, name = b"".join(b"\0\0" + pair for pair in pairs), "float32"
    if name in _FLOATS:
        code = _FLOATS[name]
        return struct.unpack(f"<{len(content) // struct.calcsize(code)}{code}", content)
    return tuple(content)
