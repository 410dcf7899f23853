# SPDX-License-Identifier: Apache-2.0
"""`TensorLike`, the type annotation for tensor arguments."""

from __future__ import annotations

from typing import Any, Protocol, Union

__all__ = ["TensorLike"]


class _SupportsDLPack(Protocol):
    """Objects with `__dlpack__`. The method has no parameters here, because JAX declares none."""

    def __dlpack__(self) -> Any:
        """Return a DLPack capsule of the array."""


class _SupportsDLPackDevice(Protocol):
    """Objects with `__dlpack_device__`; NumPy declares `__dlpack__` for numeric arrays only."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device type and the device id of the array."""


TensorLike = Union[_SupportsDLPack, _SupportsDLPackDevice]
"""An object that can be passed for a tensor: an array of NumPy, torch, JAX or CuPy, or a Tensor.

For annotations only; generated stubs use it for parameters.  It does not include dtype or shape.

Examples
--------
>>> from tvm_ffi import TensorLike
>>> def norm(x: TensorLike) -> float: ...
"""
