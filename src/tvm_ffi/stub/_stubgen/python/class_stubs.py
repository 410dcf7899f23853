# SPDX-License-Identifier: Apache-2.0
"""Stubs of classes and of functions without signatures, whose parameters have no names."""

from __future__ import annotations

import keyword
from typing import Callable

from ....core import TypeSchema
from ..object_info import FuncInfo, InitFieldInfo, ObjectInfo
from .imports import is_name

__all__ = [
    "render_func_signature",
    "render_object_ffi_init",
    "render_object_fields",
    "render_object_init",
    "render_object_methods",
]

_TypeName = Callable[[str], str]


def _parameter_name(text: str) -> str:
    """Return the parameter name for a field: the field's name, changed to be an identifier."""
    name = text if text.isidentifier() else "".join(c if c.isalnum() else "_" for c in text)
    if not name.isidentifier():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def _text(schema: TypeSchema, ty_map: _TypeName) -> str:
    """Return the annotation of a type; strict type checkers require arguments of a tuple."""
    text = TypeSchema.output_repr(schema, ty_map)
    if schema.origin == "tuple" and schema.args is None:
        return f"{text}[{ty_map('Any')}, ...]"
    return text


# ---- Function stubs ----------------------------------------------------------------------------


def render_func_signature(
    func: FuncInfo,
    ty_map: _TypeName,
    indent: int,
    input_ty_map: _TypeName | None = None,
) -> str:
    """Return the stub of a function whose parameters have no names and are thus positional.

    Parameters
    ----------
    func : FuncInfo
        The function without a signature.
    ty_map : callable
        Returns the Python name for the origin of a type.
    indent : int
        Number of spaces before the line.
    input_ty_map : callable, optional
        Returns the Python name for an origin in a parameter; default: `ty_map`.
    """
    name = func.schema.name.rpartition(".")[2]
    parameters = _parameters(func, input_ty_map or ty_map)
    # `__ffi_init__` returns None, although the native constructor returns an object.
    if name == "__ffi_init__":
        return _line(indent, name, parameters, "None")
    groups = func.schema.named_args
    result = _text(groups["return"][0], ty_map) if groups else ty_map("Any")
    return _line(indent, name, parameters, result)


def _line(indent: int, name: str, parameters: list[str], result: str) -> str:
    return f"{' ' * indent}def {name}({', '.join(parameters)}) -> {result}: ..."


def _parameters(func: FuncInfo, ty_map: _TypeName) -> list[str]:
    declared = (func.schema.named_args or {}).get("params")
    if declared is None:
        return [f"*args: {ty_map('Any')}"]
    typed = [f"_{i}: {_text(schema, ty_map)}" for i, schema in enumerate(declared)]
    if func.schema.name == "__ffi_init__":
        typed.insert(0, "self")
    elif func.is_member:
        typed = ["self", *typed[1:]]
    return [*typed, "/"] if typed else []


# ---- Class members -----------------------------------------------------------------------------


def render_object_fields(info: ObjectInfo, ty_map: _TypeName, indent: int) -> list[str]:
    """Return an annotation for each field that the type adds to its parent."""
    space = " " * indent
    return [
        f"{space}{field.name}: {_text(field, ty_map)}"
        if is_name(field.name)
        else f"{space}# field {field.name!r} has no Python name: use getattr"
        for field in info.fields
    ]


def render_object_init(
    info: ObjectInfo,
    ty_map: _TypeName,
    indent: int,
    input_ty_map: _TypeName | None = None,
    *,
    implement: bool = False,
) -> list[str]:
    """Return the ``__init__`` that `tvm_ffi.register_object` creates; empty without a constructor.

    Its parameters are the fields.  If the native constructor has another number of parameters than
    there are fields, they are the parameters of the native constructor.
    """
    if not info.has_init:
        return []
    native = _native_constructors(info)
    if all(_takes_fields(func, info) for func in native):
        return [_init_line("__init__", info, input_ty_map or ty_map, indent)]
    lines = [_renamed(func, "__init__", ty_map, indent, input_ty_map) for func in native]
    return _with_overloads(lines, ty_map, indent, False, implement)


