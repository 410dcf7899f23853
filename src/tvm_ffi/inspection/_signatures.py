# SPDX-License-Identifier: Apache-2.0
"""Signatures and documentation in a library file: rows of the section ``tvm_ffi_exports``.

A row is the addresses of three strings: the name of a function, a kind, and a text:

    declaration the signature
    signature   the C++ type of the function, as a template argument in ``__PRETTY_FUNCTION__``
    metadata    JSON text, which the function ``__tvm_ffi__metadata_<name>`` returns as well
    doc         the documentation
    abi         the ABI level of the headers; the function name is empty, and the row is in the
                section ``tvm_ffi_headers``

docs/design/export-rows.md explains why the rows exist.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._binding.object import type_key_to_index
from .._library.elf import Image
from .._schema.json_form import declared_function
from .._schema.printing import TypePrinter
from .._schema.schema import Schema
from ..signature._metadata import parsed_metadata as parse_metadata
from ..signature._metadata import signature_in

_SECTIONS = ("tvm_ffi_exports", "tvm_ffi_headers")
_PRINTER = TypePrinter(type_key_to_index)
_MAX_TYPE = 10_000  # maximum length of the text of a C++ type; real types are shorter
_MAX_DECLARATION = 1_000_000
_MAX_NESTING = 32  # maximum nesting depth of JSON values in metadata
# Kinds of export rows (lines of the section) that have a signature.
SIGNATURES = ("declaration", "signature", "metadata")
_KINDS = (*SIGNATURES, "doc", "abi")
_LEVEL = re.compile(r"\d{1,5}(?:\.\d{1,5}){2}")
_FTYPE = re.compile(r"\[(?:with )?FType = ")
_OTHER_PARAMETER = re.compile(r"; \w+ = ")
# Patterns and replacements that unify the spellings of C++ types by different compilers, so that
# signatures can be compared.
_SPELLINGS = (
    (re.compile(r"std::(?:__cxx11::|__1::)?basic_string<char>"), "std::string"),
    (re.compile(r"\btvm::ffi::"), ""),
    (
        re.compile(r"\bunsigned long(?: long)?(?: int)?\b|\blong (?:long )?unsigned int\b"),
        "uint64_t",
    ),
    (re.compile(r"\blong(?: long)?(?: int)?\b(?! double)"), "int64_t"),
    (re.compile(r" ([&*>])"), r"\1"),
    (re.compile(r"(?<=[\w>]) \("), "("),
)


def exported_texts(image: Image) -> dict[str, dict[str, str]]:
    """Return the texts of the rows of the section ``tvm_ffi_exports``, by function and kind."""
    texts: dict[str, dict[str, str]] = {}
    for section in filter(None, map(image.section, _SECTIONS)):
        addresses = image.addresses_in(section)
        for row in range(0, len(addresses) - 2, 3):
            name, kind, text = (image.text_at(address) for address in addresses[row : row + 3])
            if name is not None and kind in _KINDS and text is not None:
                texts.setdefault(name, {})[kind] = text
    return texts


def declared_level(texts: dict[str, dict[str, str]]) -> str | None:
    """Return the ABI level in the row of kind ``abi``; None if there is no such row."""
    level = texts.get("", {}).get("abi")
    return level if level and _LEVEL.fullmatch(level) else None


def signature_of(name: str, texts: dict[str, str]) -> str | None:
    """Return the parameters and result of a function; None if its rows do not contain them.

    The declaration takes precedence over the metadata, which take precedence over the C++ type.
    """
    metadata = parsed_metadata(texts) or {}
    declaration = texts.get("declaration", metadata.get("signature"))
    found = _signature_of_declaration(name, declaration, metadata)
    if found is None and "type_schema" in metadata:
        found = _signature_of_metadata(metadata)
    if found is None and "signature" in texts:
        found = _signature_of_cpp(texts["signature"])
    return found


def parsed_metadata(texts: dict[str, str]) -> dict[str, Any] | None:
    """Return the metadata of a function; None if they are absent, not JSON, or nested too deep."""
    try:
        metadata = parse_metadata(texts["metadata"]) if texts.get("metadata") else None
    except ValueError:
        return None
    return None if _is_nested_too_deep(metadata) else metadata


def _is_nested_too_deep(metadata: Any) -> bool:
    level = [metadata]
    for _ in range(_MAX_NESTING + 1):
        containers = (part for part in level if isinstance(part, (dict, list)))
        parts = (part.values() if isinstance(part, dict) else part for part in containers)
        level = [*itertools.chain.from_iterable(parts)]
    return bool(level)


def _signature_of_declaration(name: str, text: Any, metadata: Mapping[str, Any]) -> str | None:
    """Return the signature in a declaration, without function name and documentation.

    Return None if the declaration is malformed.
    """
    if not isinstance(text, str) or len(text) > _MAX_DECLARATION:
        return None
    try:
        signature = signature_in({**metadata, "signature": text}, name)
        return None if signature is None else str(replace(signature, name="", doc=None))
    except (ValueError, RecursionError):  # untrusted text
        return None


def _signature_of_metadata(metadata: dict[str, Any]) -> str | None:
    function = declared_function(metadata, Schema)
    try:
        return None if function is None else _PRINTER.signature(function)
    except RecursionError:  # printing nested types may recurse deeper than parsing them
        return None


def _signature_of_cpp(text: str) -> str | None:
    """Return ``(parameters) -> result`` for a C++ function type ``result(parameters)``."""
    function = _function_type_in(text)
    if function is None:
        return None
    for pattern, spelling in _SPELLINGS:
        function = pattern.sub(spelling, function)
    start = _start_of_parameters(function)
    return None if start is None else f"{function[start:]} -> {function[:start].strip()}"


def _function_type_in(text: str) -> str | None:
    """Return the template argument ``FType`` in the text of ``__PRETTY_FUNCTION__``.

    GCC writes ``... [with FType = int(long int); X = Y]``, Clang ``... [FType = int (long)]``.
    """
    start = _FTYPE.search(text) if len(text) <= _MAX_TYPE and text.endswith("]") else None
    if start is None:
        return None
    rest = text[start.end() : -1]
    other = _OTHER_PARAMETER.search(rest)
    return rest if other is None else rest[: other.start()]


def _start_of_parameters(function: str) -> int | None:
    """Return the index of the ``(`` that belongs to the ``)`` at the end of a text, or None."""
    depth = 0
    for at in range(len(function) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(function[at], 0)
        if depth <= 0:
            return at if depth == 0 and function.endswith(")") and at > 0 else None
    return None
