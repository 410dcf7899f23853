# SPDX-License-Identifier: Apache-2.0
"""``use`` declarations and directives of a Rust file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .directives import Directives
from .names import builtin_mirror_name

__all__ = ["RustImports", "RustUse"]


@dataclass(frozen=True, init=False)
class RustUse:
    """A path that a file uses; ``a::b as c`` renames it."""

    path: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "path", name)

    @property
    def leaf(self) -> str:
        """Name in the file."""
        return re.split(r"::|\s+as\s+", self.path)[-1]

    def as_use_line(self) -> str:
        """Return the ``use`` declaration; empty for a name without a path."""
        return f"use {self.path};" if "::" in self.path else ""


@dataclass
class RustImports:
    """Used paths and directives of a file.

    Parameters
    ----------
    items : list of RustUse
        The used paths.
    directives : Directives
        The directives of all files.
    builtin_mirrors : dict from str to str
        Types of the crate for which the file declares a header-only struct: the base struct by
        type key.
    reserved : set of str
        Names that the file defines; a used path with the same last name is written in full.
    own_types : set of str
        Keys of the types that the file defines.
    """

    items: list[RustUse] = field(default_factory=list)
    directives: Directives = field(default_factory=Directives)
    builtin_mirrors: dict[str, str] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    own_types: set[str] = field(default_factory=set)

    def record(self, name: str) -> str:
        """Add a path, and return its name in the file."""
        use = RustUse(name)
        if "::" not in name:
            return name
        if use not in self.items:
            if use.leaf in self.reserved or any(other.leaf == use.leaf for other in self.items):
                return name
            self.items.append(use)
        return use.leaf

    def record_builtin_base(self, chain: list[str]) -> str:
        """Declare header-only structs for a chain of crate types, each derived from the previous.

        Returns
        -------
        str
            Name of the last struct.
        """
        base = self.record("tvm_ffi::Object")
        for type_key in chain:
            self.builtin_mirrors.setdefault(type_key, base)
            base = builtin_mirror_name(type_key)
        return base
