# SPDX-License-Identifier: Apache-2.0
"""Static analysis of a Triton kernel's syntax tree: the pointer parameters that it writes to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["written_parameters"]

# Suffixes of calls that return a value read from memory; such a value is not an address.
_READS = (".load", ".atomic_add", ".atomic_and", ".atomic_cas", ".atomic_max", ".atomic_min")


def written_parameters(tree: ast.AST, parameters: Iterable[str]) -> set[str]:
    """Return the pointer parameters that a kernel writes to, or may write to.

    Parameters
    ----------
    tree : ast.AST
        Syntax tree of the kernel, in which ``tl`` is ``triton.language``.
    parameters : iterable of str
        Names of the kernel's pointer parameters.

    Notes
    -----
    A pointer that the kernel passes to a function outside of ``tl`` counts as written.
    """
    aliases = _aliases(tree, parameters)
    written: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for target in _targets(node):
                written |= _addresses(target, aliases)
    return written


def _aliases(tree: ast.AST, parameters: Iterable[str]) -> dict[str, set[str]]:
    """Return the pointer parameters that each local variable may be derived from, by name."""
    aliases = {name: {name} for name in parameters}
    assignments = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign))]
    grows = True
    while grows:
        grows = False
        for node in assignments:
            addresses = _addresses(node.value, aliases)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in _names(targets):
                grows |= not addresses <= aliases.setdefault(name, set())
                aliases[name] |= addresses
    return aliases


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                yield child.id


def _addresses(node: ast.AST, aliases: dict[str, set[str]]) -> set[str]:
    """Return the pointer parameters that the address in an expression may be derived from."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_READS):
        return set()
    if isinstance(node, ast.Name):
        return aliases.get(node.id, set())
    return {name for child in ast.iter_child_nodes(node) for name in _addresses(child, aliases)}


def _targets(call: ast.Call) -> list[ast.expr]:
    """Return the argument expressions whose addresses a call may write to."""
    function = ast.unparse(call.func)
    method = function.rpartition(".")[2]
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if method == "store" or method.startswith("atomic_"):
        is_of_tl = function.startswith("tl.")
        return (
            arguments[:1]
            if is_of_tl or not isinstance(call.func, ast.Attribute)
            else [call.func.value]
        )
    if function.startswith("tl.") and "inline_asm" not in function:
        return []
    return [] if method == "load" else arguments
