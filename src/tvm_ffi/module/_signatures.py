# SPDX-License-Identifier: Apache-2.0
"""Signatures of a module's functions: those that it carries, and those given from outside.

What is given is kept with the native module, in front of what the library says, so that every
reader finds it: wrappers that are there already, other modules that import this one, other
languages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _ffi_api
from .._binding.call import forget_binders
from .._binding.object import note_of
from .._internal.regular_file import read_regular
from ..registry import get_global_func
from ..signature import Signature
from ..signature._metadata import metadata_text, parsed_metadata, read_signature, signature_in
from . import Module

__all__ = ["describe", "describe_from_file", "signature_of"]

_MOST_BYTES = 1 << 24  # of a side file


def signature_of(module: Module, name: str, query_imports: bool) -> Signature | None:
    """Return the signature of a function; None when nobody knows it."""
    return read_signature(
        lambda: _ffi_api.ModuleGetFunctionMetadata(module, name, query_imports),
        name,
        display_name(module),
    )


def display_name(module: Module) -> str:
    """Return what messages call a module: its file, where it was loaded from one."""
    record = note_of(module)
    return (
        str(record.argument) if record is not None and record.argument else f"Module[{module.kind}]"
    )


# ---- Given from outside --------------------------------------------------------------------------


def describe(module: Module, signatures: Mapping[str, Signature | str]) -> None:
    """Give functions their signatures, all of them or none; see `Module.describe`."""
    if not isinstance(signatures, Mapping):
        raise TypeError(
            "expected a mapping of names of functions to signatures, got "
            f"{type(signatures).__name__}"
        )
    described: dict[str, tuple[Signature, str]] = {}
    problems = []
    for name, description in signatures.items():
        try:
            described[name] = _validated(module, name, description)
        except (TypeError, ValueError) as error:
            problems.append(f"{name!r}: {error}")
    if problems:
        raise ValueError("\n  ".join([f"{display_name(module)} is not so described:", *problems]))
    set_description: Any = get_global_func("pytvmffi.ModuleDescribeFunction")
    for name, (signature, metadata) in described.items():
        set_description(module, name, metadata, signature.doc)
        forget_binders(name)


def _validated(module: Module, name: str, description: Signature | str) -> tuple[Signature, str]:
    """Return the signature of a function, and its metadata with it."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a function is a str, got {type(name).__name__}")
    if not module.implements_function(name):
        raise ValueError("the module has no such function")
    given = Signature.of(description)
    own = _library_metadata(module, name)
    signature = signature_in(parsed_metadata(metadata_text(given, own)), name)
    assert signature is not None
    return signature, metadata_text(signature, own)


def _library_metadata(module: Module, name: str) -> dict[str, Any]:
    """Return what the library itself says; nothing where that is damaged, which is why it is told.

    A function with a damaged description is one that needs another.
    """
    ask: Any = get_global_func("pytvmffi.ModuleGetOwnFunctionMetadata")
    try:
        return parsed_metadata(ask(module, name))
    except MemoryError:
        raise
    except Exception:
        return {}


# ---- Side files ----------------------------------------------------------------------------------


def describe_from_file(module: Module, path: str | os.PathLike[str]) -> None:
    """Give functions the signatures that a text file lists.

    Raises
    ------
    ValueError
        If the file lists what are no signatures, or those of another library; the message names
        the lines.
    OSError
        If it cannot be read, or is no text file.
    """
    file = os.fspath(path)
    try:
        text = read_regular(file, _MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: not UTF-8: {error}") from None
    described: dict[str, Signature] = {}
    problems = []
    for line, entry in _entries(text):
        try:
            signature = Signature.parse(entry)
            _check_entry(module, signature, described)
            described[signature.name] = signature
        except ValueError as error:
            problems.append(f"{file}:{line}: {error}")
    if problems:
        raise ValueError("\n".join(problems))
    describe(module, described)


def _check_entry(module: Module, signature: Signature, others: Mapping[str, Signature]) -> None:
    if not signature.name:
        raise ValueError("the signature has no name")
    if signature.name in others:
        raise ValueError(f"function '{signature.name}' stands twice")
    _validated(module, signature.name, signature)


def _entries(text: str) -> list[tuple[int, str]]:
    """Return each signature in a text, and the number of its first line.

    It begins in the first column; lines that begin with a blank or a closing bracket continue it.
    """
    entries: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if entries and (line[0].isspace() or line[0] in ")]}"):
            entries[-1][1].append(line)
        else:
            entries.append((number, [line]))
    return [(number, "\n".join(lines)) for number, lines in entries]
