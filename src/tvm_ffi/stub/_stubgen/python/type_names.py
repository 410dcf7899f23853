# SPDX-License-Identifier: Apache-2.0
"""Names of types in Python annotations; using a name records its import."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator

from .imports import FileNames, ImportItem, is_name

__all__ = ["TY_MAP_DEFAULTS", "TY_MAP_INPUT_DEFAULTS", "TypeNames"]

# Full Python names of types, by origin (the head of a type, such as Array) or type key.
TY_MAP_DEFAULTS = {
    "Any": "typing.Any",
    "Callable": "typing.Callable",
    "Array": "collections.abc.Sequence",
    "List": "collections.abc.MutableSequence",
    "Map": "collections.abc.Mapping",
    "Dict": "collections.abc.MutableMapping",
    "Object": "ffi.Object",
    "Tensor": "ffi.Tensor",
    "dtype": "ffi.dtype",
    "Device": "ffi.Device",
    # Runtime types whose class is in a submodule, not an attribute of `tvm_ffi`.
    "ffi.Enum": "tvm_ffi.dataclasses.Enum",
    "ffi.EnumState": "tvm_ffi.dataclasses.EnumState",
    "ffi.Error": "tvm_ffi.core.Error",
    "ffi.IntEnum": "tvm_ffi.dataclasses.IntEnum",
    "ffi.OpaquePyObject": "tvm_ffi.core.OpaquePyObject",
    "ffi.StrEnum": "tvm_ffi.dataclasses.StrEnum",
    "ffi.reflection.AccessPath": "tvm_ffi.access_path.AccessPath",
    "ffi.reflection.AccessStep": "tvm_ffi.access_path.AccessStep",
    # Runtime types without a Python class; annotations name their base class.
    "ffi.Unchanged": "ffi.Object",
    "ffi.VisitErrorContext": "ffi.Object",
}

# Full Python names for parameters, where they differ from those for results: a call converts any
# sequence or mapping to a container, and any framework's array to a tensor.
TY_MAP_INPUT_DEFAULTS = {
    "Array": "collections.abc.Sequence",
    "List": "collections.abc.Sequence",
    "Map": "collections.abc.Mapping",
    "Dict": "collections.abc.Mapping",
    "Tensor": "tvm_ffi.TensorLike",
}

_WITHOUT_CLASS = {"None", "Optional", "Union"}


class TypeNames:
    """Callable that returns the Python name of a type's origin, and records the name's import.

    Parameters
    ----------
    ty_map : dict from str to str
        Full names by origin: the defaults, changed by the ``ty-map`` directives of the file.
    imports : list of ImportItem
        Imports of the file; extended by this class.
    names : FileNames
        Names that the file defines.
    members : collection of str
        Attributes of the class that contains the annotations; in the class body they hide globals.
    """

    def __init__(
        self,
        ty_map: dict[str, str],
        imports: list[ImportItem],
        names: FileNames,
        members: Collection[str] = (),
    ) -> None:
        self._ty_map, self._imports, self._classes = ty_map, imports, names.classes
        self._taken = {*members, *names.functions, *names.classes.values()}
        self._bound: dict[str, str] = {}

    def __call__(self, origin: str) -> str:
        full_name = self._ty_map.get(origin, origin)
        is_renamed = self.is_renamed(origin)
        if origin in self._classes and not is_renamed:
            return self._classes[origin]
        if full_name in _WITHOUT_CLASS:
            return full_name
        if "." not in full_name:
            return self._bare_name(full_name, is_renamed)
        if not all(map(is_name, full_name.split("."))):
            return self("Object")  # the full name is not a valid import name
        return self.bind(full_name)

    def is_renamed(self, origin: str) -> bool:
        """Return True if a ``ty-map`` directive changes the name of an origin."""
        default = TY_MAP_DEFAULTS.get(origin, origin)
        return self._ty_map.get(origin, default) != default

    def for_parameters(self, origin: str) -> str:
        """Return the name of an origin for a parameter, which accepts more types than a result."""
        wider = TY_MAP_INPUT_DEFAULTS.get(origin)
        if wider is None or self._ty_map.get(origin) != TY_MAP_DEFAULTS[origin]:
            return self(origin)
        return self.bind(wider)

    def bind(self, full_name: str) -> str:
        """Import a class; return its name in the file, which is an alias if the name is taken."""
        bound = self._bound.get(full_name)
        if bound is None:
            bound = self._bound[full_name] = self._import(full_name)
        return bound

    def _import(self, full_name: str) -> str:
        item = ImportItem(full_name, type_checking_only=True)
        imported = {
            other.bound_name for other in self._imports if other.full_name != item.full_name
        }
        for alias in _aliases(item):
            name = alias or item.name
            if name not in self._taken and name not in imported:
                item.alias = alias
                break
        if item not in self._imports:
            self._imports.append(item)
        return item.bound_name

    def _bare_name(self, name: str, is_renamed: bool) -> str:
        if hasattr(builtins, name):
            return self.bind(f"builtins.{name}") if name in self._taken else name
        # A name without a module cannot be imported, but a directive may have chosen a local name.
        return name if is_renamed else self("Object")


def _aliases(item: ImportItem) -> Iterator[str | None]:
    yield None
    yield f"_{item.name}"
    with_module = f"_{item.mod.replace('.', '_')}_{item.name}"
    yield with_module
    count = 2
    while True:
        yield f"{with_module}_{count}"
        count += 1
