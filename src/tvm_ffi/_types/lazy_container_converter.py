# SPDX-License-Identifier: Apache-2.0
"""Conversion to declared containers: most programs call no function that declares one."""

from __future__ import annotations

from .._internal.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._schema.schema import Schema


def container_converter(schema: Schema) -> Callable[[Any], Any]:
    """Return what converts a list, tuple or dict to a declared container."""
    from .schema import container_converter as make

    return make(schema)
