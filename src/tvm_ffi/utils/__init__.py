# SPDX-License-Identifier: Apache-2.0
"""Tools for packages that are built on this one; each has a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import lockfile
from .lockfile import FileLock

if TYPE_CHECKING:
    from . import kwargs_wrapper, unpack_dataclass

__all__ = ["FileLock", "kwargs_wrapper", "lockfile", "unpack_dataclass"]


def __getattr__(name: str) -> Any:
    """Load the modules that not every program needs, when they are first asked for."""
    if name not in ("kwargs_wrapper", "unpack_dataclass"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
