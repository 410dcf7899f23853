# SPDX-License-Identifier: Apache-2.0
"""Target languages: the interface `Generator`, and the list of implementations."""

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

    `new_imports` creates an object for each file, which the pipeline passes as `imports` to the
    other methods for that file.  Only the generator knows the type of the object.
    """

    name: str
    syntax: MarkerSyntax
    source_exts: frozenset[str]
    directive_kinds: frozenset[str]
    writes_functions: bool  # True if --init-* writes files also for prefixes that have no types

    def new_imports(self) -> Any:
        """Return an empty collection for the imports of a file."""

    def begin_file(self, imports: Any, file: FileInfo, functions: Collection[str]) -> None:
        """Read the names that a file defines, after its directives and before its blocks.

        `functions` contains the names of the functions in the ``global`` blocks of the file.
        """

    def end_file(self, file: FileInfo) -> None:
        """Format the filled blocks of a file; the default does nothing."""

    def add_directive(self, imports: Any, name: str, payload: str, lineno: int) -> None:
        """Apply a directive; raise ValueError with the line number if it is invalid."""

    def default_ty_map(self) -> dict[str, str]:
        """Return the default names of types in the language, by origin or type key."""
        raise NotImplementedError

    def canonical_type_name(self, type_key: str) -> str:
        """Return the full name of a type's class in the language."""
        raise NotImplementedError

    def is_builtin(self, type_key: str) -> bool:
        """Return True if the language's tvm-ffi package has a class for the type."""
        return False

    def generate_global_funcs_block(
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: Any,
        opt: Options,
    ) -> None:
        """Fill a ``global`` block with function stubs; the default empties it."""
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
        """Fill the ``import-section`` after all other blocks; omit imports of `defined_types`."""

    def generate_export_block(self, code: CodeBlock) -> None:
        """Fill an ``export`` block, which re-exports a submodule; the default empties it."""
        code.fill([])

    def generate_all_block(self, code: CodeBlock, names: set[str], opt: Options) -> None:
        """Fill the ``__all__`` block with the names of a file; the default empties it."""
        code.fill([])

    def generate_helpers_block(self, code: CodeBlock, opt: Options) -> None:
        """Fill a block of helper functions for the other blocks; the default does nothing."""

    def extra_export_names(self, imports: Any) -> set[str]:
        """Return names for ``__all__`` that are not functions; the default has none."""
        return set()

    def check_view(self, code_blocks: list[CodeBlock]) -> object:
        """Return the tuple that ``--check`` compares; the default is all lines of the blocks."""
        return tuple(line for block in code_blocks for line in block.lines)

    def init_filename(self) -> str:
        """Return the name of the package file, which makes a folder a package."""
        raise NotImplementedError

    def api_filename(self) -> str:
        """Return the name of the API file, with the functions and types of a prefix."""
        raise NotImplementedError

    def import_section_index(self, lines: Sequence[str]) -> int:
        """Return the index of the line before which an ``import-section`` is inserted."""
        raise NotImplementedError

    def generate_init_file(
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        """Return the text to append to a package file; the default is empty."""
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
        """Return the text to append to the API file of a prefix.

        Parameters
        ----------
        code_blocks : list of CodeBlock
            Blocks that the file contains now.
        ty_map : dict from str to str
            Full names of types by origin or type key.
        module_name : str
            The prefix, which is also the module's name.
        object_infos : list of ObjectInfo
            Types under the prefix, parents first.
        init_cfg : InitConfig
            Values of the ``--init-*`` options, which name the library.
        is_root : bool
            True for the API file that loads the library.
        """
        raise NotImplementedError

    def finalize_init(self, init_path: Path, generated_prefixes: set[str]) -> None:
        """Declare the new files of ``--init-*`` in their parent files; the default does nothing."""


def split_import_object(payload: str) -> tuple[str, str, str]:
    """Split the payload of an ``import-object`` directive into name, flag and alias."""
    name, _, rest = payload.partition(";")
    flag, _, alias = rest.partition(";")
    return name.strip(), flag.strip(), alias.strip()


# ORDER as in the help text.  The module of a target language is imported on its first use.
_TARGETS = {
    "python": (".python.generator", "PythonGenerator"),
    "rust": (".rust.generator", "RustGenerator"),
}


def generator_names() -> list[str]:
    """Return the names of the target languages."""
    return list(_TARGETS)


def get_generator(target: str) -> Generator:
    """Return the generator of a target language.

    Raises
    ------
    ValueError
        If there is no generator for the target.
    """
    if target not in _TARGETS:
        known = ", ".join(generator_names())
        raise ValueError(f"Unknown stubgen generator: {target!r}. Known generators: {known}")
    module, class_name = _TARGETS[target]
    generator: Generator = getattr(importlib.import_module(module, __package__), class_name)()
    return generator
