# SPDX-License-Identifier: Apache-2.0
"""Paths that a Rust file uses (``use`` declarations), and its directives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .directives import Directives
from .names import builtin_mirror_name

__all__ = ["RustImports", "RustUse"]


@dataclass(frozen=True, init=False)
class RustUse:
    """A path that a Rust file uses; ``a::b as c`` uses ``a::b`` under the name ``c``."""

    path: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "path", name)

    @property
    def leaf(self) -> str:
        """Name of the used item in the file."""
        return re.split(r"::|\s+as\s+", self.path)[-1]

    def as_use_line(self) -> str:
        """Return the ``use`` declaration, or an empty string for a name without a path."""
        return f"use {self.path};" if "::" in self.path else ""


@dataclass
class RustImports:
    """Paths that a Rust file uses, and the directives that apply to it.

    Parameters
    ----------
    items : list of RustUse
        The paths that the file uses.
    directives : Directives
        The directives of all files.
    builtin_mirrors : dict from str to str
        Name of the base struct by type key.  The file declares a struct with only this base for
        each of these types of the ``tvm-ffi`` crate.
    reserved : set of str
        Names that the file defines; a path that ends with such a name is written in full.
    own_types : set of str
        Keys of the types that the file defines.
    """

    items: list[RustUse] = field(default_factory=list)
    directives: Directives = field(default_factory=Directives)
    builtin_mirrors: dict[str, str] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    own_types: set[str] = field(default_factory=set)

    def record(self, name: str) -> str:
        """Add a path to the ``use`` declarations, and return the name to write in the file."""
        use = RustUse(name)
        if "::" not in name:
            return name
        if use not in self.items:
            if use.leaf in self.reserved or any(other.leaf == use.leaf for other in self.items):
                return name
            self.items.append(use)
        return use.leaf

    def record_builtin_base(self, chain: list[str]) -> str:
        """Declare one struct per ancestor in the crate; each contains only the struct before it.

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
