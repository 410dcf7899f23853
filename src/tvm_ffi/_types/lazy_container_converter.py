# SPDX-License-Identifier: Apache-2.0
"""Lazy import of the function that converts arguments to declared container types."""

from __future__ import annotations

from .._internal.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._schema.schema import Schema


def container_converter(schema: Schema) -> Callable[[Any], Any]:
    """Return a function that converts a list, tuple or dict to a container schema."""
    from .schema import container_converter as make

    return make(schema)
