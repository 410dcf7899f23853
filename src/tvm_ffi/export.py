# SPDX-License-Identifier: Apache-2.0
"""Export of modules to one shared library with their code, serialized modules and import tree.

No compiler is used: serialized modules are written to an object file directly, and a linker creates
the library.  The finished library replaces an existing file atomically.
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
# Pattern of names that a linker accepts as symbols.  The linker parses other strings as
# expressions.
_SYMBOL_NAME = re.compile(r"[A-Za-z_.$][\w.$]*", re.ASCII)


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
    """Write a module and all modules that it imports to one shared library.

    `load_module` restores the same import tree: a module with several importers is stored once.

    Parameters
    ----------
    path : str or os.PathLike
        Path of the library to write.  An existing file is replaced when the new library is
        complete; processes that have loaded the old library are not affected.
    module : Module, optional
        The module that `load_module` returns for the library; by default the code in the library.
        Compilation exportable modules are written as code; all others must be binary serializable.
    objects : path or sequence of paths
        Object files, and static archives, whose members are all linked.  Symbols that begin with
        ``__tvm_ffi_`` become functions.  If `module` is given and no module is compilation
        exportable, `module` imports the code, after its other imports.
    imports : Module or sequence of Module
        Additional modules that the loaded module imports, in this order.
    functions : str, sequence of str, or mapping from str to str
        Names of functions that the library must export.  A mapping gives for each name the symbol
        in `objects` that implements it.
    linker : str or sequence of str, optional
        Command of the linker.  By default the value of the environment variable ``LD``, or ``ld``.
    driver : str or sequence of str, optional
        Command of a compiler driver that is called instead of the linker.  C++ code needs
        ``"c++"``, which links the C++ run-time library.
    link_args : sequence of str
        More arguments for the linker or driver.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    ValueError
        If there is nothing to export, a module is neither compilation exportable nor binary
        serializable, a file of `objects` is neither an object file nor an archive, or the library
        does not export a function of `functions`.
    RuntimeError
        If the linker fails; the message contains its command and output.

    Notes
    -----
    The output is reproducible.  The bytes of serialized modules are written to the file without a
    copy in memory.  A module of kind ``"library"`` cannot be exported: a linker cannot put one
    shared library into another.
    """
    if linker is not None and driver is not None:
        raise ValueError(
            "export_library: linker and driver are mutually exclusive: pass one of them"
        )
    paths = [objects] if isinstance(objects, (str, os.PathLike)) else objects
    inputs = [check_input(file) for file in paths]
    more = [imports] if isinstance(imports, Module) else imports
    tree = plan_tree(module, more, has_objects=bool(inputs))
    names = [functions] if isinstance(functions, str) else functions
    step = LinkStep(inputs, _aliases(names), linker, driver, link_args)
    target = Path(path)
    # The scratch folder is next to the target, because a file can be renamed only within one file
    # system.
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
    """Write each module as an object file in `folder`; return the paths of the files."""
    files = []
    for number, module in enumerate(modules):
        files.append(str(folder / f"code_{number}.o"))
        module.write_to_file(files[-1], "o")
    return files


def _write_modules(tree: ModuleTree, inputs: Sequence[str], folder: Path) -> list[str]:
    """Write the tree's serialized modules to an object file for the machine of `inputs`.

    Return a list with its path; an empty list if the tree consists of code only.
    """
    if tree.is_only_code:
        return []
    machine = next(filter(None, map(machine_of, inputs)), None)
    file = folder / "modules.o"
    with file.open("wb") as stream:
        write_object(stream, SYMBOL, encoded_parts(tree.save()), machine)
    return [str(file)]


# ---- Exported functions --------------------------------------------------------------------------


def _aliases(functions: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return the symbols in the code by exported symbol, for functions where the two differ."""
    if not isinstance(functions, Mapping):
        return {}
    for name in [*functions.values(), *(_FUNCTION_PREFIX + name for name in functions)]:
        if _SYMBOL_NAME.fullmatch(name) is None:
            raise ValueError(f"export_library: {name!r} is not a valid symbol name")
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
            f"export_library: the library would not export {', '.join(missing)}; "
            f"its functions are: {', '.join(names) or 'none'}"
        )
