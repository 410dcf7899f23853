# SPDX-License-Identifier: Apache-2.0
"""`RustGenerator`, the implementation of `Generator` for Rust structs."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..blocks import CodeBlock
from ..markers import RUST_SYNTAX
from ..object_info import ObjectInfo
from ..options import InitConfig, Options
from ..source_file import FileInfo
from ..target import Generator, split_import_object
from .block_text import generate_rust_import_section, generate_rust_object
from .directives import RUST_DIRECTIVE_KINDS, Directives
from .field_types import RUST_TY_MAP_DEFAULTS
from .imports import RustImports
from .module_tree import finalize_rust_module_tree, generate_rust_api_file, rust_module_path
from .names import RUST_MOD_MAP, is_crate_type_key, type_names
from .rustfmt import check_tokens, format_blocks

__all__ = ["RustGenerator"]


class RustGenerator(Generator):
    """Generator of Rust structs; `tvm_ffi.stub.generator.Generator` describes the methods.

    ``global``, ``export`` and ``__all__`` blocks stay empty, because Rust code calls functions by
    name and exports items with ``pub``.
    """

    name = "rust"
    syntax = RUST_SYNTAX
    source_exts = frozenset({".rs"})
    directive_kinds = RUST_DIRECTIVE_KINDS
    writes_functions = False

    def __init__(self) -> None:
        self._directives = Directives()  # the directives of all files, shared by the files

    def new_imports(self) -> RustImports:
        return RustImports()

    def begin_file(self, imports: RustImports, file: FileInfo, functions: Collection[str]) -> None:
        """Read the names that a file defines, and share its directives with all other files."""
        for block in file.code_blocks:
            if block.kind == "object":
                imports.own_types.add(str(block.param))
                imports.reserved.update(type_names(str(block.param)))
        imports.reserved.update(spec.name for spec in imports.directives.enums.values())
        self._directives.merge(imports.directives)
        imports.directives = self._directives

    def end_file(self, file: FileInfo) -> None:
        """Format the filled blocks of a file with ``rustfmt``."""
        filled = [block for block in file.code_blocks if block.kind in {"object", "import-section"}]
        format_blocks(filled, file.path.absolute().parent)

    def add_directive(self, imports: RustImports, name: str, payload: str, lineno: int) -> None:
        """Apply a directive about a type, or the directive ``import-object: path;flag;alias``."""
        if name != "import-object":
            imports.directives.add(name, payload, lineno)
            return
        path, _, alias = split_import_object(payload)
        if not path:
            raise ValueError(f"Invalid `{name}` directive at line {lineno}. Expected `a::b::C`")
        imports.record(f"{path} as {alias}" if alias else path)

    def default_ty_map(self) -> dict[str, str]:
        return dict(RUST_TY_MAP_DEFAULTS)

    def canonical_type_name(self, type_key: str) -> str:
        """Return the Rust path of a type's reference type, from the root of its crate."""
        first, *rest = RUST_TY_MAP_DEFAULTS.get(type_key, type_key.replace(".", "::")).split("::")
        return "::".join([RUST_MOD_MAP.get(first, first), *rest])

    def is_builtin(self, type_key: str) -> bool:
        return is_crate_type_key(type_key)

    def generate_object_block(
        self,
        code: CodeBlock,
        ty_map: dict[str, str],
        imports: RustImports,
        opt: Options,
        obj_info: ObjectInfo,
        declared: Mapping[str, Path],
    ) -> None:
        modules = _ModulePaths(declared)
        own = imports.own_types
        generate_rust_object(code, ty_map, imports, opt, obj_info, modules, own=own)

    def generate_import_section_block(
        self, code: CodeBlock, imports: RustImports, opt: Options, defined_types: set[str]
    ) -> None:
        generate_rust_import_section(code, imports, opt, defined_types)

    def check_view(self, code_blocks: list[CodeBlock]) -> dict[tuple[str, object], tuple[str, ...]]:
        """Return the tokens of the ``object`` blocks, so that ``--check`` ignores formatting."""
        return {
            ("object", block.param): check_tokens(block.lines)
            for block in code_blocks
            if block.kind == "object"
        }

    def init_filename(self) -> str:
        return "mod.rs"

    def api_filename(self) -> str:
        return "mod.rs"

    def import_section_index(self, lines: Sequence[str]) -> int:
        """Return the index of the first line after the module's inner attributes and docs."""
        index = 0
        while index < len(lines) and lines[index].lstrip().startswith(("#![", "//!")):
            index += 1
        return index

    def generate_api_file(
        self,
        code_blocks: list[CodeBlock],
        ty_map: dict[str, str],
        module_name: str,
        object_infos: list[ObjectInfo],
        init_cfg: InitConfig,
        is_root: bool,
    ) -> str:
        return generate_rust_api_file(
            code_blocks, ty_map, module_name, object_infos, init_cfg, is_root, self.syntax
        )

    def finalize_init(self, init_path: Path, generated_prefixes: set[str]) -> None:
        """Declare each new module in the file of its parent module."""
        finalize_rust_module_tree(init_path, generated_prefixes)


class _ModulePaths(UserDict[str, Any]):
    """Module paths by type key, computed on access, because files outside a crate have none."""

    def __getitem__(self, type_key: str) -> tuple[str, ...]:
        return rust_module_path(self.data[type_key])
