# SPDX-License-Identifier: Apache-2.0
"""``--library``: an interface file for what a library exports.

The file is the tool's own, from the first line to the last; one that people wrote is refused.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from ..module import Module, load_module
from ..signature import Signature
from . import consts as C  # noqa: N812
from ._pipeline import Run
from ._report import print_changes, print_line, print_unchanged
from ._text_file import Line, TextFile
from .python_generator._library_file import HEADER, library_file

__all__ = ["write_library_stubs"]


def write_library_stubs(run: Run, library: str, output: Path, class_name: str | None) -> None:
    """Bring the interface file of a library up to date, or compare it.

    Parameters
    ----------
    run : Run
        Takes failures, and what is out of date.
    library : str
        The library; a file of the working directory needs no ``./``.
    output : pathlib.Path
        The file.
    class_name : str, optional
        A class to put the functions into.
    """
    path = Path(library)
    read = partial(_signatures_of, path.absolute() if path.exists() else path)
    signatures = run.guarded(path, read)
    if signatures is not None:
        lines = library_file(signatures, class_name, run.opt.indent)
        run.guarded(output, partial(_bring_up, run, output, lines))


def _signatures_of(path: Path) -> dict[str, Signature | None]:
    module = load_module(path)
    names = module.functions
    if not names:
        raise ValueError("exports no functions")
    return {name: _signature_of(module, name) for name in names}


def _signature_of(module: Module, name: str) -> Signature | None:
    """Return the signature of a function with its documentation."""
    signature = module.get_function_signature(name)
    return signature and replace(signature, doc=module.get_function_doc(name))


def _bring_up(run: Run, output: Path, lines: list[str]) -> None:
    old = TextFile.read(output) if output.exists() else TextFile(output)
    if old.texts and old.texts[0] != HEADER:
        raise ValueError("is not one that --library wrote; delete it, or name another --output")
    if old.texts == tuple(lines):
        if run.opt.verbose:
            print_unchanged(output)
        return
    if run.opt.verbose:
        print_changes(output, old.texts, lines)
    if run.opt.check:
        run.stale += 1
        print_line(f"[Stale] {output}", C.TERM_YELLOW)
    elif not run.opt.dry_run:
        old.replace([Line(line, old.newline) for line in lines])
