# SPDX-License-Identifier: Apache-2.0
"""Processing of source files: read all files, apply directives, fill blocks, write or compare.

1. All files are read.  An error in one file is reported and does not stop the others.
2. Directives are applied.  The ``prefix`` directive adds and removes blocks, so after this step the
   file that defines each type is known.
3. Blocks are filled.  ``import-section``, ``export`` and ``__all__`` are last, because they depend
   on the other blocks.
4. Changed files are written, or reported with ``--check``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .blocks import CodeBlock
from .options import Options
from .prefix_directive import add_and_remove_blocks, prefix_of
from .registered import Registered, object_info_from_type_key
from .source_file import FileInfo
from .target import Generator
from .terminal import TERM_RED, TERM_YELLOW, print_line

__all__ = ["Run"]


@dataclass
class _Draft:
    """A file whose directives have been applied, but whose new blocks are not written yet."""

    file: FileInfo
    imports: Any
    ty_map: dict[str, str]
    old_blocks: list[CodeBlock]
    functions: set[str] = field(default_factory=set)


@dataclass
class Run:
    """One run of ``tvm-ffi-stubgen``, which processes files and counts failed and outdated files.

    Parameters
    ----------
    generator : Generator
        Generator of the target language.
    opt : Options
        The parsed command line.
    registered : Registered
        Registered functions and types of this process.
    """

    generator: Generator
    opt: Options
    registered: Registered
    failed: int = 0
    stale: int = 0
    _file_of_prefix: dict[str, Path] = field(default_factory=dict)
    _file_of_type: dict[str, Path] = field(default_factory=dict)

    def guarded(self, path: Path, action: Callable[[], Any]) -> Any:
        """Return the result of `action`; if it raises, report that the file failed; return None."""
        try:
            return action()
        except RecursionError:
            self.report_failure(path, "a type is nested too deep")
        except Exception as error:  # continue with the other files
            self.report_failure(path, f"{type(error).__name__}: {error}")
        return None

    def report_failure(self, path: Path, reason: str) -> None:
        """Print the reason why a file failed, and count the failure."""
        self.failed += 1
        print_line(f'[Failed] File "{path}": {reason}', TERM_RED)

    def report_stale(self, path: Path) -> None:
        """Print and count a file that is out of date."""
        self.stale += 1
        print_line(f"[Stale] {path}", TERM_YELLOW)

    def process(self, files: Iterable[FileInfo]) -> None:
        """Update the blocks in the files; with ``--check``, only report the outdated files."""
        drafts = [self.guarded(file.path, partial(self._begin, file)) for file in files]
        for draft in drafts:
            if draft is not None:
                self.guarded(draft.file.path, partial(self._finish, draft))

    # ---- Step 2: directives --------------------------------------------------------------------

    def _begin(self, file: FileInfo) -> _Draft | None:
        old_blocks = copy.deepcopy(file.code_blocks)
        prefix = prefix_of(file)
        if prefix is not None:
            owner = self._file_of_prefix.setdefault(prefix, file.path)
            if owner != file.path:
                self.report_failure(file.path, f"prefix `{prefix}` is already declared by {owner}")
                return None
            keys = self.registered.type_keys.get(prefix, [])
            add_and_remove_blocks(file, prefix, keys, self.generator)
        generator = self.generator
        draft = _Draft(file, generator.new_imports(), generator.default_ty_map(), old_blocks)
        for block in file.code_blocks:
            if block.kind == "object":
                self._check_is_registered(block)
                self._file_of_type.setdefault(str(block.param), file.path)
            elif block.kind == "global":
                funcs = self.registered.funcs.get(block.param[0], [])
                draft.functions |= {func.schema.name.rpartition(".")[2] for func in funcs}
            elif block.kind == "directive":
                self._apply_directive(block, draft)
        generator.begin_file(draft.imports, file, draft.functions)
        return draft

    def _check_is_registered(self, block: CodeBlock) -> None:
        if block.param not in self.registered.all_type_keys:
            where = f"`object/{block.param}` (line {block.lineno_start})"
            raise ValueError(f"{where}: the type is no longer registered; delete the block")

    def _apply_directive(self, block: CodeBlock, draft: _Draft) -> None:
        name, payload = tuple(block.param)
        # The function `add_and_remove_blocks` has applied these directives already.
        if name in {"prefix", "skip"}:
            return
        if name != "ty-map":
            self.generator.add_directive(draft.imports, name, payload, block.lineno_start)
            return
        origin, arrow, full_name = (part.strip() for part in payload.partition("->"))
        if not (origin and arrow and full_name):
            line = block.lineno_start
            raise ValueError(f"Invalid ty_map format at line {line}. Example: `A.B -> C.D`")
        draft.ty_map[origin] = full_name

    # ---- Steps 3 and 4: filling and writing ----------------------------------------------------

    def _finish(self, draft: _Draft) -> None:
        file = draft.file
        self._fill_definitions(draft)
        self._fill_imports_and_exports(draft)
        self.generator.end_file(file)
        new_blocks, view = file.code_blocks, self.generator.check_view
        changed = file.update(self.opt.verbose, self.opt.dry_run or self.opt.check)
        if self.opt.check and changed and view(new_blocks) != view(draft.old_blocks):
            self.report_stale(file.path)

    def _fill_definitions(self, draft: _Draft) -> None:
        generator, ty_map, imports = self.generator, draft.ty_map, draft.imports
        for block in draft.file.code_blocks:
            if block.kind == "global":
                funcs = self.registered.funcs.get(block.param[0], [])
                generator.generate_global_funcs_block(block, funcs, ty_map, imports, self.opt)
            elif block.kind == "object":
                info = object_info_from_type_key(str(block.param))
                generator.generate_object_block(
                    block, ty_map, imports, self.opt, info, self._file_of_type
                )

    def _fill_imports_and_exports(self, draft: _Draft) -> None:
        generator, imports = self.generator, draft.imports
        defined_types = {
            generator.canonical_type_name(str(block.param))
            for block in draft.file.code_blocks
            if block.kind == "object"
        }
        names = draft.functions | generator.extra_export_names(imports)
        has_imports = False
        for block in draft.file.code_blocks:
            if block.kind == "import-section" and not has_imports:
                generator.generate_import_section_block(block, imports, self.opt, defined_types)
                has_imports = True
            elif block.kind == "import-section":
                block.fill([])
            elif block.kind == "export":
                generator.generate_export_block(block)
            elif block.kind == "__all__":
                generator.generate_all_block(block, names, self.opt)
