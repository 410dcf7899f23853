# SPDX-License-Identifier: Apache-2.0
"""Recognition of values of third-party libraries by class name, without importing the library."""

from __future__ import annotations

from .._internal.lazy import Any


def is_instance_by_name(value: Any, modules: tuple[str, ...], *names: str) -> bool:
    """Return True if `value` is an instance of a class with one of these modules and names."""
    return any(
        base.__name__ in names and base.__module__ in modules for base in type(value).__mro__
    )
