# SPDX-License-Identifier: Apache-2.0
"""Builder of LLVM IR for wrappers: struct fields, locals, loops and constants.

Pointers are opaque. Variables are allocas, which the first optimization pass promotes to registers.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir

from ..._binding.object import type_key_to_index

__all__ = [
    "ANY",
    "CELL",
    "DOUBLE",
    "FLOAT",
    "I1",
    "I8",
    "I32",
    "I64",
    "PTR",
    "RUNTIME",
    "SAFE_CALL",
    "TENSOR",
    "TEXT",
    "VOID",
    "Code",
    "Local",
    "constant",
    "constant_in",
    "index_of",
    "null",
    "string_in",
]

VOID, PTR = ir.VoidType(), ir.PointerType()
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()

TEXT = ir.LiteralStructType([PTR, I64])  # TVMFFIByteArray


class Layout(NamedTuple):
    """Layout of an ABI struct: its LLVM type and field names; addresses have 64 bits."""

    type: Any
    fields: tuple[str, ...]

    def member(self, field: str) -> tuple[int, Any]:
        """Return the index and the type of a field."""
        number = self.fields.index(field)
        return number, self.type.elements[number]


def _layout(**fields: Any) -> Layout:
    return Layout(ir.LiteralStructType(list(fields.values())), tuple(fields))


# TVMFFIAny.
ANY = _layout(type_index=I32, small_size=I32, payload=I64)
# DLTensor; `dtype` is one little-endian integer with the code, the bits and the lanes.
TENSOR = _layout(
    data=PTR,
    device_type=I32,
    device_id=I32,
    ndim=I32,
    dtype=I32,
    shape=PTR,
    strides=PTR,
    byte_offset=I64,
)
CELL = _layout(data=PTR, size=I64)  # TVMFFIByteArray in memory
OBJECT_SIZE = 24  # size in bytes of the object header

SAFE_CALL = ir.FunctionType(I32, [PTR, PTR, I32, PTR])
# Runtime functions that generated code calls.
RUNTIME = {
    "TVMFFIBigIntFromByteArray": ir.FunctionType(I32, [PTR, PTR]),
    "TVMFFIBigIntGetContentByteArray": ir.FunctionType(TEXT, [PTR]),
    "TVMFFIDataTypeToString": ir.FunctionType(I32, [PTR, PTR]),
    "TVMFFIEnvGetStream": ir.FunctionType(PTR, [I32, I32]),
    "TVMFFIEnvTensorAlloc": ir.FunctionType(I32, [PTR, PTR]),
    "TVMFFIErrorMoveFromRaised": ir.FunctionType(VOID, [PTR]),
    "TVMFFIErrorSetRaisedFromCStr": ir.FunctionType(VOID, [PTR, PTR]),
    "TVMFFIErrorSetRaisedFromCStrParts": ir.FunctionType(VOID, [PTR, PTR, I32]),
    "TVMFFIFunctionCall": ir.FunctionType(I32, [PTR, PTR, I32, PTR]),
    "TVMFFIFunctionGetGlobal": ir.FunctionType(I32, [PTR, PTR]),
    "TVMFFIGetTypeInfo": ir.FunctionType(PTR, [I32]),
    "TVMFFIObjectDecRef": ir.FunctionType(I32, [PTR]),
    "TVMFFIStringFromByteArray": ir.FunctionType(I32, [PTR, PTR]),
}


def index_of(key: str) -> int:
    """Return the type index of a built-in type."""
    index = type_key_to_index(key)
    assert index is not None
    return index


def constant(type_: Any, value: Any) -> Any:
    """Return a constant; a float is rounded to the precision of its type."""
    if type_ in (FLOAT, DOUBLE):
        value = ctypes.c_float(value).value if type_ == FLOAT else float(value)
        return ir.Constant(type_, value)
    # Convert to the signed range, because LLVM IR prints integer constants as signed numbers.
    value = int(value) % 2**type_.width
    return ir.Constant(type_, value - 2**type_.width if value >= 2 ** (type_.width - 1) else value)


def null() -> Any:
    """Return the null pointer."""
    return ir.Constant(PTR, None)


def string_in(module: Any, text: str | bytes | None) -> Any:
    """Return the address of a NUL-terminated string constant in a module."""
    if text is None:
        return null()
    content = (text.encode("utf-8") if isinstance(text, str) else text) + b"\0"
    return constant_in(module, ir.Constant(ir.ArrayType(I8, len(content)), bytearray(content)))


def constant_in(module: Any, value: Any) -> Any:
    """Return the address of a constant in a module; equal constants share an address."""
    name = f"tvm_ffi.{hashlib.sha256(str(value).encode()).hexdigest()[:32]}"
    found = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, value.type, name)
        found.initializer, found.linkage = value, "private"
        found.global_constant = found.unnamed_addr = True
    return _opaque(found)


def _opaque(address: Any) -> Any:
    """Return an address without the pointee type that llvmlite stores."""
    address.type = PTR
    return address


class Local:
    """A local variable of an emitted function; uninitialized if no value is given."""

    def __init__(self, code: Code, type_: Any, value: Any) -> None:
        self._code, self.type = code, type_
        with code.goto_entry_block():
            self.address = _opaque(code.alloca(type_))
        if value is not None:
            self.set(value)

    @property
    def value(self) -> Any:
        """The value of the variable, loaded at the insertion point of the builder."""
        return self._code.load(self.address, typ=self.type)

    def set(self, value: Any) -> None:
        """Emit the store of a value at the insertion point of the builder."""
        self._code.store(value, self.address)


class Code(ir.IRBuilder):  # type: ignore[misc]  # llvmlite has no types
    """Emits the instructions of one function.

    Parameters
    ----------
    function : llvmlite.ir.Function
        A function without a body.
    """

    def __init__(self, function: Any) -> None:
        # Allocas go to a separate entry block, before all other blocks.
        entry = function.append_basic_block("locals")
        super().__init__(function.append_basic_block("begin"))
        with self.goto_block(entry):
            self.branch(self.block.function.basic_blocks[1])

    # ---- loads and addresses ---------------------------------------------------------------

    def field(self, base: Any, layout: Layout, name: str, index: Any = 0) -> Any:
        """Return the value of a struct's field; `index` selects an element of a struct array."""
        return self.load(self.field_at(base, layout, name, index), typ=layout.member(name)[1])

    def field_at(self, base: Any, layout: Layout, name: str, index: Any = 0) -> Any:
        """Return the address of a struct's field."""
        number, _ = layout.member(name)
        indices = [I32(index) if isinstance(index, int) else index, I32(number)]
        return self.gep(base, indices, inbounds=True, source_etype=layout.type)

    def element(self, type_: Any, base: Any, index: Any) -> Any:
        """Return an element of an array."""
        return self.load(self.element_at(type_, base, index), typ=type_)

    def element_at(self, type_: Any, base: Any, index: Any) -> Any:
        """Return the address of an element of an array."""
        indices = [I32(index) if isinstance(index, int) else index]
        return self.gep(base, indices, inbounds=True, source_etype=type_)

    def payload(self, value: Any, type_: Any, index: int = 0) -> Any:
        """Return the payload of a `TVMFFIAny`, or of element `index` of an array of them."""
        return self.load(self.field_at(value, ANY, "payload", index), typ=type_)

    def after_header(self, handle: Any) -> Any:
        """Return the address of an object's data, directly after the object header."""
        return self.element_at(I8, handle, OBJECT_SIZE)

    def array(self, type_: Any, values: Sequence[Any]) -> Any:
        """Return the address of a local array."""
        array = Local(self, ir.ArrayType(type_, max(len(values), 1)), None).address
        for index, value in enumerate(values):
            self.store(value, self.element_at(type_, array, index))
        return array

    # ---- comparison and extension of numbers -----------------------------------------------

    def is_any(self, value: Any, numbers: Sequence[int]) -> Any:
        """Return an i1 that is true if a value equals one of several numbers."""
        found = I1(0)
        for number in numbers:
            is_it = self.icmp_signed("==", value, value.type(number))
            found = is_it if number == numbers[0] else self.or_(found, is_it)
        return found

    def all_of(self, conditions: Sequence[Any]) -> Any:
        """Return an i1 that is true if all conditions hold; None if there are no conditions."""
        found = None
        for condition in conditions:
            found = condition if found is None else self.and_(found, condition)
        return found

    def as_int64(self, value: Any) -> Any:
        """Return a signed integer, extended to 64 bits."""
        return value if value.type == I64 else self.sext(value, I64)

    # ---- conditions and loops --------------------------------------------------------------

    @contextmanager
    def where(self, condition: Any | None) -> Iterator[None]:
        """Emit the instructions of the with-block under a condition; None means unconditionally."""
        if condition is None:
            yield
        else:
            with self.if_then(condition):
                yield

    @contextmanager
    def each(self, count: Any) -> Iterator[Any]:
        """Emit a loop over the numbers from 0 to `count` - 1."""
        number = Local(self, count.type, count.type(0))
        head, body, after = (self.append_basic_block() for _ in range(3))
        self.branch(head)
        self.position_at_end(head)
        index = number.value
        self.cbranch(self.icmp_signed("<", index, count), body, after)
        self.position_at_end(body)
        yield index
        number.set(self.add(index, count.type(1)))
        self.branch(head)
        self.position_at_end(after)

    # ---- constants and functions -----------------------------------------------------------

    def string(self, text: str | bytes | None) -> Any:
        """Return the address of a NUL-terminated string constant."""
        return string_in(self.module, text)

    def string_table(self, strings: Sequence[str | None]) -> Any:
        """Return the address of a constant array of strings."""
        rows = [self.string(text) for text in strings]
        return constant_in(self.module, ir.Constant(ir.ArrayType(PTR, len(rows)), rows))

    def byte_array(self, text: str) -> Any:
        """Return the address of a constant TVMFFIByteArray."""
        size = I64(len(text.encode("utf-8")))
        return constant_in(self.module, ir.Constant(TEXT, [self.string(text), size]))

    def runtime(self, name: str, *args: Any) -> Any:
        """Emit a call of a runtime function."""
        found = self.module.globals.get(name)
        if found is None:
            found = ir.Function(self.module, RUNTIME[name], name)
            found.attributes.add("nounwind")
        return self.call(found, args)

    # ---- result of the call ----------------------------------------------------------------

    def return_any(self, result: Any, type_index: int, payload: Any) -> None:
        """Emit the store of the emitted function's result, and ``return 0``."""
        self.store(I32(type_index), self.field_at(result, ANY, "type_index"))
        self.store(I32(0), self.field_at(result, ANY, "small_size"))
        self.store(payload, self.field_at(result, ANY, "payload"))
        self.ret(I32(0))
