# SPDX-License-Identifier: Apache-2.0
"""References to Python names, and the check that every public one is documented.

An object has one documented name, the shortest that users write (`tvm_ffi.Tensor`); annotations and
docstrings use others (`Tensor`, `tvm_ffi.core.Tensor`), resolved here by what they are, not by how
they are spelled.
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

# Modules in whose terms annotations and docstrings are written.
_CONTEXTS = ("builtins", "typing", "collections.abc", "ctypes", "os", "pathlib")


def _import(name: str) -> Any:
    """Return what a dotted name stands for; raises AttributeError or ImportError."""
    module, _, attribute = name.rpartition(".")
    if module:
        # A package may show a function under the name of a submodule.
        for owner in (_import(module), sys.modules.get(module)):
            if hasattr(owner, attribute):
                return getattr(owner, attribute)
    return importlib.import_module(name)


def _meanings(target: str, contexts: tuple[str, ...]) -> Iterator[Any]:
    """Return what a name means in each context, the nearest first."""
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
    """Find the target of a reference that Sphinx has not found.

    A name that exists without a description, such as one of another package, stays text; one that
    stands for nothing is left to the warning.
    """
    if node.get("refdomain") != "py":
        return None
    if not hasattr(env, "documented_names"):
        env.documented_names = _documented(env)
    target = node["reftarget"]
    own = [entry for entry in (node.get("py:class"), node.get("py:module")) if entry]
    if node.get("py:class") and node.get("py:module"):
        own.insert(0, f"{node['py:module']}.{node['py:class']}")
    exists = False
    for meaning in _meanings(target, (*own, "tvm_ffi", "tvm_ffi.core", *_CONTEXTS)):
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
                _LOG.warning("%s is public, but docs/reference/python does not show it", full_name)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("missing-reference", resolve)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}
