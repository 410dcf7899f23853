# SPDX-License-Identifier: Apache-2.0
"""Parser of type annotations: ``Map[str, Array[int]] | None``, as `TypePrinter` writes them.

    type  =  part { "|" part }
    part  =  name [ "[" "()" | type { "," type } "]" ]
          |  "Callable" "[" ( "..." | "[" [ type { "," type } ] "]" ) "," type "]"

The parser makes one pass over the text and limits the nesting depth, so its time is linear in the
length of any input.
"""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

from .names import ORIGIN_OF_JSON_NAME
from .schema import Schema

__all__ = ["Tokens", "TypeParser", "parse_type"]

SchemaT = TypeVar("SchemaT", bound=Schema)

# In annotations, ``Shape`` denotes the type with the type key ``ffi.Shape``.
_ORIGIN_OF_NAME = {**ORIGIN_OF_JSON_NAME, "Shape": "ffi.Shape"}
_MAX_DEPTH = 100  # largest number of nested brackets
_MAX_SHOWN = 40  # largest number of characters of the text that a message quotes
_SPACE = re.compile(r"\s*")


class Tokens:
    """Tokenizer of annotations: names, numbers, ``...`` and single characters.

    Attributes
    ----------
    token : str
        The current token; empty at the end of the text.
    position : int
        Offset of the current token in the text, in characters.
    """

    _TOKEN = re.compile(r"[^\W\d]\w*(?:(?:\.|::)\w+)*\*?|\.\.\.|\d+|[^\s\w]")

    def __init__(self, text: str) -> None:
        self.text = text
        self.token = ""
        self.position = 0
        self.advance()

    def advance(self) -> str:
        """Move to the next token; return the token before it."""
        before = self.token
        self.position, self.token = self._next()
        return before

    def peek(self) -> str:
        """Return the token after the current token, without moving."""
        return self._next()[1]

    def _next(self) -> tuple[int, str]:
        start = self.position + len(self.token)
        space = _SPACE.match(self.text, start)
        position = start if space is None else space.end()
        found = self._TOKEN.match(self.text, position)
        return position, "" if found is None else found[0]

    def accept(self, token: str) -> bool:
        """Return True and move to the next token if the current token equals `token`."""
        if self.token != token:
            return False
        self.advance()
        return True

    def expect(self, token: str) -> None:
        """Move to the next token; raise ValueError unless the current token equals `token`."""
        if not self.accept(token):
            raise self.error(repr(token))

    def error(self, expected: str) -> ValueError:
        """Return the ValueError for an unexpected current token."""
        got = repr(self.token) if self.token else "the end of the text"
        return self.fault(self.position, f"expected {expected}, got {got[:_MAX_SHOWN]}")

    def fault(self, position: int, message: str) -> ValueError:
        """Return the ValueError that reports `message` at an offset in the text."""
        text = self.text
        if len(text) > _MAX_SHOWN:
            start = max(0, min(position, len(text) - 1) - _MAX_SHOWN // 2)
            text = f"...{text[start : start + _MAX_SHOWN]}..."
        return ValueError(f"character {position} of {text!r}: {message}")


def parse_type(text: str, make: type[SchemaT]) -> SchemaT:
    """Return the type that a text describes, as an instance of the class `make`.

    Raises
    ------
    ValueError
        If the text is not a type; the message contains the offset of the error.
    """
    tokens = Tokens(text)
    schema = TypeParser(tokens, make).type_()
    if tokens.token:
        raise tokens.error("'|' or the end")
    return schema


class TypeParser(Generic[SchemaT]):
    """Recursive-descent parser of types; parsing starts at the current token of a `Tokens`."""

    def __init__(self, tokens: Tokens, make: type[SchemaT]) -> None:
        self._tokens, self._make = tokens, make
        self._depth = 0

    def type_(self) -> SchemaT:
        parts = [self._part()]
        while self._tokens.accept("|"):
            parts.append(self._part())
        others = tuple(part for part in parts if part.origin != "None")
        if len(parts) == 1 or not others:
            return parts[0]
        schema = self._make("Union", others) if len(others) > 1 else others[0]
        return schema if len(others) == len(parts) else self._make("Optional", (schema,))

    def _part(self) -> SchemaT:
        tokens = self._tokens
        position = tokens.position
        if not tokens.token[:1].isidentifier():
            raise tokens.error("the name of a type")
        name = tokens.advance()
        origin = _ORIGIN_OF_NAME.get(name, name)
        parts: dict[str, Any] = {"type_key": name if name == "ffi.BigInt" else None}
        if tokens.token == "[":
            self._enter()
            if origin == "Callable":
                parts["named_args"] = self._groups()
            else:
                parts["args"] = self._args()
            self._leave()
        try:
            return self._make(origin, **parts)
        except ValueError as error:
            raise ValueError(f"character {position}: {error}") from None

    def _args(self) -> tuple[SchemaT, ...]:
        if self._tokens.accept("("):  # tuple[()]
            self._tokens.expect(")")
            return ()
        return self._list()

    def _groups(self) -> dict[str, tuple[SchemaT, ...]] | None:
        tokens = self._tokens
        params: tuple[SchemaT, ...] | None = None
        if not tokens.accept("..."):
            self._enter()
            params = () if tokens.token == "]" else self._list()
            self._leave()
        tokens.expect(",")
        result = (self.type_(),)
        if params is None:
            # `Callable[..., Any]` means a function without a declared signature.
            return None if result[0].origin == "Any" else {"return": result}
        return {"return": result, "params": params}

    def _list(self) -> tuple[SchemaT, ...]:
        found = [self.type_()]
        while self._tokens.accept(","):
            found.append(self.type_())
        return tuple(found)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._tokens.error(f"at most {_MAX_DEPTH} nested brackets")
        self._tokens.expect("[")

    def _leave(self) -> None:
        self._tokens.expect("]")
        self._depth -= 1
