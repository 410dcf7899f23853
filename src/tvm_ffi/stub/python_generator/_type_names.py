# SPDX-License-Identifier: Apache-2.0
"""What a file calls the classes in its annotations, and the imports this needs."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator

from .consts import TY_MAP_DEFAULTS, TY_MAP_INPUT_DEFAULTS
from .utils import FileNames, ImportItem, is_name

__all__ = ["TypeNames", "bind"]

_WORDS = {"None", "Optional", "Union"}  # written without a class


class TypeNames:
    """Gives the name to print for an origin, and records its import.

    Parameters
    ----------
    ty_map : dict from str to str
        Full names by origin: the defaults, changed by the file's directives.
    imports : list of ImportItem
        What the file imports; extended.
    names : FileNames
        What the file defines.
    members : collection of str
        Names that mean something else where the annotations stand: the attributes of a class.
    """

    def __init__(
        self,
        ty_map: dict[str, str],
        imports: list[ImportItem],
        names: FileNames,
        members: Collection[str] = (),
    ) -> None:
        self._ty_map, self._imports, self._names = ty_map, imports, names
        self._taken = {*members, *names.functions, *names.classes.values()}
        self._members = set(members)

    def __call__(self, origin: str) -> str:
        full_name = self._ty_map.get(origin, origin)
        is_chosen = self.is_chosen(origin)
        if origin in self._names.classes and not is_chosen:
            return self._names.classes[origin]
        if full_name in _WORDS:
            return full_name
        if "." not in full_name:
            return self._of_bare_name(full_name, is_chosen)
        if not all(map(is_name, full_name.split("."))):
            return self("Object")  # no Python name reaches it
        return bind(self._imports, full_name, self._taken)

    def is_chosen(self, origin: str) -> bool:
        """Whether an origin is called something else than usual."""
        default = TY_MAP_DEFAULTS.get(origin, origin)
        return self._ty_map.get(origin, default) != default

    def bind(self, full_name: str) -> str:
        """Return what a class is called that stands for no origin; its import is recorded."""
        return bind(self._imports, full_name, self._taken)

    def _of_bare_name(self, name: str, is_chosen: bool) -> str:
        if hasattr(builtins, name):
            if name in self._taken:
                return bind(self._imports, f"builtins.{name}", self._taken)
        elif not is_chosen:
            return self("Object")  # a type without a module: nothing to import it from
        return name

    def for_parameters(self, origin: str) -> str:
        """Return the same for a parameter, which takes more types than a result can have."""
        wider = TY_MAP_INPUT_DEFAULTS.get(origin)
        if wider is None or self._ty_map.get(origin) != TY_MAP_DEFAULTS[origin]:
            return self(origin)
        return bind(self._imports, wider, self._taken)


def bind(imports: list[ImportItem], full_name: str, taken: Collection[str]) -> str:
    """Return what a class is called, after adding its import if it is new.

    Parameters
    ----------
    imports : list of ImportItem
        What the file imports; extended.
    full_name : str
        The class with its module.
    taken : collection of str
        Names that mean something else.
    """
    item = ImportItem(full_name, type_checking_only=True)
    others = {entry.bound_name for entry in imports if entry.full_name != item.full_name}
    for alias in _aliases(item):
        if (alias or item.name) not in taken and (alias or item.name) not in others:
            item.alias = alias
            break
    if item not in imports:
        imports.append(item)
    return item.bound_name


def _aliases(item: ImportItem) -> Iterator[str | None]:
    yield None
    yield f"_{item.name}"
    with_module = f"_{item.mod.replace('.', '_')}_{item.name}"
    yield with_module
    count = 2
    while True:
        yield f"{with_module}_{count}"
        count += 1
