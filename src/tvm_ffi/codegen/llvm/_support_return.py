# SPDX-License-Identifier: Apache-2.0
"""LLVM IR support functions of generated wrappers that return big integers and tensors."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ._code import ANY, CELL, I32, I64, PTR, Code, Local, index_of, null
from ._support_function import cold
from ._support_raise import fail_with_text


@cold(I32, I64, PTR)
def return_big(code: Code, value: Any, result: Any) -> None:
    """Return an integer of at least 2^63 as the result of the call."""
    digits = code.array(I64, [value, I64(0)])
    cell = Local(code, CELL.type, None).address
    code.store(digits, code.field_at(cell, CELL, "data"))
    code.store(I64(16), code.field_at(cell, CELL, "size"))
    code.ret(code.runtime("TVMFFIBigIntFromByteArray", cell, result))


@cold(I32, PTR, PTR, I32, PTR)
def return_tensors(code: Code, handles: Any, elements: Any, count: Any, result: Any) -> None:
    """Return several tensors as an Array and consume the handles; `elements` is scratch memory."""
    make_array = Local(code, PTR, null())
    name = code.string("ffi.Array")
    cell = Local(code, CELL.type, None).address
    code.store(name, code.field_at(cell, CELL, "data"))
    code.store(I64(len("ffi.Array")), code.field_at(cell, CELL, "size"))
    status = Local(code, I32, code.runtime("TVMFFIFunctionGetGlobal", cell, make_array.address))
    is_missing = code.icmp_unsigned("==", make_array.value, null())
    with code.if_then(code.and_(code.icmp_signed("==", status.value, I32(0)), is_missing)):
        text = code.string("the runtime has no function ffi.Array")
        status.set(fail_with_text(code, code.string("RuntimeError"), text))
    array = Local(code, ANY.type, ir.Constant(ANY.type, None))
    with code.each(count) as number:
        element = code.element_at(ANY.type, elements, number)
        code.store(I32(index_of("ffi.Tensor")), code.field_at(element, ANY, "type_index"))
        code.store(I32(0), code.field_at(element, ANY, "small_size"))
        handle = code.element(PTR, handles, number)
        code.store(handle, code.field_at(element, ANY, "payload"))
    with code.if_then(code.icmp_signed("==", status.value, I32(0))):
        args = (make_array.value, elements, count, array.address)
        status.set(code.runtime("TVMFFIFunctionCall", *args))
    with code.each(count) as number:
        code.runtime("TVMFFIObjectDecRef", code.element(PTR, handles, number))
    code.runtime("TVMFFIObjectDecRef", make_array.value)
    with code.if_then(code.icmp_signed("==", status.value, I32(0))):
        code.store(array.value, result)
    code.ret(status.value)
