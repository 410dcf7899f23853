# SPDX-License-Identifier: Apache-2.0
"""Rust identifiers of native types and fields, and struct names of the ``tvm-ffi`` crate."""

from __future__ import annotations

import re
from collections.abc import Iterable

RUST_ROOT_TYPE_KEY = "ffi.Object"
RUST_MOD_MAP = {"ffi": "tvm_ffi"}

RUST_KEYWORDS = frozenset(
    "Self abstract as async await become box break const continue crate do dyn else "  # noqa: SIM905
    "enum extern false final fn for gen if impl in let loop macro match mod move "
    "mut override priv pub ref return self static struct super trait true try type "
    "typeof unsafe unsized use virtual where while yield".split()
)
RUST_NOT_RAW_IDENTIFIERS = frozenset({"Self", "crate", "self", "super"})
# Name of the Rust field that contains the struct of the parent type.
RUST_RESERVED_MEMBERS = frozenset({"base"})


def is_crate_type_key(type_key: str) -> bool:
    """Return True if the ``tvm-ffi`` crate provides the type, so it is not generated."""
    return type_key.partition(".")[0] in RUST_MOD_MAP


def builtin_mirror_name(type_key: str) -> str:
    """Return the struct name for a type from the crate: ``FfiEnumObj`` for ``ffi.Enum``."""
    module, _, leaf = type_key.rpartition(".")
    module = module[:1].upper() + module[1:].replace(".", "_")
    return f"{module}{leaf}Obj"


def rust_ident(name: str) -> str:
    """Return the Rust identifier for the name of a field or method."""
    if name in RUST_NOT_RAW_IDENTIFIERS or name in RUST_RESERVED_MEMBERS:
        return f"{name}_"
    if name in RUST_KEYWORDS:
        return f"r#{name}"
    return name if name.startswith("r#") else plain_name(name)


def plain_name(name: str) -> str:
    """Return `name` with each character that identifiers cannot contain replaced by ``_``."""
    plain = re.sub(r"\W", "_", name)
    if not plain or plain == "_":
        return f"{plain}_"
    return plain if not plain[0].isdigit() else f"_{plain}"


def type_names(type_key: str) -> tuple[str, str]:
    """Return the names of the reference type and of the struct of a native type."""
    leaf = type_key.rpartition(".")[2]
    name = f"{leaf}_" if leaf in RUST_NOT_RAW_IDENTIFIERS else leaf
    name = f"r#{name}" if name in RUST_KEYWORDS else plain_name(name)
    return name, f"{plain_name(leaf)}Obj"


def builtin_chain(ancestors: Iterable[str]) -> list[str]:
    """Return the ancestors that the ``tvm-ffi`` crate provides, without the root type."""
    return [key for key in ancestors if is_crate_type_key(key) and key != RUST_ROOT_TYPE_KEY]
