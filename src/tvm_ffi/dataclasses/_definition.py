# SPDX-License-Identifier: Apache-2.0
"""From a class to a native type: everything is checked first, then written into the type table.

The table only grows.  What fails before the first entry leaves the type's index free for another
class of the same name.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from .._binding.call import convert_func
from .._binding.object import add_plain_type, is_plain_type
from .._binding.types import (
    lookup_type_attr,
    register_field,
    register_metadata,
    register_method,
    register_type_attr,
)
from .._types.type_info import (
    add_py_class_constructor,
    add_registered_fields,
    freeze_fields,
    refuse_construction,
)
from ..registry import get_global_func
from ._holders import add_holders
from ._layout import end_of_fields, is_plain, layout_of, place_fields
from ._method import attributes_of, methods_of
from ._setter import setter_of
from ._special_methods import add_special_methods
from .field import Field, has_default, has_factory

if TYPE_CHECKING:
    from .._types.type_info import TypeInfo

_make_getter = get_global_func("ffi.MakeFieldGetter")
_register_services = get_global_func("ffi._PyClassRegisterTypeAttrColumns")

FindClass = Callable[[str, str], "type | None"]


@dataclass(frozen=True)
class Options:
    """What the decorator was told."""

    frozen: bool
    init: bool
    repr: bool
    eq: bool
    order: bool
    unsafe_hash: bool
    match_args: bool
    kw_only: bool
    structural_eq: str | None


def _is_plain(info: TypeInfo) -> bool:
    """Whether objects of a type hold nothing that runs code of others when it is released."""
    return info.type_key == "ffi.Object" or is_plain_type(info.type_index)


def define(
    info: TypeInfo,
    options: Options,
    fields: list[Field],
    computed: dict[str, Callable[[Any], Any]],
    find_class: FindClass,
) -> None:
    """Give a type its fields, methods and attributes, and its class what dataclasses have.

    Parameters
    ----------
    info : TypeInfo
        The type, which has been announced.
    options : Options
        What the class asks for.
    fields : list of Field
        The type's own fields.
    computed : dict from str to callable
        What computes fields, by their names.
    find_class : callable
        Gives a registered class by module and name, or None.
    """
    cls: Any = info.type_cls
    _run_hooks(cls, info, fields)
    _check(cls, info, fields, options)
    attributes = attributes_of(cls, info)
    methods = methods_of(cls, find_class)
    setters = [setter_of(described) for described in fields]
    layouts = [layout_of(_schema(described)) for described in fields]
    assert info.parent_type_info is not None
    offsets, total_size = place_fields(layouts, end_of_fields(info.parent_type_info))
    rows = [
        {
            "name": described.name,
            "doc": described.doc or "",
            "metadata": _metadata(_schema(described).to_json()),
            "flags": _flags(described, options),
            "layout": tuple(layout),
            "offset": offset,
            "getter": _make_getter(layout.static_type_index),
            "setter": setter,
            "default": _default(described),
        }
        for described, layout, offset, setter in zip(fields, layouts, offsets, setters)
    ]
    # From here on the table changes.
    if _is_plain(info.parent_type_info) and all(map(is_plain, map(_schema, fields))):
        add_plain_type(info.type_index)
    register_metadata(info.type_index, cls.__doc__ or "", total_size, options.structural_eq)
    for row in rows:
        register_field(info.type_index, **row)
    for entry in methods:
        metadata = _metadata(entry.schema.to_json())
        register_method(
            info.type_index, entry.name, entry.doc, metadata, entry.is_static, entry.function
        )
    for name, value in attributes.items():
        register_type_attr(info.type_index, name, value)
    _register_services(info.type_index, total_size)
    _dress(info, options, fields, computed)


def _schema(described: Field) -> Any:
    return described._ty_schema


def _metadata(schema: dict[str, Any]) -> str:
    return json.dumps({"type_schema": json.dumps(schema)})


def _run_hooks(cls: type, info: TypeInfo, fields: list[Field]) -> None:
    for member in list(vars(cls).values()):
        hook = member.__func__ if isinstance(member, staticmethod) else member
        if getattr(hook, "__ffi_on_fields_resolved__", False) is True:
            hook(info, fields)


def _check(cls: type, info: TypeInfo, fields: list[Field], options: Options) -> None:
    inherited = {
        entry.name: owner.type_key for owner in _ancestors(info) for entry in owner.fields or []
    }
    for described in fields:
        if described.extra_kwargs:
            names = ", ".join(sorted(described.extra_kwargs))
            raise TypeError(f"{cls.__name__}.{described.name}: unrecognized field options: {names}")
        if described.name in inherited and options.init and "__init__" not in vars(cls):
            raise TypeError(
                f"{cls.__name__}.{described.name}: its base type "
                f"`{inherited[described.name]}` has a field of this name"
            )


def _ancestors(info: TypeInfo) -> list[TypeInfo]:
    found, parent = [], info.parent_type_info
    while parent is not None:
        found.append(parent)
        parent = parent.parent_type_info
    return found


def _default(described: Field) -> Any:
    if has_factory(described):
        assert described.default_factory is not None
        return convert_func(described.default_factory)
    return described.default if has_default(described) else None


_STRUCTURAL_FLAGS = {
    "ignore": "structural_ignore",
    "def": "structural_def_pattern",
    "def-pattern": "structural_def_pattern",
    "def-simple": "structural_def_simple",
}


def _flags(described: Field, options: Options) -> list[str]:
    holds = {
        "writable": not (described.frozen or options.frozen),
        "has_default": has_default(described),
        "has_factory": has_factory(described),
        "repr_off": not described.repr,
        "compare_off": not described.compare,
        "hash_off": not described.hash,
        "init_off": not described.init,
        "kw_only": bool(described.kw_only),
    }
    flags = [name for name, is_so in holds.items() if is_so]
    if described.structural_eq is not None:
        flags.append(_STRUCTURAL_FLAGS[described.structural_eq])
    return flags


# ---- The class -----------------------------------------------------------------------------------


def _dress(
    info: TypeInfo,
    options: Options,
    fields: list[Field],
    computed: dict[str, Callable[[Any], Any]],
) -> None:
    cls: Any = info.type_cls
    for described in fields:
        if described.name in vars(cls):  # its default, which the type has now
            delattr(cls, str(described.name))
    add_registered_fields(info)
    for entry, described in zip(info.fields, fields):
        entry.dataclass_field = described
        entry.c_structural_eq = described.structural_eq
        entry.metadata = {"type_schema": _schema(described).to_json()}
        if has_factory(described):
            entry.c_default_factory = described.default_factory
        elif has_default(described):
            entry.c_default = described.default
    for method in info.methods:
        method.metadata = {"type_schema": json.loads(method.metadata["type_schema"])}
    if options.frozen:
        freeze_fields(info)
    if computed:
        cls.__ffi_computed_fields__ = {**getattr(cls, "__ffi_computed_fields__", {}), **computed}
    _add_init(cls, info, options)
    add_special_methods(
        info,
        repr=options.repr,
        eq=options.eq,
        order=options.order,
        unsafe_hash=options.unsafe_hash,
        match_args=options.match_args,
    )


def _add_init(cls: Any, info: TypeInfo, options: Options) -> None:
    body = vars(cls).get("__init__")
    is_automatic = options.init and body is None
    add_py_class_constructor(info, is_automatic, _finisher(cls), add_holders(info))
    if body is not None:
        new: Any = lookup_type_attr(info.type_index, "__ffi_new__")
        new.release_gil = False
        cls.__ffi_new__ = staticmethod(new)
        cls.__init__ = _allocating(body, new)
    elif not options.init:
        cls.__init__ = refuse_construction


def _finisher(cls: Any) -> Callable[[Any], None] | None:
    """Return what runs when an object has its fields; None when there is nothing to do."""
    computed = [
        (_property_of(cls, name), compute)
        for name, compute in getattr(cls, "__ffi_computed_fields__", {}).items()
    ]
    has_post_init = hasattr(cls, "__post_init__")
    if not computed and not has_post_init:
        return None

    def finish(obj: Any) -> None:
        for property_, compute in computed:
            property_.set(obj, compute(obj))
        if has_post_init:
            obj.__post_init__()

    return finish


def _property_of(cls: type, name: str) -> Any:
    """Return the property of a field."""
    return next(vars(owner)[name] for owner in cls.__mro__ if name in vars(owner))


def _allocating(body: Callable[..., None], new: Any) -> Callable[..., None]:
    """Return an ``__init__`` that finds an object with empty fields."""

    @functools.wraps(body)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.__chandle__() == 0:
            self.__init_handle_by_constructor__(new)
        body(self, *args, **kwargs)

    return init
