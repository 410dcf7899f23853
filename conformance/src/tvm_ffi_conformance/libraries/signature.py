# SPDX-License-Identifier: Apache-2.0
"""Signatures in text: the part of the language that the calls of a library need.

Example: ``add(x: float32[n, 4], y: out float32[n, 4], scale: float = 1.0) -> int``. A parameter of
another type has a `problem`: the function is checked statically only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PLAIN = ("int", "float", "bool", "str", "bytes", "dtype", "Device")
KNOWN = f"{', '.join(PLAIN)}, int8 ... uint64, float32, float64, DTYPE[EXTENT, ...]"
_TENSOR = re.compile(
    r"(?:(out|inout|unknown)\s+)?([a-z]+[0-9]*)(\*?)\[([^\]]*)\]"
    r"(?:\s+(compact|strided)(?:\s+from\s+-?\d+)?)?(?:\s+align\s+\d+)?(?:\s+on\s+(\w+)(?::\d+)?)?"
)
_NUMBER = re.compile(r"(u?int|float)(8|16|32|64)")
# Results whose type is not compared: objects, tensors, several results.
_OTHER_RESULT = re.compile(r"[A-Z\w.]*[A-Z\[.].*|\(.*\)", re.DOTALL)
# A word in lower case that is neither a type of `PLAIN` nor a dtype, such as float8_e4m3fn.
_MISSPELT = re.compile(r"(?!(?:u?int|b?float|complex)\d|bool)[a-z]\w*(?:\*?\[[^\]]*\])?")
_CLAUSES = re.compile(
    r"\s+(?:where\s+\w+ in \(|raises\s|non_blocking\b|unchecked\b|doc\s).*$", re.DOTALL
)
_DTYPES = {
    "int8": (0, 8), "int16": (0, 16), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8),
    "uint16": (1, 16), "uint32": (1, 32), "uint64": (1, 64), "float16": (2, 16), "float32": (2, 32),
    "float64": (2, 64), "bfloat16": (4, 16), "bool": (6, 8),
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter: a tensor if `dtype` is set, a plain value otherwise."""

    name: str
    kind: str
    dtype: tuple[int, int] | None = None
    shape: tuple[str, ...] = ()
    direction: str = "in"
    compact: bool = False
    optional: bool = False  # has a default
    nullable: bool = False  # accepts None
    problem: str = ""  # reason why the kit cannot make an argument
    annotation: str = ""  # text of the type, if there is a problem


@dataclass(frozen=True)
class Signature:
    """Name and parameters of a function; `returns` is the text of the result type or empty."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: str
    text: str

    @property
    def problem(self) -> str:
        """Reason why the kit cannot call the function, or an empty text."""
        if not (_OTHER_RESULT.fullmatch(self.returns) or self.returns in ("", "None", *PLAIN)):
            return f"result: expected {KNOWN}, got {self.returns!r}"
        return next((each.problem for each in self.parameters if each.problem), "")

    @property
    def is_misspelt(self) -> bool:
        """True if a type or a dtype is a word that no signature may contain."""
        return any(_MISSPELT.fullmatch(each.annotation) for each in self.parameters)

    @property
    def has_tensors(self) -> bool:
        """True if a parameter is a tensor."""
        return any(each.dtype for each in self.parameters)


def parse(text: str) -> Signature:
    """Return the signature in `text`.

    Raises
    ------
    ValueError
        If the text has not the form of a signature.
    """
    bare = re.sub(r"\s+doc\s+(['\"]).*\1\s*$", "", text, flags=re.DOTALL)
    # A dtype variable stands for the first of its dtypes.
    for variable, dtype in re.findall(r"(\w+) in \(\s*(\w+)", bare):
        bare = re.sub(rf"\b{variable}(?=\*?\[)", dtype, bare)
    match = re.match(r"\s*(\w+)\s*\(", bare)
    after = bare[match.end() :] if match else ""
    end = next((index for index, _, depth in _unquoted(after) if depth < 0), -1)
    if match is None or end < 0:
        raise ValueError(f"signature: expected NAME(PARAMETERS), got {text!r}")
    inside, rest = after[:end], _CLAUSES.sub("", after[end + 1 :]).strip()
    if rest and not rest.startswith("->"):
        raise ValueError(f"signature: expected -> or the end after the parameters, got {rest!r}")
    returns = rest[2:].strip()
    number = _NUMBER.fullmatch(returns)
    returns = number[1].lstrip("u") if number else returns
    parts = [each for each in _split(inside) if each.strip() not in ("", "*", "/")]
    return Signature(match[1], tuple(map(_parameter, parts)), returns, text)


def _unquoted(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield index and character outside of quotes, and the depth of brackets after it."""
    depth, quote = 0, ""
    for index, each in enumerate(text):
        if quote:
            quote = "" if each == quote else quote
        elif each in "\"'":
            quote = each
        else:
            depth += (each in "([{") - (each in ")]}")
            yield index, each, depth


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    commas = [index for index, each, depth in _unquoted(text) if each == "," and depth == 0]
    return [text[i:j] for i, j in zip([0, *(i + 1 for i in commas)], [*commas, len(text)])]


def _parameter(text: str) -> Parameter:
    name, colon, annotation = text.partition(":")
    name = name.strip()
    if not colon:
        raise ValueError(f"signature: expected NAME: TYPE, got {text.strip()!r}")
    annotation, equals, default = annotation.partition("=")
    annotation, optional = annotation.strip(), bool(equals)
    without_none = re.sub(r"\s*\|\s*None$", "", annotation)
    nullable = without_none != annotation or default.strip() == "None"
    number = _NUMBER.fullmatch(without_none)
    plain = number[1].lstrip("u") if number else without_none
    if plain in PLAIN:
        return Parameter(name, plain, optional=optional, nullable=nullable)
    problem = f"parameter {name}: expected {KNOWN}, got {annotation!r}"
    match = _TENSOR.fullmatch(without_none)
    if not match or match[2] not in _DTYPES:
        return Parameter(name, "?", problem=problem, annotation=without_none)
    direction, dtype, star, extents, layout, device = match.groups()
    shape = tuple(each.strip() for each in extents.split(",") if each.strip())
    if not all(re.fullmatch(r"\w+", each) for each in shape):
        problem = f"parameter {name}: expected numbers and names as extents, got [{extents}]"
        return Parameter(name, "?", problem=problem)
    if device not in (None, "cpu"):
        problem = f"parameter {name}: expected a tensor on the CPU, got a tensor on {device}"
        return Parameter(name, "?", problem=problem)
    return Parameter(
        name, "tensor", _DTYPES[dtype], shape, direction or "in", layout == "compact" or bool(star),
        optional, nullable,
    )  # fmt: skip
