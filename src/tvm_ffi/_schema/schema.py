# SPDX-License-Identifier: Apache-2.0
"""`Schema`: a declared type as an origin with type arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .names import NO_TYPE, NUM_ARGS
from .utf8 import checked_utf8

__all__ = ["Schema"]


@dataclass(repr=False)
class Schema:
    """A declared type; `tvm_ffi.core.TypeSchema` documents the members.

    `origin_type_index` is `NO_TYPE` in this class; a subclass that looks up registered types sets
    it to the type index of the origin.
    """

    origin: str
    args: tuple[Schema, ...] | None = None
    origin_type_index: int = NO_TYPE
    fallback: Schema | None = None
    named_args: dict[str, tuple[Schema, ...]] | None = None
    type_key: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.origin, str) and self.origin):
            raise ValueError(f"schema type must be a nonempty string, got {self.origin!r}")
        checked_utf8(self.origin, "schema type")
        if self.fallback is not None and not isinstance(self.fallback, Schema):
            raise TypeError(
                f"fallback of schema {self.origin!r} must be a TypeSchema, "
                f"got {type(self.fallback).__name__}"
            )
        if self.args is not None:
            self.args = _schemas(self.args, "schema arguments must be TypeSchema instances")
        if self.named_args is not None:
            self.named_args = _groups(self.named_args)
        if self.origin == "Callable":
            self._name_the_groups()
        else:
            self._complete_args()

    def _complete_args(self) -> None:
        """Check the number of arguments; add Any for omitted arguments of a container."""
        count = len(self.args or ())
        if self.origin == "Optional" and count != 1:
            raise ValueError(f"Optional must have exactly one type argument, got {count}")
        if self.origin == "Union" and count < 2:
            raise ValueError(f"Union must have at least two type arguments, got {count}")
        wanted = NUM_ARGS.get(self.origin, count)
        if count not in (0, wanted):
            plural = "s" if wanted > 1 else ""
            raise ValueError(
                f"{self.origin} must have 0 or {wanted} type argument{plural}, got {count}"
            )
        if count < wanted:
            self.args = tuple(type(self)("Any") for _ in range(wanted))
        elif self.args is None and self.origin != "tuple":
            self.args = ()

    def _name_the_groups(self) -> None:
        """Convert ``args`` of a function type, result type first, to groups of ``named_args``."""
        if self.args and self.named_args is None:
            result, params = self.args[:1], self.args[1:]
            self.named_args = {"return": result, "params": params} if params else {"return": result}
        elif self.args or (self.named_args or {}).keys() - {"return", "params"}:
            raise ValueError("Callable has only the groups 'return' and 'params' in named_args")
        elif self.named_args is not None and len(self.named_args.get("return", ())) != 1:
            raise ValueError("group 'return' of Callable must contain exactly one type")
        self.args = ()


def _schemas(args: Any, complaint: str) -> tuple[Schema, ...]:
    if type(args) is not tuple:
        args = tuple(args) if isinstance(args, Iterable) else (args,)
    for arg in args:
        if not isinstance(arg, Schema):
            raise TypeError(f"{complaint}, got {type(arg).__name__}")
    return args  # type: ignore[no-any-return]


def _groups(named_args: Any) -> dict[str, tuple[Schema, ...]]:
    if not (isinstance(named_args, dict) and all(isinstance(name, str) for name in named_args)):
        raise TypeError(f"named_args must be a map of names to type lists, got {named_args!r}")
    complaint = "named_args values must be lists of type schemas"
    if not all(isinstance(group, (list, tuple)) for group in named_args.values()):
        raise TypeError(complaint)
    return {name: _schemas(group, complaint) for name, group in named_args.items()}
