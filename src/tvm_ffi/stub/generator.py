# SPDX-License-Identifier: Apache-2.0
"""What a target language has to offer, and the targets there are."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .consts import MarkerSyntax
    from .file_utils import CodeBlock, FileInfo
    from .utils import FuncInfo, InitConfig, ObjectInfo, Options

__all__ = ["Generator", "generator_names", "get_generator"]


class Generator(Protocol):
    """One target language.

    `imports` is what `new_imports` made for the file that is being written; what it holds is the
    generator's business.
    """

    name: str
    syntax: MarkerSyntax
    source_exts: frozenset[str]
    directive_kinds: frozenset[str]
    writes_functions: bool

    def new_imports(self) -> Any:
        """Return an empty collection of what a file imports."""

    def begin_file(self, imports: Any, file: FileInfo, functions: Collection[str]) -> None:
        """Learn about a file after its directives, before any block of any file is written.

        `functions` are the names of the functions that its ``global`` blocks declare.
        """

    def add_directive(self, imports: Any, name: str, payload: str, lineno: int) -> None:
        """Follow a directive of the file; ValueError, with its line, if it makes no sense."""

    def default_ty_map(self) -> dict[str, str]:
        """Return what types are called unless the file says otherwise."""

    def canonical_type_name(self, type_key: str) -> str:
        """Return the full name of the class of a type."""

    def is_builtin(self, type_key: str) -> bool:
        """Whether the language's own package has a class for a type."""

    def generate_global_funcs_block(
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: Any,
        opt: Options,
    ) -> None:
        """Fill a ``global`` block."""

    def generate_object_block(
        self,
        code: CodeBlock,
        ty_map: dict[str, str],
        imports: Any,
        opt: Options,
        obj_info: ObjectInfo,
        declared: Mapping[str, Path],
    ) -> None:
        """Fill an ``object`` block; `declared` says which file defines which type."""

    def generate_import_section_block(
        self, code: CodeBlock, imports: Any, opt: Options, defined_types: set[str]
    ) -> None:
        """Fill the ``import-section``, after all that needs imports; own types need none."""

    def generate_export_block(self, code: CodeBlock) -> None:
        """Fill an ``export`` block."""

    def generate_all_block(self, code: CodeBlock, names: set[str], opt: Options) -> None:
        """Fill the ``__all__`` block with the names that the file defines."""

    def generate_helpers_block(self, code: CodeBlock, opt: Options) -> None:
        """Fill a block of helper functions, for targets that have one."""

    def extra_export_names(self, imports: Any) -> set[str]:
        """Return names for ``__all__`` that belong to no function or type."""

    def check_view(self, code_blocks: list[CodeBlock]) -> object:
        """Return what ``--check`` compares."""

    def init_filename(self) -> str:
        """Return the name of the file that makes a folder a package."""

    def api_filename(self) -> str:
        """Return the name of the file with the functions and types of a prefix."""

    def place_of_imports(self, lines: Sequence[str]) -> int:
        """Return before which line of a file its ``import-section`` belongs."""

    def generate_init_file(
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        """Return what a package file lacks."""

    def generate_api_file(
        self,
        code_blocks: list[CodeBlock],
        ty_map: dict[str, str],
        module_name: str,
        object_infos: list[ObjectInfo],
        init_cfg: InitConfig,
        is_root: bool,
    ) -> str:
        """Return what the file of a prefix lacks."""

    def finalize_init(self, init_path: Path, generated_prefixes: set[str]) -> None:
        """Connect the packages after ``--init-*`` has written all."""


# ORDER as shown to users; a module is imported when its target is used.
_TARGETS = {"python": ".python_generator", "rust": ".rust_generator"}


def generator_names() -> list[str]:
    """Return the names of the targets."""
    return list(_TARGETS)


def get_generator(target: str) -> Generator:
    """Return the generator of a target.

    Raises
    ------
    ValueError
        If there is no such target.
    """
    if target not in _TARGETS:
        known = ", ".join(generator_names())
        raise ValueError(f"Unknown stubgen generator: {target!r}. Known generators: {known}")
    module = importlib.import_module(_TARGETS[target], __package__)
    generator: Generator = getattr(module, f"{target.title()}Generator")()
    return generator
