# SPDX-License-Identifier: Apache-2.0
"""LLVM IR support functions of generated wrappers that raise errors; each returns -1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .._string_constants import device_names, type_names_by_index
from ._code import ANY, CELL, I8, I32, I64, PTR, TENSOR, Code, Local, index_of, null
from ._support import COMPLEX, content, parts_of_dtype, type_index
from ._support_function import cold

_NUMBER_SIZE = 24  # size in bytes of a buffer for the decimal text of a number
_MAX_STRIDES = 8  # maximum number of strides that a message shows
_FAILURE = I32(-1)


# ---- text of numbers -------------------------------------------------------------------------


@cold(PTR, I64, PTR)
def number_text(code: Code, number: Any, buffer: Any) -> None:
    """Write a number as decimal text to the end of `buffer`; return the start of the text."""
    is_negative = code.icmp_signed("<", number, I64(0))
    rest = Local(code, I64, code.select(is_negative, code.neg(number), number))
    text = Local(code, PTR, code.element_at(I8, buffer, _NUMBER_SIZE - 1))
    code.store(I8(0), text.value)

    def put(character: Any) -> None:
        text.set(code.element_at(I8, text.value, -1))
        code.store(character, text.value)

    digits = code.append_basic_block()
    after = code.append_basic_block()
    code.branch(digits)
    code.position_at_end(digits)
    put(code.trunc(code.add(code.urem(rest.value, I64(10)), I64(ord("0"))), I8))
    rest.set(code.udiv(rest.value, I64(10)))
    code.cbranch(code.icmp_unsigned("!=", rest.value, I64(0)), digits, after)
    code.position_at_end(after)
    with code.if_then(is_negative):
        put(I8(ord("-")))
    code.ret(text.value)


def _number_string(code: Code, number: Any) -> Any:
    """Return the address of a number's decimal text in the emitted function's stack frame."""
    buffer = Local(code, ir.ArrayType(I8, _NUMBER_SIZE), None).address
    return number_text(code, code.as_int64(number), buffer)


def _raise(code: Code, error: Any, parts: Sequence[Any]) -> None:
    """Emit code that raises an error with a message of several parts; NULL is an empty part."""
    array = code.array(PTR, parts)
    code.runtime("TVMFFIErrorSetRaisedFromCStrParts", error, array, I32(len(parts)))
    code.ret(_FAILURE)


@cold(I32, PTR, PTR)
def fail_with_text(code: Code, error: Any, text: Any) -> None:
    """Raise an error with a constant message."""
    code.runtime("TVMFFIErrorSetRaisedFromCStr", error, text)
    code.ret(_FAILURE)


@cold(I32, PTR, I32, PTR, I64, PTR, I64, PTR, I64, PTR, I64, PTR)
def fail_with_numbers(code: Code, error: Any, count: Any, *pieces: Any) -> None:
    """Raise an error whose message has `count` (at most four) numbers, each after a string."""
    parts = [pieces[0]]
    for index, (number, text) in enumerate(zip(pieces[1::2], pieces[2::2])):
        is_there = code.icmp_signed(">", count, I32(index))
        parts += [code.select(is_there, _number_string(code, number), null()), text]
    _raise(code, error, parts)


@cold(PTR, PTR)
def type_name(code: Code, value: Any) -> None:
    """Return the name of a value's type, for error messages."""
    type_names = type_names_by_index()
    index = type_index(code, value)
    is_tensor = code.icmp_signed("==", index, I32(index_of("DLTensor*")))
    address = code.payload(value, PTR)
    with code.if_then(code.and_(is_tensor, code.icmp_unsigned("==", address, null()))):
        code.ret(code.string("NULL"))
    with code.if_then(code.icmp_signed(">=", index, I32(len(type_names)))):
        info = code.runtime("TVMFFIGetTypeInfo", index)
        # The offset of type_key in TVMFFITypeInfo is 8, after type_index and type_depth.
        code.ret(code.field(code.element_at(I8, info, 8), CELL, "data"))
    is_known = code.icmp_signed(">=", index, I32(0))
    index = code.select(is_known, index, I32(0))
    found = code.element(PTR, code.string_table(type_names), index)
    is_known = code.and_(is_known, code.icmp_unsigned("!=", found, null()))
    code.ret(code.select(is_known, found, code.string("value of an unknown type")))


