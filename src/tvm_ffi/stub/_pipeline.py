# SPDX-License-Identifier: Apache-2.0
"""From the command line to files: every file is read, brought up to date, and written or compared.

1. All files are read; what is wrong in one is reported and does not stop the others.
2. Directives are followed: ``prefix`` adds and removes blocks, so that it is known which file
   defines which type, before any text is written.
3. Every block is filled, ``import-section``, ``export`` and ``__all__`` last: they depend on the
   others.
4. The file is written if that changed it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from . import consts as C  # noqa: N812
from . import lib_state
from ._prefixes import add_and_remove_blocks, prefix_of
from ._report import print_line
from .file_utils import CodeBlock, FileInfo
from .generator import Generator
from .utils import FuncInfo, Options

__all__ = ["Registered", "Run"]


class Registered:
    """What is registered, read once."""

    def __init__(self) -> None:
        self.funcs: dict[str, list[FuncInfo]] = lib_state.collect_global_funcs()
        self.type_keys: dict[str, list[str]] = {
            prefix: kept
            for prefix, keys in lib_state.collect_type_keys().items()
            if (kept := [key for key in keys if key not in C.BUILTIN_TYPE_KEYS])
        }
        self.all_type_keys = {str(key) for key in lib_state.GetRegisteredTypeKeys()}


@dataclass
class _Draft:
    """A file on its way: what it imports, what types are called in it, what it declares."""

    file: FileInfo
    imports: Any
    ty_map: dict[str, str]
    functions: set[str] = field(default_factory=set)


@dataclass
class Run:
    """One run of the tool.

    Parameters
    ----------
    generator : Generator
        The target.
    opt : Options
        The command line.
    registered : Registered
        What there is to write.
    """

    generator: Generator
    opt: Options
    registered: Registered
    failed: int = 0
    stale: int = 0
    _file_of_prefix: dict[str, Path] = field(default_factory=dict)
    _file_of_type: dict[str, Path] = field(default_factory=dict)

    def guarded(self, path: Path, action: Callable[[], Any]) -> Any:
        """Return what an action on a file returns; report a failure and return None."""
        try:
            return action()
        except RecursionError:
            self.report_failure(path, "a type is nested too deep")
        except Exception as error:  # whatever it is, the other files have their turn
            self.report_failure(path, f"{type(error).__name__}: {error}")
        return None

    def report_failure(self, path: Path, reason: str) -> None:
        """Say that a file failed."""
        self.failed += 1
        print_line(f'[Failed] File "{path}": {reason}', C.TERM_RED)

    def process(self, files: Iterable[FileInfo]) -> None:
        """Bring files up to date."""
        drafts = []
        for file in files:
            old_blocks = copy.deepcopy(file.code_blocks)
            draft = self.guarded(file.path, partial(self._begin, file))
            if draft is not None:
                drafts.append((draft, old_blocks))
        for draft, old_blocks in drafts:
            self.guarded(draft.file.path, partial(self._bring_up, draft, old_blocks))

    # ---- What a file defines and asks for ------------------------------------------------------

    def _begin(self, file: FileInfo) -> _Draft | None:
        prefix = prefix_of(file)
        if prefix is not None:
            owner = self._file_of_prefix.setdefault(prefix, file.path)
            if owner != file.path:
                self.report_failure(file.path, f"prefix `{prefix}` is already declared by {owner}")
                return None
            keys = self.registered.type_keys.get(prefix, [])
            add_and_remove_blocks(file, prefix, keys, self.generator)
        generator = self.generator
        draft = _Draft(file, generator.new_imports(), generator.default_ty_map())
        for block in file.code_blocks:
            if block.kind == "object":
                self._check_is_registered(block)
                self._file_of_type.setdefault(str(block.param), file.path)
            elif block.kind == "global":
                funcs = self.registered.funcs.get(block.param[0], [])
                draft.functions |= {func.schema.name.rpartition(".")[2] for func in funcs}
            elif block.kind == "directive":
                self._follow(block, draft)
        generator.begin_file(draft.imports, file, draft.functions)
        return draft

    def _check_is_registered(self, block: CodeBlock) -> None:
        if block.param not in self.registered.all_type_keys:
            where = f"`object/{block.param}` (line {block.lineno_start})"
            raise ValueError(f"{where}: the type is no longer registered; delete the block")

    def _follow(self, block: CodeBlock, draft: _Draft) -> None:
        """Follow a directive; those about blocks have been followed already."""
        name, payload = tuple(block.param)
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

    # ---- Filling -------------------------------------------------------------------------------

    def _bring_up(self, draft: _Draft, old_blocks: list[CodeBlock]) -> None:
        file = draft.file
        self._fill(draft)
        self._fill_rest(draft)
        changed = file.update(self.opt.verbose, self.opt.dry_run or self.opt.check)
        if self.opt.check and changed and self._differs(file.code_blocks, old_blocks):
            self.stale += 1
            print_line(f"[Stale] {file.path}", C.TERM_YELLOW)

    def _differs(self, new: list[CodeBlock], old: list[CodeBlock]) -> bool:
        view = self.generator.check_view
        return view(new) != view(old)

    def _fill(self, draft: _Draft) -> None:
        for block in draft.file.code_blocks:
            if block.kind == "global":
                funcs = self.registered.funcs.get(block.param[0], [])
                self.generator.generate_global_funcs_block(
                    block, funcs, draft.ty_map, draft.imports, self.opt
                )
            elif block.kind == "object":
                self._fill_object(block, draft.ty_map, draft.imports)

    def _fill_object(self, block: CodeBlock, ty_map: dict[str, str], imports: Any) -> None:
        info = lib_state.object_info_from_type_key(str(block.param))
        self.generator.generate_object_block(
            block, ty_map, imports, self.opt, info, self._file_of_type
        )

    def _fill_rest(self, draft: _Draft) -> None:
        generator, imports = self.generator, draft.imports
        own_types = {
            generator.canonical_type_name(str(block.param))
            for block in draft.file.code_blocks
            if block.kind == "object"
        }
        names = draft.functions | generator.extra_export_names(imports)
        has_imports = False
        for block in draft.file.code_blocks:
            if block.kind == "import-section" and not has_imports:
                generator.generate_import_section_block(block, imports, self.opt, own_types)
                has_imports = True
            elif block.kind == "import-section":
                block.fill([])
            elif block.kind == "export":
                generator.generate_export_block(block)
            elif block.kind == "__all__":
                generator.generate_all_block(block, names, self.opt)
