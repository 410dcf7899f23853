# SPDX-License-Identifier: Apache-2.0
"""What a library's file tells about its functions: the rows of the section ``tvm_ffi_exports``.

A row is three addresses of texts: the function's name, a kind, and one of

    signature   the C++ type of the function, somewhere in what the compiler calls a template
    metadata    JSON, as ``__tvm_ffi__metadata_<name>`` returns it
    doc         the documentation
    abi         the level of the ABI of the headers that wrote the rows; no name

docs/design/export-rows.md tells why the rows exist.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ._elf import Image

_SECTION = "tvm_ffi_exports"
_MAX_TYPE = 10_000  # characters; no compiler writes more for a function that people call
_KINDS = ("signature", "metadata", "doc", "abi")
_LEVEL = re.compile(r"\d{1,5}(?:\.\d{1,5}){2}")
# GCC: `... [with FType = int(long int); X = Y]`; Clang: `... [FType = int (long)]`.
_FTYPE = re.compile(r"\[(?:with )?FType = (.*?)(?:; \w+ = .*)?\]$", re.DOTALL)
# How compilers spell the same types, so that the texts can be compared.
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
    """Return the texts by function name and kind."""
    section = image.section(_SECTION)
    texts: dict[str, dict[str, str]] = {}
    if section is None:
        return texts
    addresses = image.addresses_in(section)
    for row in range(0, len(addresses) - 2, 3):
        name, kind, text = (image.text_at(address) for address in addresses[row : row + 3])
        if name is not None and kind in _KINDS and text is not None:
            texts.setdefault(name, {})[kind] = text
    return texts


def declared_level(texts: dict[str, dict[str, str]]) -> str | None:
    """Return the level of the ABI that the rows name; None when they do not."""
    level = texts.get("", {}).get("abi")
    return level if level and _LEVEL.fullmatch(level) else None


def signature_of(texts: dict[str, str]) -> str | None:
    """Return parameters and result of a function; None when the texts do not tell."""
    metadata = parsed_metadata(texts)
    schema = metadata.get("type_schema") if metadata else None
    if isinstance(schema, str):
        return _signature_of_schema(schema)
    return _signature_of_cpp(texts["signature"]) if "signature" in texts else None


def parsed_metadata(texts: dict[str, str]) -> dict[str, Any] | None:
    """Return the metadata; None when there are none, or not in JSON."""
    try:
        metadata = json.loads(texts.get("metadata", "null"))
    except (ValueError, RecursionError):
        return None
    return metadata if isinstance(metadata, dict) else None


def _signature_of_schema(text: str) -> str | None:
    from .._type_schema import TypeSchema

    try:
        schema = TypeSchema.from_json_str(text)
        groups = schema.named_args
        if schema.origin != "Callable" or groups is None:
            return None
        params = ", ".join(map(repr, groups["params"])) if "params" in groups else "..."
        return f"({params}) -> {groups['return'][0]!r}"
    except (KeyError, RecursionError, TypeError, ValueError):
        return None


def _signature_of_cpp(text: str) -> str | None:
    match = _FTYPE.search(text) if len(text) <= _MAX_TYPE else None
    if match is None:
        return None
    function = match[1]
    for pattern, spelling in _SPELLINGS:
        function = pattern.sub(spelling, function)
    start = _start_of_parameters(function)
    return None if start is None else f"{function[start:]} -> {function[:start].strip()}"


def _start_of_parameters(function: str) -> int | None:
    """Return where the last group of parentheses begins; None unless the text ends with one."""
    depth = 0
    for at in range(len(function) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(function[at], 0)
        if depth <= 0:
            return at if depth == 0 and function.endswith(")") and at > 0 else None
    return None