def render_object_ffi_init(
    info: ObjectInfo, ty_map: _TypeName, indent: int, input_ty_map: _TypeName | None = None
) -> list[str]:
    """Return the stub of an automatic ``__ffi_init__``; empty if the type's methods contain it."""
    if not info.has_init or _native_constructors(info):
        return []
    return [_init_line("__ffi_init__", info, input_ty_map or ty_map, indent)]


def render_object_methods(
    info: ObjectInfo,
    ty_map: _TypeName,
    indent: int,
    input_ty_map: _TypeName | None = None,
    *,
    implement: bool = False,
) -> list[str]:
    """Return the stubs of all methods, without inherited methods.

    Overloads of a method are consecutive.  With `implement`, their implementation follows, which
    type checkers require outside of interface files (.pyi).
    """
    lines: list[str] = []
    overloads: dict[str, list[FuncInfo]] = {}
    for func in info.methods:
        overloads.setdefault(func.schema.name, []).append(func)
    for name, group in overloads.items():
        if not is_name(name):
            lines.append(f"{' ' * indent}# method {name!r} has no Python name: use getattr")
            continue
        stubs = [render_func_signature(func, ty_map, indent, input_ty_map) for func in group]
        is_static = not (group[0].is_member or name == "__ffi_init__")
        lines += _with_overloads(stubs, ty_map, indent, is_static, implement)
    return lines


def _with_overloads(
    stubs: list[str], ty_map: _TypeName, indent: int, is_static: bool, implement: bool
) -> list[str]:
    """Return the stubs of a function or of its overloads, with the decorators that they need."""
    space = " " * indent
    decorators = [f"{space}@staticmethod"] if is_static else []
    if len(stubs) == 1:
        return [*decorators, *stubs]
    lines = [line for stub in stubs for line in (f"{space}@overload", *decorators, stub)]
    if implement:
        head, result = stubs[0].split("(", 1)[0], stubs[0].rsplit(" -> ", 1)[1]
        receiver = "" if is_static else "self, "
        any_type = ty_map("Any")
        result = "None: ..." if result == "None: ..." else f"{any_type}: ..."
        lines += [*decorators, f"{head}({receiver}*args: {any_type}) -> {result}"]
    return lines


def _native_constructors(info: ObjectInfo) -> list[FuncInfo]:
    return [func for func in info.methods if func.schema.name == "__ffi_init__"]


def _takes_fields(func: FuncInfo, info: ObjectInfo) -> bool:
    """Return True if a native constructor has as many parameters as there are fields."""
    params = (func.schema.named_args or {}).get("params")
    return params is None or len(params) == len(info.init_fields)


def _renamed(
    func: FuncInfo, name: str, ty_map: _TypeName, indent: int, input_ty_map: _TypeName | None
) -> str:
    line = render_func_signature(func, ty_map, indent, input_ty_map)
    return line.replace("__ffi_init__", name, 1)


def _init_line(name: str, info: ObjectInfo, ty_map: _TypeName, indent: int) -> str:
    """Return a constructor stub whose parameters are the fields, required fields first."""
    names = {field.name for field in info.init_fields}
    parameters = ["_self" if "self" in names else "self"]
    positional = [field for field in info.init_fields if not field.kw_only]
    by_name = [field for field in info.init_fields if field.kw_only]
    parameters += [
        f"{_parameter_name(entry.name)}: {_text(entry.schema, ty_map)}{_default(entry)}"
        for entry in _required_first(positional)
    ]
    if by_name:
        parameters += ["*", *_named_parameters(by_name, ty_map)]
    if parameters[-1] == "*":
        parameters.pop()
    if any(not is_name(entry.name) for entry in by_name):
        parameters.append(f"**kwargs: {ty_map('Any')}")
    return _line(indent, name, parameters, "None")


def _named_parameters(fields: list[InitFieldInfo], ty_map: _TypeName) -> list[str]:
    return [
        f"{entry.name}: {_text(entry.schema, ty_map)}{_default(entry)}"
        for entry in _required_first(fields)
        if is_name(entry.name)
    ]


def _required_first(fields: list[InitFieldInfo]) -> list[InitFieldInfo]:
    return sorted(fields, key=lambda entry: entry.has_default)


def _default(entry: InitFieldInfo) -> str:
    return " = ..." if entry.has_default else ""
