# SPDX-License-Identifier: Apache-2.0
"""The arguments of an operator's call, by parameter and in order.

Operators take what a variadic parameter of the function takes as one list, and parameters behind it
or behind ``*`` by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from ...signature import Signature

__all__ = ["bind_positions", "pass_by_position", "tensors_in"]


def bind_positions(
    signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an operator's arguments by parameter; torch leaves out those that are defaults."""
    defaults = {one.name: one.default for one in signature.parameters}
    places = [one.name for one in signature.parameters if one.kind != "keyword-only"]
    return {**defaults, **dict(zip(places, args)), **kwargs}


def pass_by_position(
    signature: Signature, arguments: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments by parameter as an operator takes them."""
    by_position = [
        arguments[one.name] for one in signature.parameters if one.kind != "keyword-only"
    ]
    by_name = {
        one.name: arguments[one.name] for one in signature.parameters if one.kind == "keyword-only"
    }
    return by_position, by_name


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among arguments, those in lists as well."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
