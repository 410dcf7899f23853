# SPDX-License-Identifier: Apache-2.0
"""Imports of a Python file, the names that the file defines, and its import statements."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = [
    "MOD_MAP",
    "FileNames",
    "ImportItem",
    "PythonImports",
    "import_statements",
    "is_name",
    "quoted",
]

# Python module of a type by the first component of its type key, where the two differ.
MOD_MAP = {
    "testing": "tvm_ffi.testing",
    "ffi": "tvm_ffi",
}


@dataclass(init=False, repr=False)
class ImportItem:
    """A name that a Python file imports.

    Parameters
    ----------
    full_name : str
        Name with its module, or a module if there is no dot.  A type key is also allowed: its first
        component becomes the Python module, so ``ffi.X`` is ``tvm_ffi.X``.
    type_checking_only : bool
        True if only type checkers execute the import.
    alias : str, optional
        Name after ``as`` in the import statement.
    """

    mod: str
    name: str
    type_checking_only: bool = False
    alias: str | None = None

    def __init__(
        self, full_name: str, type_checking_only: bool = False, alias: str | None = None
    ) -> None:
        mod, _, self.name = full_name.rpartition(".")
        first, dot, rest = mod.partition(".")
        self.mod = MOD_MAP.get(first, first) + dot + rest
        self.type_checking_only = type_checking_only
        self.alias = alias

    @property
    def full_name(self) -> str:
        """Name of the imported object with its module."""
        return f"{self.mod}.{self.name}" if self.mod else self.name

    @property
    def name_with_alias(self) -> str:
        """Text after ``import`` in the statement."""
        return f"{self.name} as {self.alias}" if self.alias else self.name

    @property
    def statement_key(self) -> tuple[str, str]:
        """Pair of module and imported name, the argument of `import_statements`."""
        return self.mod, self.name_with_alias

    @property
    def bound_name(self) -> str:
        """Name of the imported object in the importing file."""
        return self.alias or self.name

    def __str__(self) -> str:
        origin = f"from {self.mod} " if self.mod else ""
        return f"{origin}import {self.name_with_alias}"

    __repr__ = __str__


@dataclass(frozen=True)
class FileNames:
    """Names that a file defines; they are known before its blocks are written.

    Parameters
    ----------
    classes : mapping from str to str
        Class names by type key.
    functions : frozenset of str
        Names of the functions in the ``global`` blocks.
    is_interface : bool
        True for an interface file (.pyi), in which overloads have no implementation.
    """

    classes: Mapping[str, str] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    is_interface: bool = False


@dataclass
class PythonImports:
    """Imports of a Python file, and the names that the file defines.

    Parameters
    ----------
    items : list of ImportItem
        The imported names.
    has_lib_load : bool
        True if the file loads the library as ``LIB``.
    """

    items: list[ImportItem] = field(default_factory=list)
    has_lib_load: bool = False
    names: FileNames = field(default_factory=FileNames)


def is_name(text: str) -> bool:
    """Return True if `text` is an identifier and not a keyword."""
    return text.isidentifier() and not keyword.iskeyword(text)


def quoted(text: str) -> str:
    """Return a Python string literal with double quotes."""
    return json.dumps(text, ensure_ascii=False)


def import_statements(items: Iterable[tuple[str, str]]) -> list[str]:
    """Return sorted import statements, one per module, for pairs of module and imported name."""
    by_module: dict[str, list[str]] = {}
    for module, name in sorted(set(items)):
        by_module.setdefault(module, []).append(name)
    return [
        f"from {module} import {', '.join(names)}" if module else f"import {', '.join(names)}"
        for module, names in by_module.items()
    ]
