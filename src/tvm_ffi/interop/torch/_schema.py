# SPDX-License-Identifier: Apache-2.0
"""The schema that torch's dispatcher has of a function, from its signature.

Parameters keep their names, order, defaults and kinds.  A tensor that the function writes, or of
which nobody says that it does not, is marked: ``Tensor(a!) y``.
"""

from __future__ import annotations

import math
import re

from ..._schema.dtypes import integer_range
from ..._schema.schema import Schema
from ...signature import EMPTY, Parameter, ScalarType, Signature, TensorType, ValueType
from ...signature._types import Type

__all__ = ["NoSchemaError", "schema_text", "schema_word", "writes"]

# Words of the language of types that torch has a type for.
_WORDS = {
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
# Names that torch's parser of schemas reads as words of its own.
_RESERVED = {"inf", "nan", "print"}


class NoSchemaError(TypeError):
    """A signature has a part for which torch's operators have nothing."""


def schema_text(signature: Signature, *, is_known: bool = False) -> str:
    """Return the parameters and results of an operator: ``(Tensor x, Tensor(a!) y) -> ()``.

    Parameters
    ----------
    signature : Signature
        What the operator takes and returns.
    is_known : bool
        Whether somebody says what results are while a program is traced, so that numbers can be.

    Raises
    ------
    NoSchemaError
        If a parameter or a result has a type that operators do not take or return.
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
        mark = f"({next(marks, 'z')}!)" if writes(parameter) else ""
        parts.append(f"{_type_of(parameter, mark)} {parameter.name}{defaults[parameter.name]}")
    results = [_result_word(one.type, is_known) for one in signature.results]
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(parts)}) -> {returned}"


def writes(parameter: Parameter) -> bool:
    """Whether a function may write into a tensor argument."""
    if parameter.direction == "in":
        return False
    return isinstance(parameter.type, TensorType) or "Tensor" in str(schema_word(parameter.type))


def _check_name(parameter: Parameter) -> None:
    if _NAME.fullmatch(parameter.name) is None or parameter.name in _RESERVED:
        raise NoSchemaError(f"torch's operators cannot have a parameter '{parameter.name}'")


def _type_of(parameter: Parameter, mark: str) -> str:
    word = schema_word(parameter.type)
    if word is None:
        raise NoSchemaError(
            f"torch's operators have no type for parameter '{parameter.name}', "
            f"{_type_words(parameter.type)}"
        )
    if parameter.kind == "variadic":
        if word not in _ELEMENTS:
            raise NoSchemaError(
                f"torch's operators have no type for any number of '{parameter.name}'"
            )
        word += "[]"
    return word.replace("Tensor", f"Tensor{mark}") if mark else word


def _result_word(type_: Type, is_known: bool) -> str:
    word = schema_word(type_)
    if word == "Tensor" or (is_known and word in _RESULTS):
        return word
    raise NoSchemaError(
        f"it returns {_type_words(type_)}, which nobody knows while a program is traced"
    )


def _type_words(type_: Type) -> str:
    from ...signature._printing import type_text

    return type_text(type_)


def schema_word(type_: Type) -> str | None:
    """Return what a schema calls a type; None where it has no word."""
    if isinstance(type_, TensorType):
        return "Tensor?" if type_.is_optional else "Tensor"
    if isinstance(type_, ScalarType):
        word = "float" if integer_range(type_.dtype) is None else "SymInt"
        return f"{word}?" if type_.is_optional else word
    assert isinstance(type_, ValueType)
    return _word_of_schema(type_.schema)


def _word_of_schema(schema: Schema) -> str | None:
    if schema.origin == "Optional" and schema.args:
        word = _word_of_schema(schema.args[0])
        return None if word is None or word.endswith("?") else f"{word}?"
    if schema.origin in _SEQUENCES and len(schema.args or ()) == 1:
        word = _word_of_schema((schema.args or ())[0])
        return f"{word}[]" if word in _ELEMENTS else None
    return _WORDS.get(schema.origin)


# ---- defaults ------------------------------------------------------------------------------------


def _defaults(signature: Signature) -> dict[str, str]:
    """Return what stands behind each name; nothing behind those in front of one without."""
    texts: dict[str, str] = {}
    is_behind_another = False
    for parameter in reversed(signature.parameters):
        text = _default_text(parameter)
        if parameter.kind != "keyword-only":
            is_behind_another = is_behind_another or text is None
        elif text is None:
            texts[parameter.name] = ""
            continue
        texts[parameter.name] = "" if is_behind_another or text is None else f"={text}"
    return texts


def _default_text(parameter: Parameter) -> str | None:
    value = parameter.default
    if value is EMPTY:
        return None
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, str) and schema_word(parameter.type) in ("str", "str?"):
        return f'"{value}"' if value.isascii() and value.isidentifier() else None
    return None
