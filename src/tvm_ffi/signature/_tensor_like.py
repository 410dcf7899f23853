# SPDX-License-Identifier: Apache-2.0
"""What type checkers are told of arguments that are tensors."""

from __future__ import annotations

from typing import Any, Protocol, Union

__all__ = ["TensorLike"]


class _SupportsDLPack(Protocol):
    """No parameters: JAX declares none."""

    def __dlpack__(self) -> Any:
        """Return a DLPack capsule of the array."""


class _SupportsDLPackDevice(Protocol):
    """NumPy declares the method above for arrays of numbers alone, and this for all."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the type and the number of the device where the array lies."""


TensorLike = Union[_SupportsDLPack, _SupportsDLPackDevice]
"""An array that goes where a function takes a tensor: of NumPy, torch, JAX, CuPy, or a Tensor.

For annotations; generated stubs have it for parameters.  Element type and shape are no part of it.

Examples
--------
>>> from tvm_ffi import TensorLike
>>> def norm(x: TensorLike) -> float: ...
"""
