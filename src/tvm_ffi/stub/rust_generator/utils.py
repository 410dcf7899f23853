# SPDX-License-Identifier: Apache-2.0
"""Rust names, ``use`` declarations, types and module paths for generated code."""

from .._stubgen.rust.field_types import render_rust_type
from .._stubgen.rust.imports import RustImports, RustUse
from .._stubgen.rust.module_tree import rust_module_path
from .._stubgen.rust.names import builtin_mirror_name, is_crate_type_key, rust_ident
from .._stubgen.rust.rustfmt import check_tokens

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

RustImports.__module__ = RustUse.__module__ = __name__
