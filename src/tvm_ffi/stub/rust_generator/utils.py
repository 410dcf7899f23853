# SPDX-License-Identifier: Apache-2.0
"""Names, imports and types in Rust."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..._types.schema import TypeSchema
from .consts import (
    RUST_KEYWORDS,
    RUST_MOD_MAP,
    RUST_NOT_RAW_IDENTIFIERS,
    RUST_RESERVED_MEMBERS,
    RUST_ROOT_TYPE_KEY,
    RUST_UNSUPPORTED_ORIGINS,
)
from .directives import Directives

__all__ = [
    "RustImports",
    "RustUse",
    "builtin_mirror_name",
    "check_tokens",
    "is_crate_type_key",
    "render_rust_type",
    "rust_ident",
    "rust_module_path",
]


@dataclass(frozen=True, init=False)
class RustUse:
    """A path that a file uses; ``a::b as c`` gives it another name."""

    path: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "path", name)

    @property
    def leaf(self) -> str:
        """What the file calls it."""
        return re.split(r"::|\s+as\s+", self.path)[-1]

    def as_use_line(self) -> str:
        """Return the statement; nothing for a name without a path."""
        return f"use {self.path};" if "::" in self.path else ""


@dataclass
class RustImports:
    """What a file uses, and what its directives say.

    Parameters
    ----------
    items : list of RustUse
        The paths.
    directives : Directives
        The directives.
    builtin_mirrors : dict from str to str
        Base struct by key of the crate's types that get a stand-in.
    reserved : set of str
        Names that the file defines itself; what has the same name is written with its path.
    own_types : set of str
        Keys of the types that the file defines.
    """

    items: list[RustUse] = field(default_factory=list)
    directives: Directives = field(default_factory=Directives)
    builtin_mirrors: dict[str, str] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    own_types: set[str] = field(default_factory=set)

    def record(self, name: str) -> str:
        """Use a path, and return what the file writes for it."""
        use = RustUse(name)
        if "::" not in name:
            return name
        if use not in self.items:
            if use.leaf in self.reserved or any(other.leaf == use.leaf for other in self.items):
                return name
            self.items.append(use)
        return use.leaf

    def record_builtin_base(self, chain: list[str]) -> str:
        """Have stand-ins for types of the crate, each deriving from the one before.

        Returns the name of the last one's struct.
        """
        base = self.record("tvm_ffi::Object")
        for type_key in chain:
            self.builtin_mirrors.setdefault(type_key, base)
            base = builtin_mirror_name(type_key)
        return base


def is_crate_type_key(type_key: str) -> bool:
    """Whether a type belongs to the runtime, so that the crate is responsible for it."""
    return type_key.partition(".")[0] in RUST_MOD_MAP


def builtin_mirror_name(type_key: str) -> str:
    """Return the name of the stand-in for a type of the crate: ``ffi.Enum`` has ``FfiEnumObj``."""
    module, _, leaf = type_key.rpartition(".")
    module = module[:1].upper() + module[1:].replace(".", "_")
    return f"{module}{leaf}Obj"


def rust_ident(name: str) -> str:
    """Return a name for a member: the name itself where Rust allows it."""
    if name in RUST_NOT_RAW_IDENTIFIERS or name in RUST_RESERVED_MEMBERS:
        return f"{name}_"
    if name in RUST_KEYWORDS:
        return f"r#{name}"
    return name if name.startswith("r#") else plain_name(name)


def plain_name(name: str) -> str:
    """Return a text with other characters than those of names replaced."""
    plain = re.sub(r"\W", "_", name)
    if not plain or plain == "_":
        return f"{plain}_"
    return plain if not plain[0].isdigit() else f"_{plain}"


def type_names(type_key: str) -> tuple[str, str]:
    """Return the names of a type's reference type and of its struct."""
    leaf = type_key.rpartition(".")[2]
    name = f"{leaf}_" if leaf in RUST_NOT_RAW_IDENTIFIERS else leaf
    name = f"r#{name}" if name in RUST_KEYWORDS else plain_name(name)
    return name, f"{plain_name(leaf)}Obj"


def builtin_chain(ancestors: Iterable[str]) -> list[str]:
    """Return the types of the crate among ancestors, below the root."""
    return [key for key in ancestors if is_crate_type_key(key) and key != RUST_ROOT_TYPE_KEY]


def render_rust_type(
    schema: TypeSchema, ty_render: Callable[[str, str | None], str | None]
) -> str | None:
    """Return a type as Rust writes it, or None when there is none.

    Parameters
    ----------
    schema : TypeSchema
        The type.
    ty_render : callable
        Gives the name for an origin and, if known, its type key; None when there is none.
    """
    if schema.origin in RUST_UNSUPPORTED_ORIGINS:
        return None
    args = [render_rust_type(arg, ty_render) for arg in schema.args or ()]
    if any(arg is None for arg in args):
        return None
    if schema.origin == "Optional":
        return f"Option<{args[0]}>"
    name = ty_render(schema.origin, schema.type_key)
    if name is None or not args:
        return name
    return f"{name}<{', '.join(map(str, args))}>"


def rust_module_path(path: Path) -> tuple[str, ...]:
    """Return the module that a file of a crate is: ``src/a/b.rs`` is ``crate::a::b``.

    Raises
    ------
    ValueError
        If the file belongs to no crate.
    """
    path = path.absolute()
    crate = next((folder for folder in path.parents if (folder / "Cargo.toml").is_file()), None)
    if crate is None:
        raise ValueError(f"{path} is in no Cargo crate: no `Cargo.toml` above it")
    source = crate / "src"
    if source not in path.parents:
        raise ValueError(f"{path} is not under `{source}`, so it is in no module of the crate")
    parts = list(path.relative_to(source).with_suffix("").parts)
    is_folder = parts[-1] == "mod" or (len(parts) == 1 and parts[0] in {"lib", "main"})
    return ("crate", *(parts[:-1] if is_folder else parts))


_COMMENT = re.compile(r"^\s*//.*")
_TOKEN = re.compile(r'\w+|"(?:[^"\\]|\\.)*"|[^\s\w]')


def check_tokens(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the words and signs of definitions: no comments, ``use`` lines or layout."""
    kept = [
        line for line in lines if not _COMMENT.match(line) and not line.lstrip().startswith("use ")
    ]
    tokens = _TOKEN.findall("\n".join(kept))
    # A comma before a closing bracket comes and goes with line breaks.
    return tuple(
        token
        for token, following in zip(tokens, [*tokens[1:], ""])
        if not (token == "," and following in {")", "}", "]"})
    )
