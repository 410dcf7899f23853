# SPDX-License-Identifier: Apache-2.0
"""Signatures of compiled modules for autodoc, read from their type stubs.

Compiled classes have no signatures, and their properties no types; the stub beside the module has
both.  tests/typing/test_stubs.py compares the stubs with the modules.
"""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import tvm_ffi

_BINDING = Path(tvm_ffi.__file__).parent / "_binding"
_PROPERTY = "property"
_STATIC = "staticmethod"


@cache
def _declarations() -> dict[str, dict[str, ast.FunctionDef]]:
    """Return the functions in each stub of a compiled module, by qualified name."""
    return {_module_of(stub): _functions_of(stub) for stub in sorted(_BINDING.rglob("*.pyi"))}


def _module_of(stub: Path) -> str:
    """Return the name of the module that a stub declares."""
    parts = ("tvm_ffi._binding", *stub.relative_to(_BINDING).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def _functions_of(stub: Path) -> dict[str, ast.FunctionDef]:
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            methods = (entry for entry in node.body if isinstance(entry, ast.FunctionDef))
            found.update({f"{node.name}.{method.name}": method for method in methods})
    return found


def _find(obj: Any, *names: str) -> ast.FunctionDef | None:
    """Return the first declaration of these names in the stub of the module that defines `obj`.

    The ``__module__`` of a compiled object is the public module that re-exports it, so the defining
    module is searched.
    """
    for module, declared in _declarations().items():
        name = next((name for name in names if name in declared), None)
        if name is not None and _defines(module, obj):
            return declared[name]
    return None


def _defines(module: str, obj: Any) -> bool:
    """Return True if a module contains a function or class, or the class of a method."""
    owner = getattr(obj, "__objclass__", obj)
    name = getattr(owner, "__qualname__", "").partition(".")[0]
    found = getattr(importlib.import_module(module), name, None)
    return found is owner or (isinstance(found, type) and owner.__module__ == module)


def _has_decorator(node: ast.FunctionDef, name: str) -> bool:
    return any(isinstance(entry, ast.Name) and entry.id == name for entry in node.decorator_list)


def _signature(node: ast.FunctionDef, is_bound: bool) -> str:
    """Return the text of the parameters, without ``self`` for a bound method."""
    parameters = ast.parse(ast.unparse(node)).body[0].args  # type: ignore[attr-defined]
    if is_bound:
        row = parameters.posonlyargs or parameters.args
        del row[0]
    return f"({ast.unparse(parameters)})"


def process_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str | None] | None:
    """Return the signature of `obj` for autodoc, or None if no stub declares it."""
    qualname = getattr(obj, "__qualname__", "")
    if what == "class":
        node = _find(obj, f"{qualname}.__init__", f"{qualname}.__new__")
        return None if node is None else (_signature(node, is_bound=True), None)
    node = _find(obj, qualname)
    if node is None or _has_decorator(node, _PROPERTY):
        return None
    is_bound = what == "method" and not _has_decorator(node, _STATIC)
    result = None if node.returns is None else ast.unparse(node.returns)
    return _signature(node, is_bound), result


def process_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Add the type of a property to its description."""
    node = _find(obj, getattr(obj, "__qualname__", ""))
    if node is not None and node.returns is not None and _has_decorator(node, _PROPERTY):
        spelled = re.sub(r"\b_(?=\w)", "", ast.unparse(node.returns))  # stubs import `T as _T`
        lines += ["", f":Type: ``{spelled}``"]


def setup(app: Any) -> dict[str, bool]:
    """Register the event handlers of autodoc."""
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-process-docstring", process_docstring)
    return {"parallel_read_safe": True}
