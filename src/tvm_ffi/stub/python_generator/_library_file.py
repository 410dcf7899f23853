# SPDX-License-Identifier: Apache-2.0
"""The interface file of a library: all that it exports, as functions of a module or of a class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from ... import _tensor, core
from ..._schema.schema import Schema
from ...module import Module
from ...signature import Signature, ValueType
from ._signatures import render_signature
from ._type_names import TypeNames
from .codegen import import_statements
from .consts import TY_MAP_DEFAULTS
from .utils import FileNames, ImportItem, is_name

__all__ = ["HEADER", "library_file"]

HEADER = "# Written by tvm-ffi-stubgen; it writes this file anew."
_FOR_FORMATTERS = ["# ruff: noqa", "# fmt: off", "# isort: off"]
_UNKNOWN = Signature.from_type_schema(Schema("Callable"))


def library_file(
    functions: Mapping[str, Signature | None], class_name: str | None, indent: int
) -> list[str]:
    """Return the lines of an interface file.

    Parameters
    ----------
    functions : mapping of str to Signature
        Signatures by name; None where nobody knows it.
    class_name : str, optional
        A class derived from `tvm_ffi.Module` gets the functions; otherwise the file itself.
    indent : int
        Spaces inside the class.
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
        *import_statements(imports),
        "",
        *body,
    ]


def _ty_map(signatures: Iterable[Signature | None]) -> dict[str, str]:
    """Return the names of types; those without a class in the package are objects."""
    ty_map = dict(TY_MAP_DEFAULTS)
    for signature in signatures:
        for type_ in signature.types if signature is not None else ():
            for origin in _origins(type_.schema) if isinstance(type_, ValueType) else ():
                if "." in origin and origin not in ty_map and not _has_class(origin):
                    ty_map[origin] = "ffi.Object"
    return ty_map


def _origins(schema: Schema) -> Iterator[str]:
    yield schema.origin
    for part in chain(schema.args or (), *(schema.named_args or {}).values()):
        yield from _origins(part)


def _has_class(origin: str) -> bool:
    """Whether the package has a class of this name, or the standard library."""
    module, _, name = origin.rpartition(".")
    ours = module == "ffi" and (hasattr(core, name) or hasattr(_tensor, name))
    return ours or module == "ctypes"
