# SPDX-License-Identifier: Apache-2.0
"""Stubs of classes, and of functions that were registered without a signature."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Callable

from ....core import TypeSchema
from ....signature import Signature
from ..object_info import MISSING, FuncInfo, InitFieldInfo, ObjectInfo
from .function_stubs import render_default, render_docstring
from .imports import is_name

__all__ = [
    "render_func_signature",
    "render_object_ffi_init",
    "render_object_fields",
    "render_object_init",
    "render_object_methods",
    "render_object_properties",
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
    """Return the stub of a function; without a signature, its parameters are positional.

    Parameters
    ----------
    func : FuncInfo
        The function.
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
    if func.signature is not None:
        return _named_by_signature(func, func.signature, declared, ty_map)
    return _by_position(func, [f"_{i}" for i in range(len(declared))], declared, ty_map)


def _by_position(
    func: FuncInfo, names: list[str], types: Sequence[TypeSchema], ty_map: _TypeName
) -> list[str]:
    typed = [f"{name}: {_text(schema, ty_map)}" for name, schema in zip(names, types)]
    if func.schema.name == "__ffi_init__":
        typed.insert(0, "self")
    elif func.is_member:
        typed = ["self", *typed[1:]]
    return [*typed, "/"] if typed else []


def _named_by_signature(
    func: FuncInfo, signature: Signature, types: Sequence[TypeSchema], ty_map: _TypeName
) -> list[str]:
    """Return the parameters of a method with a signature, which has `self` if it is a member."""
    parameters = ["self"] if func.schema.name == "__ffi_init__" or func.is_member else []
    pairs = list(zip(signature.parameters, types))[1 if func.is_member else 0 :]
    previous = ""
    for parameter, schema in pairs:
        if parameter.kind == "keyword-only" != previous:
            parameters.append("*")
        default = "" if parameter.is_required else f" = {render_default(parameter.default)}"
        parameters.append(f"{parameter.name}: {_text(schema, ty_map)}{default}")
        previous = parameter.kind
    return parameters


# ---- Class members -----------------------------------------------------------------------------


def render_object_fields(info: ObjectInfo, ty_map: _TypeName, indent: int) -> list[str]:
    """Return an annotation for each writable field that the type adds to its parent."""
    lines: list[str] = []
    for field in info.fields:
        if not is_name(field.name):
            lines.append(f"{' ' * indent}# field {field.name!r} has no Python name: use getattr")
        elif not field.frozen:
            lines.append(f"{' ' * indent}{field.name}: {_text(field, ty_map)}")
            lines += render_docstring(field.doc, indent)
    return lines


def render_object_properties(info: ObjectInfo, ty_map: _TypeName, indent: int) -> list[str]:
    """Return a property for each read-only field that the type adds to its parent."""
    lines: list[str] = []
    for field in info.fields:
        if is_name(field.name) and field.frozen:
            head = f"{' ' * indent}def {field.name}(self) -> {_text(field, ty_map)}: ..."
            lines += [f"{' ' * indent}@property", *_with_doc(head, field.doc, indent)]
    return lines


def _with_doc(stub: str, doc: str | None, indent: int) -> list[str]:
    """Return the lines of a function stub, with its docstring."""
    docstring = render_docstring(doc, indent + 4)
    return [stub.removesuffix(" ..."), *docstring] if docstring else [stub]


def render_object_init(
    info: ObjectInfo,
    ty_map: _TypeName,
    indent: int,
    input_ty_map: _TypeName | None = None,
    *,
    implement: bool = False,
) -> list[str]:
    """Return the ``__init__`` that `tvm_ffi.register_object` creates; empty without a constructor.

    The parameters of the automatic constructor are the fields.
    """
    if not info.has_init:
        return []
    native = _native_constructors(info)
    if not native or any(_reads_packed_arguments(func) for func in native):
        return [_init_line("__init__", info, input_ty_map or ty_map, indent)]
    fields = [entry.name for entry in info.init_fields]
    lines = [_native_init_line(func, fields, input_ty_map or ty_map, indent) for func in native]
    docs = [func.doc for func in native]
    return _with_overloads(lines, docs, ty_map, indent, False, implement)


def _native_init_line(func: FuncInfo, fields: list[str], ty_map: _TypeName, indent: int) -> str:
    """Return the ``__init__`` of a native constructor.

    If it has no parameter names but as many parameters as there are fields, the positional
    parameters get the names of the fields.
    """
    parameters = _parameters(func, ty_map)
    types = (func.schema.named_args or {})["params"]
    are_names = all(is_name(name) and name != "self" for name in fields)
    if func.signature is None and len(fields) == len(types) and are_names:
        parameters = _by_position(func, fields, types, ty_map)
    return _line(indent, "__init__", parameters, "None")


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
        # The documentation of a constructor is in the stub of `__init__`.
        docs = [None if name == "__ffi_init__" else func.doc for func in group]
        is_static = not (group[0].is_member or name == "__ffi_init__")
        lines += _with_overloads(stubs, docs, ty_map, indent, is_static, implement)
    return lines


def _with_overloads(
    stubs: list[str],
    docs: list[str | None],
    ty_map: _TypeName,
    indent: int,
    is_static: bool,
    implement: bool,
) -> list[str]:
    """Return the stubs of a function or of its overloads, with decorators and docstrings."""
    space = " " * indent
    decorators = [f"{space}@staticmethod"] if is_static else []
    documented = [_with_doc(stub, doc, indent) for stub, doc in zip(stubs, docs)]
    if len(stubs) == 1:
        return [*decorators, *documented[0]]
    lines = [line for stub in documented for line in (f"{space}@overload", *decorators, *stub)]
    if implement:
        head, result = stubs[0].split("(", 1)[0], stubs[0].rsplit(" -> ", 1)[1]
        receiver = "" if is_static else "self, "
        any_type = ty_map("Any")
        result = "None: ..." if result == "None: ..." else f"{any_type}: ..."
        lines += [*decorators, f"{head}({receiver}*args: {any_type}) -> {result}"]
    return lines


def _native_constructors(info: ObjectInfo) -> list[FuncInfo]:
    return [func for func in info.methods if func.schema.name == "__ffi_init__"]


def _reads_packed_arguments(func: FuncInfo) -> bool:
    """Return True if a native constructor reads packed arguments, so its parameters are unknown."""
    return "params" not in (func.schema.named_args or {})


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
    if not entry.has_default:
        return ""
    default = entry.schema.default
    is_value = default is not MISSING and not entry.schema.default_is_factory
    return f" = {render_default(default) if is_value else '...'}"
