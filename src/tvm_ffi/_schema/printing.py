# SPDX-License-Identifier: Apache-2.0
"""Printer of type schemas as annotations and function signatures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable

from .names import is_known
from .schema import Schema

__all__ = ["TypePrinter"]


def _find_nothing(key: str) -> object:
    return None


class TypePrinter:
    """Prints types as annotations.

    Parameters
    ----------
    find_type : callable
        Returns None for type keys that are not registered; such types are printed as the schema's
        fallback, if it has one.
    name_of : callable
        Maps an origin to the printed name.  ``Optional`` and ``Union`` are printed with ``|``
        unless they are renamed.
    wider : callable, optional
        Maps an origin to the schema of all values that convert to its type, which is printed
        instead of the type; None if no other values convert.
    """

    __slots__ = ("_find_type", "_name_of", "_wider")

    def __init__(
        self,
        find_type: Callable[[str], object] = _find_nothing,
        name_of: Callable[[str], str] = str,
        wider: Callable[[str], Schema | None] | None = None,
    ) -> None:
        self._find_type, self._name_of, self._wider = find_type, name_of, wider

    def text(self, schema: Schema, seen: frozenset[str] = frozenset()) -> str:
        """Return a type as an annotation; origins in `seen` are not replaced by wider types."""
        if schema.fallback is not None and not is_known(schema.origin, self._find_type):
            return self.text(schema.fallback, seen)
        if self._wider is not None and schema.origin not in seen:
            wider = self._wider(schema.origin)
            if wider is not None:
                return self.text(wider, seen | {schema.origin})
        name = self._name_of(schema.origin)
        if schema.origin == "Callable":
            return name + self._groups(schema, seen)
        args = [self.text(arg, seen) for arg in schema.args or ()]
        if name == "Union":
            return " | ".join(args)
        if name == "Optional":
            return f"{args[0]} | None"
        if schema.args == () and schema.origin == "tuple":
            return f"{name}[()]"
        return f"{name}[{', '.join(args)}]" if args else name

    def _groups(self, schema: Schema, seen: frozenset[str]) -> str:
        if schema.named_args is None:
            return "[..., Any]"
        params, result = schema.named_args.get("params"), schema.named_args["return"][0]
        listed = "..." if params is None else f"[{self._list(params, seen)}]"
        return f"[{listed}, {self.text(result, seen)}]"

    def signature(self, function: Schema) -> str:
        """Return ``(parameters) -> result`` for a function type that declares a result type."""
        assert function.named_args is not None
        params, result = function.named_args.get("params"), function.named_args["return"][0]
        listed = "..." if params is None else self._list(params, frozenset())
        return f"({listed}) -> {self.text(result)}"

    def _list(self, schemas: Iterable[Schema], seen: frozenset[str]) -> str:
        return ", ".join(self.text(schema, seen) for schema in schemas)
