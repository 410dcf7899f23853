# SPDX-License-Identifier: Apache-2.0
"""Public names for shapes, devices, and the import of tensors by the DLPack protocol."""

from __future__ import annotations

from ._binding.containers import Shape
from ._binding.object import set_public_module
from ._binding.tensor import from_dlpack
from ._binding.values import Device, device_class
from ._internal.lazy import TYPE_CHECKING
from ._types.lazy_type_info import attach_lazy_type_info

if TYPE_CHECKING:
    from ._internal.dlpack_codes import DLDeviceType
else:  # at run time, annotations contain the base class of the enumeration
    DLDeviceType = int

__all__ = ["Shape", "device", "from_dlpack"]

set_public_module("tvm_ffi", Shape)
attach_lazy_type_info("ffi.Shape", Shape)


def device(device_type: str | int | DLDeviceType, index: int | None = None) -> Device:
    """Return the device with a type, such as ``"cuda"``, and an index.

    >>> device("cuda:1")
    device(type='cuda', index=1)
    """
    result: Device = device_class()(device_type, index)
    return result
