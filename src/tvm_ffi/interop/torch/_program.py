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
from pathlib import PurePath
from typing import Any

import torch

from ...module import load_module
from ...registry import get_global_func
from ...signature import Signature
from ._locator import content_of_file
from ._operators import NAMESPACE, Operator, operator_named, restore

__all__ = ["MissingFunctionError", "load", "reduced", "save"]

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


def _described(operator: Operator) -> dict[str, Any]:
    """Return the JSON object of an operator, from which `_restore` creates the operator again."""
    locator, is_registered = operator.locator, not operator.name.startswith(f"{NAMESPACE}::")
    content = None if locator is None else locator.content
    if locator is None or (content is None and not is_registered):
        raise TypeError(
            f"cannot save {operator.name}, whose function exists only in this process; use a "
            "function of a library, or register it under a global name"
        )
    return {
        "library": locator.library,
        "content": content,
        "function": locator.name,
        "signature": str(operator.signature),
        "is_registered": is_registered,
    }


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
            _restore(name, description, libraries)
        except (AttributeError, OSError, RuntimeError, TypeError, ValueError, KeyError) as error:
            problems.append(f"{name}, {_function_label(description)}: {error}")
    if problems:
        raise MissingFunctionError(
            "\n  ".join([f"{file} calls functions that cannot be used:", *problems])
        )


def _function_label(description: Mapping[str, Any]) -> str:
    function, library = description.get("function"), description.get("library")
    return f"function '{function}' of {library}" if library else f"global function '{function}'"


def _restore(
    name: str, description: Mapping[str, Any], libraries: Mapping[str, str | os.PathLike[str]]
) -> None:
    saved_path = description["library"]
    path = os.fspath(
        libraries.get(saved_path) or libraries.get(PurePath(saved_path).name) or saved_path
    )
    operator = operator_named(name)
    if path and (operator is None or path != saved_path):
        _check_content(path, description)
    if operator is not None:
        _check_same(operator, description)
        return
    if description["is_registered"]:
        raise RuntimeError(
            "expected an operator that tvm_ffi.interop.torch.register has created in this "
            "process; import the module that calls register first"
        )
    if path:
        function = load_module(path).get_function(description["function"], True)
    else:
        function = get_global_func(description["function"])
    restore(name, function, Signature.parse(description["signature"]))


def _check_content(path: str, description: Mapping[str, Any]) -> None:
    """Raise ValueError if a library is not the one that the program was saved with.

    A file that cannot be read has no content; loading it raises the error that gives the reason.
    """
    content, saved = content_of_file(path), description["content"]
    if content is not None and content != saved:
        raise ValueError(
            f"expected the library that the program was saved with (sha256 {saved:.16}), got "
            f"{path} (sha256 {content:.16}); pass that library as libraries=, or export the "
            "program again"
        )


def _check_same(operator: Operator, description: Mapping[str, Any]) -> None:
    """Raise ValueError if the operator that has a saved name was made from another function."""
    current = _described(operator)
    if any(current[key] != description[key] for key in ("content", "function", "signature")):
        content = description["content"]
        digest = f" (sha256 {content:.16})" if content else ""
        raise ValueError(
            f"expected {_function_label(description)}{digest} with the signature "
            f"`{description['signature']}`, but this process has an operator of this name for "
            f"{operator.locator} with the signature `{operator.signature}`; load the program in "
            "another process, or export it again"
        )


# ---- pickles of operators ------------------------------------------------------------------------


def reduced(operator: Operator) -> tuple[Any, ...]:
    """Return the pickle of an operator, in the form of ``__reduce__``."""
    return _unpickled, (operator.name, _described(operator))


def _unpickled(name: str, description: Mapping[str, Any]) -> Any:
    _restore(name, description, {})
    operator = operator_named(name)
    assert operator is not None
    return operator.overload
