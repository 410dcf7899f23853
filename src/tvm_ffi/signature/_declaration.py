# SPDX-License-Identifier: Apache-2.0
"""`Declaration`: the members of a signature and their consistency checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .._schema.dtypes import is_dtype_name
from ._expression import Expression, Extent, names_in
from ._literals import builtin_value, checked_doc
from ._parameter import KINDS, Parameter, Result, checked_name
from ._types import (
    ANY_EXTENT,
    ELLIPSIS,
    ScalarType,
    TensorType,
    Type,
    ValueType,
    unknown_dtype,
)

__all__ = ["Declaration", "undeclared_variable"]

PartT = TypeVar("PartT")


@dataclass(frozen=True)
class Declaration:
    """Parameters, results and properties of a function, documented in `tvm_ffi.Signature`."""

    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...] = ()
    name: str = ""
    dtype_variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    doc: str | None = None
    non_blocking: bool = False
    errors: tuple[str, ...] = ()
    unchecked: bool = False

    def __post_init__(self) -> None:
        variables = dict(self.dtype_variables)
        parts = {
            "parameters": _all_of(Parameter, self.parameters, "parameters"),
            "results": _without_none(_all_of(Result, self.results, "results")),
            "name": builtin_value(self.name),
            "dtype_variables": {
                builtin_value(name): _all_of(str, types, f"dtypes of '{name}'")
                for name, types in variables.items()
            },
            "doc": checked_doc(self.doc, "doc"),
            "errors": _all_of(str, self.errors, "errors"),
        }
        for part, value in parts.items():
            object.__setattr__(self, part, value)
        _check_function_name(self.name)
        _check_parameters(self.parameters)
        _check_variables(self)
        _check_extents(self)
        for error in self.errors:
            checked_name(error, "kind of error")

    def __hash__(self) -> int:
        return hash((self.name, self.parameters))

    @property
    def has_names(self) -> bool:
        """True if at least one argument can be passed by keyword."""
        return any(
            parameter.kind in ("positional", "keyword-only") for parameter in self.parameters
        )

    def dtypes_of(self, type_: TensorType) -> tuple[str, ...]:
        """Return the dtypes that a tensor type allows; an empty tuple if it allows all dtypes."""
        if type_.variable is not None:
            return self.dtype_variables[type_.variable]
        return (type_.dtype,) if isinstance(type_.dtype, str) else type_.dtype or ()

    @property
    def types(self) -> list[Type]:
        """The types of all parameters, followed by the types of all results."""
        types: list[Type] = [parameter.type for parameter in self.parameters]
        return types + [result.type for result in self.results]


def _all_of(cls: type[PartT], parts: Iterable[PartT], name: str) -> tuple[PartT, ...]:
    """Return `parts` as a tuple; raise TypeError unless all are instances of `cls`."""
    if isinstance(parts, str):  # reject a str, because its elements are characters
        remedy = "; Signature.parse reads a text" if cls is Parameter else ""
        raise TypeError(f"{name} must be a tuple of {cls.__name__}, got the text {parts!r}{remedy}")
    found = tuple(map(builtin_value, parts))
    for part in found:
        if not isinstance(part, cls):
            raise TypeError(
                f"{name} must be a tuple of {cls.__name__}, got an element of type "
                f"{type(part).__name__}"
            )
    return found


# ---- consistency of the members ----------------------------------------------------------------


def _without_none(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """Return the results of a function; a single unnamed result None means no result."""
    if len(results) == 1 and results[0].name is None:
        type_ = results[0].type
        if isinstance(type_, ValueType) and type_.schema.origin == "None":
            return ()
    return results


def _check_function_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name of a function must be a str, got {type(name).__name__}")
    parts = name.replace("::", ".").split(".")
    if name and not all(part.isidentifier() for part in parts):
        raise ValueError(
            f"{name!r} cannot be the name of a function; expected a name like 'f' or 'ns.f'"
        )


def _check_parameters(parameters: tuple[Parameter, ...]) -> None:
    order = list(KINDS)
    seen: set[str] = set()
    previous: Parameter | None = None
    for parameter in parameters:
        if parameter.name in seen:
            raise ValueError(f"duplicate parameter '{parameter.name}'")
        seen.add(parameter.name)
        if previous is not None:
            if order.index(parameter.kind) < order.index(previous.kind):
                raise ValueError(
                    f"parameter '{parameter.name}' is {parameter.kind} and cannot follow "
                    f"'{previous.name}', which is {previous.kind}"
                )
            if parameter.kind == previous.kind == "variadic":
                raise ValueError(
                    f"'*{parameter.name}' follows '*{previous.name}'; "
                    "a function has at most one variadic parameter"
                )
            if _lacks_default(previous, parameter):
                raise ValueError(
                    f"parameter '{parameter.name}' without a default follows "
                    f"'{previous.name}', which has one"
                )
        previous = parameter


def _lacks_default(previous: Parameter, parameter: Parameter) -> bool:
    by_position = {"positional", "positional-only"}
    return (
        {previous.kind, parameter.kind} <= by_position
        and parameter.is_required
        and not previous.is_required
    )


def _check_variables(declaration: Declaration) -> None:
    declared = declaration.dtype_variables
    for name, dtypes in declared.items():
        checked_name(name, "dtype variable")
        if is_dtype_name(name):
            raise ValueError(
                f"dtype variable '{name}' has the name of a dtype; choose another name"
            )
        if not dtypes:
            raise ValueError(f"dtype variable '{name}' needs at least one dtype")
        for dtype in dtypes:
            if not is_dtype_name(dtype):
                raise ValueError(f"dtype variable '{name}': {unknown_dtype(dtype)}")
    bound = {variable for p in declaration.parameters if (variable := _variable_of(p.type))}
    for type_ in declaration.types:
        variable = _variable_of(type_)
        if variable is not None and variable not in declared:
            raise ValueError(undeclared_variable(variable))
        if variable is not None and variable not in bound:
            raise ValueError(f"dtype variable '{variable}' is not the dtype of any parameter")
    for name in declared:
        if name not in bound:
            raise ValueError(f"dtype variable '{name}' is not the dtype of any parameter")


def undeclared_variable(name: str) -> str:
    """Return the error message for a name that is neither a dtype nor a declared dtype variable."""
    return unknown_dtype(name, f" (a dtype variable needs 'where {name} in (...)')")


def _variable_of(type_: Type) -> str | None:
    return type_.variable if isinstance(type_, TensorType) else None


def _check_extents(declaration: Declaration) -> None:
    """Raise ValueError if an extent contains a name to which no parameter gives a value."""
    bound: set[str] = set()
    for parameter in declaration.parameters:
        if isinstance(parameter.type, TensorType):
            for extent in parameter.type.shape or ():
                if not isinstance(extent, str):
                    continue
                if extent.removeprefix("*") in declaration.dtype_variables:
                    raise ValueError(f"'{extent}' is both a dtype variable and an extent")
                bound.add(extent)
        elif _is_integer(parameter.type):
            bound.add(parameter.name)
    bound -= set(declaration.dtype_variables)
    for name in bound:
        if f"*{name}" in bound:
            raise ValueError(f"'{name}' is both an extent and an ellipsis")
    for number, type_ in enumerate(declaration.types):
        is_result = number >= len(declaration.parameters)
        for extent in (type_.shape or ()) if isinstance(type_, TensorType) else ():
            if is_result and extent in (ELLIPSIS, ANY_EXTENT):
                continue
            if is_result or isinstance(extent, Expression):
                _check_names(extent, bound)


def _check_names(extent: Extent, bound: set[str]) -> None:
    for name in names_in(extent):
        if name not in bound:
            raise ValueError(
                f"unknown extent '{name}': expected a name that is an extent of a tensor "
                "parameter or the name of an integer parameter"
            )


def _is_integer(type_: Type) -> bool:
    if isinstance(type_, ScalarType):
        return "int" in type_.dtype and not type_.is_optional
    return isinstance(type_, ValueType) and type_.schema.origin == "int"
