# SPDX-License-Identifier: Apache-2.0
"""Utilities for third-party packages: file locks, keyword arguments, dataclasses, cubins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._internal.lazy import late_attributes
from . import lockfile
from .lockfile import FileLock

if TYPE_CHECKING:
    from . import embed_cubin, kwargs_wrapper, unpack_dataclass

__all__ = ["FileLock", "embed_cubin", "kwargs_wrapper", "lockfile", "unpack_dataclass"]

# Rarely used modules, imported on first access.
__getattr__ = late_attributes(
    globals(),
    {
        "embed_cubin": ".embed_cubin",
        "kwargs_wrapper": ".kwargs_wrapper",
        "unpack_dataclass": ".unpack_dataclass",
    },
)
