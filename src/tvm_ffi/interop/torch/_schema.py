# SPDX-License-Identifier: Apache-2.0
"""Conversion of a signature to an operator schema of torch's dispatcher.

Parameters keep their names, order, defaults and kinds.  A tensor that the function may write is
marked in the schema, as in ``Tensor(a!) y``; tensors of ``in`` parameters are not marked.
"""

from __future__ import annotations

import math
import re

from ..._schema.dtypes import integer_range
from ..._schema.schema import Schema
from ...signature import EMPTY, Parameter, ScalarType, Signature, TensorType, ValueType
from ...signature._types import Type

__all__ = ["NoSchemaError", "may_write", "schema_text", "schema_type"]

# Types of torch's schema language, by the type names of the signature language.
_TYPES = {
    "Tensor": "Tensor",
    "bool": "bool",
    "dtype": "ScalarType",
    "ffi.Shape": "SymInt[]",
    "float": "float",
    "int": "SymInt",
    "str": "str",
}
_SEQUENCES = {"Array", "List", "list", "tuple"}
_RESULTS = {"SymInt", "bool", "float"}
_ELEMENTS = {"Tensor", "SymInt", "bool", "float", "str"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Names that torch's schema parser reads as keywords, so parameters cannot have them.
_RESERVED = {"inf", "nan", "print"}


class NoSchemaError(TypeError):
    """A signature has a parameter or result that torch's operators do not support."""


def schema_text(signature: Signature, *, has_fake: bool = False) -> str:
    """Return the parameters and results of an operator: ``(Tensor x, Tensor(a!) y) -> ()``.

    Parameters
    ----------
    signature : Signature
        Parameters and results of the operator.
    has_fake : bool
        True if the operator has a custom fake kernel, which allows results that are numbers.

    Raises
    ------
    NoSchemaError
        If operators do not support the type of a parameter or a result.
    """
    marks = iter("abcdefghijklmnopqrstuvwxyz")
    defaults = _defaults(signature)
    parts = []
    is_keyword_only = False
    for parameter in signature.parameters:
        if parameter.kind == "keyword-only" and not is_keyword_only:
            is_keyword_only = True
            parts.append("*")
        _check_name(parameter)
        mark = f"({next(marks, 'z')}!)" if may_write(parameter) else ""
        parts.append(
            f"{_parameter_type(parameter, mark)} {parameter.name}{defaults[parameter.name]}"
        )
    results = [_result_type(result.type, has_fake) for result in signature.results]
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(parts)}) -> {returned}"


def may_write(parameter: Parameter) -> bool:
    """Return True if a function may write to a tensor that is passed for the parameter."""
    if parameter.direction == "in":
        return False
    return isinstance(parameter.type, TensorType) or "Tensor" in str(schema_type(parameter.type))


def _check_name(parameter: Parameter) -> None:
    if _NAME.fullmatch(parameter.name) is None or parameter.name in _RESERVED:
        raise NoSchemaError(f"torch's operators cannot have a parameter named '{parameter.name}'")


def _parameter_type(parameter: Parameter, mark: str) -> str:
    name = schema_type(parameter.type)
    if name is None:
        raise NoSchemaError(
            f"torch's operators have no type for parameter '{parameter.name}', "
            f"{_type_label(parameter.type)}"
        )
    if parameter.kind == "variadic":
        if name not in _ELEMENTS:
            raise NoSchemaError(
                f"torch's operators have no list type for variadic parameter '{parameter.name}'"
            )
        name += "[]"
    return name.replace("Tensor", f"Tensor{mark}") if mark else name


def _result_type(type_: Type, has_fake: bool) -> str:
    name = schema_type(type_)
    if name == "Tensor" or (has_fake and name in _RESULTS):
        return name
    raise NoSchemaError(
        f"it returns {_type_label(type_)}, whose value is unknown while a program is traced"
    )


def _type_label(type_: Type) -> str:
    from ...signature._printing import type_text

    return type_text(type_)


def schema_type(type_: Type) -> str | None:
    """Return the name of a type in torch's schema language, or None if torch has no such type."""
    if isinstance(type_, TensorType):
        return "Tensor?" if type_.is_optional else "Tensor"
    if isinstance(type_, ScalarType):
        name = "float" if integer_range(type_.dtype) is None else "SymInt"
        return f"{name}?" if type_.is_optional else name
    assert isinstance(type_, ValueType)
    return _type_of_schema(type_.schema)


def _type_of_schema(schema: Schema) -> str | None:
    if schema.origin == "Optional" and schema.args:
        name = _type_of_schema(schema.args[0])
        return None if name is None or name.endswith("?") else f"{name}?"
    if schema.origin in _SEQUENCES and len(schema.args or ()) == 1:
        name = _type_of_schema((schema.args or ())[0])
        return f"{name}[]" if name in _ELEMENTS else None
    return _TYPES.get(schema.origin)


# ---- default values of parameters ----------------------------------------------------------------


def _defaults(signature: Signature) -> dict[str, str]:
    """Return the schema text of each parameter's default, such as ``=2.0``, by parameter name.

    The text is empty for a parameter without a default.  It is also empty for a positional
    parameter before a parameter without a default, because torch's schemas do not allow that.
    """
    texts: dict[str, str] = {}
    precedes_required = False
    for parameter in reversed(signature.parameters):
        text = _default_text(parameter)
        if parameter.kind != "keyword-only":
            precedes_required = precedes_required or text is None
        elif text is None:
            texts[parameter.name] = ""
            continue
        texts[parameter.name] = "" if precedes_required or text is None else f"={text}"
    return texts


def _default_text(parameter: Parameter) -> str | None:
    value = parameter.default
    if value is EMPTY:
        return None
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, str) and schema_type(parameter.type) in ("str", "str?"):
        return f'"{value}"' if value.isascii() and value.isidentifier() else None
    return None
