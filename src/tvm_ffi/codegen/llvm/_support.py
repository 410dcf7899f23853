# SPDX-License-Identifier: Apache-2.0
"""LLVM IR support functions that read the arguments of wrappers, like wrapper_support.h.

Support functions that raise errors are in `_support_raise`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..._binding.values import Device
from ...signature._checks import DIRECT_ADDRESS_DEVICES
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
from ._support_function import cold, hot, shared

COMPLEX = 5  # DLPack dtype code of complex numbers
PAIR = ir.LiteralStructType([I64, I1])  # pair of the result of a division and an overflow flag


# ---- reading of values -----------------------------------------------------------------------


@hot(I32, PTR)
def type_index(code: Code, value: Any) -> None:
    """Return the type index of a value, or of the object that an rvalue reference moves."""
    index = Local(code, I32, code.field(value, ANY, "type_index"))
    is_moved = code.icmp_signed("==", index.value, I32(index_of("ObjectRValueRef")))
    with code.if_then(is_moved, likely=False):
        handle = code.load(code.payload(value, PTR), typ=PTR)
        is_gone = code.icmp_unsigned("==", handle, null())
        with code.if_else(is_gone) as (gone, there):
            with gone:
                index.set(I32(index_of("None")))
            with there:
                index.set(code.element(I32, handle, 2))  # type_index in the object header
    code.ret(index.value)


@hot(I1, PTR)
def is_str(code: Code, value: Any) -> None:
    """Return true if a value is a string in any of its native representations."""
    keys = ("ffi.SmallStr", "ffi.String", "const char*")
    code.ret(code.is_any(type_index(code, value), [index_of(key) for key in keys]))


@hot(I1, PTR)
def is_bytes(code: Code, value: Any) -> None:
    """Return true if a value is bytes in any of their native representations."""
    keys = ("ffi.SmallBytes", "ffi.Bytes", "TVMFFIByteArray*")
    code.ret(code.is_any(type_index(code, value), [index_of(key) for key in keys]))


@shared(TEXT, PTR)
def content(code: Code, value: Any) -> None:
    """Return the content of a string or bytes; undefined for other values."""
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
        cell.set(code.after_header(cell.value))
    code.ret(_pair(code, TEXT, *(code.field(cell.value, CELL, name) for name in ("data", "size"))))


def _length(code: Code, text: Any) -> Any:
    """Return the number of bytes before the NUL of a C string."""
    size = Local(code, I64, I64(0))
    head, body, after = (code.append_basic_block() for _ in range(3))
    code.branch(head)
    code.position_at_end(head)
    is_end = code.icmp_unsigned("==", code.element(I8, text, size.value), I8(0))
    code.cbranch(is_end, after, body)
    code.position_at_end(body)
    size.set(code.add(size.value, I64(1)))
    code.branch(head)
    code.position_at_end(after)
    return size.value


def _pair(code: Code, type_: Any, first: Any, second: Any) -> Any:
    empty = ir.Constant(type_, ir.Undefined)
    return code.insert_value(code.insert_value(empty, first, 0), second, 1)


@hot(DOUBLE, PTR)
def as_float(code: Code, value: Any) -> None:
    """Return a number as a double."""
    is_float = code.is_any(code.field(value, ANY, "type_index"), [index_of("float")])
    with code.if_then(is_float, likely=True):
        code.ret(code.payload(value, DOUBLE))
    code.ret(code.sitofp(code.payload(value, I64), DOUBLE))


@cold(I1, PTR, PTR)
def big_uint64(code: Code, value: Any, out: Any) -> None:
    """Read an integer of at least 2^63; return true if it fits an unsigned 64-bit integer."""
    is_big = code.is_any(code.field(value, ANY, "type_index"), [index_of("ffi.BigInt")])
    with code.if_then(code.not_(is_big)):
        code.ret(I1(0))
    digits = code.runtime("TVMFFIBigIntGetContentByteArray", value)
    has_two = code.icmp_unsigned("==", code.extract_value(digits, 1), I64(16))
    with code.if_then(code.not_(has_two)):
        code.ret(I1(0))
    low, high = (code.element(I64, code.extract_value(digits, 0), i) for i in range(2))
    code.store(low, out)
    code.ret(code.icmp_unsigned("==", high, I64(0)))


@hot(I1, PTR, PTR)
def as_uint64(code: Code, value: Any, out: Any) -> None:
    """Read an unsigned 64-bit integer; return false for any other value."""
    is_int = code.is_any(code.field(value, ANY, "type_index"), [index_of("int")])
    with code.if_then(is_int, likely=True):
        code.store(code.payload(value, I64), out)
        code.ret(I1(1))
    code.ret(big_uint64(code, value, out))


@shared(I64, PTR, I64)
def find_nul(code: Code, text: Any, size: Any) -> None:
    """Return the index of the first NUL in a string; -1 if the string has no NUL."""
    with code.each(size) as position:
        is_end = code.icmp_unsigned("==", code.element(I8, text, position), I8(0))
        with code.if_then(is_end):
            code.ret(position)
    code.ret(I64(-1))


# ---- reading of tensors ----------------------------------------------------------------------


@cold(PTR, PTR)
def moved_tensor(code: Code, value: Any) -> None:
    """Return the tensor in an rvalue reference, borrowed from the reference; else NULL."""
    is_tensor = code.is_any(type_index(code, value), [index_of("ffi.Tensor")])
    with code.if_then(is_tensor):
        code.ret(code.after_header(code.load(code.payload(value, PTR), typ=PTR)))
    code.ret(null())


@hot(PTR, PTR)
def tensor_in(code: Code, value: Any) -> None:
    """Return the tensor in an argument, borrowed from the argument; NULL for other values."""
    index, address = code.field(value, ANY, "type_index"), code.payload(value, PTR)
    with code.if_then(code.is_any(index, [index_of("ffi.Tensor")]), likely=True):
        code.ret(code.after_header(address))
    with code.if_then(code.is_any(index, [index_of("DLTensor*")])):
        code.ret(address)
    code.ret(moved_tensor(code, value))


@cold(I1, PTR)
def is_empty(code: Code, tensor: Any) -> None:
    """Return true if a tensor has no elements, because an extent is 0."""
    shape = code.field(tensor, TENSOR, "shape")
    with code.each(code.field(tensor, TENSOR, "ndim")) as axis:
        is_nothing = code.icmp_signed("==", code.element(I64, shape, axis), I64(0))
        with code.if_then(is_nothing):
            code.ret(I1(1))
    code.ret(I1(0))


@hot(I32, PTR, I32)
def negative_axis(code: Code, tensor: Any, ndim: Any) -> None:
    """Return the first dimension of a tensor whose extent is negative; -1 if there is none."""
    shape = code.field(tensor, TENSOR, "shape")
    with code.each(ndim) as axis:
        is_negative = code.icmp_signed("<", code.element(I64, shape, axis), I64(0))
        with code.if_then(is_negative, likely=False):
            code.ret(axis)
    code.ret(I32(-1))


@hot(I32, PTR, I32, PTR, I32, I32)
def differing(code: Code, a: Any, a_first: Any, b: Any, b_first: Any, count: Any) -> None:
    """Return the first i < count of which the extents of two tensors differ; -1 if none does.

    The extents are those of dimension ``a_first + i`` of `a` and dimension ``b_first + i`` of `b`.
    """
    shapes = [code.field(tensor, TENSOR, "shape") for tensor in (a, b)]
    with code.each(count) as index:
        extents = [
            code.element(I64, shape, code.add(first, index))
            for shape, first in zip(shapes, (a_first, b_first))
        ]
        with code.if_then(code.icmp_signed("!=", *extents), likely=False):
            code.ret(index)
    code.ret(I32(-1))


@hot(I1, PTR, I32, I32)
def is_compact(code: Code, tensor: Any, ndim: Any, first: Any) -> None:
    """Return true if the dimensions from `first` on are in row-major order without gaps.

    A negative `first` means all dimensions.  The stride of a dimension with extent 1 is ignored.
    """
    strides, shape = (code.field(tensor, TENSOR, name) for name in ("strides", "shape"))
    with code.if_then(code.icmp_unsigned("==", strides, null()), likely=False):
        code.ret(I1(1))
    step = Local(code, I64, I64(1))
    is_late = code.icmp_signed(">", first, I32(0))
    with code.each(code.sub(ndim, code.select(is_late, first, I32(0)))) as count:
        axis = code.sub(code.sub(ndim, I32(1)), count)
        extent = code.element(I64, shape, axis)
        differs = code.icmp_signed("!=", code.element(I64, strides, axis), step.value)
        counts = code.icmp_signed("!=", extent, I64(1))
        with code.if_then(code.and_(differs, counts), likely=False):
            code.ret(is_empty(code, tensor))
        step.set(code.mul(step.value, extent))
    code.ret(I1(1))


@hot(I1, PTR, I32)
def repeats(code: Code, tensor: Any, ndim: Any) -> None:
    """Return true if several indices refer to one element of a tensor, because a stride is 0."""
    strides, shape = (code.field(tensor, TENSOR, name) for name in ("strides", "shape"))
    with code.if_then(code.icmp_unsigned("==", strides, null()), likely=False):
        code.ret(I1(0))
    with code.each(ndim) as axis:
        is_zero = code.icmp_signed("==", code.element(I64, strides, axis), I64(0))
        counts = code.icmp_signed(">", code.element(I64, shape, axis), I64(1))
        with code.if_then(code.and_(is_zero, counts), likely=False):
            code.ret(code.not_(is_empty(code, tensor)))
    code.ret(I1(0))


@hot(I1, PTR, I32, I64, PTR, I32, I64)
def apart(code: Code, a: Any, ndim_a: Any, bits_a: Any, b: Any, ndim_b: Any, bits_b: Any) -> None:
    """Return true if the elements of two tensors are apart, if the tensors are compact.

    `bits_a` and `bits_b` are the sizes of an element.
    """
    first_a, first_b = (code.ptrtoint(address_of(code, tensor), I64) for tensor in (a, b))
    for lower, upper, tensor, ndim, bits in (
        (first_a, first_b, a, ndim_a, bits_a),
        (first_b, first_a, b, ndim_b, bits_b),
    ):
        with code.if_then(code.icmp_unsigned("<", lower, upper)):
            size_bits = code.add(code.mul(product(code, tensor, ndim), bits), I64(7))
            size = code.udiv(size_bits, I64(8))
            code.ret(code.icmp_unsigned(">=", code.sub(upper, lower), size))
    code.ret(I1(0))


@cold(I1, PTR, PTR)
def overlap(code: Code, a: Any, b: Any) -> None:
    """Return true if two tensors, which are not apart, certainly share memory.

    They do if they have the same first element, or if both are compact.  Other tensors with gaps
    may be interleaved.
    """
    for name in ("device_type", "device_id"):
        got = [code.field(tensor, TENSOR, name) for tensor in (a, b)]
        with code.if_then(code.icmp_signed("!=", *got)):
            code.ret(I1(0))
    for tensor in (a, b):
        is_null = code.icmp_unsigned("==", code.field(tensor, TENSOR, "data"), null())
        with code.if_then(code.or_(is_null, is_empty(code, tensor))):
            code.ret(I1(0))
    # The data pointers of other devices may be handles, so only equal ones are comparable.
    differ = code.icmp_unsigned("!=", *[code.field(t, TENSOR, "data") for t in (a, b)])
    type_ = code.field(a, TENSOR, "device_type")
    has_addresses = code.is_any(
        type_, [Device(name).dlpack_device_type() for name in DIRECT_ADDRESS_DEVICES]
    )
    with code.if_then(code.and_(differ, code.not_(has_addresses))):
        code.ret(I1(0))
    ranks = [code.field(tensor, TENSOR, "ndim") for tensor in (a, b)]
    are_compact = code.and_(
        *(is_compact(code, tensor, rank, I32(0)) for tensor, rank in zip((a, b), ranks))
    )
    is_same = code.icmp_unsigned("==", address_of(code, a), address_of(code, b))
    code.ret(code.or_(is_same, are_compact))


@hot(ir.VoidType(), PTR, I32, PTR)
def write_strides(code: Code, tensor: Any, ndim: Any, out: Any) -> None:
    """Write the strides of a tensor; compute them if the field `strides` is NULL."""
    strides, shape = (code.field(tensor, TENSOR, name) for name in ("strides", "shape"))
    is_missing = code.icmp_unsigned("==", strides, null())
    given = code.select(is_missing, out, strides)
    step = Local(code, I64, I64(1))
    with code.each(ndim) as count:
        axis = code.sub(code.sub(ndim, I32(1)), count)
        slot, extent = code.element_at(I64, out, axis), code.element(I64, shape, axis)
        code.store(step.value, slot)
        code.store(code.element(I64, given, axis), slot)
        is_larger = code.icmp_signed(">", extent, I64(1))
        step.set(code.mul(step.value, code.select(is_larger, extent, I64(1))))
    code.ret_void()


@hot(I64, PTR)
def size_of(code: Code, tensor: Any) -> None:
    """Return the number of elements of a tensor."""
    code.ret(product(code, tensor, code.field(tensor, TENSOR, "ndim")))


@hot(I64, PTR, I32)
def product(code: Code, tensor: Any, ndim: Any) -> None:
    """Return the product of the first `ndim` extents of a tensor."""
    size, shape = Local(code, I64, I64(1)), code.field(tensor, TENSOR, "shape")
    with code.each(ndim) as axis:
        size.set(code.mul(size.value, code.element(I64, shape, axis)))
    code.ret(size.value)


@hot(PTR, PTR)
def address_of(code: Code, tensor: Any) -> None:
    """Return the address of the first element of a tensor."""
    data, offset = (code.field(tensor, TENSOR, name) for name in ("data", "byte_offset"))
    # Do not mark the address as inbounds, because no check has tested it.
    code.ret(code.gep(data, [offset], source_etype=I8))


def parts_of_dtype(code: Code, dtype: Any) -> list[Any]:
    """Return code, bits and lanes of a dtype."""
    kind = code.and_(dtype, I32(255))
    bits = code.and_(code.lshr(dtype, I32(8)), I32(255))
    return [kind, bits, code.lshr(dtype, I32(16))]


@hot(I64, I32)
def alignment_of(code: Code, dtype: Any) -> None:
    """Return the alignment in bytes that C gives elements of a dtype; 1 if C has no such type."""
    kind, bits, _ = parts_of_dtype(code, dtype)
    is_complex = code.icmp_signed("==", kind, I32(COMPLEX))
    bits = code.select(is_complex, code.lshr(bits, I32(1)), bits)
    size = code.lshr(bits, I32(3))
    is_whole = code.icmp_signed("==", code.shl(size, I32(3)), bits)
    is_power = code.icmp_signed("==", code.and_(size, code.sub(size, I32(1))), I32(0))
    is_aligned = code.all_of([is_whole, is_power, code.icmp_signed("!=", size, I32(0))])
    code.ret(code.zext(code.select(is_aligned, size, I32(1)), I64))


# ---- arithmetic of extents ---------------------------------------------------------------------


def _rounded(code: Code, left: Any, right: Any, correction: int, signs: str) -> None:
    """Return a quotient; add `correction` if there is a remainder and `signs` is true."""
    with code.if_then(code.icmp_signed("==", right, I64(-1)), likely=False):
        code.ret(code.ssub_with_overflow(I64(0), left))
    quotient, rest = code.sdiv(left, right), code.srem(left, right)
    is_left, is_right = (code.icmp_signed("<", operand, I64(0)) for operand in (left, right))
    is_off = code.and_(
        code.icmp_signed("!=", rest, I64(0)), code.icmp_signed(signs, is_left, is_right)
    )
    corrected = code.add(quotient, code.select(is_off, I64(correction), I64(0)))
    code.ret(_pair(code, PAIR, corrected, I1(0)))


@hot(PAIR, I64, I64)
def divide(code: Code, left: Any, right: Any) -> None:
    """Return the quotient rounded down, and an overflow flag; undefined for divisor 0."""
    _rounded(code, left, right, -1, "!=")


@hot(PAIR, I64, I64)
def divide_up(code: Code, left: Any, right: Any) -> None:
    """Return the quotient rounded up, and an overflow flag; undefined for divisor 0."""
    _rounded(code, left, right, 1, "==")


@hot(I64, I64, I64)
def modulo(code: Code, left: Any, right: Any) -> None:
    """Return the remainder of the quotient rounded down; undefined for divisor 0."""
    with code.if_then(code.icmp_signed("==", right, I64(-1)), likely=False):
        code.ret(I64(0))
    rest = code.srem(left, right)
    differs = code.icmp_signed(
        "!=", code.icmp_signed("<", rest, I64(0)), code.icmp_signed("<", right, I64(0))
    )
    is_off = code.and_(code.icmp_signed("!=", rest, I64(0)), differs)
    code.ret(code.add(rest, code.select(is_off, right, I64(0))))
