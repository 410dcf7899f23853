# SPDX-License-Identifier: Apache-2.0
"""Values of other libraries, known by the name of their class: the library is not imported."""

from __future__ import annotations

from .._internal.lazy import Any


def is_instance_by_name(value: Any, modules: tuple[str, ...], *names: str) -> bool:
    """Whether the value is of a class of such a name, or of one that derives from it."""
    return any(
        base.__name__ in names and base.__module__ in modules for base in type(value).__mro__
    )
