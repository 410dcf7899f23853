# SPDX-License-Identifier: Apache-2.0
"""Functions with a signature as Python text: names, kinds, defaults, types and documentation.

A parameter takes all that a call converts, a result is what a call returns.  What a callback is
called with is a result in this sense, and what it returns a parameter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..._schema.schema import Schema
from ...signature import EMPTY, Parameter, Signature, TensorType
from ...signature._type_schema import schema_of_type
from ._type_names import TypeNames

__all__ = ["render_signature"]

_MAPPINGS = ("Map", "Dict", "dict")


def render_signature(
    signature: Signature, name: str, type_names: TypeNames, indent: int
) -> list[str]:
    """Return the stub of a function.

    Parameters
    ----------
    signature : Signature
        What the function takes and returns.
    name : str
        What Python calls it.
    type_names : TypeNames
        What classes are called where the stub stands.
    indent : int
        Spaces before its lines.
    """
    types = _Annotations(signature, type_names)
    parameters = ", ".join(_parameters(signature.parameters, types))
    head = f"{' ' * indent}def {name}({parameters}) -> {types.of_results()}:"
    doc = _documentation(replace(signature, name=name))
    if doc is None:
        return [f"{head} ..."]
    return [head, *_docstring(doc, " " * (indent + 4))]


def _parameters(parameters: Iterable[Parameter], types: _Annotations) -> Iterator[str]:
    previous = ""
    for parameter in parameters:
        if previous == "positional-only" != parameter.kind:
            yield "/"
        if parameter.kind == "keyword-only" and previous not in ("keyword-only", "variadic"):
            yield "*"
        star = "*" if parameter.kind == "variadic" else ""
        default = "" if parameter.default is EMPTY else f" = {_constant(parameter.default)}"
        yield f"{star}{parameter.name}: {types.of_parameter(parameter)}{default}"
        previous = parameter.kind
    if previous == "positional-only":
        yield "/"


def _constant(value: Any) -> str:
    """Return a default as Python has it; dots for what no literal stands for."""
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    if isinstance(value, tuple) and any(_constant(part) == "..." for part in value):
        return "..."
    return repr(value)


# ---- Types -------------------------------------------------------------------------------------


def _has_tensor(schema: Schema) -> bool:
    """Whether a tensor may be, or be part of, a value of the type."""
    return schema.origin in ("Tensor", "Any") or any(map(_has_tensor, schema.args or ()))


class _Annotations:
    """Writes the types of one function.

    Calls with arrays that have an exchange table, those of torch, return such arrays, too.  Which
    they are depends on the arguments in a way that annotations cannot tell, so it is Any.
    """

    def __init__(self, signature: Signature, type_names: TypeNames) -> None:
        self._signature, self._names = signature, type_names
        schemas = (schema_of_type(parameter.type) for parameter in signature.parameters)
        self._returns_others = any(map(_has_tensor, schemas))

    def of_parameter(self, parameter: Parameter) -> str:
        schema = schema_of_type(parameter.type)
        text = self._text(schema, is_input=True)
        inner = schema.args[0] if schema.origin == "Optional" and schema.args else schema
        # Calls convert paths where the function has a signature: where parameters have names.
        is_text = inner.origin == "str" and not self._names.is_chosen("str")
        if is_text and self._signature.has_names:
            text += f" | {self._names.bind('os.PathLike')}[{self._names('str')}]"
        return text

    def of_results(self) -> str:
        results = self._signature.results
        texts = [self._text(schema_of_type(one.type), is_input=False) for one in results]
        if not texts:
            return "None"
        return texts[0] if len(texts) == 1 else f"{self._names('tuple')}[{', '.join(texts)}]"

    def _text(self, schema: Schema, is_input: bool) -> str:
        origin, args = schema.origin, schema.args or ()
        if origin in ("Optional", "Union"):
            parts = [self._text(arg, is_input) for arg in args]
            parts += ["None"] if origin == "Optional" else []
            return " | ".join(dict.fromkeys(parts))
        if origin == "Callable":
            return self._callable(schema, is_input)
        if not (args or origin == "tuple"):
            return self._plain(origin, is_input)
        name = self._names.for_parameters(origin) if is_input else self._names(origin)
        if schema.args is None:  # a tuple of any length
            return f"{name}[{self._names('Any')}, ...]"
        return f"{name}[{', '.join(self._arguments(schema, is_input)) or '()'}]"

    def _arguments(self, schema: Schema, is_input: bool) -> Iterator[str]:
        """Return the arguments of a container; keys are invariant, so no wider type takes them."""
        for number, arg in enumerate(schema.args or ()):
            is_key = number == 0 and schema.origin in _MAPPINGS
            yield self._text(arg, is_input and not is_key)

    def _plain(self, origin: str, is_input: bool) -> str:
        if self._names.is_chosen(origin):
            return self._names(origin)
        if origin == "Tensor":
            return self._names.for_parameters(origin) if is_input else self._tensor()
        if origin == "ffi.Shape" and is_input:
            return f"{self._names.bind('collections.abc.Sequence')}[{self._names('int')}]"
        name = self._names(origin)
        if origin in ("dtype", "Device") and is_input:
            return f"{name} | {self._names('str')}"
        return name

    def _tensor(self) -> str:
        return self._names("Any" if self._returns_others else "Tensor")

    def _callable(self, schema: Schema, is_input: bool) -> str:
        groups = schema.named_args or {"return": (Schema("Any"),)}
        declared = groups.get("params")
        listed = "..."
        if declared is not None:
            listed = f"[{', '.join(self._text(one, not is_input) for one in declared)}]"
        result = self._text(groups["return"][0], is_input)
        return f"{self._names('Callable')}[{listed}, {result}]"


# ---- Documentation -----------------------------------------------------------------------------


def _documentation(signature: Signature) -> str | None:
    """Return the text for people: shapes and directions, which annotations lack, stand in it."""
    line = str(replace(signature, doc=None)) if _says_more(signature) else ""
    parts = [part for part in ((signature.doc or "").strip(), line and f"``{line}``") if part]
    return "\n\n".join(parts) or None


def _says_more(signature: Signature) -> bool:
    """Whether the signature was written down, and not made from types alone."""
    shaped = (one for one in signature.types if isinstance(one, TensorType))
    return signature.has_names or any(one.shape is not None for one in shaped)


def _docstring(text: str, margin: str) -> list[str]:
    """Return a text as the body of a function, whatever its characters are."""
    lines = ["".join(map(_escaped, line)).rstrip() for line in text.splitlines()]
    if len(lines) == 1:
        return [f'{margin}"""{lines[0]}"""']
    body = [margin + line if line else "" for line in lines[1:]]
    return [f'{margin}"""{lines[0]}', *body, f'{margin}"""']


def _escaped(character: str) -> str:
    if character == '"':
        return '\\"'
    if character == "\\" or not character.isprintable():
        return character.encode("unicode_escape").decode()
    return character
