# SPDX-License-Identifier: Apache-2.0
"""Exported programs that call functions: the file says which, and loading it finds them again.

A file of torch knows operators by name alone.  Beside the program stands, as JSON, what each
operator of ours was made from: the library's file and the function's name in it, or a name in the
table of global functions; and the signature.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import torch

from ...module import load_module
from ...registry import get_global_func
from ...signature import Signature
from ._operators import NAMESPACE, Operator, operator_named, restore

__all__ = ["MissingFunctionError", "load", "save"]

_MEMBER = "tvm_ffi_functions.json"
_VERSION = 1


class MissingFunctionError(RuntimeError):
    """A program calls functions that are not there."""


def save(program: Any, file: str | os.PathLike[str], **options: Any) -> None:
    """Save an exported program, and with it which functions it calls.

    Parameters
    ----------
    program : torch.export.ExportedProgram
        The program.
    file : str or os.PathLike
        Where to; names of such files end in ``.pt2``.
    **options
        For `torch.export.save`.

    Raises
    ------
    TypeError
        If the program calls a function that another process has no way to find.
    """
    functions = {operator.name: _described(operator) for operator in _operators_in(program)}
    text = json.dumps({"version": _VERSION, "functions": functions})
    extra = {**(options.pop("extra_files", None) or {}), _MEMBER: text}
    torch.export.save(program, file, extra_files=extra, **options)


def load(
    file: str | os.PathLike[str],
    *,
    libraries: Mapping[str, str | os.PathLike[str]] | None = None,
    **options: Any,
) -> Any:
    """Load an exported program, and the libraries of the functions that it calls.

    Parameters
    ----------
    file : str or os.PathLike
        What `save` wrote.
    libraries : mapping of str to str or os.PathLike
        Where libraries are now, by the path in the file or by the last part of it.
    **options
        For `torch.export.load`.

    Returns
    -------
    torch.export.ExportedProgram
        The program.

    Raises
    ------
    MissingFunctionError
        If a library or a function is missing, or a function has another signature than when the
        program was saved; the message names all of them.

    Notes
    -----
    Loading a library runs code of it: load files that you trust.
    """
    extra = options.pop("extra_files", None)
    _restore_operators(_read(file), libraries or {}, os.fspath(file))
    return torch.export.load(file, extra_files=extra, **options)


# ---- saving --------------------------------------------------------------------------------------


def _operators_in(program: Any) -> Iterator[Operator]:
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                operator = operator_named(node.target.name())
                if operator is not None:
                    yield operator


def _described(operator: Operator) -> dict[str, Any]:
    """Return what finds an operator's function again; see `_restored`."""
    place, is_registered = operator.place, not operator.name.startswith(f"{NAMESPACE}::")
    if place is None or not (place.library or place.is_global or is_registered):
        raise TypeError(
            f"the program calls {operator.name}, whose function only this process has: another "
            "one finds functions of libraries, and those that are registered by name"
        )
    return {
        "library": place.library,
        "function": place.name,
        "signature": str(operator.signature),
        "is_registered": is_registered,
    }


# ---- loading -------------------------------------------------------------------------------------


def _read(file: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return what is said about each operator; nothing where the program calls none of ours."""
    with zipfile.ZipFile(file) as archive:
        members = [one for one in archive.namelist() if one.endswith(f"/{_MEMBER}")]
        text = archive.read(members[0]).decode("utf-8") if members else ""
    if not text:
        return {}
    functions: dict[str, dict[str, Any]]
    try:
        described = json.loads(text)
        version, functions = described["version"], described["functions"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{os.fspath(file)}: {_MEMBER} is damaged: {error}") from None
    if version != _VERSION:
        raise ValueError(f"{os.fspath(file)}: {_MEMBER} has version {version}, not {_VERSION}")
    return functions


def _restore_operators(
    functions: Mapping[str, Mapping[str, Any]],
    libraries: Mapping[str, str | os.PathLike[str]],
    file: str,
) -> None:
    problems = []
    for name, described in functions.items():
        try:
            _restore(name, described, libraries)
        except (AttributeError, OSError, RuntimeError, TypeError, ValueError, KeyError) as error:
            problems.append(f"{name}, {_place_text(described)}: {error}")
    if problems:
        raise MissingFunctionError(
            "\n  ".join([f"{file} calls functions that are not there:", *problems])
        )


def _place_text(described: Mapping[str, Any]) -> str:
    function, library = described.get("function"), described.get("library")
    return f"function '{function}' of {library}" if library else f"global function '{function}'"


def _restore(
    name: str, described: Mapping[str, Any], libraries: Mapping[str, str | os.PathLike[str]]
) -> None:
    if operator_named(name) is not None:
        return
    if described["is_registered"]:
        raise RuntimeError(
            "somebody made this operator (tvm_ffi.interop.torch.register): import what does"
        )
    path = described["library"]
    if path:
        path = os.fspath(libraries.get(path) or libraries.get(PurePath(path).name) or path)
        function = load_module(path).get_function(described["function"], True)
    else:
        function = get_global_func(described["function"])
    restore(name, function, Signature.parse(described["signature"]))
