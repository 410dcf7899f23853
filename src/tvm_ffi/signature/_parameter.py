# SPDX-License-Identifier: Apache-2.0
"""`Parameter` and `Result`: one parameter or result of a signature."""

from __future__ import annotations

import inspect
import keyword
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from .._schema.printing import TypePrinter
from ._defaults import checked_default, same_default
from ._literals import builtin_value, checked_doc
from ._partial_repr import partial_repr
from ._types import ScalarType, TensorType, Type, ValueType, is_writable

__all__ = ["DIRECTIONS", "EMPTY", "KINDS", "UNKNOWN", "Parameter", "Result", "checked_name"]


class _Empty:
    """Class of `EMPTY`, the mark of a parameter without a default."""

    def __repr__(self) -> str:
        return "EMPTY"

    def __reduce__(self) -> str:
        return "EMPTY"  # copying and unpickling return `EMPTY` itself


EMPTY: Any = _Empty()
UNKNOWN = "unknown"  # direction: unknown whether the function writes the argument
DIRECTIONS = ("in", "out", "inout", UNKNOWN)
# Kinds of parameters, in the order in which a signature must list them.
KINDS = {
    "positional-only": inspect.Parameter.POSITIONAL_ONLY,
    "positional": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "variadic": inspect.Parameter.VAR_POSITIONAL,
    "keyword-only": inspect.Parameter.KEYWORD_ONLY,
}


@partial_repr
@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of a function.

    Parameters
    ----------
    name : str
        Name for keyword arguments.
    type : TensorType, ScalarType or ValueType
        Type of the argument.
    kind : str
        ``"positional-only"``, ``"positional"`` (or by name), ``"variadic"`` or ``"keyword-only"``.
    default : object
        Value used if callers omit the argument; `EMPTY` for a required parameter.
    direction : str
        Use of the argument: ``"in"`` is read, ``"out"`` written, ``"inout"`` read and written,
        ``"unknown"`` unspecified.
    doc : str, optional
        Documentation.

    Raises
    ------
    TypeError
        If the default does not have the parameter's type, or `doc` is not a str.
    ValueError
        If a member has an invalid value, the default is out of the type's range, or a text contains
        a lone surrogate.
    """

    name: str
    type: Type
    kind: str = "positional"
    default: Any = field(default=EMPTY)
    direction: str = "in"
    doc: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_name(self.name, "parameter"))
        if not isinstance(self.type, (TensorType, ScalarType, ValueType)):
            raise TypeError(
                f"type of parameter '{self.name}' must be a TensorType, ScalarType or ValueType, "
                f"got {type(self.type).__name__}"
            )
        if self.kind not in KINDS:
            raise ValueError(
                f"kind of parameter '{self.name}' must be one of {', '.join(KINDS)}, "
                f"got {self.kind!r}"
            )
        self._check_direction()
        doc = checked_doc(self.doc, f"doc of parameter '{self.name}'")
        object.__setattr__(self, "doc", doc)
        if self.default is not EMPTY:
            if self.kind == "variadic":
                raise ValueError(f"parameter '*{self.name}' cannot have a default")
            default = checked_default(self.name, self.type, self.default)
            object.__setattr__(self, "default", default)

    def _check_direction(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ValueError(
                f"direction of parameter '{self.name}' must be one of {', '.join(DIRECTIONS)}, "
                f"got {self.direction!r}"
            )
        if self.direction in ("out", "inout") and not is_writable(self.type):
            raise ValueError(
                f"parameter '{self.name}' cannot be '{self.direction}': "
                f"values of type {_immutable_type(self.type)} are immutable"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return (
            (self.name, self.kind, self.direction) == (other.name, other.kind, other.direction)
            and (self.type, self.doc) == (other.type, other.doc)
            and same_default(self.default, other.default)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.kind, self.direction))

    @property
    def is_required(self) -> bool:
        """True if callers must pass an argument."""
        return self.default is EMPTY and self.kind != "variadic"

    @property
    def is_written(self) -> bool:
        """True if the function is known to write into the argument."""
        return self.direction in ("out", "inout")


@partial_repr
@dataclass(frozen=True)
class Result:
    """A value that a function returns.

    Parameters
    ----------
    type : TensorType, ScalarType or ValueType
        Type of the value.
    name : str, optional
        Name in documentation.
    """

    type: Type
    name: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.type, TensorType) and self.type.alignment is not None:
            # No check uses the alignment of a result, because the function or an allocator chooses
            # it.
            raise ValueError("'align' is only for parameters, not for results")
        if self.name is not None:
            object.__setattr__(self, "name", checked_name(self.name, "result"))


def _immutable_type(type_: Type) -> str:
    if isinstance(type_, ScalarType):
        return type_.dtype
    assert isinstance(type_, ValueType)
    return TypePrinter().text(type_.schema)


def checked_name(name: Any, role: str) -> str:
    """Return a name in the normal form (NFKC) that Python gives identifiers.

    Raises
    ------
    TypeError
        If `name` is not a str.
    ValueError
        If `name` is not an identifier, or is a Python keyword.
    """
    if not isinstance(name, str):
        raise TypeError(f"name of a {role} must be a str, got {type(name).__name__}")
    if not name.isidentifier():
        raise ValueError(f"{name!r} cannot be the name of a {role}")
    normal = unicodedata.normalize("NFKC", builtin_value(name))
    if keyword.iskeyword(normal):
        raise ValueError(f"{name!r} cannot be the name of a {role}: it is a Python keyword")
    return normal
