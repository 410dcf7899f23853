# SPDX-License-Identifier: Apache-2.0
"""`PythonGenerator`, the implementation of `Generator` for Python stubs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ..blocks import CodeBlock
from ..markers import PYTHON_SYNTAX
from ..object_info import FuncInfo, ObjectInfo
from ..options import InitConfig, Options
from ..source_file import FileInfo
from ..target import Generator, split_import_object
from .block_text import (
    generate_python_all,
    generate_python_export,
    generate_python_global_funcs,
    generate_python_import_section,
    generate_python_object,
)
from .imports import FileNames, ImportItem, PythonImports, is_name
from .package_files import generate_python_ffi_api, generate_python_init
from .source_context import classes_of, import_section_index
from .type_names import TY_MAP_DEFAULTS

__all__ = ["PythonGenerator"]

_FLAGS = {"": False, "0": False, "1": True, "false": False, "no": False, "true": True, "yes": True}


class PythonGenerator(Generator):
    """Generator of Python stubs; `tvm_ffi.stub.generator.Generator` describes the methods."""

    name = "python"
    syntax = PYTHON_SYNTAX
    source_exts = frozenset({".py", ".pyi"})
    directive_kinds = frozenset({"import-object"})
    writes_functions = True

    def new_imports(self) -> PythonImports:
        return PythonImports()

    def begin_file(
        self, imports: PythonImports, file: FileInfo, functions: Collection[str]
    ) -> None:
        imports.names = FileNames(
            classes_of(file.code_blocks), frozenset(functions), file.path.suffix == ".pyi"
        )

    def add_directive(self, imports: PythonImports, name: str, payload: str, lineno: int) -> None:
        """Apply a directive ``import-object: full.name;type_checking_only;alias``."""
        if name not in self.directive_kinds:
            raise ValueError(f"Unknown directive `{name}` at line {lineno}")
        full_name, flag, alias = split_import_object(payload)
        names = [*full_name.split("."), *([alias] if alias else [])]
        type_checking_only = _FLAGS.get(flag.lower())
        if type_checking_only is None or not all(map(is_name, names)):
            example = "`full.name;type_checking_only;alias`"
            raise ValueError(f"Invalid {name} format at line {lineno}. Example: {example}")
        # The class of a type such as `ffi.Enum` is in a submodule.
        importable = TY_MAP_DEFAULTS.get(full_name, full_name)
        imports.items.append(ImportItem(importable, type_checking_only, alias or None))
        if full_name.endswith(".libinfo.load_lib_module"):
            imports.has_lib_load = True

    def default_ty_map(self) -> dict[str, str]:
        return dict(TY_MAP_DEFAULTS)

    def canonical_type_name(self, type_key: str) -> str:
        return ImportItem(type_key).full_name

    def generate_global_funcs_block(
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: PythonImports,
        opt: Options,
    ) -> None:
        generate_python_global_funcs(
            code, global_funcs, ty_map, imports.items, opt, names=imports.names
        )

    def generate_object_block(
        self,
        code: CodeBlock,
        ty_map: dict[str, str],
        imports: PythonImports,
        opt: Options,
        obj_info: ObjectInfo,
        declared: Mapping[str, Path],
    ) -> None:
        generate_python_object(code, ty_map, imports.items, opt, obj_info, names=imports.names)

    def generate_import_section_block(
        self, code: CodeBlock, imports: PythonImports, opt: Options, defined_types: set[str]
    ) -> None:
        items = [
            item
            for item in imports.items
            if not (item.type_checking_only and item.full_name in defined_types)
        ]
        generate_python_import_section(code, items, opt)

    def generate_export_block(self, code: CodeBlock) -> None:
        generate_python_export(code)

    def generate_all_block(self, code: CodeBlock, names: set[str], opt: Options) -> None:
        generate_python_all(code, names, opt)

    def extra_export_names(self, imports: PythonImports) -> set[str]:
        """Return the class names of the file, and ``LIB`` if the file loads the library."""
        classes = set(imports.names.classes.values())
        return classes | {"LIB"} if imports.has_lib_load else classes

    def init_filename(self) -> str:
        return "__init__.py"

    def api_filename(self) -> str:
        return "_ffi_api.py"

    def import_section_index(self, lines: Sequence[str]) -> int:
        return import_section_index(lines)

    def generate_init_file(
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        return generate_python_init(code_blocks, module_name, submodule, self.syntax)

    def generate_api_file(
        self,
        code_blocks: list[CodeBlock],
        ty_map: dict[str, str],
        module_name: str,
        object_infos: list[ObjectInfo],
        init_cfg: InitConfig,
        is_root: bool,
    ) -> str:
        return generate_python_ffi_api(
            code_blocks, ty_map, module_name, object_infos, init_cfg, is_root, self.syntax
        )
