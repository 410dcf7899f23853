# SPDX-License-Identifier: Apache-2.0
"""Recognition of third-party values by class name, without importing their library."""

from __future__ import annotations

from .._internal.lazy import Any


def is_instance_by_name(value: Any, modules: tuple[str, ...], *names: str) -> bool:
    """Return True if the class of `value`, or a base, has one of these modules and names."""
    return any(
        base.__name__ in names and base.__module__ in modules for base in type(value).__mro__
    )
