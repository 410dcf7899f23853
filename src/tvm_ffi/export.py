# SPDX-License-Identifier: Apache-2.0
"""Modules written to one shared library: code, saved modules, and what imports what.

No compiler takes part: the saved modules become an object file directly, the linker does the rest.
The library appears under its name when it is complete; until then, what was there stays.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ._library.embedded_modules import SYMBOL, encoded_parts
from ._library.linking import Command, LinkStep, StrPath, check_input, dynamic_symbols
from ._library.module_tree import ModuleTree, plan_tree
from ._library.object_file import machine_of, write_object
from .module import Module

__all__ = ["export_library"]

_FUNCTION_PREFIX = "__tvm_ffi_"
_SYMBOL_NAME = re.compile(r"[A-Za-z_.$][\w.$]*", re.ASCII)  # others are expressions to a linker


def export_library(
    path: StrPath,
    module: Module | None = None,
    *,
    objects: StrPath | Sequence[StrPath] = (),
    imports: Module | Sequence[Module] = (),
    functions: str | Sequence[str] | Mapping[str, str] = (),
    linker: Command = None,
    driver: Command = None,
    link_args: Sequence[str] = (),
) -> Path:
    """Write a module and all that it imports to one shared library.

    `load_module` makes the same modules from it again: a module that several others import is
    one module there, too.

    Parameters
    ----------
    path : str or os.PathLike
        The library.  An old one is replaced when the new one is complete; processes that loaded it
        keep it, and find it again under this name.
    module : Module, optional
        What loading the library shall return; by default the code itself.  Modules that are
        compilation exportable become code, all others must be binary serializable.
    objects : path or sequence of paths
        Code: object files, and static archives, of which everything is taken.  Functions are
        symbols that begin with ``__tvm_ffi_``.  If `module` is given and no module is compilation
        exportable, `module` imports the code, after its other imports.
    imports : Module or sequence of Module
        What the loaded module shall import in addition, in this order.
    functions : str, sequence of str, or mapping from str to str
        Names of functions that the library must export.  In a mapping, each with the symbol in
        the code that it shall stand for.
    linker : str or sequence of str, optional
        Command of the linker; by default the value of the variable ``LD``, else ``ld``.
    driver : str or sequence of str, optional
        Command of a compiler that links instead.  Code from C++ needs ``"c++"``, so that the C++
        run-time library is linked.
    link_args : sequence of str
        More arguments for the command.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    ValueError
        If there is nothing to export, a module can be exported in neither way, a file of `objects`
        is neither an object file nor an archive, or a function is not exported.
    RuntimeError
        If the linker fails; the message shows its command and what it said.

    Notes
    -----
    The same input gives the same bytes.  What modules are saved to goes from memory to a file
    without another copy.  A module of kind ``"library"`` cannot be exported: the linker cannot put
    one shared library into another.
    """
    if linker is not None and driver is not None:
        raise ValueError("linker and driver both say who links: give one of them")
    paths = [objects] if isinstance(objects, (str, os.PathLike)) else objects
    inputs = [check_input(file) for file in paths]
    more = [imports] if isinstance(imports, Module) else imports
    tree = plan_tree(module, more, has_objects=bool(inputs))
    names = [functions] if isinstance(functions, str) else functions
    step = LinkStep(inputs, _aliases(names), linker, driver, link_args)
    target = Path(path)
    # Beside the target, since files can be renamed only within a file system.
    scratch = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent.resolve(strict=True)))
    try:
        inputs += _write_code(tree.code, scratch)
        inputs += _write_modules(tree, inputs, scratch)
        linked = scratch / "library"
        step.run(linked)
        exported, needed = dynamic_symbols(linked)
        step.check_runtime(needed)
        _check_exported(names, exported)
        linked.replace(target)
    finally:
        shutil.rmtree(scratch)
    return target


def _write_code(modules: Iterable[Module], folder: Path) -> list[str]:
    """Let modules write themselves as object files."""
    files = []
    for number, module in enumerate(modules):
        files.append(str(folder / f"code_{number}.o"))
        module.write_to_file(files[-1], "o")
    return files


def _write_modules(tree: ModuleTree, inputs: Sequence[str], folder: Path) -> list[str]:
    """Write all nodes to an object file for the machine of the code."""
    if tree.is_only_code:
        return []
    machine = next(filter(None, map(machine_of, inputs)), None)
    file = folder / "modules.o"
    with file.open("wb") as stream:
        write_object(stream, SYMBOL, encoded_parts(tree.save()), machine)
    return [str(file)]


# ---- Functions -----------------------------------------------------------------------------------


def _aliases(functions: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return the symbols of functions that have another symbol in the code."""
    if not isinstance(functions, Mapping):
        return {}
    for name in [*functions.values(), *(_FUNCTION_PREFIX + name for name in functions)]:
        if _SYMBOL_NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} cannot be the name of a symbol")
    aliases = {_FUNCTION_PREFIX + name: symbol for name, symbol in functions.items()}
    return {name: symbol for name, symbol in aliases.items() if name != symbol}


def _check_exported(functions: Iterable[str], exported: set[str]) -> None:
    missing = [name for name in functions if _FUNCTION_PREFIX + name not in exported]
    if missing:
        names = sorted(
            symbol[len(_FUNCTION_PREFIX) :]
            for symbol in exported
            if symbol.startswith(_FUNCTION_PREFIX) and not symbol.startswith("__tvm_ffi__")
        )
        raise ValueError(
            f"the library would not export {', '.join(missing)}; "
            f"its functions are: {', '.join(names) or 'none'}"
        )
