# SPDX-License-Identifier: Apache-2.0
"""Which pointers a kernel of Triton writes to, from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["written_parameters"]

# What these return is what was in memory, and points nowhere.
_READS = (".load", ".atomic_add", ".atomic_and", ".atomic_cas", ".atomic_max", ".atomic_min")


def written_parameters(tree: ast.AST, parameters: Iterable[str]) -> set[str]:
    """Return the parameters that a kernel writes to, or may write to.

    Parameters
    ----------
    tree : ast.AST
        The kernel, which calls ``triton.language`` by the name ``tl``.
    parameters : iterable of str
        Parameters that are addresses.

    Notes
    -----
    An address that is handed to a function outside of ``tl`` counts as written.
    """
    reached = _reached(tree, parameters)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for target in _targets(node):
                found |= _addresses(target, reached)
    return found


def _reached(tree: ast.AST, parameters: Iterable[str]) -> dict[str, set[str]]:
    """Return for each name the parameters whose address may be in it."""
    reached = {name: {name} for name in parameters}
    assigned = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign))]
    grows = True
    while grows:
        grows = False
        for node in assigned:
            addresses = _addresses(node.value, reached)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in _names(targets):
                grows |= not addresses <= reached.setdefault(name, set())
                reached[name] |= addresses
    return reached


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part.id


def _addresses(node: ast.AST, reached: dict[str, set[str]]) -> set[str]:
    """Return the parameters whose address an expression may have."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_READS):
        return set()
    if isinstance(node, ast.Name):
        return reached.get(node.id, set())
    return {name for part in ast.iter_child_nodes(node) for name in _addresses(part, reached)}


def _targets(call: ast.Call) -> list[ast.expr]:
    """Return the expressions whose address a call may write to."""
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
