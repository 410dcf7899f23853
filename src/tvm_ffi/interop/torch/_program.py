# SPDX-License-Identifier: Apache-2.0
"""Saving and loading of exported torch programs together with references to called functions.

A torch file contains only the names of operators.  `save` adds a JSON file to the archive, with the
signature and the origin of each function: the path and the digest of its library and its name in
the library, or its global name.  `load` creates the operators again, and compares the digests.
Pickles of operators contain the same data.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ._operators import Operator, describe, function_label, operator_named, restore

__all__ = ["MissingFunctionError", "load", "save"]

_MEMBER = "tvm_ffi_functions.json"
_VERSION = 2
# Members of the object that `describe` returns, and their types.
_ENTRY = {
    "library": (str,),
    "content": (str, type(None)),
    "function": (str,),
    "signature": (str,),
    "is_registered": (bool,),
}
_JSON_TYPES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a bool",
    int: "a number",
    float: "a number",
    type(None): "null",
}
_CORRUPT = (ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error)


class MissingFunctionError(RuntimeError):
    """A function that an exported program calls was not found, or is another function."""


def save(program: Any, file: str | os.PathLike[str], **options: Any) -> None:
    """Save an exported program with references to the functions that it calls.

    Parameters
    ----------
    program : torch.export.ExportedProgram
        The program to save.
    file : str or os.PathLike
        Path of the file to write; the usual suffix is ``.pt2``.
    **options
        Options of `torch.export.save`.

    Raises
    ------
    TypeError
        If the program calls a function that other processes cannot find by name.
    """
    functions = {operator.name: describe(operator) for operator in _operators_in(program)}
    text = json.dumps({"version": _VERSION, "functions": functions})
    extra = {**(options.pop("extra_files", None) or {}), _MEMBER: text}
    torch.export.save(program, file, extra_files=extra, **options)


def load(
    file: str | os.PathLike[str],
    *,
    libraries: Mapping[str, str | os.PathLike[str]] | None = None,
    **options: Any,
) -> Any:
    """Load an exported program and the libraries of the functions that it calls.

    Parameters
    ----------
    file : str or os.PathLike
        A file that `save` wrote.
    libraries : mapping of str to str or os.PathLike
        Current paths of libraries, by the path at the time of saving or by the file name alone.
    **options
        Options of `torch.export.load`.

    Returns
    -------
    torch.export.ExportedProgram
        The program.

    Raises
    ------
    MissingFunctionError
        If a library or a function is missing, or the content of a library or a signature has
        changed since the program was saved; the message lists all such functions.
    ValueError
        If the file is damaged; the message names the file and the fault.

    Notes
    -----
    Loading a library runs its initializers, so load only trusted files.
    """
    extra = options.pop("extra_files", None)
    _restore_operators(_read(file), libraries or {}, os.fspath(file))
    return torch.export.load(file, extra_files=extra, **options)


# ---- saving programs -----------------------------------------------------------------------------


def _operators_in(program: Any) -> Iterator[Operator]:
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                operator = operator_named(node.target.name())
                if operator is not None:
                    yield operator


# ---- loading programs ----------------------------------------------------------------------------


def _read(file: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return the JSON objects that describe the operators in a saved program, by operator name."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = [member for member in archive.namelist() if member.endswith(f"/{_MEMBER}")]
            if not members:
                return {}
            text = archive.read(members[0]).decode("utf-8")
        document = json.loads(text)
        if not isinstance(document, dict) or "version" not in document:
            raise ValueError("expected an object with a version")
        if document["version"] == _VERSION:
            return _checked_functions(document)
    except _CORRUPT as error:
        raise ValueError(f"{os.fspath(file)}: {_MEMBER} is corrupt: {error}") from None
    raise ValueError(
        f"{os.fspath(file)}: {_MEMBER}: expected version {_VERSION}, got {document['version']}"
    )


def _checked_functions(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the descriptions in a document; raise ValueError if one lacks a member."""
    functions = document.get("functions")
    if not isinstance(functions, dict):
        raise ValueError(f"'functions': expected an object, got {_JSON_TYPES[type(functions)]}")
    for name, description in functions.items():
        if not isinstance(description, dict):
            raise ValueError(f"{name}: expected an object, got {_JSON_TYPES[type(description)]}")
        for key, types in _ENTRY.items():
            if key not in description:
                raise ValueError(f"{name}: expected a value '{key}', got none")
            if not isinstance(description[key], types):
                expected = " or ".join(_JSON_TYPES[type_] for type_ in types)
                got = _JSON_TYPES[type(description[key])]
                raise ValueError(f"{name}: '{key}': expected {expected}, got {got}")
    return functions


def _restore_operators(
    functions: Mapping[str, Mapping[str, Any]],
    libraries: Mapping[str, str | os.PathLike[str]],
    file: str,
) -> None:
    problems = []
    for name, description in functions.items():
        try:
            restore(name, description, libraries)
        except (AttributeError, OSError, RuntimeError, TypeError, ValueError, KeyError) as error:
            problems.append(f"{name}, {function_label(description)}: {error}")
    if problems:
        raise MissingFunctionError(
            "\n  ".join([f"{file} calls functions that cannot be used:", *problems])
        )
