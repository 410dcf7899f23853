# SPDX-License-Identifier: Apache-2.0
"""Resolution of references to Python names, and the check that all public names are documented.

An object is documented under one name, the shortest that users write (`tvm_ffi.Tensor`).
Annotations and docstrings use other names for it (`Tensor`, `tvm_ffi.core.Tensor`); they are
resolved by the identity of the object.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

import tvm_ffi

_LOG = logging.getLogger(__name__)

# Modules whose names annotations and docstrings use without a prefix.
_CONTEXTS = ("builtins", "typing", "collections.abc", "ctypes", "os", "pathlib")


def _import(name: str) -> Any:
    """Return the object with a dotted name; raise AttributeError or ImportError otherwise."""
    module, _, attribute = name.rpartition(".")
    if module:
        # A package may have a function with the name of a submodule.
        for owner in (_import(module), sys.modules.get(module)):
            if hasattr(owner, attribute):
                return getattr(owner, attribute)
    return importlib.import_module(name)


def _meanings(target: str, contexts: tuple[str, ...]) -> Iterator[Any]:
    """Yield the object of a name in each context, innermost first."""
    for context in (*contexts, ""):
        try:
            yield _import(f"{context}.{target}".lstrip("."))
        except (ImportError, AttributeError, ValueError):
            continue


def _documented(env: Any) -> dict[int, str]:
    """Return the documented name of each object, by identity."""
    names: dict[int, str] = {}
    for name in env.domains["py"].objects:
        for meaning in _meanings(name, ()):
            if type(meaning) not in (int, str, bool, type(None)):
                names.setdefault(id(meaning), name)
    return names


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return the node for a reference that Sphinx could not resolve.

    An existing name without documentation, such as one of another package, becomes text.  For a
    name that does not exist, Sphinx warns.
    """
    if node.get("refdomain") != "py":
        return None
    if not hasattr(env, "documented_names"):
        env.documented_names = _documented(env)
    target = node["reftarget"]
    local = [entry for entry in (node.get("py:class"), node.get("py:module")) if entry]
    if node.get("py:class") and node.get("py:module"):
        local.insert(0, f"{node['py:module']}.{node['py:class']}")
    exists = False
    for meaning in _meanings(target, (*local, "tvm_ffi", "tvm_ffi.core", *_CONTEXTS)):
        exists = True
        name = env.documented_names.get(id(meaning))
        if name is None:
            continue
        entry = env.domains["py"].objects[name]
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content)
    return nodes.inline("", "", content) if exists else None


def _public_modules() -> Iterator[str]:
    yield "tvm_ffi"
    for entry in pkgutil.walk_packages(tvm_ffi.__path__, "tvm_ffi."):
        if not any(part.startswith("_") for part in entry.name.split(".")):
            yield entry.name


def check(app: Any, env: Any) -> None:
    """Warn about each name in the ``__all__`` of a public module that no page documents."""
    names = set(env.domains["py"].objects)
    known = _documented(env)
    for module in _public_modules():
        if module not in names and module != "tvm_ffi":
            _LOG.warning("module %s has no page in docs/reference/python", module)
            continue
        shown = importlib.import_module(module)
        for name in getattr(shown, "__all__", ()):
            full_name = f"{module}.{name}"
            if full_name not in names and id(getattr(shown, name)) not in known:
                _LOG.warning("%s is public, but has no entry in docs/reference/python", full_name)


def setup(app: Any) -> dict[str, bool]:
    """Register the event handlers."""
    app.connect("missing-reference", resolve)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}