@cold(I32, PTR, PTR, PTR, PTR)
def fail_type(code: Code, error: Any, big_error: Any, text: Any, value: Any) -> None:
    """Raise an error for a value of a wrong type."""
    index = code.field(value, ANY, "type_index")
    is_big = code.icmp_signed("==", index, I32(index_of("ffi.BigInt")))
    _raise(code, code.select(is_big, big_error, error), [text, type_name(code, value)])


@cold(I32, PTR, PTR, PTR, PTR, I32)
def fail_dtype(code: Code, error: Any, before: Any, expected: Any, after: Any, dtype: Any) -> None:
    """Raise an error for a tensor of a wrong dtype; `expected` is text in the message, or NULL."""
    parts = [before, expected, after]
    kind, bits, lanes = parts_of_dtype(code, dtype)
    # the runtime has no names for complex dtypes
    with code.if_then(code.icmp_signed("==", kind, I32(COMPLEX))):
        has_lanes = code.icmp_signed(">", lanes, I32(1))
        times = code.select(has_lanes, code.string("x"), null())
        shown = code.select(has_lanes, _number_string(code, lanes), null())
        _raise(
            code, error, [*parts, code.string("complex"), _number_string(code, bits), times, shown]
        )
    slot, name = Local(code, I32, dtype), Local(code, ANY.type, None)
    status = code.runtime("TVMFFIDataTypeToString", slot.address, name.address)
    with code.if_then(code.icmp_signed("!=", status, I32(0))):
        error_of_name = Local(code, PTR, null())
        code.runtime("TVMFFIErrorMoveFromRaised", error_of_name.address)
        code.runtime("TVMFFIObjectDecRef", error_of_name.value)
        _raise(code, error, [*parts, code.string("an unnamed dtype")])
    array = code.array(PTR, [*parts, code.extract_value(content(code, name.address), 0)])
    code.runtime("TVMFFIErrorSetRaisedFromCStrParts", error, array, I32(len(parts) + 1))
    first_object = I32(index_of("ffi.Object"))
    is_object = code.icmp_signed(">=", code.field(name.address, ANY, "type_index"), first_object)
    with code.if_then(is_object):
        code.runtime("TVMFFIObjectDecRef", code.payload(name.address, PTR))
    code.ret(_FAILURE)


@cold(I32, PTR, PTR, I32, I32)
def fail_device(code: Code, error: Any, text: Any, device_type: Any, device_id: Any) -> None:
    """Raise an error for a tensor on a wrong device."""
    names = device_names()
    name = Local(code, PTR, null())
    with code.if_then(code.icmp_unsigned("<", device_type, I32(len(names)))):
        name.set(code.element(PTR, code.string_table(names), device_type))
    with code.if_then(code.icmp_unsigned("==", name.value, null())):
        name.set(_number_string(code, device_type))
    _raise(code, error, [text, name.value, code.string(":"), _number_string(code, device_id)])


@cold(I32, PTR, PTR, PTR)
def fail_strides(code: Code, error: Any, text: Any, tensor: Any) -> None:
    """Raise an error for a tensor with gaps; the message shows the strides as a Python tuple."""
    ndim, strides = code.field(tensor, TENSOR, "ndim"), code.field(tensor, TENSOR, "strides")
    parts = [text]
    for axis in range(_MAX_STRIDES):
        # Read axis 0 instead of axes that do not exist, to stay inside the array of strides.
        is_there = code.icmp_signed("<", I32(axis), ndim)
        stride = code.element(I64, strides, code.select(is_there, I32(axis), I32(0)))
        before = code.string("(" if axis == 0 else ", ")
        parts += [
            code.select(is_there, part, null()) for part in (before, _number_string(code, stride))
        ]
    is_long = code.icmp_signed(">", ndim, I32(_MAX_STRIDES))
    is_one = code.icmp_signed("==", ndim, I32(1))
    end = code.select(is_one, code.string(",)"), code.string(")"))
    _raise(code, error, [*parts, code.select(is_long, code.string(", ...)"), end)])
