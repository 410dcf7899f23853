# SPDX-License-Identifier: Apache-2.0
"""A tree of modules as a library will hold it: one node for all code, one for each other module.

Modules are told apart by identity, so one that several import stays one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._binding.object import note_of
from ..module import Module
from .embedded_modules import LIBRARY_KIND, EmbeddedModule, find_circle

_CODE = 0  # stands for the code where other nodes have the address of their module


@dataclass
class ModuleTree:
    """What a library will hold; loading it returns the first node."""

    code: list[Module]
    """Modules that become code, besides object files."""
    nodes: list[Module | None]
    """None for the code, whatever it is made from."""
    imports: list[tuple[int, ...]]
    """For each node, the indices of those that it imports."""

    @property
    def is_only_code(self) -> bool:
        """Whether a library that says nothing about modules is the same."""
        return self.nodes == [None]

    def save(self) -> list[EmbeddedModule]:
        """Return the nodes with what their modules were saved to."""
        return [
            EmbeddedModule(LIBRARY_KIND, None, imports)
            if module is None
            else EmbeddedModule(module.kind, module.save_to_bytes(), imports)
            for module, imports in zip(self.nodes, self.imports)
        ]


def plan_tree(module: Module | None, imports: Sequence[Module], *, has_objects: bool) -> ModuleTree:
    """Return the tree below a module, or below the code if there is none.

    Raises
    ------
    TypeError
        If something is not a module.
    ValueError
        If there is nothing, a module can be exported in no way, or modules would import in a
        circle, because code that they import from each other becomes one.
    """
    if module is None and not has_objects:
        raise ValueError("nothing to export: give a module, objects, or both")
    found = _reachable([*([] if module is None else [module]), *imports])
    is_code = {address: _is_code(each) for address, each in found.items()}
    code = [each for address, each in found.items() if is_code[address]]

    def node(each: Module) -> int:
        address = each.__chandle__()
        return _CODE if is_code[address] else address

    edges = {node(each): [node(child) for child in each.imports] for each in found.values()}
    edges[_CODE] = [node(child) for each in code for child in each.imports]
    root = _CODE if module is None else node(module)
    if has_objects and not code and module is not None:
        edges[root].append(_CODE)
    edges[root] += map(node, imports)
    edges[_CODE] = [child for child in dict.fromkeys(edges[_CODE]) if child != _CODE]
    return _number(code, found, root, edges)


def _number(
    code: list[Module], found: dict[int, Module], root: int, edges: dict[int, list[int]]
) -> ModuleTree:
    """Give the nodes indices, each before what it imports where nobody else does."""
    index: dict[int, int] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        if node not in index:
            index[node] = len(index)
            pending += reversed(edges[node])
    nodes = [found.get(node) for node in index]
    tree = ModuleTree(code, nodes, [_indices(edges[node], index) for node in index])
    circle = find_circle(tree.imports)
    if circle is not None:
        path = " -> ".join(_name(nodes[i]) for i in circle)
        raise ValueError(f"modules would import in a circle, as all code becomes one: {path}")
    return tree


def _indices(children: list[int], index: dict[int, int]) -> tuple[int, ...]:
    """Return indices; of the code only once, also where it was several modules."""
    first_code = children.index(_CODE) if _CODE in children else -1
    return tuple(
        index[child]
        for place, child in enumerate(children)
        if child != _CODE or place == first_code
    )


def _reachable(starts: Sequence[Module]) -> dict[int, Module]:
    """Return the modules that can be reached, by their addresses."""
    found: dict[int, Module] = {}
    pending = list(reversed(starts))
    while pending:
        module = pending.pop()
        if not isinstance(module, Module):
            raise TypeError(f"expected a Module, got {type(module).__name__}")
        if module.__chandle__() not in found:
            found[module.__chandle__()] = module
            pending += reversed(list(module.imports))
    return found


def _is_code(module: Module) -> bool:
    """Whether a module becomes code; the others are saved."""
    if module.kind == "library":
        path = getattr(note_of(module), "argument", "")
        raise ValueError(
            f"a loaded library{f' ({path})' if path else ''} cannot be put into another one: "
            "give the object files from which it was linked, as objects=[...]"
        )
    if module.kind == LIBRARY_KIND:
        raise ValueError(f"a module cannot have the kind {LIBRARY_KIND!r}: it stands for the code")
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
