# SPDX-License-Identifier: Apache-2.0
"""Signatures in text: the part of the language that the calls of a library need.

Example: ``add(x: float32[n, 4], y: out float32[n, 4], scale: float = 1.0) -> int``. Annotations
that the parser does not know make a parameter opaque: the function is checked statically only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PLAIN = {"int", "float", "bool", "str", "bytes", "dtype", "Device"}
_TENSOR = re.compile(
    r"(?:(out|inout|mut)\s+)?(?:compact\s+)?([a-z]+[0-9]*)\*?\[([^\]]*)\](.*)", re.DOTALL
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


@dataclass(frozen=True)
class Signature:
    """Name and parameters of a function; `returns` is the text of the result type or empty."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: str
    text: str

    @property
    def callable(self) -> bool:
        """True if the kit can make arguments for all parameters."""
        return not self.opaque

    @property
    def opaque(self) -> str:
        """Names of the parameters that the kit cannot make arguments for."""
        return ", ".join(each.name for each in self.parameters if each.kind == "?")


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
    bare = re.sub(r"\s+where\s+\w+ in \(.*$", "", bare, flags=re.DOTALL)
    match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*(?:->\s*([^()]*?))?\s*", bare, re.DOTALL)
    if not match:
        raise ValueError(f"signature: expected NAME(PARAMETERS), got {text!r}")
    name, inside, returns = match.groups()
    parts = [each for each in _split(inside) if each.strip() not in ("", "*", "/")]
    return Signature(name, tuple(map(_parameter, parts)), (returns or "").strip(), text)


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for position, each in enumerate(text):
        if quote:
            quote = "" if each == quote else quote
        elif each in "\"'":
            quote = each
        elif each in "([{":
            depth += 1
        elif each in ")]}":
            depth -= 1
        elif each == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _parameter(text: str) -> Parameter:
    name, colon, annotation = text.partition(":")
    if not colon:
        raise ValueError(f"signature: expected NAME: TYPE, got {text.strip()!r}")
    annotation, equals, _ = annotation.partition("=")
    annotation, optional = annotation.strip(), bool(equals)
    number = re.fullmatch(r"(u?int|float)(8|16|32|64)", annotation)
    plain = number[1].lstrip("u") if number else annotation
    if plain in PLAIN:
        return Parameter(name.strip(), plain, optional=optional)
    match = _TENSOR.fullmatch(annotation)
    if not match or match[2] not in _DTYPES:
        return Parameter(name.strip(), "?")
    shape = tuple(each.strip() for each in match[3].split(",") if each.strip())
    if not all(re.fullmatch(r"\w+", each) for each in shape):
        return Parameter(name.strip(), "?")
    return Parameter(
        name.strip(),
        "tensor",
        _DTYPES[match[2]],
        shape,
        match[1] or "in",
        "compact" in annotation or "*[" in annotation,
        optional,
    )
