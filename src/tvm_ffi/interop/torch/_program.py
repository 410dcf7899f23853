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
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ._operators import Operator, describe, function_label, operator_named, restore

__all__ = ["MissingFunctionError", "load", "save"]

_MEMBER = "tvm_ffi_functions.json"
_VERSION = 2


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
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.namelist() if member.endswith(f"/{_MEMBER}")]
        text = archive.read(members[0]).decode("utf-8") if members else ""
    if not text:
        return {}
    functions: dict[str, dict[str, Any]]
    try:
        document = json.loads(text)
        version, functions = document["version"], document["functions"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{os.fspath(file)}: {_MEMBER} is corrupt: {error}") from None
    if version != _VERSION:
        raise ValueError(
            f"{os.fspath(file)}: {_MEMBER}: expected version {_VERSION}, got {version}"
        )
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
