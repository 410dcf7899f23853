# SPDX-License-Identifier: Apache-2.0
"""Parser of the text form of signatures.

    signature  =  [ name ] "(" [ parameter { "," parameter } ] ")" [ "->" results ] { clause }
    parameter  =  "/"  |  "*"  |  [ "*" ] name ":" [ direction ] type [ "=" constant ]
    direction  =  "in" | "out" | "inout" | "unknown"
    results    =  type  |  "(" result { "," result } ")"        result  =  [ name ":" ] type
    type       =  ( tensor | number ) [ "|" "None" ]  |  any type of `_schema.parsing`
    tensor     =  ( dtype | variable | "{" dtype { "," dtype } "}" | "Tensor" ) [ "*" ]
                  [ "[" [ extent { "," extent } ] "]" ] [ layout ] [ "align" bytes ] [ "on" device ]
    layout     =  "compact" [ "from" [ "-" ] dimension ]  |  "strided"
    extent     =  "..." | "*" name | "_" | an expression over names and numbers
    clause     =  "where" name "in" "(" dtype { "," dtype } ")" { "," name "in" ... }
               |  "raises" name { "," name }  |  "non_blocking"  |  "unchecked"
               |  "doc" [ name ] string

The parser makes one pass over the text, so its time is linear in the length of any input.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, TypeVar

from .._internal.suggestion import did_you_mean
from .._schema.dtypes import is_dtype_name, is_scalar_dtype
from .._schema.names import INDEX_OF_WORD, NUM_ARGS, ORIGIN_OF_KEY
from .._schema.parsing import Tokens, TypeParser
from .._schema.schema import Schema
from .._schema.utf8 import checked_utf8
from ._declaration import Declaration, undeclared_variable
from ._expression import FUNCTIONS, Expression, Extent
from ._parameter import DIRECTIONS, EMPTY, Parameter, Result
from ._types import (
    ELLIPSIS,
    ScalarType,
    TensorType,
    Type,
    ValueType,
    checked_alignment,
    unknown_type,
)

__all__ = ["parse_annotation", "parse_conditions", "parse_extent", "parse_signature"]

DeclarationT = TypeVar("DeclarationT", bound=Declaration)

_MAX_DEPTH = 50  # largest depth of nested brackets and operations
_MAX_DIGITS = 400  # largest number of digits of an integer
# Generic types such as `Array[int]`; any other name before a bracket is the dtype of a tensor.
_GENERIC = {*INDEX_OF_WORD, *NUM_ARGS, *ORIGIN_OF_KEY.values(), "Callable"} - {"Tensor"}
_BUILT_IN = {
    *("None", "bool", "float", "int", "Device", "ffi.BigInt"),
    *INDEX_OF_WORD,
    *ORIGIN_OF_KEY.values(),
}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_CONSTANTS = {"None": None, "True": True, "False": False, "nan": math.nan}


class _SignatureTokens(Tokens):
    """Tokenizer of signatures; adds fractions, strings, operators and ``float32*`` to `Tokens`."""

    _ESCAPE = r"\\[\\'\"abfnrtv0-7xuUN]"
    # The star in `float32*[n]` belongs to the name, the star in `n*2` is an operator. A star
    # belongs to the name before it if the text after it cannot be a factor.
    _AFTER_STAR = (
        r"\s*(?:[\[,)\]=|]|$|->|align\s+\d"
        r"|(?:on|compact|strided|where|raises|non_blocking|unchecked|doc)\b)"
    )
    _TOKEN = re.compile(
        rf"b?\"(?:[^\"\\\n]|{_ESCAPE})*\"|b?'(?:[^'\\\n]|{_ESCAPE})*'"
        rf"|[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*(?:\*(?={_AFTER_STAR}))?"
        r"|\.\.\.|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
        r"|->|//|[^\s\w]"
    )


class _ConditionTokens(_SignatureTokens):
    """Tokenizer of conditions; adds the comparison operators with two characters."""

    _TOKEN = re.compile(rf"[<>=!]=|{_SignatureTokens._TOKEN.pattern}")


def parse_signature(text: str, make: type[DeclarationT]) -> DeclarationT:
    """Return the signature that a text describes, as an instance of the class `make`.

    Raises
    ------
    ValueError
        If the text is not a signature; the message contains the offset of the error.
    """
    if not isinstance(text, str):
        raise TypeError(f"a signature's text must be a str, got {type(text).__name__}")
    return _SignatureParser(_SignatureTokens(text)).signature(make)


def parse_annotation(text: str) -> tuple[str, Type]:
    """Return the direction ("in" if absent) and the type in the text of an annotation."""
    tokens = _SignatureTokens(text)
    parser = _SignatureParser(tokens)
    direction = parser.direction() or "in"
    found = parser.type_()
    if tokens.token:
        raise tokens.error("the end")
    return direction, found


def parse_extent(text: str) -> Extent:
    """Return the extent that a text describes."""
    tokens = _SignatureTokens(text)
    found = _SignatureParser(tokens).extent()
    if tokens.token:
        raise tokens.error("the end")
    return found


def parse_conditions(text: str) -> list[tuple[Extent, str, Extent | None]]:
    """Return the comparisons that a text joins by ``and``: left operand, operator, right operand.

    conditions  =  condition { "and" condition }
    condition   =  extent ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) extent
                |  name "is" [ "not" ] "None"                  the right operand is None

    Raises
    ------
    ValueError
        If the text is not a condition; the message contains the offset of the error.
    """
    tokens = _ConditionTokens(text)
    if not tokens.token:
        raise tokens.error("a condition")
    parser = _SignatureParser(tokens)
    found = [parser.condition()]
    while tokens.accept("and"):
        found.append(parser.condition())
    if tokens.token:
        raise tokens.error("'and', the only word that combines comparisons, or the end")
    return found


class _SignatureParser:
    """Recursive-descent parser of signatures; parsing starts at the current token of `tokens`."""

    def __init__(self, tokens: _SignatureTokens) -> None:
        self._tokens = tokens
        self._depth = 0
        self._variables_at: dict[str, int] = {}  # offsets of the first uses of dtype variables

    def _located(self, position: int, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `make` and return the result; add the offset `position` to error messages."""
        try:
            return make(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise self._tokens.fault(position, str(error)) from None

    # ---- parsing of signatures and clauses --------------------------------------------------

    def signature(self, make: type[DeclarationT]) -> DeclarationT:
        tokens = self._tokens
        name = "" if tokens.token == "(" else self._name("the name of a function or '('")
        tokens.expect("(")
        parameters = self._parameters()
        tokens.expect(")")
        results = self._results() if tokens.accept("->") else ()
        clauses = self._clauses(parameters)
        if tokens.token:
            raise tokens.error("'->', a clause such as 'where', or the end of the text")
        self._check_variables(clauses.get("dtype_variables", {}))
        made: DeclarationT = self._located(0, make, parameters, results, name, **clauses)
        return made

    def _check_variables(self, declared: Mapping[str, Any]) -> None:
        """Raise ValueError at the first name that is neither a dtype nor a declared variable."""
        for name, position in self._variables_at.items():
            if name not in declared:
                raise self._tokens.fault(position, undeclared_variable(name))

    def _clauses(self, parameters: list[Parameter]) -> dict[str, Any]:
        """Read the clauses; insert the documentation of parameters into `parameters`."""
        readers: dict[str, tuple[str, Callable[[], Any]]] = {
            "where": ("dtype_variables", self._variables),
            "raises": ("errors", self._errors),
            "non_blocking": ("non_blocking", lambda: True),
            "unchecked": ("unchecked", lambda: True),
            "doc": ("doc", self._doc),
        }
        found: dict[str, Any] = {}
        while self._tokens.token in readers:
            position = self._tokens.position
            keyword = self._tokens.advance()
            part, read = readers[keyword]
            if keyword == "doc" and self._is_at_name():
                self._parameter_doc(parameters)
                continue
            if part in found:
                raise self._tokens.fault(position, f"duplicate clause '{keyword}'")
            found[part] = read()
        return found

    def _variables(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        while True:
            position = self._tokens.position
            name = self._name("the name of a dtype variable")
            if name in found:
                raise self._tokens.fault(position, f"duplicate dtype variable '{name}'")
            self._tokens.expect("in")
            self._tokens.expect("(")
            found[name] = self._dtypes(")")
            if not self._tokens.accept(","):
                return found

    def _errors(self) -> tuple[str, ...]:
        found = [self._name("a kind of error")]
        while self._tokens.accept(","):
            found.append(self._name("a kind of error"))
        return tuple(found)

    def _doc(self) -> str:
        position, token = self._tokens.position, self._tokens.token
        if len(token) < 2 or token[0] not in "\"'":
            raise self._tokens.fault(position, "expected a string after 'doc'")
        text: str = self._string()
        return text

    def _parameter_doc(self, parameters: list[Parameter]) -> None:
        position = self._tokens.position
        name = self._tokens.advance()
        names = [parameter.name for parameter in parameters]
        if name not in names:
            raise self._tokens.fault(
                position, f"'{name}' is not a parameter{did_you_mean(name, names)}"
            )
        index = names.index(name)
        if parameters[index].doc is not None:
            raise self._tokens.fault(position, f"duplicate documentation of parameter '{name}'")
        parameters[index] = replace(parameters[index], doc=self._doc())

    # ---- parsing of parameters and results --------------------------------------------------

    def _parameters(self) -> list[Parameter]:
        tokens = self._tokens
        found: list[Parameter] = []
        kind = "positional"
        while tokens.token != ")":
            position = tokens.position
            if tokens.accept("/"):
                if not found or kind != "positional":
                    raise tokens.fault(
                        position,
                        "'/' must follow the positional-only parameters and may occur once",
                    )
                found = [_as_positional_only(parameter) for parameter in found]
                kind = "positional "  # the space makes a second '/' an error
            elif tokens.accept("*") and tokens.token in (",", ")"):
                if kind == "keyword-only" or tokens.token == ")":
                    raise tokens.fault(
                        position, "'*' must precede keyword-only parameters and may occur once"
                    )
                kind = "keyword-only"
            else:
                variadic = tokens.text.startswith("*", position)
                found.append(self._parameter("variadic" if variadic else kind.strip(), position))
                kind = "keyword-only" if variadic else kind
            if not tokens.accept(","):
                break
        return found

    def _parameter(self, kind: str, position: int) -> Parameter:
        name = self._name("the name of a parameter")
        self._tokens.expect(":")
        direction = self.direction()
        type_ = self.type_()
        default = self._constant() if self._tokens.accept("=") else EMPTY
        made: Parameter = self._located(
            position, Parameter, name, type_, kind, default, direction or "in"
        )
        return made

    def direction(self) -> str | None:
        """Read a direction; return None unless the current token is a direction before a type."""
        if self._tokens.token in DIRECTIONS and self._tokens.peek() not in ("[", ",", ")", ""):
            return self._tokens.advance()
        return None

    def _results(self) -> list[Result]:
        tokens = self._tokens
        if not tokens.accept("("):
            position = tokens.position
            type_ = self.type_()
            return [] if _is_none(type_) else [self._located(position, Result, type_)]
        found = []
        while tokens.token != ")":
            position = tokens.position
            name = None
            if tokens.peek() == ":":
                name = self._name("the name of a result")
                tokens.expect(":")
            found.append(self._located(position, Result, self.type_(), name))
            if not tokens.accept(","):
                break
        if not found:
            raise tokens.error("a type")
        tokens.expect(")")
        return found

    def _name(self, expected: str) -> str:
        if not self._is_at_name():
            raise self._tokens.error(expected)
        return self._tokens.advance()

    def _is_at_name(self) -> bool:
        token = self._tokens.token
        return token[:1].isidentifier() and token[-1:] not in "\"'"

    # ---- parsing of types -------------------------------------------------------------------

    def type_(self) -> Type:
        tokens = self._tokens
        position, token = tokens.position, tokens.token
        plain = token.rstrip("*")
        if token == "{" or plain == "Tensor":
            return self._tensor()
        if tokens.peek() == "[" and plain not in _GENERIC and "." not in token:
            return self._tensor()
        if is_dtype_name(plain) and token != "bool":
            if token != plain:
                return self._tensor()
            if is_scalar_dtype(plain):
                tokens.advance()
                return ScalarType(plain, self._accept_none())
            raise tokens.fault(
                position,
                f"{plain} is not a C number type; write {plain}[...] for a tensor of any shape",
            )
        return ValueType(_CheckedTypeParser(tokens, Schema).type_())

    def _tensor(self) -> TensorType:
        tokens = self._tokens
        position = tokens.position
        dtype, is_pointer = self._element_type()
        shape = self._shape() if tokens.token == "[" else None
        layout = self._layout() if tokens.token in ("compact", "strided") else None
        alignment = self._alignment() if tokens.accept("align") else None
        device = self._device() if tokens.accept("on") else None
        parts = dtype, shape, layout, device, is_pointer, self._accept_none(), alignment
        made: TensorType = self._located(position, TensorType, *parts)
        return made

    def _element_type(self) -> tuple[Any, bool]:
        tokens = self._tokens
        if tokens.accept("{"):
            return self._dtypes("}"), tokens.accept("*")
        position = tokens.position
        token = self._name("the name of a type")
        name = token.rstrip("*")
        if name == "Tensor":
            return None, name != token
        if not is_dtype_name(name):
            self._variables_at.setdefault(name, position)
        return name, name != token

    def _dtypes(self, end: str) -> tuple[str, ...]:
        tokens = self._tokens
        found = []
        while True:
            if not is_dtype_name(tokens.token):
                raise tokens.error("a dtype")
            found.append(tokens.advance())
            if not tokens.accept(","):
                break
        tokens.expect(end)
        return tuple(found)

    def _layout(self) -> str:
        tokens = self._tokens
        layout = tokens.advance()
        if layout == "strided" or not tokens.accept("from"):
            return layout
        sign = "-" if tokens.accept("-") else ""
        if not tokens.token.isdecimal():
            raise tokens.error("the number of a dimension")
        return f"{layout} from {sign}{self._integer()}"

    def _alignment(self) -> int:
        if not self._tokens.token.isdecimal():
            raise self._tokens.error("a number of bytes")
        position = self._tokens.position
        size: int = self._located(position, checked_alignment, self._integer())
        return size

    def _device(self) -> str:
        kind = self._name("a device")
        if not self._tokens.accept(":"):
            return kind
        if not (self._tokens.token.isascii() and self._tokens.token.isdecimal()):
            raise self._tokens.error("a device id")
        return f"{kind}:{self._tokens.advance()}"

    def _accept_none(self) -> bool:
        if not self._tokens.accept("|"):
            return False
        self._tokens.expect("None")
        return True

    # ---- parsing of extents -----------------------------------------------------------------

    def _shape(self) -> list[Extent]:
        tokens = self._tokens
        tokens.expect("[")
        found: list[Extent] = []
        while tokens.token != "]":
            found.append(self.extent())
            if not tokens.accept(","):
                break
        tokens.expect("]")
        return found

    def extent(self) -> Extent:
        if self._tokens.accept("*"):
            return f"*{self._extent_name()}"
        return ELLIPSIS if self._tokens.accept("...") else self._sum()

    def condition(self) -> tuple[Extent, str, Extent | None]:
        """Read a comparison of two extents, or of a name with None."""
        tokens = self._tokens
        left = self._sum()
        if tokens.token == "is" and isinstance(left, str):
            tokens.advance()
            operator = "is not" if tokens.accept("not") else "is"
            tokens.expect("None")
            return left, operator, None
        if tokens.token not in _COMPARISONS:
            raise tokens.error(
                f"one of {', '.join(_COMPARISONS)} between two expressions, or a parameter that is "
                "compared with None (`x is None`, `x is not None`)"
            )
        operator = tokens.advance()
        return left, operator, self._sum()

    def _extent_name(self) -> str:
        position = self._tokens.position
        name = self._name("an extent")
        if self._tokens.token != "(" and ("." in name or ":" in name or name.endswith("*")):
            raise self._tokens.fault(position, f"{name!r} is not the name of an extent")
        return name

    def _sum(self) -> Extent:
        return self._operations(("+", "-"), self._product)

    def _product(self) -> Extent:
        return self._operations(("*", "//", "%"), self._factor)

    def _operations(self, operators: tuple[str, ...], operand: Callable[[], Extent]) -> Extent:
        found = operand()
        depth = self._depth
        while self._tokens.token in operators:
            self._enter()  # each operation adds a level to the expression
            position = self._tokens.position
            operator = self._tokens.advance()
            found = self._located(position, Expression, operator, (found, operand()))
        self._depth = depth
        return found

    def _factor(self) -> Extent:
        tokens = self._tokens
        if tokens.token.isdecimal():
            return self._integer()
        if tokens.accept("("):
            self._enter()
            found = self._sum()
            self._depth -= 1
            tokens.expect(")")
            return found
        position = tokens.position
        name = self._extent_name()
        if tokens.token != "(":
            return name
        if name not in FUNCTIONS:
            raise tokens.fault(
                position, f"expected one of {', '.join(FUNCTIONS)} before '(', got {name!r}"
            )
        return self._call(name)

    def _call(self, name: str) -> Expression:
        position = self._tokens.position
        self._tokens.expect("(")
        self._enter()
        operands = [self._sum()]
        while self._tokens.accept(","):
            operands.append(self._sum())
        self._depth -= 1
        self._tokens.expect(")")
        made: Expression = self._located(position, Expression, name, tuple(operands))
        return made

    def _integer(self) -> int:
        if len(self._tokens.token) > _MAX_DIGITS:
            raise self._tokens.error(f"a number of at most {_MAX_DIGITS} digits")
        return int(self._tokens.advance())

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._tokens.fault(
                self._tokens.position,
                f"brackets and operations are nested deeper than {_MAX_DEPTH} levels",
            )

    # ---- parsing of constants ---------------------------------------------------------------

    def _constant(self) -> Any:
        tokens = self._tokens
        if tokens.token in ("[", "("):
            return self._sequence("]" if tokens.advance() == "[" else ")")
        if tokens.token[-1:] in ("'", '"') and len(tokens.token) > 1:
            return self._string()
        if tokens.token in _CONSTANTS:
            return _CONSTANTS[tokens.advance()]
        is_negative = tokens.accept("-")
        number = self._number()
        return -number if is_negative else number

    def _number(self) -> int | float:
        tokens = self._tokens
        if tokens.accept("inf"):
            return math.inf
        if tokens.token.isdecimal():
            return self._integer()
        if tokens.token.lstrip(".")[:1].isdecimal():
            return float(tokens.advance())
        raise tokens.error("a number, a string, None, True, False or a list of them")

    def _string(self) -> Any:
        position = self._tokens.position
        try:
            text = ast.literal_eval(self._tokens.advance())
            return checked_utf8(text, "a string") if isinstance(text, str) else text
        except (SyntaxError, ValueError):
            raise self._tokens.fault(position, "invalid escape sequence in the string") from None

    def _sequence(self, end: str) -> tuple[Any, ...]:
        self._enter()
        found = []
        while self._tokens.token != end:
            found.append(self._constant())
            if not self._tokens.accept(","):
                break
        self._depth -= 1
        self._tokens.expect(end)
        return tuple(found)


class _CheckedTypeParser(TypeParser[Schema]):
    """Parser of types that refuses unknown names without a dot, which are misspelt."""

    def _part(self) -> Schema:
        position = self._tokens.position
        found = super()._part()
        if found.origin not in _BUILT_IN and "." not in found.origin:
            from ._values import is_type_key  # lazy import, because most types are built in

            if not is_type_key(found.origin):
                raise self._tokens.fault(position, unknown_type(found.origin))
        return found


def _is_none(type_: Type) -> bool:
    return isinstance(type_, ValueType) and type_.schema.origin == "None"


def _as_positional_only(parameter: Parameter) -> Parameter:
    return replace(parameter, kind="positional-only")
