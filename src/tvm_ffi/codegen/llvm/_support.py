# SPDX-License-Identifier: Apache-2.0
"""What all generated wrappers of a module share, as ``wrapper_support.h`` is for C.

Each function here is called with a `Code` and values; it is put into the module with its first
call.  Those that raise are cold and return -1; a check that passes costs its comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from llvmlite import ir

from .._library_texts import device_names, words_of_indices
from ._code import (
    ANY,
    CELL,
    DOUBLE,
    I1,
    I8,
    I32,
    I64,
    PTR,
    TENSOR,
    TEXT,
    Code,
    Local,
    index_of,
    null,
)

_NUMBER_ROOM = 24  # bytes of a number's text
_MAX_STRIDES = 8  # that are shown
_COMPLEX = 5  # code of complex element types
PAIR = ir.LiteralStructType([I64, I1])  # a number, and whether it does not fit

_FAILURE = I32(-1)


class _Function:
    """A function of the support code."""

    def __init__(
        self, body: Callable[..., None], result: Any, parameters: Sequence[Any], attribute: str
    ) -> None:
        self._name = f"tvm_ffi.wrapper.{body.__name__}"
        self._body, self._attribute = body, attribute
        self._type = ir.FunctionType(result, parameters)
        self.__doc__ = body.__doc__

    def __call__(self, code: Code, *args: Any) -> Any:
        found = code.module.globals.get(self._name)
        if found is None:
            found = ir.Function(code.module, self._type, self._name)
            found.linkage = "internal"
            for attribute in ("nounwind", *self._attribute.split()):
                found.attributes.add(attribute)
            self._body(Code(found), *found.args)
        return code.call(found, args)


def _hot(result: Any, *parameters: Any) -> Callable[[Callable[..., None]], _Function]:
    return lambda body: _Function(body, result, parameters, "alwaysinline")


def _cold(result: Any, *parameters: Any) -> Callable[[Callable[..., None]], _Function]:
    return lambda body: _Function(body, result, parameters, "cold noinline")


# ---- texts -----------------------------------------------------------------------------------


@_cold(PTR, I64, PTR)
def number_text(code: Code, number: Any, room: Any) -> None:
    """Write a number as decimal text somewhere into `room`, and return where it begins."""
    is_negative = code.icmp_signed("<", number, I64(0))
    rest = Local(code, I64, code.select(is_negative, code.neg(number), number))
    text = Local(code, PTR, code.element_at(I8, room, _NUMBER_ROOM - 1))
    code.store(I8(0), text.value)

    def put(character: Any) -> None:
        text.set(code.element_at(I8, text.value, -1))
        code.store(character, text.value)

    digits = code.append_basic_block()
    behind = code.append_basic_block()
    code.branch(digits)
    code.position_at_end(digits)
    put(code.trunc(code.add(code.urem(rest.value, I64(10)), I64(ord("0"))), I8))
    rest.set(code.udiv(rest.value, I64(10)))
    code.cbranch(code.icmp_unsigned("!=", rest.value, I64(0)), digits, behind)
    code.position_at_end(behind)
    with code.if_then(is_negative):
        put(I8(ord("-")))
    code.ret(text.value)


def _text_of(code: Code, number: Any) -> Any:
    """Return the text of a number, in memory of the function."""
    room = Local(code, ir.ArrayType(I8, _NUMBER_ROOM), None).address
    return number_text(code, code.as_int64(number), room)


def _raise(code: Code, error: Any, parts: Sequence[Any]) -> None:
    """Raise with a text of several parts, and return; those that are NULL count for nothing."""
    array = code.array(PTR, parts)
    code.runtime("TVMFFIErrorSetRaisedFromCStrParts", error, array, I32(len(parts)))
    code.ret(_FAILURE)


@_cold(I32, PTR, PTR)
def fail_with_text(code: Code, error: Any, text: Any) -> None:
    """Raise with a text that is known."""
    code.runtime("TVMFFIErrorSetRaisedFromCStr", error, text)
    code.ret(_FAILURE)


@_cold(I32, PTR, I32, PTR, I64, PTR, I64, PTR, I64, PTR)
def fail_with_numbers(code: Code, error: Any, count: Any, *pieces: Any) -> None:
    """Raise with up to three numbers, each behind a piece of text."""
    parts = [pieces[0]]
    for place, (number, text) in enumerate(zip(pieces[1::2], pieces[2::2])):
        is_there = code.icmp_signed(">", count, I32(place))
        parts += [code.select(is_there, _text_of(code, number), null()), text]
    _raise(code, error, parts)


@_cold(PTR, PTR)
def word(code: Code, value: Any) -> None:
    """Return what messages call the type of a value; in words of Python."""
    words = words_of_indices()
    index = type_index(code, value)
    is_tensor = code.icmp_signed("==", index, I32(index_of("DLTensor*")))
    address = code.payload(value, PTR)
    with code.if_then(code.and_(is_tensor, code.icmp_unsigned("==", address, null()))):
        code.ret(code.text("NULL"))
    with code.if_then(code.icmp_signed(">=", index, I32(len(words)))):
        info = code.runtime("TVMFFIGetTypeInfo", index)
        # Behind type_index and type_depth: the key, as a byte array.
        code.ret(code.field(code.element_at(I8, info, 8), CELL, "data"))
    is_known = code.icmp_signed(">=", index, I32(0))
    index = code.select(is_known, index, I32(0))
    found = code.element(PTR, code.texts(words), index)
    is_known = code.and_(is_known, code.icmp_unsigned("!=", found, null()))
    code.ret(code.select(is_known, found, code.text("value of an unknown type")))


@_cold(I32, PTR, PTR, PTR, PTR)
def fail_type(code: Code, error: Any, big_error: Any, text: Any, value: Any) -> None:
    """Raise for a value of a wrong type."""
    index = code.field(value, ANY, "type_index")
    is_big = code.icmp_signed("==", index, I32(index_of("ffi.BigInt")))
    _raise(code, code.select(is_big, big_error, error), [text, word(code, value)])


@_cold(I32, PTR, PTR, PTR, PTR, I32)
def fail_dtype(code: Code, error: Any, before: Any, expected: Any, behind: Any, dtype: Any) -> None:
    """Raise for a tensor of a wrong element type; `expected` is a piece of text of its own."""
    parts = [before, expected, behind]
    kind, bits, lanes = _parts_of(code, dtype)
    with code.if_then(code.icmp_signed("==", kind, I32(_COMPLEX))):  # without names in the runtime
        has_lanes = code.icmp_signed(">", lanes, I32(1))
        times = code.select(has_lanes, code.text("x"), null())
        shown = code.select(has_lanes, _text_of(code, lanes), null())
        _raise(code, error, [*parts, code.text("complex"), _text_of(code, bits), times, shown])
    place, name = Local(code, I32, dtype), Local(code, ANY.type, None)
    status = code.runtime("TVMFFIDataTypeToString", place.address, name.address)
    with code.if_then(code.icmp_signed("!=", status, I32(0))):
        error_of_name = Local(code, PTR, null())
        code.runtime("TVMFFIErrorMoveFromRaised", error_of_name.address)
        code.runtime("TVMFFIObjectDecRef", error_of_name.value)
        _raise(code, error, [*parts, code.text("one without a name")])
    array = code.array(PTR, [*parts, code.extract_value(content(code, name.address), 0)])
    code.runtime("TVMFFIErrorSetRaisedFromCStrParts", error, array, I32(len(parts) + 1))
    first_object = I32(index_of("ffi.Object"))
    is_object = code.icmp_signed(">=", code.field(name.address, ANY, "type_index"), first_object)
    with code.if_then(is_object):
        code.runtime("TVMFFIObjectDecRef", code.payload(name.address, PTR))
    code.ret(_FAILURE)


def _parts_of(code: Code, dtype: Any) -> list[Any]:
    """Return code, bits and lanes of an element type."""
    kind = code.and_(dtype, I32(255))
    bits = code.and_(code.lshr(dtype, I32(8)), I32(255))
    return [kind, bits, code.lshr(dtype, I32(16))]


@_cold(I32, PTR, PTR, I32, I32)
def fail_device(code: Code, error: Any, text: Any, device_type: Any, device_id: Any) -> None:
    """Raise for a tensor of another device."""
    names = device_names()
    name = Local(code, PTR, null())
    with code.if_then(code.icmp_unsigned("<", device_type, I32(len(names)))):
        name.set(code.element(PTR, code.texts(names), device_type))
    with code.if_then(code.icmp_unsigned("==", name.value, null())):
        name.set(_text_of(code, device_type))
    _raise(code, error, [text, name.value, code.text(":"), _text_of(code, device_id)])


@_cold(I32, PTR, PTR, PTR)
def fail_strides(code: Code, error: Any, text: Any, tensor: Any) -> None:
    """Raise for a tensor with gaps; strides are shown as Python writes a tuple."""
    ndim, strides = code.field(tensor, TENSOR, "ndim"), code.field(tensor, TENSOR, "strides")
    parts = [text]
    for axis in range(_MAX_STRIDES):
        # Those that are not there are read nowhere: the first one stands for them.
        is_there = code.icmp_signed("<", I32(axis), ndim)
        stride = code.element(I64, strides, code.select(is_there, I32(axis), I32(0)))
        before = code.text("(" if axis == 0 else ", ")
        parts += [code.select(is_there, part, null()) for part in (before, _text_of(code, stride))]
    is_long = code.icmp_signed(">", ndim, I32(_MAX_STRIDES))
    is_one = code.icmp_signed("==", ndim, I32(1))
    end = code.select(is_one, code.text(",)"), code.text(")"))
    _raise(code, error, [*parts, code.select(is_long, code.text(", ...)"), end)])


# ---- values ----------------------------------------------------------------------------------


@_hot(I32, PTR)
def type_index(code: Code, value: Any) -> None:
    """Return the type index of a value, or of the object that it moves."""
    index = Local(code, I32, code.field(value, ANY, "type_index"))
    is_moved = code.icmp_signed("==", index.value, I32(index_of("ObjectRValueRef")))
    with code.if_then(is_moved, likely=False):
        handle = code.load(code.payload(value, PTR), typ=PTR)
        is_gone = code.icmp_unsigned("==", handle, null())
        with code.if_else(is_gone) as (gone, there):
            with gone:
                index.set(I32(index_of("None")))
            with there:
                index.set(code.element(I32, handle, 2))  # behind the counts of references
    code.ret(index.value)


@_hot(I1, PTR)
def is_str(code: Code, value: Any) -> None:
    """Return whether a value is text, in each of its forms."""
    keys = ("ffi.SmallStr", "ffi.String", "const char*")
    code.ret(code.is_any(type_index(code, value), [index_of(key) for key in keys]))


@_hot(I1, PTR)
def is_bytes(code: Code, value: Any) -> None:
    """Return whether a value is bytes, in each of its forms."""
    keys = ("ffi.SmallBytes", "ffi.Bytes", "TVMFFIByteArray*")
    code.ret(code.is_any(type_index(code, value), [index_of(key) for key in keys]))


def _content(code: Code, value: Any) -> None:
    """Return the content of text or bytes; not for other values."""
    index, address = code.field(value, ANY, "type_index"), code.payload(value, PTR)
    small = [index_of("ffi.SmallStr"), index_of("ffi.SmallBytes")]
    with code.if_then(code.is_any(index, small)):
        size = code.zext(code.field(value, ANY, "small_size"), I64)
        code.ret(_pair(code, TEXT, code.field_at(value, ANY, "payload"), size))
    with code.if_then(code.is_any(index, [index_of("const char*")])):
        code.ret(_pair(code, TEXT, address, _length(code, address)))
    cell = Local(code, PTR, address)
    with code.if_then(code.is_any(index, [index_of("ObjectRValueRef")])):
        cell.set(code.load(address, typ=PTR))
    with code.if_then(code.icmp_signed("!=", index, I32(index_of("TVMFFIByteArray*")))):
        cell.set(code.behind_header(cell.value))
    code.ret(_pair(code, TEXT, *(code.field(cell.value, CELL, name) for name in ("data", "size"))))


content = _Function(_content, TEXT, [PTR], "noinline")


def _length(code: Code, text: Any) -> Any:
    """Return the number of bytes in front of a NUL."""
    size = Local(code, I64, I64(0))
    head, body, behind = (code.append_basic_block() for _ in range(3))
    code.branch(head)
    code.position_at_end(head)
    is_end = code.icmp_unsigned("==", code.element(I8, text, size.value), I8(0))
    code.cbranch(is_end, behind, body)
    code.position_at_end(body)
    size.set(code.add(size.value, I64(1)))
    code.branch(head)
    code.position_at_end(behind)
    return size.value


def _pair(code: Code, type_: Any, first: Any, second: Any) -> Any:
    empty = ir.Constant(type_, ir.Undefined)
    return code.insert_value(code.insert_value(empty, first, 0), second, 1)


@_hot(DOUBLE, PTR)
def as_float(code: Code, value: Any) -> None:
    """Return a number as a float."""
    is_float = code.is_any(code.field(value, ANY, "type_index"), [index_of("float")])
    with code.if_then(is_float, likely=True):
        code.ret(code.payload(value, DOUBLE))
    code.ret(code.sitofp(code.payload(value, I64), DOUBLE))


@_cold(I1, PTR, PTR)
def big_uint64(code: Code, value: Any, out: Any) -> None:
    """Read an integer from 2^63 on; return whether it is one that fits 64 bits."""
    is_big = code.is_any(code.field(value, ANY, "type_index"), [index_of("ffi.BigInt")])
    with code.if_then(code.not_(is_big)):
        code.ret(I1(0))
    words = code.runtime("TVMFFIBigIntGetContentByteArray", value)
    has_two = code.icmp_unsigned("==", code.extract_value(words, 1), I64(16))
    with code.if_then(code.not_(has_two)):
        code.ret(I1(0))
    low, high = (code.element(I64, code.extract_value(words, 0), i) for i in range(2))
    code.store(low, out)
    code.ret(code.icmp_unsigned("==", high, I64(0)))


@_hot(I1, PTR, PTR)
def as_uint64(code: Code, value: Any, out: Any) -> None:
    """Read an integer of 64 bits without sign; return whether it is one."""
    is_int = code.is_any(code.field(value, ANY, "type_index"), [index_of("int")])
    with code.if_then(is_int, likely=True):
        code.store(code.payload(value, I64), out)
        code.ret(I1(1))
    code.ret(big_uint64(code, value, out))


def _find_nul(code: Code, text: Any, size: Any) -> None:
    """Return the place of the first NUL in a text, or -1."""
    with code.each(size) as place:
        is_end = code.icmp_unsigned("==", code.element(I8, text, place), I8(0))
        with code.if_then(is_end):
            code.ret(place)
    code.ret(I64(-1))


find_nul = _Function(_find_nul, I64, [PTR, I64], "noinline")


# ---- tensors ---------------------------------------------------------------------------------


@_cold(PTR, PTR)
def moved_tensor(code: Code, value: Any) -> None:
    """Lend the tensor that an argument moves; NULL when it moves none."""
    is_tensor = code.is_any(type_index(code, value), [index_of("ffi.Tensor")])
    with code.if_then(is_tensor):
        code.ret(code.behind_header(code.load(code.payload(value, PTR), typ=PTR)))
    code.ret(null())


@_hot(PTR, PTR)
def tensor_in(code: Code, value: Any) -> None:
    """Lend the tensor in an argument, in each of its forms; NULL when it is none."""
    index, address = code.field(value, ANY, "type_index"), code.payload(value, PTR)
    with code.if_then(code.is_any(index, [index_of("ffi.Tensor")]), likely=True):
        code.ret(code.behind_header(address))
    with code.if_then(code.is_any(index, [index_of("DLTensor*")])):
        code.ret(address)
    code.ret(moved_tensor(code, value))


@_cold(I1, PTR)
def is_empty(code: Code, tensor: Any) -> None:
    """Return whether a tensor has no elements."""
    shape = code.field(tensor, TENSOR, "shape")
    with code.each(code.field(tensor, TENSOR, "ndim")) as axis:
        is_nothing = code.icmp_signed("==", code.element(I64, shape, axis), I64(0))
        with code.if_then(is_nothing):
            code.ret(I1(1))
    code.ret(I1(0))


@_hot(I1, PTR, I32)
def is_compact(code: Code, tensor: Any, ndim: Any) -> None:
    """Return whether elements lie in row-major order without gaps.

    An extent of 1 has no stride.
    """
    strides, shape = (code.field(tensor, TENSOR, name) for name in ("strides", "shape"))
    with code.if_then(code.icmp_unsigned("==", strides, null()), likely=False):
        code.ret(I1(1))
    step = Local(code, I64, I64(1))
    with code.each(ndim) as count:
        axis = code.sub(code.sub(ndim, I32(1)), count)
        extent = code.element(I64, shape, axis)
        differs = code.icmp_signed("!=", code.element(I64, strides, axis), step.value)
        counts = code.icmp_signed("!=", extent, I64(1))
        with code.if_then(code.and_(differs, counts), likely=False):
            code.ret(is_empty(code, tensor))
        step.set(code.mul(step.value, extent))
    code.ret(I1(1))


@_hot(ir.VoidType(), PTR, I32, PTR)
def write_strides(code: Code, tensor: Any, ndim: Any, out: Any) -> None:
    """Write the strides of a tensor, which may have none when it is compact."""
    strides, shape = (code.field(tensor, TENSOR, name) for name in ("strides", "shape"))
    is_missing = code.icmp_unsigned("==", strides, null())
    given = code.select(is_missing, out, strides)
    step = Local(code, I64, I64(1))
    with code.each(ndim) as count:
        axis = code.sub(code.sub(ndim, I32(1)), count)
        place, extent = code.element_at(I64, out, axis), code.element(I64, shape, axis)
        code.store(step.value, place)
        code.store(code.element(I64, given, axis), place)
        is_larger = code.icmp_signed(">", extent, I64(1))
        step.set(code.mul(step.value, code.select(is_larger, extent, I64(1))))
    code.ret_void()


@_hot(I64, PTR)
def size_of(code: Code, tensor: Any) -> None:
    """Return the number of elements."""
    size, shape = Local(code, I64, I64(1)), code.field(tensor, TENSOR, "shape")
    with code.each(code.field(tensor, TENSOR, "ndim")) as axis:
        size.set(code.mul(size.value, code.element(I64, shape, axis)))
    code.ret(size.value)


@_hot(PTR, PTR)
def address_of(code: Code, tensor: Any) -> None:
    """Return the address of the first element."""
    data, offset = (code.field(tensor, TENSOR, name) for name in ("data", "byte_offset"))
    # Not inbounds: nobody has said yet that the address is one.
    code.ret(code.gep(data, [offset], source_etype=I8))


@_hot(I64, I32)
def alignment_of(code: Code, dtype: Any) -> None:
    """Return the bytes to which C aligns an element, as far as C has such elements; else 1."""
    kind, bits, _ = _parts_of(code, dtype)
    is_complex = code.icmp_signed("==", kind, I32(_COMPLEX))
    bits = code.select(is_complex, code.lshr(bits, I32(1)), bits)
    size = code.lshr(bits, I32(3))
    is_whole = code.icmp_signed("==", code.shl(size, I32(3)), bits)
    is_power = code.icmp_signed("==", code.and_(size, code.sub(size, I32(1))), I32(0))
    is_aligned = code.all_of([is_whole, is_power, code.icmp_signed("!=", size, I32(0))])
    code.ret(code.zext(code.select(is_aligned, size, I32(1)), I64))


# ---- extents -----------------------------------------------------------------------------------


def _rounded(code: Code, left: Any, right: Any, correction: int, signs: str) -> None:
    """Return a quotient, changed by a correction where signs are so and something remains."""
    with code.if_then(code.icmp_signed("==", right, I64(-1)), likely=False):
        code.ret(code.ssub_with_overflow(I64(0), left))
    quotient, rest = code.sdiv(left, right), code.srem(left, right)
    is_left, is_right = (code.icmp_signed("<", one, I64(0)) for one in (left, right))
    is_off = code.and_(
        code.icmp_signed("!=", rest, I64(0)), code.icmp_signed(signs, is_left, is_right)
    )
    corrected = code.add(quotient, code.select(is_off, I64(correction), I64(0)))
    code.ret(_pair(code, PAIR, corrected, I1(0)))


@_hot(PAIR, I64, I64)
def divide(code: Code, left: Any, right: Any) -> None:
    """Return a quotient that is rounded down, and whether it does not fit; not for 0."""
    _rounded(code, left, right, -1, "!=")


@_hot(PAIR, I64, I64)
def divide_up(code: Code, left: Any, right: Any) -> None:
    """Return a quotient that is rounded up, and whether it does not fit; not for 0."""
    _rounded(code, left, right, 1, "==")


@_hot(I64, I64, I64)
def modulo(code: Code, left: Any, right: Any) -> None:
    """Return what remains of a quotient that is rounded down; not for 0."""
    with code.if_then(code.icmp_signed("==", right, I64(-1)), likely=False):
        code.ret(I64(0))
    rest = code.srem(left, right)
    differs = code.icmp_signed(
        "!=", code.icmp_signed("<", rest, I64(0)), code.icmp_signed("<", right, I64(0))
    )
    is_off = code.and_(code.icmp_signed("!=", rest, I64(0)), differs)
    code.ret(code.add(rest, code.select(is_off, right, I64(0))))


# ---- results -----------------------------------------------------------------------------------


@_cold(I32, I64, PTR)
def return_big(code: Code, value: Any, result: Any) -> None:
    """Return an integer from 2^63 on."""
    words = code.array(I64, [value, I64(0)])
    cell = Local(code, CELL.type, None).address
    code.store(words, code.field_at(cell, CELL, "data"))
    code.store(I64(16), code.field_at(cell, CELL, "size"))
    code.ret(code.runtime("TVMFFIBigIntFromByteArray", cell, result))


@_cold(I32, PTR, PTR, I32, PTR)
def return_tensors(code: Code, handles: Any, elements: Any, count: Any, result: Any) -> None:
    """Give several tensors away, as an Array; `elements` has room for as many values."""
    maker = Local(code, PTR, null())
    name = code.text("ffi.Array")
    cell = Local(code, CELL.type, None).address
    code.store(name, code.field_at(cell, CELL, "data"))
    code.store(I64(len("ffi.Array")), code.field_at(cell, CELL, "size"))
    status = Local(code, I32, code.runtime("TVMFFIFunctionGetGlobal", cell, maker.address))
    is_missing = code.icmp_unsigned("==", maker.value, null())
    with code.if_then(code.and_(code.icmp_signed("==", status.value, I32(0)), is_missing)):
        text = code.text("the runtime has no function ffi.Array")
        status.set(fail_with_text(code, code.text("RuntimeError"), text))
    array = Local(code, ANY.type, ir.Constant(ANY.type, None))
    with code.each(count) as number:
        place = code.element_at(ANY.type, elements, number)
        code.store(I32(index_of("ffi.Tensor")), code.field_at(place, ANY, "type_index"))
        code.store(I32(0), code.field_at(place, ANY, "small_size"))
        handle = code.element(PTR, handles, number)
        code.store(handle, code.field_at(place, ANY, "payload"))
    with code.if_then(code.icmp_signed("==", status.value, I32(0))):
        args = (maker.value, elements, count, array.address)
        status.set(code.runtime("TVMFFIFunctionCall", *args))
    with code.each(count) as number:
        code.runtime("TVMFFIObjectDecRef", code.element(PTR, handles, number))
    code.runtime("TVMFFIObjectDecRef", maker.value)
    with code.if_then(code.icmp_signed("==", status.value, I32(0))):
        code.store(array.value, result)
    code.ret(status.value)
