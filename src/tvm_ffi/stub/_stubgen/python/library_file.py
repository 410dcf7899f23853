# SPDX-License-Identifier: Apache-2.0
"""Interface file (.pyi) of a library (``--library``): its functions in a module or a class.

The tool writes the whole file.  It overwrites an existing file only if the file's first line is the
first line of such interface files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from .... import _tensor, core
from ...._schema.schema import Schema
from ....module import Module, load_module
from ....signature import Signature, ValueType
from ..pipeline import Run
from ..terminal import print_changes, print_unchanged
from ..text_file import Line, TextFile
from .function_stubs import render_signature
from .imports import FileNames, ImportItem, import_statements, is_name
from .type_names import TY_MAP_DEFAULTS, TypeNames

__all__ = ["HEADER", "library_file", "write_library_stubs"]

HEADER = "# Written by tvm-ffi-stubgen, which overwrites this file."
_UNKNOWN = Signature.from_type_schema(Schema("Callable"))


def write_library_stubs(run: Run, library: str, output: Path, class_name: str | None) -> None:
    """Write the interface file `output` or, with ``--check``, compare it.

    The functions are methods of `class_name`; None selects module functions.
    """
    path = Path(library)
    read = partial(_signatures_of, path.absolute() if path.exists() else path)
    signatures = run.guarded(path, read)
    if signatures is not None:
        lines = library_file(signatures, class_name, run.opt.indent)
        run.guarded(output, partial(_update, run, output, lines))


def _signatures_of(path: Path) -> dict[str, Signature | None]:
    module = load_module(path)
    names = module.functions
    if not names:
        raise ValueError("the library exports no functions")
    return {name: _signature_of(module, name) for name in names}


def _signature_of(module: Module, name: str) -> Signature | None:
    """Return the signature of a function, including its documentation; None if it has none."""
    signature = module.get_function_signature(name)
    return signature and replace(signature, doc=module.get_function_doc(name))


def _update(run: Run, output: Path, lines: list[str]) -> None:
    old = TextFile.read(output) if output.exists() else TextFile(output)
    if old.texts and old.texts[0] != HEADER:
        raise ValueError(
            f"expected a file written by --library, which begins with {HEADER!r}; delete the file "
            "or pass another --output"
        )
    if old.texts == tuple(lines):
        if run.opt.verbose:
            print_unchanged(output)
        return
    if run.opt.verbose:
        print_changes(output, old.texts, lines)
    if run.opt.check:
        run.report_stale(output)
    elif not run.opt.dry_run:
        old.replace([Line(line, old.newline) for line in lines])


# ---- Text of the interface file ----------------------------------------------------------------


def library_file(
    functions: Mapping[str, Signature | None], class_name: str | None, indent: int
) -> list[str]:
    """Return the lines of an interface file.

    Parameters
    ----------
    functions : mapping of str to Signature
        Signatures by function name; None for a function without a signature.
    class_name : str, optional
        Name of a class derived from `tvm_ffi.Module` that contains the functions; by default they
        are module functions.
    indent : int
        Number of spaces before the methods of the class.
    """
    imports: list[ImportItem] = []
    taken = set(functions) if class_name is None else {*functions, *dir(Module), class_name}
    names = TypeNames(_ty_map(functions.values()), imports, FileNames(), taken)
    margin = "" if class_name is None else " " * indent
    body: list[str] = []
    for name, signature in functions.items():
        if not is_name(name):
            body.append(f"{margin}# function {name!r} has no Python name: use get_function")
        elif class_name is not None and hasattr(Module, name):
            body.append(f"{margin}# function {name!r} is hidden by the class: use get_function")
        else:
            body += [] if class_name is None else [f"{margin}@{names('staticmethod')}"]
            body += render_signature(signature or _UNKNOWN, name, names, len(margin))
    if class_name is not None:
        body = [f"class {class_name}({names.bind('tvm_ffi.Module')}):", *body, f"{margin}..."]
    return [
        HEADER,
        "# ruff: noqa",
        "# fmt: off",
        "# isort: off",
        *import_statements(item.statement_key for item in imports),
        "",
        *body,
    ]


def _ty_map(signatures: Iterable[Signature | None]) -> dict[str, str]:
    """Return Python names by type key; a type without a class in this package is an ``Object``."""
    ty_map = dict(TY_MAP_DEFAULTS)
    for signature in signatures:
        for type_ in signature.types if signature is not None else ():
            for origin in _origins(type_.schema) if isinstance(type_, ValueType) else ():
                if "." in origin and origin not in ty_map and not _has_class(origin):
                    ty_map[origin] = "ffi.Object"
    return ty_map


def _origins(schema: Schema) -> Iterator[str]:
    yield schema.origin
    for arg in chain(schema.args or (), *(schema.named_args or {}).values()):
        yield from _origins(arg)


def _has_class(origin: str) -> bool:
    """Return True if `tvm_ffi` or ``ctypes`` has a class for the type."""
    module, _, name = origin.rpartition(".")
    if module == "ffi":
        return hasattr(core, name) or hasattr(_tensor, name)
    return module == "ctypes"
