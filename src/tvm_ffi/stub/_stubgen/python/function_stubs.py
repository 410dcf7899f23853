# SPDX-License-Identifier: Apache-2.0
"""Stubs of functions with signatures: parameters, defaults, annotations and docstrings.

A parameter accepts every type that a call converts, and a result has the type that a call returns.
Inside a callback's type the roles are swapped: native code passes the arguments of the callback.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...._schema.schema import Schema
from ....signature import EMPTY, Parameter, Signature, TensorType
from ....signature._printing import documentation
from ....signature._type_schema import schema_of_type
from .type_names import TypeNames

__all__ = ["render_default", "render_docstring", "render_signature"]

_MAPPINGS = ("Map", "Dict", "dict")


def render_signature(
    signature: Signature, name: str, type_names: TypeNames, indent: int
) -> list[str]:
    """Return the lines of a function stub.

    Parameters
    ----------
    signature : Signature
        Parameters and results of the function.
    name : str
        Name of the function in Python.
    type_names : TypeNames
        Names of types in the file.
    indent : int
        Number of spaces before each line.
    """
    annotations = _Annotations(signature, type_names)
    parameters = ", ".join(_parameters(signature.parameters, annotations))
    head = f"{' ' * indent}def {name}({parameters}) -> {annotations.of_results()}:"
    doc = _documentation(replace(signature, name=name))
    if doc is None:
        return [f"{head} ..."]
    return [head, *_docstring(doc, " " * (indent + 4))]


def _parameters(parameters: Iterable[Parameter], annotations: _Annotations) -> Iterator[str]:
    previous = ""
    for parameter in parameters:
        if previous == "positional-only" != parameter.kind:
            yield "/"
        if parameter.kind == "keyword-only" and previous not in ("keyword-only", "variadic"):
            yield "*"
        star = "*" if parameter.kind == "variadic" else ""
        default = "" if parameter.default is EMPTY else f" = {render_default(parameter.default)}"
        yield f"{star}{parameter.name}: {annotations.of_parameter(parameter)}{default}"
        previous = parameter.kind
    if previous == "positional-only":
        yield "/"


def render_default(value: Any) -> str:
    """Return the literal of a default value, or ``...`` if the value has no literal."""
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    if isinstance(value, tuple) and any(render_default(item) == "..." for item in value):
        return "..."
    is_literal = value is None or isinstance(value, (bool, int, float, str, bytes, tuple))
    return repr(value) if is_literal else "..."


def render_docstring(doc: str | None, indent: int) -> list[str]:
    """Return the lines of a docstring; empty without documentation."""
    return _docstring(doc.strip(), " " * indent) if doc and doc.strip() else []


# ---- Annotations -------------------------------------------------------------------------------


def _has_tensor(schema: Schema) -> bool:
    """Return True if a value of the type may be a tensor or contain one."""
    return schema.origin in ("Tensor", "Any") or any(map(_has_tensor, schema.args or ()))


class _Annotations:
    """Annotations for the parameters and results of one function.

    A call with torch tensors returns torch tensors.  Annotations cannot express that the type of a
    result depends on the arguments, so a tensor result is Any if a parameter may be a tensor.
    """

    def __init__(self, signature: Signature, type_names: TypeNames) -> None:
        self._signature, self._names = signature, type_names
        schemas = (schema_of_type(parameter.type) for parameter in signature.parameters)
        self._result_type_varies = any(map(_has_tensor, schemas))

    def of_parameter(self, parameter: Parameter) -> str:
        schema = schema_of_type(parameter.type)
        text = self._text(schema, is_input=True)
        inner = schema.args[0] if schema.origin == "Optional" and schema.args else schema
        # A call converts paths only if the function has a signature with parameter names.
        is_str = inner.origin == "str" and not self._names.is_renamed("str")
        if is_str and self._signature.has_names:
            text += f" | {self._names.bind('os.PathLike')}[{self._names('str')}]"
        return text

    def of_results(self) -> str:
        results = self._signature.results
        texts = [self._text(schema_of_type(result.type), is_input=False) for result in results]
        if not texts:
            return "None"
        return texts[0] if len(texts) == 1 else f"{self._names('tuple')}[{', '.join(texts)}]"

    def _text(self, schema: Schema, is_input: bool) -> str:
        origin, args = schema.origin, schema.args or ()
        if origin in ("Optional", "Union"):
            names = [self._text(arg, is_input) for arg in args]
            names += ["None"] if origin == "Optional" else []
            return " | ".join(dict.fromkeys(names))
        if origin == "Callable":
            return self._callable(schema, is_input)
        if not (args or origin == "tuple"):
            return self._plain(origin, is_input)
        name = self._names.for_parameters(origin) if is_input else self._names(origin)
        # A tuple type without arguments allows any number of elements.
        if schema.args is None:
            return f"{name}[{self._names('Any')}, ...]"
        return f"{name}[{', '.join(self._arguments(schema, is_input)) or '()'}]"

    def _arguments(self, schema: Schema, is_input: bool) -> Iterator[str]:
        """Yield the annotations of a container's type arguments; key types are not widened."""
        for number, arg in enumerate(schema.args or ()):
            is_key = number == 0 and schema.origin in _MAPPINGS
            yield self._text(arg, is_input and not is_key)

    def _plain(self, origin: str, is_input: bool) -> str:
        if self._names.is_renamed(origin):
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
        return self._names("Any" if self._result_type_varies else "Tensor")

    def _callable(self, schema: Schema, is_input: bool) -> str:
        groups = schema.named_args or {"return": (Schema("Any"),)}
        declared = groups.get("params")
        params = "..."
        if declared is not None:
            params = f"[{', '.join(self._text(param, not is_input) for param in declared)}]"
        result = self._text(groups["return"][0], is_input)
        return f"{self._names('Callable')}[{params}, {result}]"


# ---- Docstrings of stubs ------------------------------------------------------------------------


def _documentation(signature: Signature) -> str | None:
    """Return the docstring of a stub: the documentation, then the text of the signature."""
    stripped = replace(signature, doc=(signature.doc or "").strip())
    return documentation(stripped, line="``{}``" if _is_declared(signature) else "") or None


def _is_declared(signature: Signature) -> bool:
    """Return True if the signature has parameter names or shapes, so its text is worth showing."""
    tensors = (type_ for type_ in signature.types if isinstance(type_, TensorType))
    return signature.has_names or any(tensor.shape is not None for tensor in tensors)


def _docstring(text: str, margin: str) -> list[str]:
    """Return the lines of a docstring, with quotes and control characters escaped."""
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
