# SPDX-License-Identifier: Apache-2.0
"""The Rust target as the pipeline sees it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from .. import consts as C  # noqa: N812
from ..file_utils import CodeBlock, FileInfo
from ..utils import FuncInfo, InitConfig, ObjectInfo, Options
from .codegen import (
    finalize_rust_module_tree,
    generate_rust_api_file,
    generate_rust_import_section,
    generate_rust_object,
)
from .consts import RUST_DIRECTIVE_KINDS, RUST_MOD_MAP, RUST_TY_MAP_DEFAULTS
from .directives import Directives
from .utils import (
    RustImports,
    check_tokens,
    is_crate_type_key,
    rust_module_path,
    type_names,
)

__all__ = ["RustGenerator"]


class RustGenerator:
    """Writes mirrors for Rust; see `tvm_ffi.stub.generator.Generator` for the methods."""

    name = "rust"
    syntax = C.RUST_SYNTAX
    source_exts = frozenset({".rs"})
    directive_kinds = RUST_DIRECTIVE_KINDS

    # Whether a prefix with functions alone gets a file from --init-*.
    writes_functions = False

    def __init__(self) -> None:
        self._directives = Directives()  # of all files

    def new_imports(self) -> RustImports:
        """Return an empty collection."""
        return RustImports()

    def begin_file(self, imports: RustImports, file: FileInfo, functions: Collection[str]) -> None:
        """Remember the names that the file defines, and share its directives with all files."""
        for block in file.code_blocks:
            if block.kind == "object":
                imports.own_types.add(str(block.param))
                imports.reserved.update(type_names(str(block.param)))
        imports.reserved.update(spec.name for spec in imports.directives.enums.values())
        self._directives.merge(imports.directives)
        imports.directives = self._directives

    def add_directive(self, imports: RustImports, name: str, payload: str, lineno: int) -> None:
        """Follow a directive about a type, or ``import-object: path;flag;alias``."""
        if name != "import-object":
            imports.directives.add(name, payload, lineno)
            return
        path, _, rest = (part.strip() for part in payload.partition(";"))
        alias = rest.partition(";")[2].strip()
        if not path:
            raise ValueError(f"Invalid `{name}` directive at line {lineno}. Expected `a::b::C`")
        imports.record(f"{path} as {alias}" if alias else path)

    def default_ty_map(self) -> dict[str, str]:
        """Return a copy of the table."""
        return dict(RUST_TY_MAP_DEFAULTS)

    def canonical_type_name(self, type_key: str) -> str:
        """Return the path of a type's reference type, from the root of its crate."""
        first, *rest = RUST_TY_MAP_DEFAULTS.get(type_key, type_key.replace(".", "::")).split("::")
        return "::".join([RUST_MOD_MAP.get(first, first), *rest])

    def is_builtin(self, type_key: str) -> bool:
        """Whether the crate is responsible for a type."""
        return is_crate_type_key(type_key)

    def generate_global_funcs_block(
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: RustImports,
        opt: Options,
    ) -> None:
        """Empty the block: functions are called by name."""
        code.fill([])

    def generate_object_block(
        self,
        code: CodeBlock,
        ty_map: dict[str, str],
        imports: RustImports,
        opt: Options,
        obj_info: ObjectInfo,
        declared: Mapping[str, Path],
    ) -> None:
        """Fill an ``object`` block."""
        modules = _Modules(declared)
        own = imports.own_types
        generate_rust_object(code, ty_map, imports, opt, obj_info, modules, own=own)

    def generate_import_section_block(
        self, code: CodeBlock, imports: RustImports, opt: Options, defined_types: set[str]
    ) -> None:
        """Fill the ``import-section``."""
        generate_rust_import_section(code, imports, opt, defined_types)

    def generate_export_block(self, code: CodeBlock) -> None:
        """Empty the block: modules are declared by ``--init-*``."""
        code.fill([])

    def generate_all_block(self, code: CodeBlock, names: set[str], opt: Options) -> None:
        """Empty the block: Rust exports by ``pub``."""
        code.fill([])

    def generate_helpers_block(self, code: CodeBlock, opt: Options) -> None:
        """Do nothing: the crate has the helpers."""

    def extra_export_names(self, imports: RustImports) -> set[str]:
        """Return nothing."""
        return set()

    def check_view(self, code_blocks: list[CodeBlock]) -> dict[tuple[str, object], tuple[str, ...]]:
        """Return the definitions of the ``object`` blocks, without their layout."""
        return {
            ("object", block.param): check_tokens(block.lines)
            for block in code_blocks
            if block.kind == "object"
        }

    def init_filename(self) -> str:
        """Return the name that Rust gives the file of a folder."""
        return "mod.rs"

    def api_filename(self) -> str:
        """Return the same: the types of a prefix stand in the file of its folder."""
        return "mod.rs"

    def place_of_imports(self, lines: Sequence[str]) -> int:
        """Return the place behind what must come first: attributes and docs of the module."""
        place = 0
        while place < len(lines) and lines[place].lstrip().startswith(("#![", "//!")):
            place += 1
        return place

    def generate_init_file(
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        """Return nothing: the file of a folder is that of its prefix."""
        return ""

    def generate_api_file(
        self,
        code_blocks: list[CodeBlock],
        ty_map: dict[str, str],
        module_name: str,
        object_infos: list[ObjectInfo],
        init_cfg: InitConfig,
        is_root: bool,
    ) -> str:
        """Return what a ``mod.rs`` lacks."""
        return generate_rust_api_file(
            code_blocks, ty_map, module_name, object_infos, init_cfg, is_root, self.syntax
        )

    def finalize_init(self, init_path: Path, generated_prefixes: set[str]) -> None:
        """Declare the modules in the files above them."""
        finalize_rust_module_tree(init_path, generated_prefixes)


class _Modules(Mapping[str, "tuple[str, ...]"]):
    """Modules by type key; a file's is looked for when it is needed, since it may have none."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def __getitem__(self, type_key: str) -> tuple[str, ...]:
        return rust_module_path(self._files[type_key])

    def __contains__(self, type_key: object) -> bool:
        return type_key in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)
