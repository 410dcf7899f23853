# SPDX-License-Identifier: Apache-2.0
"""Module trees for export: one node for all code, and one node per serialized module.

Modules are compared by identity, so a module with several importers is one node.  The code of all
modules is one node, because it is linked into one library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._binding.object import get_object_metadata
from ..module import Module
from .embedded_modules import LIBRARY_KIND, EmbeddedModule, find_cycle

_CODE = 0  # key of the node for all code; the other keys are addresses of modules


@dataclass
class ModuleTree:
    """The nodes of an exported library and their imports.

    One node represents all code; every other node is a serialized module.  Loading the library
    returns the module of the first node.
    """

    code: list[Module]
    """Modules whose code is exported as object files."""
    nodes: list[Module | None]
    """Module of each node; None for the node that represents all code."""
    imports: list[tuple[int, ...]]
    """For each node, the indices of the nodes that it imports."""

    @property
    def is_only_code(self) -> bool:
        """True if the code is the only node, so that the library needs no library binary."""
        return self.nodes == [None]

    def save(self) -> list[EmbeddedModule]:
        """Serialize all modules; return one embedded module per node."""
        return [
            EmbeddedModule(LIBRARY_KIND, None, imports)
            if module is None
            else EmbeddedModule(module.kind, module.save_to_bytes(), imports)
            for module, imports in zip(self.nodes, self.imports)
        ]


def plan_tree(module: Module | None, imports: Sequence[Module], *, has_objects: bool) -> ModuleTree:
    """Return the module tree whose root is `module`, or the node for the code if `module` is None.

    Raises
    ------
    TypeError
        If an element of `imports` is not a Module.
    ValueError
        If there is nothing to export, a module cannot be exported, or merging all code into one
        node makes the imports cyclic.
    """
    if module is None and not has_objects:
        raise ValueError(
            "export_library: expected a module, objects, or both to export, got neither"
        )
    found = _reachable([*([] if module is None else [module]), *imports])
    is_code = {address: _is_code(entry) for address, entry in found.items()}
    code = [entry for address, entry in found.items() if is_code[address]]

    def node(entry: Module) -> int:
        address = entry.__chandle__()
        return _CODE if is_code[address] else address

    edges = {node(entry): [node(child) for child in entry.imports] for entry in found.values()}
    edges[_CODE] = [node(child) for entry in code for child in entry.imports]
    root = _CODE if module is None else node(module)
    if has_objects and not code and module is not None:
        edges[root].append(_CODE)
    edges[root] += map(node, imports)
    edges[_CODE] = [child for child in dict.fromkeys(edges[_CODE]) if child != _CODE]
    return _number(code, found, root, edges)


def _number(
    code: list[Module], found: dict[int, Module], root: int, edges: dict[int, list[int]]
) -> ModuleTree:
    """Return the module tree, with its nodes numbered depth first from the root."""
    index: dict[int, int] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        if node not in index:
            index[node] = len(index)
            pending += reversed(edges[node])
    nodes = [found.get(node) for node in index]
    tree = ModuleTree(code, nodes, [_indices(edges[node], index) for node in index])
    cycle = find_cycle(tree.imports)
    if cycle is not None:
        path = " -> ".join(_name(nodes[i]) for i in cycle)
        raise ValueError(
            "export_library: the modules would import each other in a cycle, because all code "
            f"becomes one node of the module tree: {path}"
        )
    return tree


def _indices(children: list[int], index: dict[int, int]) -> tuple[int, ...]:
    """Return the node indices of children; list the node for the code only once."""
    first_code = children.index(_CODE) if _CODE in children else -1
    return tuple(
        index[child]
        for position, child in enumerate(children)
        if child != _CODE or position == first_code
    )


def _reachable(starts: Sequence[Module]) -> dict[int, Module]:
    """Return the modules that `starts` import transitively, by address, depth first."""
    found: dict[int, Module] = {}
    pending = list(reversed(starts))
    while pending:
        module = pending.pop()
        if not isinstance(module, Module):
            name = f"{type(module).__module__}.{type(module).__qualname__}"
            compile_it = "; compile it with tvm_ffi.codegen.llvm.jit and export the result"
            remedy = compile_it if name.startswith("llvmlite.") else ""
            raise TypeError(f"export_library: expected a tvm_ffi.Module, got {name}{remedy}")
        if module.__chandle__() not in found:
            found[module.__chandle__()] = module
            pending += reversed(list(module.imports))
    return found


def _is_code(module: Module) -> bool:
    """Return True if the module is exported as code, or False if it is saved to bytes."""
    if module.kind == "library":
        path = getattr(get_object_metadata(module), "argument", "")
        raise ValueError(
            f"a loaded library{f' ({path})' if path else ''} cannot be put into another one: "
            "pass the object files from which it was linked, as objects=[...]"
        )
    if module.kind == LIBRARY_KIND:
        raise ValueError(f"a module cannot have the kind {LIBRARY_KIND!r}, which denotes the code")
    if module.is_compilation_exportable():
        return True
    if not module.is_binary_serializable():
        raise ValueError(
            f"a module of kind {module.kind!r} can neither be saved to bytes nor be written as an "
            f"object file (property mask {module.get_property_mask()})"
        )
    return False


def _name(module: Module | None) -> str:
    return "code" if module is None else repr(module.kind)
