# SPDX-License-Identifier: Apache-2.0
"""The Python target as the pipeline sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from .. import consts as C  # noqa: N812
from ..file_utils import CodeBlock, FileInfo
from ..utils import FuncInfo, InitConfig, ObjectInfo, Options
from ._source import classes_of, place_of_imports
from .codegen import (
    generate_python_all,
    generate_python_export,
    generate_python_ffi_api,
    generate_python_global_funcs,
    generate_python_import_section,
    generate_python_init,
    generate_python_object,
)
from .consts import TY_MAP_DEFAULTS
from .utils import FileNames, ImportItem, PythonImports, is_name

__all__ = ["PythonGenerator"]

_FLAGS = {"": False, "0": False, "1": True, "false": False, "no": False, "true": True, "yes": True}


class PythonGenerator:
    """Writes stubs for Python; see `tvm_ffi.stub.generator.Generator` for the methods."""

    name = "python"
    syntax = C.PYTHON_SYNTAX
    source_exts = frozenset({".py", ".pyi"})
    directive_kinds = frozenset({"import-object"})

    # Whether a prefix with functions alone gets a file from --init-*.
    writes_functions = True

    def new_imports(self) -> PythonImports:
        """Return an empty collection."""
        return PythonImports()

    def begin_file(
        self, imports: PythonImports, file: FileInfo, functions: Collection[str]
    ) -> None:
        """Remember the names that the file defines."""
        imports.names = FileNames(
            classes_of(file.code_blocks), frozenset(functions), file.path.suffix == ".pyi"
        )

    def add_directive(self, imports: PythonImports, name: str, payload: str, lineno: int) -> None:
        """Follow ``import-object: full.name;type_checking_only;alias``."""
        if name not in self.directive_kinds:
            raise ValueError(f"Unknown directive `{name}` at line {lineno}")
        full_name, _, rest = payload.partition(";")
        flag, _, alias = rest.partition(";")
        full_name, alias = full_name.strip(), alias.strip()
        names = [*full_name.split("."), *([alias] if alias else [])]
        late = _FLAGS.get(flag.strip().lower())
        if late is None or not all(map(is_name, names)):
            example = "`full.name;type_checking_only;alias`"
            raise ValueError(f"Invalid {name} format at line {lineno}. Example: {example}")
        place = TY_MAP_DEFAULTS.get(full_name, full_name)  # `ffi.Enum` is not at the top
        imports.items.append(ImportItem(place, late, alias or None))
        if full_name.endswith(".libinfo.load_lib_module"):
            imports.has_lib_load = True

    def default_ty_map(self) -> dict[str, str]:
        """Return a copy of the table."""
        return dict(TY_MAP_DEFAULTS)

    def canonical_type_name(self, type_key: str) -> str:
        """Return the name that the class would be imported by."""
        return ImportItem(type_key).full_name

    def is_builtin(self, type_key: str) -> bool:
        """Return False: a file may have a class for any type."""
        return False

    def generate_global_funcs_block(
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: PythonImports,
        opt: Options,
    ) -> None:
        """Fill a ``global`` block."""
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
        """Fill an ``object`` block."""
        generate_python_object(code, ty_map, imports.items, opt, obj_info, names=imports.names)

    def generate_import_section_block(
        self, code: CodeBlock, imports: PythonImports, opt: Options, defined_types: set[str]
    ) -> None:
        """Fill the ``import-section``."""
        items = [
            item
            for item in imports.items
            if not (item.type_checking_only and item.full_name in defined_types)
        ]
        generate_python_import_section(code, items, opt)

    def generate_export_block(self, code: CodeBlock) -> None:
        """Fill an ``export`` block."""
        generate_python_export(code)

    def generate_all_block(self, code: CodeBlock, names: set[str], opt: Options) -> None:
        """Fill the ``__all__`` block."""
        generate_python_all(code, names, opt)

    def generate_helpers_block(self, code: CodeBlock, opt: Options) -> None:
        """Do nothing: Python stubs need no helpers."""

    def extra_export_names(self, imports: PythonImports) -> set[str]:
        """Return the classes, and ``LIB`` where the file loads the library."""
        classes = set(imports.names.classes.values())
        return classes | {"LIB"} if imports.has_lib_load else classes

    def check_view(self, code_blocks: list[CodeBlock]) -> tuple[str, ...]:
        """Return all lines."""
        return tuple(line for block in code_blocks for line in block.lines)

    def init_filename(self) -> str:
        """Return the name that Python gives packages."""
        return "__init__.py"

    def api_filename(self) -> str:
        """Return the name of the module with the stubs."""
        return "_ffi_api.py"

    def place_of_imports(self, lines: Sequence[str]) -> int:
        """Return the place after the docstring and what else must come first."""
        return place_of_imports(lines)

    def generate_init_file(
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        """Return what an ``__init__.py`` lacks."""
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
        """Return what a ``_ffi_api.py`` lacks."""
        return generate_python_ffi_api(
            code_blocks, ty_map, module_name, object_infos, init_cfg, is_root, self.syntax
        )

    def finalize_init(self, init_path: Path, generated_prefixes: set[str]) -> None:
        """Do nothing: Python finds packages by their folders."""
