# SPDX-License-Identifier: Apache-2.0
"""Interface of a target language (`Generator`), and the list of targets."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .blocks import CodeBlock
    from .markers import MarkerSyntax
    from .object_info import FuncInfo, ObjectInfo
    from .options import InitConfig, Options
    from .source_file import FileInfo

__all__ = ["Generator", "generator_names", "get_generator", "split_import_object"]


class Generator(Protocol):
    """A target language; a subclass inherits the methods that it does not need to change.

    The pipeline passes `imports` from `new_imports` to the other methods for the same file; only
    the generator knows its type.
    """

    name: str
    syntax: MarkerSyntax
    source_exts: frozenset[str]
    directive_kinds: frozenset[str]
    writes_functions: bool  # True if --init-* writes files for prefixes without types

    def new_imports(self) -> Any:
        """Return an empty collection of imports for a file."""

    def begin_file(self, imports: Any, file: FileInfo, functions: Collection[str]) -> None:
        """Read the names that a file defines, after its directives and before its blocks.

        `functions` are the names of the functions in the ``global`` blocks of the file.
        """

    def end_file(self, file: FileInfo) -> None:
        """Lay out the filled blocks of a file; does nothing by default."""

    def add_directive(self, imports: Any, name: str, payload: str, lineno: int) -> None:
        """Apply a directive; raise ValueError with the line number if it is invalid."""

    def default_ty_map(self) -> dict[str, str]:
        """Return the default names of types by origin or type key."""
        raise NotImplementedError

    def canonical_type_name(self, type_key: str) -> str:
        """Return the full name of the class of a type."""
        raise NotImplementedError

    def is_builtin(self, type_key: str) -> bool:
        """Return True if the language's package has a class for a type."""
        return False

    def generate_global_funcs_block(
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: Any,
        opt: Options,
    ) -> None:
        """Fill a ``global`` block; empties it by default."""
        code.fill([])

    def generate_object_block(
        self,
        code: CodeBlock,
        ty_map: dict[str, str],
        imports: Any,
        opt: Options,
        obj_info: ObjectInfo,
        declared: Mapping[str, Path],
    ) -> None:
        """Fill an ``object`` block; `declared` maps type keys to the files that define them."""

    def generate_import_section_block(
        self, code: CodeBlock, imports: Any, opt: Options, defined_types: set[str]
    ) -> None:
        """Fill the ``import-section`` after all other blocks; `defined_types` are not imported."""

    def generate_export_block(self, code: CodeBlock) -> None:
        """Fill an ``export`` block; empties it by default."""
        code.fill([])

    def generate_all_block(self, code: CodeBlock, names: set[str], opt: Options) -> None:
        """Fill the ``__all__`` block with the names of a file; empties it by default."""
        code.fill([])

    def generate_helpers_block(self, code: CodeBlock, opt: Options) -> None:
        """Fill a block of helper functions; does nothing by default."""

    def extra_export_names(self, imports: Any) -> set[str]:
        """Return names for ``__all__`` besides functions; none by default."""
        return set()

    def check_view(self, code_blocks: list[CodeBlock]) -> object:
        """Return the value that ``--check`` compares; all lines by default."""
        return tuple(line for block in code_blocks for line in block.lines)

    def init_filename(self) -> str:
        """Return the name of the file that makes a folder a package."""
        raise NotImplementedError

    def api_filename(self) -> str:
        """Return the name of the file with the functions and types of a prefix."""
        raise NotImplementedError

    def import_section_index(self, lines: Sequence[str]) -> int:
        """Return the index of the line before which an ``import-section`` is inserted."""
        raise NotImplementedError

    def generate_init_file(
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        """Return the text to append to a package file; empty by default."""
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
        """Return the text to append to the file of a prefix.

        Parameters
        ----------
        code_blocks : list of CodeBlock
            Present content of the file.
        ty_map : dict from str to str
            Full names of types by origin or type key.
        module_name : str
            The prefix.
        object_infos : list of ObjectInfo
            Types under the prefix, parents first.
        init_cfg : InitConfig
            Library of the package.
        is_root : bool
            True if the file loads the library.
        """
        raise NotImplementedError

    def finalize_init(self, init_path: Path, generated_prefixes: set[str]) -> None:
        """Connect the packages that ``--init-*`` has written; does nothing by default."""


def split_import_object(payload: str) -> tuple[str, str, str]:
    """Return name, flag and alias of the directive ``import-object: name;flag;alias``."""
    name, _, rest = payload.partition(";")
    flag, _, alias = rest.partition(";")
    return name.strip(), flag.strip(), alias.strip()


# ORDER as shown to users; a module is imported when its target is used.
_TARGETS = {
    "python": (".python.generator", "PythonGenerator"),
    "rust": (".rust.generator", "RustGenerator"),
}


def generator_names() -> list[str]:
    """Return the names of the targets."""
    return list(_TARGETS)


def get_generator(target: str) -> Generator:
    """Return the generator of a target.

    Raises
    ------
    ValueError
        If the target is unknown.
    """
    if target not in _TARGETS:
        known = ", ".join(generator_names())
        raise ValueError(f"Unknown stubgen generator: {target!r}. Known generators: {known}")
    module, class_name = _TARGETS[target]
    generator: Generator = getattr(importlib.import_module(module, __package__), class_name)()
    return generator
