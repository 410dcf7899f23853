# SPDX-License-Identifier: Apache-2.0
"""Signatures of a module's functions: from its library, from `Module.describe` or a side file.

Signatures from the user (`Module.describe`, side file) take precedence over those in the library.
They are stored in the native module, where existing function wrappers, importing modules and other
languages find them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _ffi_api
from .._binding.call import forget_binders
from .._binding.object import get_object_metadata
from .._internal.regular_file import read_regular
from ..registry import get_global_func
from ..signature import Signature
from ..signature._metadata import metadata_text, parsed_metadata, read_signature, signature_in
from . import Module

__all__ = ["describe", "describe_from_file", "signature_of"]

# Maximum size in bytes of a side file, a text file with signatures next to the library.
_MAX_BYTES = 1 << 24


def signature_of(module: Module, name: str, query_imports: bool) -> Signature | None:
    """Return the signature of a function; None if the signature is unknown."""
    return read_signature(
        lambda: _ffi_api.ModuleGetFunctionMetadata(module, name, query_imports),
        name,
        display_name(module),
    )


def display_name(module: Module) -> str:
    """Return the name of a module for messages: its path, or its kind if there is no path."""
    record = get_object_metadata(module)
    return (
        str(record.argument) if record is not None and record.argument else f"Module[{module.kind}]"
    )


# ---- Signatures from the user --------------------------------------------------------------------


def describe(module: Module, signatures: Mapping[str, Signature | str]) -> None:
    """Set the signatures of functions, or none on failure; see `Module.describe`."""
    if not isinstance(signatures, Mapping):
        raise TypeError(
            "Module.describe: expected a mapping from function names to signatures, got "
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
        raise ValueError(
            "\n  ".join(
                [
                    f"Module.describe: invalid signatures for the module {display_name(module)}:",
                    *problems,
                ]
            )
        )
    set_description: Any = get_global_func("pytvmffi.ModuleDescribeFunction")
    for name, (signature, metadata) in described.items():
        set_description(module, name, metadata, signature.doc)
        forget_binders(name)


def _validated(module: Module, name: str, description: Signature | str) -> tuple[Signature, str]:
    """Check the user's signature of a function against the metadata in the library.

    Return the signature, and the text of the metadata that combines both.
    """
    if not isinstance(name, str):
        raise TypeError(f"expected a str as the name of a function, got {type(name).__name__}")
    if not module.implements_function(name):
        raise ValueError(f"the module has no function {name!r}")
    given = Signature.of(description)
    own = _library_metadata(module, name)
    signature = signature_in(parsed_metadata(metadata_text(given, own)), name)
    assert signature is not None
    # Both members concern the library's own signature, not the given one.
    own.pop("checked", None)
    own.pop("unchecked", None)
    return signature, metadata_text(signature, own)


def _library_metadata(module: Module, name: str) -> dict[str, Any]:
    """Return the metadata of a function in the library; ``{}`` if the metadata are damaged.

    Do not raise an error for damaged metadata: `Module.describe` may be called to replace them.
    """
    get_metadata: Any = get_global_func("pytvmffi.ModuleGetOwnFunctionMetadata")
    try:
        return parsed_metadata(get_metadata(module, name))
    except MemoryError:
        raise
    except Exception:
        return {}


# ---- Side files: text files with signatures next to a library ------------------------------------


def describe_from_file(module: Module, path: str | os.PathLike[str]) -> None:
    """Set the signatures of functions from a side file.

    Raises
    ------
    ValueError
        If the file is not UTF-8, or a signature in it is malformed or names no function of the
        module; the message has the line numbers.
    OSError
        If the file cannot be read.
    """
    file = os.fspath(path)
    try:
        text = read_regular(file, _MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: expected signatures as UTF-8 text: {error}") from None
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
        raise ValueError(f"the signature '{signature}' has no function name")
    if signature.name in others:
        raise ValueError(f"function '{signature.name}' has two signatures in the file")
    _validated(module, signature.name, signature)


def _entries(text: str) -> list[tuple[int, str]]:
    """Return the signature texts in a side file, each with the number of its first line.

    A signature begins in the first column.  Lines that begin with white space or a closing bracket
    continue it.
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
