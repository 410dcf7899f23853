# SPDX-License-Identifier: Apache-2.0
"""Support function of generated wrappers in LLVM IR that allocates workspaces."""

from __future__ import annotations

from typing import Any

from . import _support as support
from ._code import I32, I64, PTR, TENSOR, Code, Local, null
from ._support_function import cold

__all__ = ["allocate_workspace"]

ALIGNMENT = 256  # bytes
_UINT8 = 1 | 8 << 8 | 1 << 16  # the dtype as an integer, for the field `dtype` of `TENSOR`


@cold(I32, I64, I32, I32, PTR, PTR)
def allocate_workspace(
    code: Code, size_bytes: Any, device_type: Any, device_id: Any, handle: Any, address: Any
) -> None:
    """Allocate device memory for one call; the caller releases the handle after the call.

    Size 0 leaves handle and address NULL.
    """
    with code.if_then(code.icmp_signed("==", size_bytes, I64(0))):
        code.ret(I32(0))
    extra = I64(ALIGNMENT - 1)
    has_room = code.icmp_signed("<=", size_bytes, I64(2**63 - 1 - ALIGNMENT))
    prototype = Local(code, TENSOR.type, None).address
    fields = {
        "data": null(),
        "device_type": device_type,
        "device_id": device_id,
        "ndim": I32(1),
        "dtype": I32(_UINT8),
        "shape": code.array(I64, [code.select(has_room, code.add(size_bytes, extra), size_bytes)]),
        "strides": null(),
        "byte_offset": I64(0),
    }
    for name, value in fields.items():
        code.store(value, code.field_at(prototype, TENSOR, name))
    status = code.runtime("TVMFFIEnvTensorAlloc", prototype, handle)
    with code.if_then(code.icmp_signed("!=", status, I32(0)), likely=False):
        code.ret(I32(-1))
    tensor = code.after_header(code.load(handle, typ=PTR))
    first = code.ptrtoint(support.address_of(code, tensor), I64)
    aligned = code.and_(code.add(first, extra), I64(-ALIGNMENT))
    code.store(code.inttoptr(aligned, PTR), address)
    code.ret(I32(0))
